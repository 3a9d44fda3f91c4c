//! The limits and topics of sockets, and the number of locks.

use std::time::Duration;

use http_wire::features::Features;

/// The number of locks over which topics, users, and agents are sharded.
pub(super) const SHARDS: usize = 32;

/// Limits of a socket, and what the server serves.
#[derive(Clone, Copy, Debug)]
pub struct HubConfig {
    /// The time without input after which a socket is closed.
    pub idle_timeout: Duration,
    /// The maximum number of bytes that are queued for one client. It should hold three of the
    /// largest message: one that the client is reading, one that is queued, and one that arrives.
    pub queue_bytes: usize,
    /// The maximum number of topics per socket.
    pub max_topics: usize,
    /// The approximate maximum number of topics of all sockets of one caller.
    pub max_topics_per_caller: usize,
    /// The maximum number of connections of one caller, including closed ones that have not been
    /// read to the end. An agent has one live socket.
    pub max_sockets_per_caller: usize,
    /// What the server serves: without boards, nobody can subscribe to one.
    pub features: Features,
}

impl Default for HubConfig {
    fn default() -> Self {
        Self {
            idle_timeout: Duration::from_secs(60),
            queue_bytes: 10 * 1024 * 1024,
            max_topics: 10_000,
            max_topics_per_caller: 50_000,
            max_sockets_per_caller: 1_000,
            features: Features::default(),
        }
    }
}
