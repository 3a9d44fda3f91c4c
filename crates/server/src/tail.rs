//! Following what other processes change: an operator's command, or another server on the same store.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::bus::NatsBus;
use domain::account::cache::CallerCache;
use domain::change::{Change, ChangePosition, LoggedChange};
use domain::chat::ChatService;
use domain::node::CLEARED_WITHIN;
use domain::ports::Clock;
use domain::store::StoreError;
use tokio::time::{MissedTickBehavior, sleep};
use ws_gateway::{Hub, Registrar};

use crate::heal::Healer;
use crate::outage::Outage;
use crate::ports::SystemClock;
use crate::store::Store;
use crate::wiring::Wiring;

/// How often the log is read, so that it is followed without a gap ([`domain::account::cache::LOG_LEASE`]): what
/// another process has revoked holds here within a second.
const EVERY: Duration = Duration::from_millis(500);

/// How many entries are read at a time.
const AT_ONCE: u32 = 500;

/// How long entries are kept.
const KEPT: Duration = Duration::from_secs(60 * 60);

/// Who has not read the log for so long may have missed what is forgotten by now.
const BLIND: Duration = Duration::from_secs(30 * 60);

/// How often it is tried to carry out what stands in the log, while the log itself can be read.
const FAILURES: u32 = 20;

/// How long what another server told of a room may be on its way: whoever has to go hears it before the end.
const UNDER_WAY: Duration = Duration::from_millis(200);

/// A reader of the log of changes.
pub(crate) struct Tail {
    store: Arc<dyn Store>,
    hub: Arc<Hub>,
    callers: Arc<CallerCache>,
    registrar: Option<Arc<Registrar>>,
    healer: Option<Arc<Healer>>,
    bus: Option<Arc<NatsBus>>,
    chats: Arc<ChatService>,
    position: ChangePosition,
    /// How often what comes next could not be carried out.
    failures: u32,
    /// When the log was read to its end.
    read_at: Instant,
}

impl Tail {
    /// Begins behind the newest entry; to be called before anybody is let in.
    pub(crate) async fn begin(
        wiring: &Wiring,
        registrar: Option<Arc<Registrar>>,
        healer: Option<Arc<Healer>>,
    ) -> Result<Self, StoreError> {
        let Wiring { store, hub, bus, callers, chats, .. } = wiring.clone();
        let position = store.newest_change().await?;
        let (failures, read_at) = (0, Instant::now());
        let tail = Self { store, hub, callers, registrar, healer, bus, chats, position, failures, read_at };
        tail.look_around().await?;
        Ok(tail)
    }

    /// Finds out who is connected to other nodes; what changes from now on stands in the log.
    async fn look_around(&self) -> Result<(), StoreError> {
        match &self.registrar {
            Some(registrar) => registrar.look_around().await,
            None => Ok(()),
        }
    }

    /// Finds out where those are connected now of whom this part of the log says that it has changed.
    async fn look_for(&self, changes: &[LoggedChange]) -> Result<(), StoreError> {
        let Some(registrar) = &self.registrar else { return Ok(()) };
        let who = changes.iter().filter_map(|entry| match entry.change {
            Some(Change::Whereabouts(who)) => Some(who),
            _ => None,
        });
        registrar.look_for(who.collect::<HashSet<_>>().into_iter().collect()).await
    }

