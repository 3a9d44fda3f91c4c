//! What was lost between servers is looked up in the store, so that an outage of NATS delays it and no more.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::bus::NatsBus;
use domain::bus::{Healing, Loss};
use domain::ports::Clock;
use domain::store::StoreError;
use domain::time::Timestamp;
use tokio::time::{sleep, timeout};
use ws_gateway::Registrar;

use crate::ports::SystemClock;

/// How often the store is looked at while something may be missing; and for so many times longer than a look takes it
/// is left alone after it, if that is more.
const EVERY: Duration = Duration::from_secs(2);
const RESTS: u32 = 20;

/// How often the others are told that they may not have heard of something.
const TOLD_EVERY: Duration = Duration::from_secs(10);

/// What was lost earlier than this is not told: the log of changes forgets it.
const OLDEST: Duration = Duration::from_secs(30 * 60);

/// How long telling what is left may take at the end.
const LAST: Duration = Duration::from_secs(1);

/// Looks up what was lost.
pub(crate) struct Healer {
    registrar: Arc<Registrar>,
    /// Without one the servers hear nothing of each other.
    bus: Option<Arc<NatsBus>>,
    healing: Mutex<Healing>,
    /// Since when others may not have heard of something, and do not know.
    untold: Mutex<Loss>,
}

impl Healer {
    pub(crate) fn new(registrar: Arc<Registrar>, bus: Option<Arc<NatsBus>>) -> Self {
        Self { registrar, bus, healing: Mutex::default(), untold: Mutex::default() }
    }

    /// What others have told since then may not have been heard here.
    pub(crate) fn unheard(&self, since: Timestamp) {
        lock(&self.healing).lost(since, SystemClock.now());
    }

    /// What has happened here since then may not have been told to the others.
    pub(crate) fn unsent(&self, since: Timestamp) {
        lock(&self.untold).note(since);
    }

    /// Goes on for ever.
    pub(crate) async fn run(&self) {
        let mut told_at = None::<Instant>;
        loop {
            self.take_up();
            if told_at.is_none_or(|at| at.elapsed() >= TOLD_EVERY) && self.tell().await {
                told_at = Some(Instant::now());
            }
            let begun = Instant::now();
            if let Err(error) = self.look().await {
                // It is tried again, and the store has said elsewhere that it is away.
                tracing::debug!(error = %error, "events lost on NATS could not be looked up in the store");
            }
            sleep(EVERY.max(begun.elapsed() * RESTS)).await;
        }
    }

    /// Tells the others what they do not know yet; to be called when the server ends.
    pub(crate) async fn tell_last(&self) {
        self.take_up();
        let _ = timeout(LAST, self.tell()).await;
    }

    fn take_up(&self) {
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

    /// Tells in the log that something was lost, if it was; whether that was done.
    async fn tell(&self) -> bool {
        let untold = lock(&self.untold).take();
        let Some(since) = untold else { return false };
        let is_told = self.registrar.tell_loss(since.max(SystemClock.now().minus(OLDEST))).await.is_ok();
        if !is_told {
            self.unsent(since);
        }
        is_told
    }

    async fn look(&self) -> Result<(), StoreError> {
        let due = lock(&self.healing).due();
        let Some(since) = due else { return Ok(()) };
        let begun = SystemClock.now();
        self.registrar.catch_up(since).await?;
        lock(&self.healing).looked(since, begun);
        Ok(())
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
