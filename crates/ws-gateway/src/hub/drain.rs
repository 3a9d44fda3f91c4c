//! Shutdown and drain: new sockets are refused, and open ones are closed, spread over time.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::open_sockets::OpenSockets;

/// The interval at which a share of the sockets is closed.
const STEP: Duration = Duration::from_millis(50);

/// Closes every socket because the server stops, and refuses new ones from now on.
pub(super) fn shut_down(sockets: &OpenSockets) {
    let open = sockets.refuse_new();
    sockets.stop(&open);
}

/// Does the same, but spreads the closes evenly over this time.
pub(super) async fn drain(sockets: &OpenSockets, over: Duration) {
    let open = sockets.refuse_new();
    let (begun, mut notified) = (Instant::now(), 0);
    loop {
        let due = share(open.len(), begun.elapsed(), over);
        sockets.stop(&open[notified..due]);
        notified = due;
        let left = over.saturating_sub(begun.elapsed());
        if left.is_zero() {
            return;
        }
        sleep(STEP.min(left)).await;
    }
}

/// The number of `all` sockets that are due after `elapsed` of the time `over`. The first are due
/// at once.
fn share(all: usize, elapsed: Duration, over: Duration) -> usize {
    if elapsed >= over {
        return all;
    }
    let all_wide = u128::try_from(all).unwrap_or(u128::MAX);
    let due = (all_wide * (elapsed + STEP).as_nanos()).div_ceil(over.as_nanos());
    usize::try_from(due).map_or(all, |due| due.min(all))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{BARE, hub, open, user};
    use super::super::{ClaimRefused, OnConflict};
    use super::*;

    #[test]
    fn sockets_are_told_evenly_and_all_in_the_end() {
        let seconds = Duration::from_secs;
        assert_eq!(share(1_000, Duration::ZERO, Duration::ZERO), 1_000, "where nothing is spread");
        assert_eq!(share(1_000, Duration::ZERO, seconds(5)), 10);
        assert_eq!(share(1_000, seconds(1), seconds(5)), 210);
        assert_eq!(share(1_000, seconds(5), seconds(5)), 1_000);
        assert_eq!(share(1, Duration::ZERO, seconds(3_600)), 1);
        assert_eq!((share(0, seconds(1), seconds(5)), share(0, seconds(5), seconds(5))), (0, 0));
        let mut before = 0;
        for millis in 0..5_000 {
            let due = share(777, Duration::from_millis(millis), seconds(5));
            assert!(due >= before && due <= 777);
            before = due;
        }
    }

    #[tokio::test]
    async fn who_is_in_is_sent_away_one_after_the_other() {
        let hub = hub();
        let mut all = (0..20).map(|_| open(&hub, user(1))).collect::<Vec<_>>();
        let mut notified = || all.iter_mut().filter_map(|(_, inbox)| inbox.next()).count();
        let draining = tokio::time::timeout(Duration::from_millis(500), hub.drain(Duration::from_secs(2)));
        assert!(draining.await.is_err(), "it goes on");
        let early = notified();
        assert!((1..20).contains(&early), "{early}");
        hub.drain(Duration::from_millis(100)).await;
        assert_eq!(notified(), 20, "sockets that are still open are notified again");
    }

    #[tokio::test]
    async fn it_takes_its_time_also_where_nobody_is_connected() {
        let (hub, begun) = (hub(), Instant::now());
        hub.drain(Duration::from_millis(300)).await;
        assert!(begun.elapsed() >= Duration::from_millis(300));
    }

    #[tokio::test]
    async fn while_sockets_are_left_nobody_new_is_let_in() {
        let hub = hub();
        let mut all = [open(&hub, user(1)), open(&hub, user(1)), open(&hub, user(1))];
        let draining = tokio::time::timeout(Duration::from_millis(60), hub.drain(Duration::from_secs(10)));
        assert!(draining.await.is_err(), "it goes on");
        let late = hub.claim(user(1), BARE, OnConflict::Supersede);
        assert_eq!(late.map(|_| ()), Err(ClaimRefused::Stopping));
        hub.shut_down();
        assert!(all.iter_mut().all(|(_, inbox)| inbox.next().is_some()), "the rest is told at once");
    }
}
