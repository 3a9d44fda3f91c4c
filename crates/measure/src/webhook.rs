//! Metrics of webhooks.

use std::sync::LazyLock;
use std::time::Duration;

use metrics::{Counter, Gauge, counter, gauge};

use crate::{
    NOTIFICATIONS, PUSH_REQUESTS, WEBHOOK_DELIVERIES_OPEN, WEBHOOK_OLDEST, WEBHOOK_REQUESTS,
    WEBHOOKS_IN_FLIGHT,
};

/// The result of a request to a webhook, or of a push notification.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WebhookResult {
    /// The receiver took the message.
    Delivered,
    /// It answered with another status than 2xx.
    Refused,
    /// It did not answer, or the request could not be made.
    Unanswered,
}

static DELIVERED: LazyLock<Counter> = LazyLock::new(|| counter!(WEBHOOK_REQUESTS, "result" => "delivered"));
static REFUSED: LazyLock<Counter> = LazyLock::new(|| counter!(WEBHOOK_REQUESTS, "result" => "refused"));
static UNANSWERED: LazyLock<Counter> = LazyLock::new(|| counter!(WEBHOOK_REQUESTS, "result" => "unanswered"));
static PUSH_DELIVERED: LazyLock<Counter> = LazyLock::new(|| counter!(PUSH_REQUESTS, "result" => "delivered"));
static PUSH_REFUSED: LazyLock<Counter> = LazyLock::new(|| counter!(PUSH_REQUESTS, "result" => "refused"));
static PUSH_UNANSWERED: LazyLock<Counter> =
    LazyLock::new(|| counter!(PUSH_REQUESTS, "result" => "unanswered"));
static IN_FLIGHT: LazyLock<Gauge> = LazyLock::new(|| gauge!(WEBHOOKS_IN_FLIGHT));
static WAITING: LazyLock<Gauge> = LazyLock::new(|| gauge!(WEBHOOK_DELIVERIES_OPEN));
static OLDEST: LazyLock<Gauge> = LazyLock::new(|| gauge!(WEBHOOK_OLDEST));

/// Counts a request.
pub fn webhook_sent(result: WebhookResult) {
    match result {
        WebhookResult::Delivered => &DELIVERED,
        WebhookResult::Refused => &REFUSED,
        WebhookResult::Unanswered => &UNANSWERED,
    }
    .increment(1);
}

/// Counts a push notification.
pub fn push_sent(result: WebhookResult) {
    match result {
        WebhookResult::Delivered => &PUSH_DELIVERED,
        WebhookResult::Refused => &PUSH_REFUSED,
        WebhookResult::Unanswered => &PUSH_UNANSWERED,
    }
    .increment(1);
}

/// The result of sending a notification.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotificationResult {
    /// The receiver took it.
    Delivered,
    /// It did not; it is tried again.
    Failed,
    /// It will never take anything.
    Refused,
    /// Nothing was sent, for a reason that is not the receiver's.
    Postponed,
}

impl NotificationResult {
    const ALL: [Self; 4] = [Self::Delivered, Self::Failed, Self::Refused, Self::Postponed];

    const fn word(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Failed => "failed",
            Self::Refused => "refused",
            Self::Postponed => "postponed",
        }
    }
}

/// Counts a try to send a notification by a channel of this kind.
pub fn notification_sent(kind: &'static str, result: NotificationResult) {
    counter!(NOTIFICATIONS, "kind" => kind, "result" => result.word()).increment(1);
}

/// Records the requests that are in flight.
#[expect(clippy::cast_precision_loss, reason = "a figure to be looked at")]
pub fn webhooks_in_flight(count: usize) {
    IN_FLIGHT.set(count as f64);
}

/// Records the deliveries that have begun and not ended, and the age of the oldest one.
#[expect(clippy::cast_precision_loss, reason = "a figure to be looked at")]
pub fn webhook_backlog(count: u64, oldest: Duration) {
    WAITING.set(count as f64);
    OLDEST.set(oldest.as_secs_f64());
}

pub(crate) fn begin() {
    for counter in [&DELIVERED, &REFUSED, &UNANSWERED, &PUSH_DELIVERED, &PUSH_REFUSED, &PUSH_UNANSWERED] {
        LazyLock::force(counter);
    }
    for gauge in [&IN_FLIGHT, &WAITING, &OLDEST] {
        LazyLock::force(gauge);
    }
    for kind in ["email", "ntfy", "web_push", "webhook"] {
        for result in NotificationResult::ALL {
            let _ = counter!(NOTIFICATIONS, "kind" => kind, "result" => result.word());
        }
    }
}
