//! Metrics of events between servers.

use std::sync::LazyLock;

use metrics::{Counter, Gauge, counter, gauge};

use crate::{BUS_CONNECTED, BUS_DROPPED, BUS_NODES, BUS_RECEIVED, BUS_SENT, BUS_SUBSCRIPTIONS};

/// The reason why a message on the bus was lost or dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BusDrop {
    /// The bus was disconnected.
    Disconnected,
    /// The queue of outgoing messages was full.
    QueueFull,
    /// The queue of incoming messages was full.
    TooSlow,
    /// The message exceeded the maximum size.
    TooLarge,
    /// The signature was invalid.
    Forged,
    /// The message could not be decoded.
    Malformed,
    /// The message was too old, or the clocks of two servers differ too much.
    TooOld,
    /// A newer server sent a kind of message that this version does not know.
    Unknown,
    /// The message was a duplicate.
    Repeated,
}

/// The labels of the reasons, in the order of [`BusDrop`].
const REASONS: [&str; 9] = [
    "disconnected",
    "queue_full",
    "too_slow",
    "too_large",
    "forged",
    "malformed",
    "too_old",
    "unknown",
    "repeated",
];

struct Handles {
    sent: Counter,
    received: Counter,
    dropped: [Counter; 9],
    connected: Gauge,
    nodes: Gauge,
    interests: Gauge,
}

static HANDLES: LazyLock<Handles> = LazyLock::new(|| Handles {
    sent: counter!(BUS_SENT),
    received: counter!(BUS_RECEIVED),
    dropped: REASONS.map(|reason| counter!(BUS_DROPPED, "reason" => reason)),
    connected: gauge!(BUS_CONNECTED),
    nodes: gauge!(BUS_NODES),
    interests: gauge!(BUS_SUBSCRIPTIONS),
});

/// Counts an event that was sent.
pub fn bus_sent() {
    HANDLES.sent.increment(1);
}

/// Counts an event of another server that was pushed to sockets of this one.
pub fn bus_received() {
    HANDLES.received.increment(1);
}

/// Counts a message that was lost or dropped.
pub fn bus_dropped(reason: BusDrop) {
    HANDLES.dropped[reason as usize].increment(1);
}

/// Sets the state of the bus: the connection, the number of other servers visible on it, and the number of
/// subscriptions of this server.
pub fn bus_state(is_connected: bool, nodes: usize, interests: usize) {
    let number = |of: usize| f64::from(u32::try_from(of).unwrap_or(u32::MAX));
    HANDLES.connected.set(f64::from(u8::from(is_connected)));
    HANDLES.nodes.set(number(nodes));
    HANDLES.interests.set(number(interests));
}

pub(crate) fn begin() {
    LazyLock::force(&HANDLES);
}
