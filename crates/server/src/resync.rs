//! Resynchronisation from the store after events were lost between servers: an outage of NATS only delays them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::bus::NatsBus;
use domain::bus::{Healing, Loss};
use domain::ports::Clock;
use domain::store::StoreError;
use domain::time::Timestamp;
use tokio::time::{Instant, sleep, timeout};
use ws_gateway::ClusterMember;

use crate::ports::SystemClock;

/// The interval of reads while events may be missing, and the pause as a multiple of the duration
/// of a read; the longer one applies.
const EVERY: Duration = Duration::from_secs(2);
const RESTS: u32 = 20;

/// The interval of loss entries in the change log.
const LOGGED_EVERY: Duration = Duration::from_secs(10);

/// Older losses are not logged, since the change log does not go back further.
const OLDEST: Duration = Duration::from_secs(30 * 60);

/// The time limit for the last loss entry when the server stops.
const LAST: Duration = Duration::from_secs(1);

/// The background task that resynchronises.
pub(crate) struct Resync {
    cluster_member: Arc<ClusterMember>,
    /// Without a bus, servers receive no events of each other.
    bus: Option<Arc<NatsBus>>,
    healing: Mutex<Healing>,
    /// Since when events of this server may be lost, unless the others know.
    unlogged: Mutex<Loss>,
}

impl Resync {
    pub(crate) fn new(cluster_member: Arc<ClusterMember>, bus: Option<Arc<NatsBus>>) -> Self {
        Self { cluster_member, bus, healing: Mutex::default(), unlogged: Mutex::default() }
    }

    /// Events of others since then may be lost.
    pub(crate) fn unheard(&self, since: Timestamp) {
        lock(&self.healing).lost(since, SystemClock.now());
    }

    /// Events of this server since then may be lost.
    pub(crate) fn unsent(&self, since: Timestamp) {
        lock(&self.unlogged).note(since);
    }

    /// Runs until it is dropped.
    pub(crate) async fn run(&self) {
        let mut logged_at = None::<Instant>;
        loop {
            self.collect();
            if logged_at.is_none_or(|at| at.elapsed() >= LOGGED_EVERY) && self.log_loss().await {
                logged_at = Some(Instant::now());
            }
            let begun = Instant::now();
            if let Err(error) = self.look().await {
                // The next round tries again, and the outage of the store is logged elsewhere.
                tracing::debug!(error = %error, "events lost on NATS could not be looked up in the store");
            }
            sleep(EVERY.max(begun.elapsed() * RESTS)).await;
        }
    }

    /// Logs the remaining loss when the server stops.
    pub(crate) async fn log_last_loss(&self) {
        self.collect();
        let _ = timeout(LAST, self.log_loss()).await;
    }

    fn collect(&self) {
        let (unheard, unsent) = match &self.bus {
            Some(bus) => (bus.take_unheard(), bus.take_unsent()),
            None => (Some(SystemClock.now()), None),
        };
        if let Some(since) = unheard {
            self.unheard(since);
        }
        if let Some(since) = unsent {
            self.unsent(since);
        }
    }

    /// Writes a loss entry to the change log if there is a loss; returns `true` if it was written.
    async fn log_loss(&self) -> bool {
        let unlogged = lock(&self.unlogged).take();
        let Some(since) = unlogged else { return false };
        let is_logged =
            self.cluster_member.tell_loss(since.max(SystemClock.now().minus(OLDEST))).await.is_ok();
        if !is_logged {
            self.unsent(since);
        }
        is_logged
    }

    async fn look(&self) -> Result<(), StoreError> {
        let due = lock(&self.healing).due();
        let Some(since) = due else { return Ok(()) };
        let begun = SystemClock.now();
        self.cluster_member.catch_up(since).await?;
        lock(&self.healing).looked(since, begun);
        Ok(())
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
