//! The events of the link, until the task takes them.
//!
//! NATS may report every message that it drops, so events of one kind are counted and not queued.

use std::sync::{Mutex, MutexGuard, PoisonError};

use async_nats::{ClientError, ConnectErrorKind, Event, ServerError};
use tokio::sync::Notify;

/// What was reported since the last look.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Report {
    /// NATS refuses the credentials.
    pub(crate) is_refused: bool,
    /// The link was down.
    pub(crate) was_lost: bool,
    /// The number of messages that were dropped because they were not read in time.
    pub(crate) dropped: u64,
    /// The last error of the server.
    pub(crate) error: Option<String>,
}

/// The reports of the link.
#[derive(Default)]
pub(crate) struct Reports {
    report: Mutex<Report>,
    some: Notify,
}

impl Reports {
    /// Adds an event of the link; never waits.
    pub(crate) fn add(&self, event: &Event) {
        let mut report = self.report();
        match event {
            event if is_refusal(event) => report.is_refused = true,
            Event::SlowConsumer(_) => report.dropped += 1,
            Event::ServerError(error) => report.error = Some(error.to_string()),
            Event::Disconnected => report.was_lost = true,
            _ => {}
        }
        self.some.notify_one();
    }

    /// Takes what was reported; waits until there is something.
    pub(crate) async fn take(&self) -> Report {
        self.some.notified().await;
        std::mem::take(&mut *self.report())
    }

    fn report(&self) -> MutexGuard<'_, Report> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns whether NATS refuses the credentials.
fn is_refusal(event: &Event) -> bool {
    let refusals = [ConnectErrorKind::Authentication, ConnectErrorKind::AuthorizationViolation];
    match event {
        Event::ServerError(ServerError::AuthorizationViolation) => true,
        // A failed attempt is reported as the text of its kind.
        Event::ClientError(ClientError::Other(kind)) => {
            refusals.iter().any(|refusal| *kind == refusal.to_string())
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_flood_of_events_is_one_report() {
        let reports = Reports::default();
        reports.add(&Event::Disconnected);
        for number in 0..100_000 {
            reports.add(&Event::SlowConsumer(1));
            reports.add(&Event::ServerError(ServerError::Other(format!("fault {number}"))));
        }
        reports.add(&Event::Connected);
        let report = reports.take().await;
        assert!(report.was_lost && !report.is_refused);
        assert_eq!(report.dropped, 100_000);
        assert!(report.error.is_some_and(|error| error.contains("fault 99999")));
        reports.add(&Event::Connected);
        assert_eq!(reports.take().await, Report::default());
    }
}