    /// Follows the log for ever.
    pub(crate) async fn follow(mut self) {
        let mut ticks = tokio::time::interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut store, mut followed) = (Outage::default(), Outage::default());
        loop {
            ticks.tick().await;
            match self.read().await {
                Ok(()) => {
                    if let Some(lasted) = store.ends() {
                        tracing::info!(duration_ms = lasted.as_millis(), "store available again");
                    }
                    if let Some(lasted) = followed.ends() {
                        tracing::info!(duration_ms = lasted.as_millis(), "change log followed again");
                    }
                }
                Err(error) => {
                    if matches!(error, StoreError::Unavailable(_)) && store.begins() {
                        tracing::warn!(error = ?error, "store unavailable");
                    }
                    if followed.begins() {
                        tracing::warn!(error = ?error, "change log not followed");
                    }
                }
            }
        }
    }

    async fn read(&mut self) -> Result<(), StoreError> {
        if self.read_at.elapsed() > BLIND {
            self.position = self.store.newest_change().await?;
            self.read_at = Instant::now();
            tracing::warn!("closing all sockets: changes of other processes may have been missed");
            self.callers.forget_all();
            self.hub.end_sockets();
            self.look_around().await?;
        }
        loop {
            let begun = SystemClock.steady();
            let changes = self.store.changes_after(self.position, AT_ONCE).await?;
            let is_last = changes.len() < AT_ONCE as usize;
            self.carry_out(&changes).await?;
            if is_last {
                self.read_at = Instant::now();
                self.callers.confirm(begun);
                return Ok(());
            }
        }
    }

    /// Carries out a part of the log. What the store must be asked for comes last, so that nothing that ends a socket
    /// waits for it. If the store does not say it the part is read again, which does no harm; not for ever, as what stands
    /// behind it must be heard.
    async fn carry_out(&mut self, part: &[LoggedChange]) -> Result<(), StoreError> {
        let known = || part.iter().filter_map(|entry| entry.change);
        let is_clearing = |change: &Change| matches!(change, Change::NodeCleared(_));
        for change in known() {
            // First of all nobody new may come in by what was known.
            self.callers.follow(change);
            self.look_up(change);
            if !is_clearing(&change) {
                self.hub.follow(change);
            }
        }
        if let Err(error) = self.ask(part).await {
            self.failures += 1;
            if self.failures < FAILURES {
                return Err(error);
            }
            tracing::warn!(error = %error, "closing all sockets: changes of other processes cannot be read");
            self.hub.end_sockets();
        }
        self.failures = 0;
        // Who is elsewhere by now is known, and was never away.
        known().filter(is_clearing).for_each(|change| self.hub.follow(change));
        for entry in part {
            if entry.change.is_none() {
                // It is for newer servers than this one.
                measure::unknown_change();
            }
            self.position = entry.position;
        }
        Ok(())
    }

    /// What another node has told may not have been heard: it says so, or it died before it was sent.
    fn look_up(&self, change: Change) {
        let since = match change {
            Change::EventsLost { since, .. } => since,
            Change::NodeCleared(_) => SystemClock.now().minus(CLEARED_WITHIN),
            _ => return,
        };
        if let Some(healer) = &self.healer {
            healer.unheard(since);
        }
    }

    /// What the entries do not tell themselves: who is connected where, and who is still in which room.
    async fn ask(&self, part: &[LoggedChange]) -> Result<(), StoreError> {
        self.look_for(part).await?;
        let shrunk = part.iter().filter_map(|entry| match entry.change {
            Some(Change::RosterShrunk(chat)) => Some(chat),
            _ => None,
        });
        let shrunk = shrunk.collect::<HashSet<_>>();
        if !shrunk.is_empty() && self.bus.as_ref().is_some_and(|bus| bus.is_connected()) {
            sleep(UNDER_WAY).await;
        }
        for chat in shrunk {
            self.hub.revalidate(chat, &self.chats).await?;
        }
        Ok(())
    }
}

/// Forgets old entries once a minute, in small batches.
pub(crate) async fn forget_changes(store: Arc<dyn Store>) {
    const BATCH: u32 = 200;
    let mut ticks = tokio::time::interval(Duration::from_secs(60));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        loop {
            match store.forget_changes(SystemClock.now().minus(KEPT), BATCH).await {
                Ok(gone) if gone == BATCH => {}
                Ok(_) => break,
                Err(error) => {
                    tracing::warn!(error = %error, "old entries of the change log could not be removed");
                    break;
                }
            }
        }
    }
}
