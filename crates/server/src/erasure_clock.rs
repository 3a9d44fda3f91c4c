//! The time by which old data is erased. What a wrong clock erases cannot be recovered.
//!
//! A database has a clock of its own: nothing is erased while it and this machine's differ. With
//! the embedded store, time passes from the newest message at the start, and no faster than the
//! monotonic clock: a clock that is wrong at the start, or that jumps forward, makes nothing older.
//! In exchange, what became old while the server was stopped is kept for as long again.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::ports::Clock;
use domain::time::Timestamp;
use measure::Outage;

use crate::failure::Failure;
use crate::store::Store;

/// The maximum difference between the clocks of this machine and the database.
const MAX_SKEW: Duration = Duration::from_secs(60);

/// A lag behind this machine's clock that is logged.
const LONG_LAG: Duration = Duration::from_secs(24 * 60 * 60);

/// The clock.
pub(crate) struct ErasureClock {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    /// Without a clock of the store: the time at the start, by the newest message and by the
    /// monotonic clock.
    start: (Timestamp, Timestamp),
    doubt: Mutex<Outage>,
}

impl ErasureClock {
    /// Must precede the first request, which writes by the clock of this machine.
    pub(crate) async fn begin(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Result<Self, Failure> {
        let newest = store.newest_message().await;
        let newest = newest.map_err(|cause| Failure::new("cannot read the newest message", cause))?;
        let now = clock.now();
        let start = (newest.map_or(now, |newest| newest.min(now)), clock.steady());
        Ok(Self { store, clock, start, doubt: Mutex::default() })
    }

    /// Returns whether this machine's clock is near the store's, if that has one.
    pub(crate) async fn agrees(&self) -> bool {
        let (theirs, ours) = (self.store.clock().await, self.clock.now());
        theirs.is_ok_and(|theirs| theirs.is_none_or(|theirs| are_near(ours, theirs)))
    }

    /// The time; `None` if it is not known.
    pub(crate) async fn now(&self) -> Option<Timestamp> {
        let theirs = self.store.clock().await.ok()?;
        let ours = self.clock.now();
        let mut doubt = self.doubt.lock().unwrap_or_else(PoisonError::into_inner);
        let (now, is_right) = if let Some(theirs) = theirs {
            let is_right = are_near(ours, theirs);
            if !is_right && doubt.begins() {
                tracing::warn!("retention paused: clocks of this machine and of the database differ");
            }
            (is_right.then_some(ours), is_right)
        } else {
            let (newest, steady) = self.start;
            let now = ours.min(newest.plus(self.clock.steady().since(steady)));
            let lag = ours.since(now);
            let is_right = lag < LONG_LAG;
            if !is_right && doubt.begins() {
                tracing::warn!(
                    lag_s = lag.as_secs(),
                    "retention lags behind this machine's clock, which may be wrong; if it is right, restart the server \
                     after the next message"
                );
            }
            (Some(now), is_right)
        };
        if is_right && let Some(lasted) = doubt.ends() {
            tracing::info!(duration_ms = lasted.as_millis(), "retention follows this machine's clock again");
        }
        now
    }
}

fn are_near(ours: Timestamp, theirs: Timestamp) -> bool {
    ours.since(theirs).max(theirs.since(ours)) <= MAX_SKEW
}

#[cfg(test)]
mod tests {
    use adapters_postgres::{PostgresConfig, PostgresStore};
    use adapters_sqlite::{Location, SqliteStore};
    use domain::message::{Ageing, Retention};
    use testkit::{FixedClock, NOON, Stores, World};

    use super::*;
    use crate::adapters::SystemClock;

    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    async fn begin(store: &Arc<SqliteStore>, world: &World) -> ErasureClock {
        ErasureClock::begin(store.clone(), world.clock.clone()).await.unwrap()
    }

    async fn erased(world: &World, now: Timestamp) -> u64 {
        let mut walk = Retention::days(Ageing::Texts, 2);
        let mut all = 0;
        while let Some(some) = world.messages.erase_old(&mut walk, now).await.unwrap() {
            all += some;
        }
        all
    }

    #[tokio::test]
    async fn a_clock_that_is_a_year_ahead_erases_nothing() {
        let store = Arc::new(SqliteStore::open(&Location::Memory).unwrap());
        let world = World::on(Stores::of(&store, SqliteStore::close));
        let right = world.clock.now();
        assert_eq!(begin(&store, &world).await.now().await, Some(right), "there is no message");
        let ann = world.user("ann").await;
        let room = world.chat(ann.caller, &[]).await;
        world.send(ann.caller, room, "old", &[]).await;
        let running = begin(&store, &world).await;
        world.clock.jump(right.plus(365 * DAY));
        for clock in [&running, &begin(&store, &world).await] {
            assert_eq!(clock.now().await, Some(right));
            assert_eq!(erased(&world, right).await, 0);
        }
        world.clock.advance(3 * DAY);
        let now = running.now().await.unwrap();
        assert_eq!(now, right.plus(3 * DAY), "time passes");
        world.clock.jump(right.plus(DAY));
        assert_eq!(running.now().await, Some(right.plus(DAY)), "a clock that is behind makes nothing older");
        assert_eq!(erased(&world, now).await, 1);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn while_the_clocks_differ_the_time_is_not_known() {
        let database = testkit::postgres::server().database();
        let store: Arc<dyn Store> =
            Arc::new(PostgresStore::open(&PostgresConfig::at(&database.url())).await.unwrap());
        let clock = Arc::new(FixedClock::at(Timestamp::from_micros(NOON)));
        let erasure_clock = ErasureClock::begin(store.clone(), clock.clone()).await.unwrap();
        for (skew, is_known) in [(0, true), (50, true), (70, false), (0, true)] {
            let now = SystemClock.now();
            clock.jump(now.plus(Duration::from_secs(skew)));
            assert_eq!(erasure_clock.now().await.is_some(), is_known, "{skew}");
            clock.jump(now.minus(Duration::from_secs(skew)));
            assert_eq!(erasure_clock.now().await.is_some(), is_known, "-{skew}");
        }
        store.close().await;
    }
}
