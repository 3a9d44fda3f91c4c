//! The bus between nodes.

use std::sync::Arc;

use async_trait::async_trait;

use super::route::{Address, Interest};
use crate::event::DomainEvent;
use crate::ports::EventPublisher;
use crate::time::Timestamp;

/// Carries events to the other nodes, and reports their interests. Events of others are passed to a
/// publisher for the local sockets; events of this node do not come back.
#[async_trait]
pub trait EventBus: Send + Sync {
    /// Returns whether another node has the interest; true if it is unknown.
    fn is_wanted(&self, interest: Interest) -> bool;

    /// Returns whether there is another node, as far as is known.
    fn has_others(&self) -> bool;

    /// Sends an event to the nodes with interest in one of these addresses. Never blocks and never
    /// fails: an event that cannot be sent is lost and counted.
    fn send(&self, to: &[Address], event: &DomainEvent);

    /// Records that the first local socket has this interest; never blocks.
    fn begin(&self, interest: Interest);

    /// Records that the last local socket has lost this interest; never blocks.
    fn end(&self, interest: Interest);

    /// Waits until all interests that have [begun](Self::begin) are in effect and known to the
    /// others: their events arrive from then on. Returns at once if no other node can be reached,
    /// and never waits for long.
    async fn settled(&self);
}

/// A bus as the server runs it.
#[async_trait]
pub trait RunningBus: EventBus {
    /// Publishes the events of other nodes to `into`, until it is dropped; called once.
    async fn run(self: Arc<Self>, into: Arc<dyn EventPublisher>);

    /// Returns whether events of other nodes arrive.
    fn is_connected(&self) -> bool;

    /// The time since which events of this node may not have reached the others; `None` until the
    /// next such loss.
    fn take_unsent(&self) -> Option<Timestamp>;

    /// The time since which events of other nodes may not have reached this one; `None` until the
    /// next such loss.
    fn take_unheard(&self) -> Option<Timestamp>;

    /// Sends what is queued, and notifies the other nodes that this one stops, so that they send it
    /// nothing more. The bus is silent from then on.
    async fn announce_shutdown(&self);
}
