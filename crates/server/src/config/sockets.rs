//! The settings of sockets and of messages that are pushed to them.

use std::time::Duration;

use super::key::Key;
use super::parse;
use super::values::Values;

/// The settings of sockets and of messages that are pushed to them.
#[derive(Clone, Debug)]
pub struct SocketConfig {
    /// The time after which a silent socket is closed.
    pub idle_timeout: Duration,
    /// The maximum number of bytes queued for one socket.
    pub queue_bytes: usize,
    /// The maximum number of connections of one caller.
    pub per_caller: usize,
    /// The time after which a message that no socket has taken is pushed again.
    pub redelivery_after: Duration,
    /// The time over which a stopping server closes its sockets; `None` for the default.
    pub drain: Option<Duration>,
    /// For tests: one in this many new messages is lost.
    pub lose_messages: Option<u64>,
}

pub(super) fn read(values: &mut Values) -> SocketConfig {
    values.section("Sockets");
    let idle = Key::number(
        "socket_idle_timeout_ms",
        "MS",
        "60000",
        "How long a socket may send nothing before it is closed, in milliseconds. Clients send a heartbeat every 30 \
         s.",
    );
    let queue = Key::number(
        "socket_queue_bytes",
        "BYTES",
        "10485760",
        "Maximum number of bytes queued for one socket; a socket whose client falls further behind is closed. Use at \
         least 9 MiB, three times the largest message (a text of 512 KiB can take 3 MiB as JSON), so that slow \
         clients stay connected.",
    );
    let per_caller = Key::number(
        "max_sockets_per_caller",
        "NUMBER",
        "1000",
        "Maximum number of sockets of one user or agent, including closing ones whose client has not read everything \
         yet. Further ones are refused with 429.",
    );
    let again = Key::number(
        "redelivery_after_ms",
        "MS",
        "5000",
        "Time until a message that no socket of an agent has taken is pushed again, in milliseconds. An agent that \
         joins a room has three times as long to fetch older messages before they are pushed. See \
         [realtime.md](realtime.md).",
    );
    let drain = Key::number(
        "drain_ms",
        "MS",
        "0; 5000 for one of several servers",
        "How long, in milliseconds, a stopping server takes to close its sockets one after the other, so that clients \
         do not all reconnect at once. It waits up to the same time for requests to webhooks. Meanwhile it is not \
         ready and accepts no new sockets, but answers requests.",
    );
    let lose = Key::number(
        "fault_lose_messages",
        "ONE_OF",
        "none",
        "For tests: drop one of this many new messages instead of sending it to sockets.",
    );
    SocketConfig {
        idle_timeout: values.read(idle, parse::millis(1, parse::DAY_MS)),
        queue_bytes: values.read(queue, parse::number(64 * 1024, 1 << 40)),
        per_caller: values.read(per_caller, parse::number(1, 1_000_000)),
        redelivery_after: values.read(again, parse::millis(100, parse::DAY_MS)),
        drain: values.optional(drain, parse::millis(0, 3_600_000)),
        lose_messages: values.optional(lose.for_tests(), parse::number(1, u64::MAX)),
    }
}

#[cfg(test)]
mod tests {
    use ws_gateway::HubConfig;

    use super::*;

    /// A hub that is built without settings has the same values.
    #[test]
    fn the_defaults_are_those_of_the_hub() {
        let (ours, hub) = (read(&mut Values::gather_nothing()), HubConfig::default());
        assert_eq!(ours.idle_timeout, hub.idle_timeout);
        assert_eq!((ours.queue_bytes, ours.per_caller), (hub.queue_bytes, hub.max_sockets_per_caller));
    }
}
