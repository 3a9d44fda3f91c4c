//! Follows the change log: changes by commands and by other servers on the same store.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use domain::account::cache::CallerCache;
use domain::change::{Change, ChangePosition, ChangeRepository, LoggedChange};
use domain::control::ControlService;
use domain::node::CLEARED_WITHIN;
use domain::ports::Clock;
use domain::push::PushSet;
use domain::services::Services;
use domain::store::StoreError;
use domain::webhook::WebhookSet;
use futures_util::future::join3;
use measure::Outage;
use tokio::time::{Instant, MissedTickBehavior};
use ws_gateway::Hub;

use crate::cluster_member::ClusterMember;
use crate::follow_ups::FollowUps;
use crate::revalidator::Revalidator;

/// The interval of reads. It keeps the lease of the caller cache
/// ([`domain::account::cache::LOG_TRUSTED_FOR`]), and makes a revocation by another process effective
/// within a second.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// The maximum number of entries per read.
const READ_LIMIT: u32 = 500;

/// How long entries are stored, at least.
const RETENTION: Duration = Duration::from_secs(60 * 60);

/// The maximum number of attempts to apply entries while the log itself can be read.
const FAILURES: u32 = 20;

/// How long an event of another server may take, so that a removed participant receives it before
/// the channel closes.
const BUS_GRACE: Duration = Duration::from_millis(200);

/// A reader of the change log.
pub struct ChangeFeed {
    log: Arc<dyn ChangeRepository>,
    hub: Arc<Hub>,
    callers: Arc<CallerCache>,
    control: Arc<ControlService>,
    clock: Arc<dyn Clock>,
    cluster_member: Option<Arc<ClusterMember>>,
    position: ChangePosition,
    /// Failed attempts to apply the next entries.
    failures: u32,
    revalidator: Arc<Revalidator>,
    follow_ups: Arc<FollowUps>,
    webhooks: Arc<WebhookSet>,
    pushes: Arc<PushSet>,
}

