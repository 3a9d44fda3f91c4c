//! Events between servers.

use std::sync::LazyLock;

use metrics::{Counter, Gauge, counter, gauge};

use crate::{BUS_CONNECTED, BUS_DROPPED, BUS_NODES, BUS_RECEIVED, BUS_SENT, BUS_SUBSCRIPTIONS};

/// Why a message on the bus was lost, or not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BusDrop {
    /// The bus was not there.
    Disconnected,
    /// Too much waited to be sent.
    QueueFull,
    /// Too much waited to be taken.
    TooSlow,
    /// It was larger than may be.
    TooLarge,
    /// Its signature was wrong.
    Forged,
    /// It was nothing that a server sends.
    Malformed,
    /// It was sent too long ago, or the clocks of two servers are far apart.
    TooOld,
    /// Only newer servers understand it.
    Unknown,
    /// It had come before.
    Repeated,
}

/// What each is called, in the order above.
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

/// An event was sent.
pub fn bus_sent() {
    HANDLES.sent.increment(1);
}

/// An event of another server was told to the own sockets.
pub fn bus_received() {
    HANDLES.received.increment(1);
}

/// Something was lost, or not taken.
pub fn bus_dropped(reason: BusDrop) {
    HANDLES.dropped[reason as usize].increment(1);
}

/// How the bus is: whether it is there, how many other servers are heard on it, and how much this one listens to.
pub fn bus_state(is_connected: bool, nodes: usize, interests: usize) {
    let number = |of: usize| f64::from(u32::try_from(of).unwrap_or(u32::MAX));
    HANDLES.connected.set(f64::from(u8::from(is_connected)));
    HANDLES.nodes.set(number(nodes));
    HANDLES.interests.set(number(interests));
}

pub(crate) fn begin() {
    LazyLock::force(&HANDLES);
}
