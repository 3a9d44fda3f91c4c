//! Metrics of reminders.

use std::sync::LazyLock;
use std::time::Duration;

use metrics::{Counter, Histogram, counter, histogram};

use crate::{REMINDER_DELAY, REMINDERS};

static SENT: LazyLock<Counter> = LazyLock::new(|| counter!(REMINDERS, "result" => "sent"));
static REFUSED: LazyLock<Counter> = LazyLock::new(|| counter!(REMINDERS, "result" => "refused"));
static DELAY: LazyLock<Histogram> = LazyLock::new(|| histogram!(REMINDER_DELAY));

/// Records messages of reminders by how late each was, and those that were refused.
pub fn reminders_sent(late: &[Duration], refused: u64) {
    for late in late {
        SENT.increment(1);
        DELAY.record(late.as_secs_f64());
    }
    REFUSED.increment(refused);
}

pub(crate) fn begin() {
    for counter in [&SENT, &REFUSED] {
        LazyLock::force(counter);
    }
    LazyLock::force(&DELAY);
}
