//! The bus between nodes.

use async_trait::async_trait;

use super::route::{Address, Interest};
use crate::event::DomainEvent;

/// Carries events to the other nodes, and tells what they want. Events of theirs are handed to a publisher, which tells
/// them to the own sockets; this node's own events do not come back.
#[async_trait]
pub trait EventBus: Send + Sync {
    /// Whether another node is interested. Whoever cannot know says yes.
    fn is_wanted(&self, interest: Interest) -> bool;

    /// Whether there is another node, as far as is known.
    fn has_others(&self) -> bool;

    /// Sends an event to the nodes that take what comes to one of these addresses. Never blocks and never fails: what
    /// cannot be sent is lost and counted.
    fn send(&self, to: &[Address], event: &DomainEvent);

    /// The first of the own sockets has this interest; never blocks.
    fn begin(&self, interest: Interest);

    /// The last of the own sockets has lost this interest; never blocks.
    fn end(&self, interest: Interest);

    /// Waits until what has [begun](Self::begin) before is heard, and others were told of it: events that they publish
    /// from when they have heard it come. Without others to be reached it does not wait, and never for long.
    async fn settled(&self);
}
