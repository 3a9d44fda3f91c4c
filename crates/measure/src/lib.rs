//! Metrics and spans: the name of every metric, the functions that record it, and the spans of requests.
//!
//! Edges and adapters record here; the domain does not depend on this crate. Metrics whose labels differ
//! per request are looked up at each use. All others keep their handle, so that recording is one atomic
//! operation. Nothing is recorded unless a recorder is installed before the first use.
//!
//! No label has a value that a client can choose: there is one series per route, not per path.
#![expect(clippy::disallowed_methods, reason = "metrics and outages are timed in real time")]

mod bus;
mod change;
mod disk;
mod file;
mod outage;
mod password;
mod provider;
mod reminder;
mod request;
mod search;
mod span;
mod store;
mod webhook;

pub use bus::{BusDrop, bus_dropped, bus_received, bus_sent, bus_state};
pub use change::unknown_change;
pub use disk::{content_bytes, disk_free, is_store_full, store_full, write_refused};
pub use file::{downloaded, files_removed, uploaded};
pub use outage::Outage;
pub use password::{Hashing, hashing};
pub use provider::{ProviderResult, provider_login, provider_logout};
pub use reminder::reminders_sent;
pub use request::{
    RequestTotals, connection_refused, refused, request, request_totals, spans_dropped, spans_sent,
    stalled_connection,
};
pub use search::{indexed, search_behind};
pub use span::{Carried, RequestSpan, Step, Trace, TraceParent, step, trace_with};
pub use store::{Doing, InUse, Work, batch, connection_in_use, connections_at_most, doing};
pub use webhook::{
    NotificationResult, WebhookResult, notification_sent, push_sent, webhook_backlog, webhook_sent,
    webhooks_in_flight,
};

/// The description of a metric.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// The name in the exposition format.
    pub name: &'static str,
    /// The type of the metric.
    pub kind: Kind,
    /// The help text.
    pub what: &'static str,
}

/// The type of a metric.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// The number of events since the start.
    Counter,
    /// A current value.
    Gauge,
    /// Observed values, counted in buckets with these upper bounds.
    Histogram(&'static [f64]),
}

const SECONDS: &[f64] = &[
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];

/// A server looks twice a second, and what was due while none ran may be days late.
const DELAYS: &[f64] = &[0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0, 600.0, 3600.0, 86_400.0];

const CHANGES: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

