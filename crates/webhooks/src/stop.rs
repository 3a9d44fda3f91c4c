//! How a sender is stopped in order.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

/// The time limit for ending the leases of requests that are cut off.
const LAST_WRITE: Duration = Duration::from_secs(1);

/// What a sender does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// It takes what is due.
    Taking,
    /// It takes nothing more, and waits for its requests.
    Draining,
    /// It cuts off the requests that are left.
    Cutting,
    /// It has ended.
    Ended,
}

/// Stops a sender.
#[derive(Clone)]
pub struct Stop(pub Arc<watch::Sender<Phase>>);

impl Stop {
    /// Has the sender take nothing more, and waits until its requests have ended. Those that have not after `patience` are cut
    /// off, and the next sender repeats them without waiting for their leases.
    pub async fn drain(&self, patience: Duration) {
        for (phase, patience) in [(Phase::Draining, patience), (Phase::Cutting, LAST_WRITE)] {
            self.0.send_if_modified(|now| {
                let is_going_on = *now != Phase::Ended;
                if is_going_on {
                    *now = phase;
                }
                is_going_on
            });
            let mut phases = self.0.subscribe();
            let ended = phases.wait_for(|now| *now == Phase::Ended);
            if timeout(patience, ended).await.is_ok() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_sender_without_requests_is_not_waited_for() {
        let stop = Stop(Arc::new(watch::Sender::new(Phase::Taking)));
        let (sender, mut phases) = (stop.clone(), stop.0.subscribe());
        let ending = tokio::spawn(async move {
            let asked = *phases.wait_for(|phase| *phase != Phase::Taking).await.unwrap();
            sender.0.send_replace(Phase::Ended);
            asked
        });
        let begun = Instant::now();
        stop.drain(Duration::from_secs(60)).await;
        assert_eq!(ending.await.unwrap(), Phase::Draining);
        stop.drain(Duration::from_secs(60)).await;
        assert_eq!(begun.elapsed(), Duration::ZERO);
    }
}
