//! What was lost between servers is looked up in the store, so that an outage of NATS delays it and no more.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use adapters_nats::NatsBus;
use domain::bus::Healing;
use domain::ports::Clock;
use domain::store::StoreError;
use domain::time::Timestamp;
use tokio::time::{MissedTickBehavior, interval};
use ws_gateway::Registrar;

use crate::ports::SystemClock;

/// How often the store is looked at while something may be missing.
const EVERY: Duration = Duration::from_secs(2);

/// How often the others are told that they may not have heard of something.
const TOLD_EVERY: Duration = Duration::from_secs(10);

/// Looks up what was lost.
pub(crate) struct Healer {
    registrar: Arc<Registrar>,
    /// Without one the servers hear nothing of each other.
    bus: Option<Arc<NatsBus>>,
    healing: Mutex<Healing>,
}

impl Healer {
    pub(crate) fn new(registrar: Arc<Registrar>, bus: Option<Arc<NatsBus>>) -> Self {
        Self { registrar, bus, healing: Mutex::default() }
    }

    /// What others have told since then may not have been heard here.
    pub(crate) fn lost(&self, since: Timestamp) {
        self.healing().lost(since, SystemClock.now());
    }

    /// Goes on for ever.
    pub(crate) async fn run(&self) {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut untold, mut told_at) = (None::<Timestamp>, None::<Instant>);
        loop {
            ticks.tick().await;
            let (unheard, unsent) = match &self.bus {
                Some(bus) => (bus.take_unheard(), bus.take_unsent()),
                None => (Some(SystemClock.now()), None),
            };
            if let Some(since) = unheard {
                self.lost(since);
            }
            untold = untold.or(unsent);
            if let Some(since) = untold
                && told_at.is_none_or(|at| at.elapsed() >= TOLD_EVERY)
                && self.registrar.tell_loss(since).await.is_ok()
            {
                (untold, told_at) = (None, Some(Instant::now()));
            }
            if let Err(error) = self.look().await {
                // It is tried again, and the store has said elsewhere that it is away.
                tracing::debug!(error = %error, "what was lost between servers could not be looked up");
            }
        }
    }

    async fn look(&self) -> Result<(), StoreError> {
        let due = self.healing().due();
        let Some(since) = due else { return Ok(()) };
        let begun = SystemClock.now();
        self.registrar.catch_up(since).await?;
        self.healing().looked(since, begun);
        Ok(())
    }

    fn healing(&self) -> MutexGuard<'_, Healing> {
        self.healing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
