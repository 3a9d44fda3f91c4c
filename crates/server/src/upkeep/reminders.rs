//! The tasks that send reminders and erase those that have ended.

use std::sync::Arc;
use std::time::Duration;

use domain::reminder::ReminderService;
use measure::Outage;
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::{ERASE_PAUSE, repeat};
use crate::erasure_clock::ErasureClock;

/// Sends the reminders that are due, twice a second. All servers on one store do so; the first to reach a reminder sends
/// it. A server whose clock differs from that of the database sends none: what is sent early cannot be called back.
pub(super) async fn send(reminders: Arc<ReminderService>, clock: Arc<ErasureClock>) {
    let mut ticks = interval(Duration::from_millis(500));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut outage, mut after) = (Outage::default(), None);
    loop {
        ticks.tick().await;
        if !clock.agrees().await {
            continue;
        }
        let mut failed = None;
        let sent = loop {
            let step = match reminders.send_due(&mut after).await {
                Ok(step) => step,
                Err(error) => break Err(error),
            };
            measure::reminders_sent(&step.late, step.refused);
            for (reminder, error) in step.failed {
                tracing::debug!(reminder.id = %reminder, error = %error, "reminder could not be sent");
                failed = Some(error);
            }
            if !step.has_more {
                break failed.map_or(Ok(()), Err);
            }
            sleep(ERASE_PAUSE).await;
        };
        outage.log(&sent, "reminders cannot be sent, retrying", "reminders sent again");
    }
}

/// Erases reminders that can no longer be read, once a minute.
pub(super) async fn forget(reminders: Arc<ReminderService>, clock: Arc<ErasureClock>) {
    let words = ("old reminders cannot be removed, retrying", "old reminders removed again");
    let forget = async || match clock.now().await {
        Some(now) => reminders.forget_old(now).await,
        None => Ok(0),
    };
    repeat(Duration::from_secs(60), words, forget).await;
}
