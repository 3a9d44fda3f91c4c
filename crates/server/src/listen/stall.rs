//! Data that a connection cannot write because its client does not read: it is charged to the
//! budget of unread responses, whose free part decides how long it may wait.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Context;
use std::time::Duration;

use http_wire::limit::{SLOWEST, Source};
use http_wire::response_budget::{ResponseBudget, ResponsePermit};
use tokio::time::{Instant, Sleep, sleep_until};

/// How long a client may read nothing of a response.
const PATIENCE: Duration = Duration::from_secs(10);

/// The same when the budget is scarce; also the interval of checks for that.
const SHORT_PATIENCE: Duration = Duration::from_secs(1);

/// A response that takes longer than this must be read at [`SLOWEST`] bytes a second.
const GRACE: Duration = Duration::from_secs(20);

/// After a pause of this length with nothing to write, as between two events of a stream, the limits start again.
const PAUSE: Duration = Duration::from_secs(1);

/// The approximate memory of a stalled connection, besides its unwritten data.
const OVERHEAD: u64 = 4096;

/// The unread part of one connection's answer.
pub(super) struct Stall {
    budget: Arc<ResponseBudget>,
    source: Option<Source>,
    /// The time of the first stall of the response, and the bytes written since.
    slow: Option<(Instant, u64)>,
    /// The time at which all that there was had been written.
    flushed: Option<Instant>,
    /// The time since which nothing could be written.
    since: Option<Instant>,
    permit: Option<ResponsePermit>,
    alarm: Option<Pin<Box<Sleep>>>,
}

impl Stall {
    pub(super) fn new(budget: Arc<ResponseBudget>, source: Option<Source>) -> Self {
        Self { budget, source, slow: None, flushed: None, since: None, permit: None, alarm: None }
    }

    /// Records that so many bytes were written.
    pub(super) fn moved(&mut self, bytes: usize) {
        if let Some((_, taken)) = &mut self.slow {
            *taken += bytes as u64;
            self.since = None;
            self.permit = None;
        }
    }

    /// Records that nothing waits to be written.
    pub(super) fn flushed(&mut self) {
        if self.slow.is_some() && self.flushed.is_none() {
            self.flushed = Some(Instant::now());
        }
    }

    /// Records that more is going to be written.
    pub(super) fn writes(&mut self) {
        if self.flushed.is_some() {
            self.writes_at(Instant::now());
        }
    }

    fn writes_at(&mut self, now: Instant) {
        if self.flushed.take().is_some_and(|flushed| now >= flushed + PAUSE) {
            self.over();
        }
    }

    /// Records that the whole response was written.
    pub(super) fn over(&mut self) {
        self.flushed = None;
        if self.slow.take().is_some() {
            self.since = None;
            self.permit = None;
            self.alarm = None;
        }
    }

    /// Records that so many bytes cannot be written now; fails if the client has exceeded its time.
    pub(super) fn stuck(&mut self, bytes: usize, context: &mut Context<'_>) -> io::Result<()> {
        self.stuck_at(Instant::now(), bytes)?;
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep_until(Instant::now() + SHORT_PATIENCE)));
        while alarm.as_mut().poll(context).is_ready() {
            alarm.as_mut().reset(Instant::now() + SHORT_PATIENCE);
        }
        Ok(())
    }

    fn stuck_at(&mut self, now: Instant, bytes: usize) -> io::Result<()> {
        let (begun, taken) = *self.slow.get_or_insert((now, 0));
        let since = *self.since.get_or_insert(now);
        if self.permit.is_none() {
            self.permit = self.budget.try_take(self.source, bytes as u64 + OVERHEAD);
        }
        let is_scarce = || self.budget.is_scarce(self.source);
        let patience = if is_scarce() { SHORT_PATIENCE } else { PATIENCE };
        let is_too_slow = now > begun + GRACE + Duration::from_secs(taken / SLOWEST);
        if self.permit.is_none() || is_too_slow || now >= since + patience {
            measure::stalled_connection();
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use http_wire::response_budget::ResponseLimit;

    use super::*;

    const MIB: u64 = 1024 * 1024;

    fn budget() -> Arc<ResponseBudget> {
        ResponseBudget::new(ResponseLimit { per_address: MIB, total: 4 * MIB, ..ResponseLimit::default() })
    }

    fn stall(budget: &Arc<ResponseBudget>) -> Stall {
        Stall::new(budget.clone(), budget.peer("192.0.2.1".parse().unwrap()))
    }

    fn after(start: Instant, seconds: u64) -> Instant {
        start + Duration::from_secs(seconds)
    }

    #[test]
    fn a_client_that_reads_nothing_is_waited_for_a_while() {
        let (mut stall, start) = (stall(&budget()), Instant::now());
        let kept = [0, 9, 10].map(|seconds| stall.stuck_at(after(start, seconds), 1000).is_ok());
        assert_eq!(kept, [true, true, false]);
    }

    #[test]
    fn it_is_waited_for_less_when_room_is_scarce() {
        let (budget, start) = (budget(), Instant::now());
        let (mut first, mut second, mut third) = (stall(&budget), stall(&budget), stall(&budget));
        assert!(first.stuck_at(start, 400_000).is_ok() && second.stuck_at(start, 400_000).is_ok());
        assert!(third.stuck_at(start, 400_000).is_err(), "no capacity is left");
        assert!(first.stuck_at(after(start, 1), 400_000).is_err());
        drop(first);
        assert!(third.stuck_at(start, 400_000).is_ok(), "there is capacity again");
    }

    #[test]
    fn a_client_that_reads_a_byte_now_and_then_is_not_waited_for_forever() {
        for (bytes, is_served) in [(1, false), (50_000, true)] {
            let (mut stall, start) = (stall(&budget()), Instant::now());
            let kept = (0..30).all(|round| {
                let kept = stall.stuck_at(after(start, round * 5), 1000).is_ok();
                stall.moved(bytes);
                kept
            });
            assert_eq!(kept, is_served, "{bytes} bytes every five seconds");
            stall.over();
            assert!(stall.stuck_at(after(start, 200), 1000).is_ok(), "the next answer has its own time");
        }
    }

    #[test]
    fn each_event_of_a_stream_has_its_own_time() {
        for (pause, is_served) in [(Duration::from_millis(900), false), (PAUSE, true)] {
            let (mut stall, mut now) = (stall(&budget()), Instant::now());
            let kept = (0..30).all(|_| {
                stall.writes_at(now);
                let kept = stall.stuck_at(now, 1000).is_ok();
                stall.moved(1);
                stall.flushed = Some(now);
                now += pause;
                kept
            });
            assert_eq!(kept, is_served, "an event each {pause:?}");
        }
    }
}