impl ChangeFeed {
    /// Begins after the newest entry; must precede the first connection.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn begin(
        log: Arc<dyn ChangeRepository>,
        hub: Arc<Hub>,
        services: Services,
        clock: Arc<dyn Clock>,
        cluster_member: Option<Arc<ClusterMember>>,
    ) -> Result<Self, StoreError> {
        let Services { callers, chats, control, deliveries, webhooks, pushes, .. } = services;
        let position = log.newest_change().await?;
        let stale_chats = cluster_member.as_ref().map(|member| member.stale_chats()).unwrap_or_default();
        let revalidator = Arc::new(Revalidator::new(hub.clone(), chats, stale_chats));
        let follow_ups = Arc::new(FollowUps::new(hub.clone(), control.clone(), deliveries));
        let change_feed = Self {
            log,
            hub,
            callers,
            control,
            clock,
            cluster_member,
            position,
            failures: 0,
            revalidator,
            follow_ups,
            webhooks: webhooks.set().clone(),
            pushes: pushes.set_of_chats().clone(),
        };
        change_feed.load_remote_presence().await?;
        Ok(change_feed)
    }

    /// Reads the connections to other nodes; later changes are in the log.
    async fn load_remote_presence(&self) -> Result<(), StoreError> {
        match &self.cluster_member {
            Some(cluster_member) => cluster_member.load_remote_presence().await,
            None => Ok(()),
        }
    }

    /// Reads where the users and agents are connected whose connections have changed.
    async fn refresh_presence_of(&self, changes: &[LoggedChange]) -> Result<(), StoreError> {
        let Some(cluster_member) = &self.cluster_member else { return Ok(()) };
        let who = changes.iter().filter_map(|entry| match entry.change {
            Some(Change::ConnectionsChanged(who)) => Some(who),
            _ => None,
        });
        cluster_member.refresh_presence_of(who.collect::<HashSet<_>>().into_iter().collect()).await
    }

    /// Follows the log, revalidates stale chats, and does what follows from changes, until it is dropped.
    pub async fn follow(self) {
        let revalidator = self.revalidator.clone();
        let follow_ups = self.follow_ups.clone();
        join3(revalidator.run(), follow_ups.run(), self.poll()).await;
    }

    async fn poll(mut self) {
        let mut ticks = tokio::time::interval(POLL_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut store, mut followed) = (Outage::default(), Outage::default());
        loop {
            ticks.tick().await;
            let read = self.read().await;
            self.revalidator.set_log_readable(read.is_ok());
            if !matches!(read, Err(StoreError::Broken(_))) {
                store.log(&read, "store unavailable", "store available again");
            }
            followed.log(&read, "change log not followed", "change log followed again");
        }
    }

    async fn read(&mut self) -> Result<(), StoreError> {
        loop {
            let begun = self.clock.steady();
            let changes = self.log.changes_after(self.position, READ_LIMIT).await?;
            let is_last = changes.len() < READ_LIMIT as usize;
            if let Some(first) = changes.first()
                && self.has_missed_changes(first.position).await?
            {
                self.start_over().await?;
                continue;
            }
            self.apply(&changes).await?;
            if is_last {
                self.callers.confirm(begun);
                return Ok(());
            }
        }
    }

    /// Returns whether entries may have been deleted before this process could read them: it was
    /// suspended, or the store was away from it, for longer than entries are stored. `first` is the
    /// entry that it has read now.
    async fn has_missed_changes(&self, first: ChangePosition) -> Result<bool, StoreError> {
        if self.position == ChangePosition::START {
            return Ok(first != ChangePosition::FIRST);
        }
        Ok(!self.log.has_change(self.position).await?)
    }

    /// Goes on after the newest entry, without anything that an earlier one may have ended.
    async fn start_over(&mut self) -> Result<(), StoreError> {
        let newest = self.log.newest_change().await?;
        tracing::warn!("closing all sockets: changes of other processes were missed");
        self.callers.forget_all();
        self.webhooks.request_reload();
        self.pushes.request_reload();
        self.hub.end_sockets();
        self.load_remote_presence().await?;
        self.position = newest;
        Ok(())
    }

    /// Applies entries. Those that need a read come last, so that no revocation waits for it. If the
    /// read fails, the entries are applied again, which is idempotent; not forever, since later
    /// entries must be applied as well.
    async fn apply(&mut self, part: &[LoggedChange]) -> Result<(), StoreError> {
        let known = || part.iter().filter_map(|entry| entry.change);
        for change in known() {
            // The cache comes first, so that no new connection uses an outdated entry.
            self.callers.follow(change);
            self.start_resync(change);
            self.hub.follow(change);
            self.follow_ups.add(change);
            self.webhooks.follow(change);
            self.pushes.follow(change);
            match change {
                Change::ParticipantsRemoved(chat) => {
                    self.revalidator.stale_chats().add(chat, self.bus_grace());
                }
                // Its agents may have reported to this node. One that plays again by now renews its indicator.
                Change::AgentsStopped(chat) => self.control.clear_indicators(chat),
                _ => {}
            }
        }
        if let Err(error) = self.refresh_presence_of(part).await {
            self.failures += 1;
            if self.failures < FAILURES {
                return Err(error);
            }
            tracing::warn!(error = %error, "closing all sockets: changes of other processes cannot be read");
            self.hub.end_sockets();
        }
        self.failures = 0;
        // New connections of cleared nodes are known by now, so that no one appears to go offline in between.
        for change in known() {
            if let (Change::NodeCleared(node), Some(cluster_member)) = (change, &self.cluster_member) {
                cluster_member.node_cleared(node);
            }
        }
        for entry in part {
            if entry.change.is_none() {
                // A newer version wrote it.
                measure::unknown_change();
            }
            self.position = entry.position;
        }
        Ok(())
    }

    /// How long events of other nodes may still take.
    fn bus_grace(&self) -> Duration {
        let is_linked = self.cluster_member.as_ref().is_some_and(|member| member.resync().is_linked());
        if is_linked { BUS_GRACE } else { Duration::ZERO }
    }

    /// Starts a resynchronization when events of another node may be lost: it reported the loss, or
    /// it died before it sent them.
    fn start_resync(&self, change: Change) {
        let since = match change {
            Change::EventsLost { since, .. } => since,
            Change::NodeCleared(_) => self.clock.now().minus(CLEARED_WITHIN),
            _ => return,
        };
        if let Some(cluster_member) = &self.cluster_member {
            cluster_member.resync().record_receive_loss(since);
        }
    }
}

/// Removes old entries once a minute, in small batches. Their age is the time since this process
/// has seen them: the clocks of their writers may be wrong, and so may this machine's.
pub async fn forget_changes(log: Arc<dyn ChangeRepository>) {
    let mut ticks = tokio::time::interval(Duration::from_secs(60));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut seen = VecDeque::new();
    loop {
        ticks.tick().await;
        if let Err(error) = forget_old(&*log, &mut seen, Instant::now()).await {
            tracing::warn!(error = %error, "old entries of the change log could not be removed");
        }
    }
}

/// `seen` holds the newest positions of the last hour, and when they were read. The entry at the
/// position itself stays, so that readers without newer entries know that they have missed none.
async fn forget_old(
    log: &dyn ChangeRepository,
    seen: &mut VecDeque<(Instant, ChangePosition)>,
    now: Instant,
) -> Result<(), StoreError> {
    const BATCH: u32 = 200;
    seen.push_back((now, log.newest_change().await?));
    while let Some((at, position)) = seen.front()
        && now - *at >= RETENTION
    {
        while log.forget_changes(*position, BATCH).await? == BATCH {}
        seen.pop_front();
    }
    Ok(())
}

#[cfg(test)]
mod tests;
