//! What the server measures: the name of every figure, and how it is recorded; and spans of single requests.
//!
//! Edges and adapters record here; the domain knows nothing of it. What has a label for each request is
//! looked up, everything else has its handle from the first use on, so that recording is an atomic step.
//! Nothing is recorded unless somebody has installed a recorder, before the first use.
//!
//! No label has a value that a client can choose: there is one series for each route, not for each path.

mod bus;
mod change;
mod disk;
mod password;
mod request;
mod span;
mod store;

pub use bus::{BusDrop, bus_dropped, bus_received, bus_sent, bus_state};
pub use change::unknown_change;
pub use disk::{content_bytes, disk_free, is_store_full, store_full, write_refused};
pub use password::{Hashing, hashing};
pub use request::{connection_refused, refused, request, spans_dropped, spans_sent, stalled_connection};
pub use span::{Carried, RequestSpan, Step, Trace, TraceParent, step, trace_with};
pub use store::{Doing, InUse, Work, batch, connection_in_use, connections_at_most, doing};

/// A figure, as it is described to whoever reads it.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub kind: Kind,
    /// What it tells.
    pub what: &'static str,
}

/// What a figure is.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// How often something has happened since the start.
    Counter,
    /// How much of something there is.
    Gauge,
    /// How large something was each time, counted below these bounds.
    Histogram(&'static [f64]),
}

const SECONDS: &[f64] = &[
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];

const CHANGES: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

macro_rules! figures {
    ($($name:ident = $text:literal, $kind:expr, $what:literal;)+) => {
        $(#[doc = $what] pub const $name: &str = $text;)+

        /// Every figure.
        pub const ALL: &[Figure] = &[$(Figure { name: $text, kind: $kind, what: $what }),+];
    };
}

figures! {
    REQUEST_SECONDS = "parlance_http_request_seconds", Kind::Histogram(SECONDS),
        "How long requests took until their answer began, by route, method and class of status.";
    REFUSALS = "parlance_http_refusals_total", Kind::Counter,
        "Requests that were answered with an error, by the code that stands in it.";
    CONNECTIONS_REFUSED = "parlance_connections_refused_total", Kind::Counter,
        "Connections that were ended at once, as their address has too many.";
    STALLED_CONNECTIONS = "parlance_connections_stalled_total", Kind::Counter, "Connections closed because their client did not read its answer.";
    SOCKETS = "parlance_sockets", Kind::Gauge, "Open sockets, by who holds them.";
    CONNECTED_ELSEWHERE = "parlance_connected_elsewhere", Kind::Gauge,
        "Users and agents that are connected to other nodes.";
    TOPICS = "parlance_topics", Kind::Gauge, "Topics that somebody listens to.";
    LISTENERS = "parlance_topic_listeners", Kind::Gauge, "Stays of sockets on topics.";
    QUEUED_BYTES = "parlance_socket_queued_bytes", Kind::Gauge, "Bytes that wait for all clients together, about.";
    QUEUED_BYTES_MAX = "parlance_socket_queued_bytes_max", Kind::Gauge,
        "Bytes that wait for the client that is furthest behind, about.";
    PUSHES = "parlance_pushes_total", Kind::Counter, "Events that were put on their way to a socket.";
    PUSHED_AGAIN = "parlance_pushes_again_total", Kind::Counter,
        "Messages that were pushed again, as no socket had taken them.";
    TOO_SLOW = "parlance_sockets_too_slow_total", Kind::Counter,
        "Sockets that were ended since their client let too much wait.";
    CALLER_LOOKUPS = "parlance_caller_lookups_total", Kind::Counter,
        "How often it was asked who a caller is: known (hit), or read from the store (miss).";
    CHANGES_UNKNOWN = "parlance_changes_unknown_total", Kind::Counter,
        "Entries in the log of changes that were passed over, as newer servers have written them.";
    BUS_SENT = "parlance_bus_sent_total", Kind::Counter, "Events that were sent to other servers, each copy.";
    BUS_RECEIVED = "parlance_bus_received_total", Kind::Counter,
        "Events of other servers that were told to the own sockets.";
    BUS_DROPPED = "parlance_bus_dropped_total", Kind::Counter,
        "Messages between servers that were lost or not taken, by why.";
    BUS_CONNECTED = "parlance_bus_connected", Kind::Gauge, "Whether the bus is there, 1 or 0.";
    BUS_NODES = "parlance_bus_nodes", Kind::Gauge, "Other servers that are heard on the bus.";
    BUS_INTERESTS = "parlance_bus_interests", Kind::Gauge, "Rooms, users and agents of which this server is told.";
    STORE_SECONDS = "parlance_store_seconds", Kind::Histogram(SECONDS),
        "How long the store took, with the time in its queues, by the kind of work.";
    STORE_IN_PROGRESS = "parlance_store_in_progress", Kind::Gauge,
        "Pieces of work that wait in the store or are being done, by their kind.";
    STORE_BATCH = "parlance_store_batch_changes", Kind::Histogram(CHANGES), "Changes that shared one commit.";
    STORE_CONNECTIONS = "parlance_store_connections_in_use", Kind::Gauge, "Connections at work.";
    STORE_CONNECTIONS_MAX = "parlance_store_connections_max", Kind::Gauge, "The most connections that there may be.";
    STORE_FULL = "parlance_store_full_total", Kind::Counter,
        "Writes that failed since the disk of the store was full.";
    DISK_FREE = "parlance_disk_free_bytes", Kind::Gauge,
        "Free bytes where the data directory is.";
    CONTENT_BYTES = "parlance_content_bytes", Kind::Gauge,
        "Bytes of the texts and events of all organizations, as they were counted last.";
    WRITES_REFUSED = "parlance_writes_refused_total", Kind::Counter,
        "Requests with large bodies that were refused since the disk is nearly full.";
    PASSWORD_HASHES = "parlance_password_hashes_total", Kind::Counter,
        "Passwords that were hashed, to keep them or to compare them.";
    PASSWORD_HASHES_NOW = "parlance_password_hashes_in_progress", Kind::Gauge,
        "Passwords that are being hashed at the moment.";
    SPANS_SENT = "parlance_spans_sent_total", Kind::Counter, "Spans of traces that the collector took.";
    SPANS_DROPPED = "parlance_spans_dropped_total", Kind::Counter,
        "Spans of traces that were dropped, as the collector did not take them in time.";
    BUILD = "parlance_build_info", Kind::Gauge, "Always 1; says the version.";
    UPTIME = "parlance_uptime_seconds", Kind::Gauge, "For how long the server has been running.";
}

/// Makes the series that need no event to be there, so that they begin at zero.
pub fn begin() {
    bus::begin();
    change::begin();
    disk::begin();
    password::begin();
    request::begin();
    store::begin();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_custom() {
        let mut names = std::collections::BTreeSet::new();
        for figure in ALL {
            assert!(names.insert(figure.name), "{} is there twice", figure.name);
            assert!(figure.what.ends_with('.') && figure.name.starts_with("parlance_"), "{}", figure.name);
            let counts = matches!(figure.kind, Kind::Counter);
            assert_eq!(counts, figure.name.ends_with("_total"), "{}", figure.name);
        }
    }
}