macro_rules! figures {
    ($($name:ident = $text:literal, $kind:expr, $what:literal;)+) => {
        $(#[doc = $what] pub const $name: &str = $text;)+

        /// All metrics.
        pub const ALL: &[Figure] = &[$(Figure { name: $text, kind: $kind, what: $what }),+];
    };
}

figures! {
    REQUEST_SECONDS = "parlance_http_request_seconds", Kind::Histogram(SECONDS),
        "Time until the answer to a request began, by route, method, and status class.";
    REFUSALS = "parlance_http_refusals_total", Kind::Counter,
        "Requests that were answered with an error, by error code.";
    CONNECTIONS_REFUSED = "parlance_connections_refused_total", Kind::Counter,
        "Connections closed on arrival because their address has too many.";
    STALLED_CONNECTIONS = "parlance_connections_stalled_total", Kind::Counter, "Connections closed because their client did not read its answer.";
    SOCKETS = "parlance_sockets", Kind::Gauge, "Open sockets, by who holds them.";
    REMOTE_SESSIONS = "parlance_remote_sessions", Kind::Gauge,
        "Users and agents that are connected to other nodes.";
    TOPICS = "parlance_topics", Kind::Gauge, "Topics with at least one subscriber.";
    LISTENERS = "parlance_topic_listeners", Kind::Gauge, "Subscriptions of sockets to topics.";
    QUEUED_BYTES = "parlance_socket_queued_bytes", Kind::Gauge, "Approximate number of bytes queued for all sockets.";
    QUEUED_BYTES_MAX = "parlance_socket_queued_bytes_max", Kind::Gauge,
        "Approximate number of bytes queued for the socket that is furthest behind.";
    PUSHES = "parlance_pushes_total", Kind::Counter, "Events queued for a socket.";
    REDELIVERIES = "parlance_redeliveries_total", Kind::Counter,
        "Messages pushed again because no socket had taken them.";
    SLOW_CONSUMERS = "parlance_slow_consumer_disconnects_total", Kind::Counter,
        "Sockets closed because their client fell too far behind.";
    SOCKETS_ENDED = "parlance_sockets_ended_total", Kind::Counter, "Sockets that have ended, by reason.";
    OPEN_DELIVERIES = "parlance_open_deliveries", Kind::Gauge,
        "Messages that agents have not processed, by state; dead ones have left the queue, and held ones wait for a \
         human. All servers on one database report the same numbers: aggregate with max.";
    FLAGGED_DELIVERIES = "parlance_flagged_deliveries", Kind::Gauge,
        "Messages in the queues of agents that need attention, by flag. All servers on one database report the same \
         numbers: aggregate with max.";
    OLDEST_OPEN_DELIVERY = "parlance_oldest_open_delivery_seconds", Kind::Gauge,
        "Age of the oldest message in the queue of an agent, or 0. All servers on one database report the same \
         number: aggregate with max.";
    WORK_COUNTED = "parlance_work_counted_timestamp_seconds", Kind::Gauge,
        "Time of the last count of messages in the queues of agents, in seconds since 1970.";
    ATTEMPTS = "parlance_attempts_total", Kind::Counter,
        "Attempts of agents at messages that have ended, by outcome.";
    BULK_ITEMS = "parlance_bulk_deletion_items_total", Kind::Counter,
        "Items that bulk deletions have processed, by result.";
    OVERDUE_TEXTS = "parlance_overdue_texts_total", Kind::Counter,
        "Messages whose deadline passed before all agents had processed them.";
    REMINDERS = "parlance_reminders_total", Kind::Counter,
        "Messages of reminders that were due on this server, by result: sent or refused.";
    REMINDER_DELAY = "parlance_reminder_delay_seconds", Kind::Histogram(DELAYS),
        "Time from when a reminder was due until its message was sent.";
    WEBHOOK_REQUESTS = "parlance_webhook_requests_total", Kind::Counter,
        "Requests to webhooks, by result: delivered, refused with a status other than 2xx, or unanswered.";
    WEBHOOKS_IN_FLIGHT = "parlance_webhook_requests_in_flight", Kind::Gauge,
        "Requests to webhooks that this server has begun and that have no answer yet.";
    WEBHOOK_DELIVERIES_OPEN = "parlance_webhook_deliveries_open", Kind::Gauge,
        "Deliveries to webhooks that have begun and not ended. All servers on one database report the same number: \
         aggregate with max.";
    WEBHOOK_OLDEST = "parlance_webhook_oldest_open_delivery_seconds", Kind::Gauge,
        "Age of the oldest delivery to a webhook that has not ended, or 0. All servers on one database report the same \
         number: aggregate with max.";
    PUSH_REQUESTS = "parlance_push_notifications_total", Kind::Counter,
        "Push notifications of A2A, by result: delivered, refused with a status other than 2xx, or unanswered.";
    NOTIFICATIONS = "parlance_notifications_total", Kind::Counter,
        "Tries to send notifications to users, by kind of channel, and result: delivered, failed and repeated later, refused \
         for good, or postponed.";
    BUDGET_EVENTS = "parlance_budget_events_total", Kind::Counter,
        "Events about budgets that this server posted, by level: warned at 80 %, or exceeded.";
    BUDGETS_EXCEEDED = "parlance_budgets_exceeded", Kind::Gauge,
        "Trees, rooms, agents, and organizations whose deliveries are held because a budget is used up.";
    REPORTED_TOKENS = "parlance_reported_tokens_total", Kind::Counter,
        "Tokens of language models that agents reported, by kind.";
    CALLER_CACHE = "parlance_caller_cache_requests_total", Kind::Counter,
        "Lookups in the cache of callers, by result: hit, or miss with a read from the store.";
    CHANGES_UNKNOWN = "parlance_changes_unknown_total", Kind::Counter,
        "Entries of the change log that were skipped because newer servers wrote them.";
    BUS_SENT = "parlance_bus_sent_total", Kind::Counter, "Events sent to other servers, counted per copy.";
    BUS_RECEIVED = "parlance_bus_received_total", Kind::Counter,
        "Events of other servers that were passed on to sockets of this server.";
    BUS_DROPPED = "parlance_bus_dropped_total", Kind::Counter,
        "Messages between servers that were lost or dropped, by reason.";
    BUS_CONNECTED = "parlance_bus_connected", Kind::Gauge, "Whether NATS is connected, 1 or 0.";
    BUS_NODES = "parlance_bus_nodes", Kind::Gauge, "Other servers visible on NATS.";
    BUS_SUBSCRIPTIONS = "parlance_bus_subscriptions", Kind::Gauge, "Rooms, users, and agents that this server subscribes to.";
    STORE_SECONDS = "parlance_store_seconds", Kind::Histogram(SECONDS),
        "Duration of work in the store, including time in its queues, by kind of work.";
    STORE_IN_PROGRESS = "parlance_store_in_progress", Kind::Gauge,
        "Work that is queued or in progress in the store, by kind of work.";
    STORE_BATCH = "parlance_store_batch_changes", Kind::Histogram(CHANGES), "Changes that shared one commit.";
    STORE_CONNECTIONS = "parlance_store_connections_in_use", Kind::Gauge, "Database connections in use.";
    STORE_CONNECTIONS_MAX = "parlance_store_connections_max", Kind::Gauge, "Maximum number of database connections.";
    STORE_FULL = "parlance_store_full_total", Kind::Counter,
        "Writes that failed because the store's disk was full.";
    DISK_FREE = "parlance_disk_free_bytes", Kind::Gauge,
        "Free space in the data directory, in bytes.";
    CONTENT_BYTES = "parlance_content_bytes", Kind::Gauge,
        "Bytes of the messages and memories of all organizations, as last counted.";
    FILE_BYTES = "parlance_file_bytes_total", Kind::Counter, "Bytes of files that were transferred, by direction.";
    FILES_REMOVED = "parlance_files_removed_total", Kind::Counter,
        "Files that were removed, by reason: they had expired, or an upload had left bytes without a record.";
    WRITES_REFUSED = "parlance_writes_refused_total", Kind::Counter,
        "Requests with large bodies that were refused because the disk is nearly full.";
    PASSWORD_HASHES = "parlance_password_hashes_total", Kind::Counter,
        "Passwords hashed, for storing or checking them.";
    PASSWORD_HASHES_NOW = "parlance_password_hashes_in_progress", Kind::Gauge,
        "Passwords being hashed.";
    PROVIDER_LOGINS = "parlance_provider_logins_total", Kind::Counter,
        "Log-ins at identity providers, by result.";
    PROVIDER_LOGOUTS = "parlance_provider_logouts_total", Kind::Counter,
        "Logouts that identity providers have told this server, by result.";
    SEARCH_INDEXED = "parlance_search_indexed_total", Kind::Counter,
        "Messages that this server has indexed for searches.";
    SEARCH_BEHIND = "parlance_search_behind", Kind::Gauge,
        "Messages that were not indexed for searches when all rooms were last examined. All servers on one \
         database report nearly the same number: aggregate with max.";
    SPANS_SENT = "parlance_spans_sent_total", Kind::Counter, "Spans that the trace collector accepted.";
    SPANS_DROPPED = "parlance_spans_dropped_total", Kind::Counter,
        "Spans dropped because the trace collector did not accept them in time.";
    BUILD = "parlance_build_info", Kind::Gauge, "Always 1; the label holds the version.";
    UPTIME = "parlance_uptime_seconds", Kind::Gauge, "Seconds since the start.";
}

/// Registers the series that can exist before their first event, so that they start at zero.
pub fn begin() {
    bus::begin();
    change::begin();
    disk::begin();
    file::begin();
    password::begin();
    provider::begin();
    reminder::begin();
    request::begin();
    search::begin();
    store::begin();
    webhook::begin();
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
