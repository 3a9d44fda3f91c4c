//! Resynchronization from the store after events were lost between servers: an outage of NATS only delays
//! them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::bus::{Loss, ResyncPeriod, RunningBus};
use domain::node::{EntrantPosition, NodeRepository};
use domain::ports::Clock;
use domain::store::StoreError;
use domain::time::Timestamp;
use tokio::time::{Instant, sleep, timeout};

use crate::node::LocalNode;
use crate::node_events::NodeEvents;

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

/// The maximum number of joins per read.
const PAGE: u32 = 1_000;

/// Resynchronizes in the background.
pub struct Resync {
    node: Arc<LocalNode>,
    events: Arc<NodeEvents>,
    nodes: Arc<dyn NodeRepository>,
    clock: Arc<dyn Clock>,
    /// Without a bus, servers receive no events of each other.
    bus: Option<Arc<dyn RunningBus>>,
    period: Mutex<ResyncPeriod>,
    /// Since when events of this server may be lost, unless the others know.
    unlogged: Mutex<Loss>,
}

impl Resync {
    pub(crate) fn new(
        node: Arc<LocalNode>,
        events: Arc<NodeEvents>,
        nodes: Arc<dyn NodeRepository>,
        clock: Arc<dyn Clock>,
        bus: Option<Arc<dyn RunningBus>>,
    ) -> Self {
        let (period, unlogged) = Default::default();
        Self { node, events, nodes, clock, bus, period, unlogged }
    }

    /// Returns whether events of other nodes arrive.
    pub(crate) fn is_linked(&self) -> bool {
        self.bus.as_ref().is_some_and(|bus| bus.is_connected())
    }

    /// Events of others since then may be lost.
    pub(crate) fn record_receive_loss(&self, since: Timestamp) {
        lock(&self.period).lost(since, self.clock.now());
    }

    /// Events of this server since now may be lost.
    pub fn record_send_loss(&self) {
        lock(&self.unlogged).record(self.clock.now());
    }

    /// Resynchronizes, until it is dropped.
    pub async fn run(&self) {
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
    pub async fn log_last_loss(&self) {
        self.collect();
        let _ = timeout(LAST, self.log_loss()).await;
    }

    fn collect(&self) {
        let (unheard, unsent) = match &self.bus {
            Some(bus) => (bus.take_unheard(), bus.take_unsent()),
            None => (Some(self.clock.now()), None),
        };
        if let Some(since) = unheard {
            self.record_receive_loss(since);
        }
        if let Some(since) = unsent {
            lock(&self.unlogged).record(since);
        }
    }

    /// Writes a loss entry to the change log if there is a loss; returns `true` if it was written.
    async fn log_loss(&self) -> bool {
        let unlogged = lock(&self.unlogged).take();
        let Some(since) = unlogged else { return false };
        let since = since.max(self.clock.now().minus(OLDEST));
        let is_logged = self.nodes.record_event_loss(self.node.id(), since).await.is_ok();
        if !is_logged {
            lock(&self.unlogged).record(since);
        }
        is_logged
    }

    async fn look(&self) -> Result<(), StoreError> {
        let due = lock(&self.period).due();
        let Some(since) = due else { return Ok(()) };
        let begun = self.clock.now();
        self.catch_up(since).await?;
        lock(&self.period).record_read(since, begun);
        Ok(())
    }

    /// Sends `room_added` to the local sockets for all joins since then, unless it was sent.
    pub(crate) async fn catch_up(&self, since: Timestamp) -> Result<(), StoreError> {
        let mut position = EntrantPosition::before(since);
        loop {
            let page = self.nodes.entrants(position, PAGE).await?;
            let Some(last) = page.last() else { return Ok(()) };
            position = last.position();
            for entrant in page {
                self.events.apply_join(entrant);
            }
        }
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
