//! The bus as the other crates use it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use async_nats::connection::State;
use async_nats::{Client, Subject};
use async_trait::async_trait;
use domain::bus::{Address, EventBus, Interest, KnownNodes, PeerMessage, RunningBus, Seen};
use domain::event::DomainEvent;
use domain::id::NodeId;
use domain::ports::{Clock, EventPublisher};
use domain::secret::Secret;
use domain::time::Timestamp;
use measure::BusDrop;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::connect::{ConnectFault, connect};
use crate::losses::Losses;
use crate::outgoing::{self, Outgoing, Sender};
use crate::reports::Reports;
use crate::requests::{Requests, SubscriptionRequest};
use crate::seal::{FrameSigner, Head, OVERHEAD};
use crate::settings::Settings;
use crate::subject::Subjects;
use crate::subscriptions::SubscriptionManager;
use crate::wire;

/// How long a join waits at most until other nodes have the interest.
const LONGEST_WAIT: Duration = Duration::from_millis(500);

/// The time limit for handing data to the link, which counts as hanging after that.
pub(crate) const HANDOFF_TIMEOUT: Duration = Duration::from_millis(500);

/// How long a graceful shutdown waits until queued messages are sent, and as long again until the
/// other nodes are notified.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// A bus on NATS.
pub struct NatsBus {
    node: NodeId,
    client: Client,
    subjects: Subjects,
    seal: FrameSigner,
    clock: Arc<dyn Clock>,
    peers: RwLock<KnownNodes>,
    seen: Mutex<Seen>,
    losses: Arc<Losses>,
    /// The number of events sent.
    numbers: AtomicU64,
    outgoing: Outgoing,
    requests: Requests,
    reports: Arc<Reports>,
    /// Set if NATS was disconnected since the last full exchange of interests began.
    is_stale: AtomicBool,
    /// The number of requests that are in effect.
    heard: watch::Sender<u64>,
    /// Notified when the other nodes know that this node stops.
    left: Notify,
    into: OnceLock<Arc<dyn EventPublisher>>,
    /// Taken by [`RunningBus::run`].
    sender: Mutex<Option<Sender>>,
}

impl NatsBus {
    /// Connects as this node, whose id must be unique; messages are signed with `secret`. If NATS
    /// is unreachable, the connection is retried for as long as the bus lives.
    ///
    /// # Errors
    /// [`ConnectFault`] if no retry can succeed.
    pub async fn connect(
        settings: &Settings,
        secret: Secret,
        node: NodeId,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<Self>, ConnectFault> {
        let reports = Arc::<Reports>::default();
        let client = connect(settings, &reports).await?;
        let losses = Arc::new(Losses::new(clock.clone()));
        let (outgoing, sender) = outgoing::queue(losses.clone());
        Ok(Arc::new(Self {
            node,
            client,
            subjects: Subjects::new(&settings.prefix),
            seal: FrameSigner::new(secret),
            peers: RwLock::new(KnownNodes::new(node, clock.now())),
            clock,
            seen: Mutex::default(),
            losses,
            numbers: AtomicU64::new(1),
            outgoing,
            requests: Requests::default(),
            reports,
            is_stale: AtomicBool::new(true),
            heard: watch::Sender::new(0),
            left: Notify::new(),
            into: OnceLock::new(),
            sender: Mutex::new(Some(sender)),
        }))
    }

    /// Records that the other nodes know that this node stops.
    pub(crate) fn leave(&self) {
        self.left.notify_one();
    }

    pub(crate) fn requests(&self) -> &Requests {
        &self.requests
    }

    pub(crate) fn reports(&self) -> &Reports {
        &self.reports
    }

    pub(crate) fn losses(&self) -> &Losses {
        &self.losses
    }

    pub(crate) fn node(&self) -> NodeId {
        self.node
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) fn subjects(&self) -> &Subjects {
        &self.subjects
    }

    pub(crate) fn seal(&self) -> &FrameSigner {
        &self.seal
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn peers(&self) -> RwLockReadGuard<'_, KnownNodes> {
        self.peers.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn known_nodes_mut(&self) -> RwLockWriteGuard<'_, KnownNodes> {
        self.peers.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets whether the known interests are stale: the link has gone, or is back and all were
    /// exchanged again.
    pub(crate) fn set_stale(&self, is_stale: bool) {
        self.is_stale.store(is_stale, Ordering::Release);
    }

    /// Evaluates a condition on the other nodes. While the interests are stale it counts as true;
    /// while no node can be reached, the last known interests count.
    fn is_believed(&self, is_so: impl Fn(&KnownNodes) -> bool) -> bool {
        if self.is_connected() {
            self.is_stale.load(Ordering::Acquire) || is_so(&self.peers())
        } else {
            let peers = self.peers();
            peers.count() > 0 && is_so(&peers)
        }
    }

    pub(crate) fn publish(&self, event: DomainEvent) {
        if let Some(into) = self.into.get() {
            into.publish(event);
        }
    }

    /// Sends a message to the other nodes; a message that cannot be sent is requested by them later.
    /// Returns whether the link took it: a hanging link is not waited for.
    pub(crate) async fn send_to_nodes(&self, message: &PeerMessage) -> bool {
        let (kind, body) = wire::encode_peer_message(message);
        let subject = self.subjects.nodes();
        let head = Head { kind, node: self.node, sent_at: self.now(), number: 0 };
        let message = self.seal.seal(&subject, head, &body);
        let Ok(published) = timeout(HANDOFF_TIMEOUT, self.client.publish(subject, message)).await else {
            return false;
        };
        if let Err(error) = published {
            tracing::debug!(error = %error, "could not publish to NATS");
        }
        true
    }

    /// The maximum number of interests in a message that NATS accepts.
    pub(crate) fn most_interests(&self) -> usize {
        self.client.max_payload().saturating_sub(OVERHEAD + wire::BESIDE_INTERESTS) / wire::INTEREST
    }

    /// The number of requests that are in effect.
    pub(crate) fn heard(&self) -> u64 {
        *self.heard.borrow()
    }

    /// Records how many requests are in effect.
    pub(crate) fn hear(&self, requests: u64) {
        self.heard.send_if_modified(|heard| {
            let is_news = *heard < requests;
            *heard = requests.max(*heard);
            is_news
        });
    }
}

#[async_trait]
impl RunningBus for NatsBus {
    async fn run(self: Arc<Self>, into: Arc<dyn EventPublisher>) {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(sender) = sender else { return };
        // No event has arrived yet, as nothing was subscribed.
        let _ = self.into.set(into);
        let mut tasks = JoinSet::new();
        tasks.spawn(sender.run(self.client.clone()));
        tasks.spawn(SubscriptionManager::new(self.clone()).run());
        // Neither ends before the server stops; if one does, this ends, and the server with it.
        let _ = tasks.join_next().await;
    }

    fn is_connected(&self) -> bool {
        self.client.connection_state() == State::Connected
    }

    fn take_unsent(&self) -> Option<Timestamp> {
        self.losses.take_unsent()
    }

    fn take_unheard(&self) -> Option<Timestamp> {
        self.losses.take_unheard()
    }

    async fn announce_shutdown(&self) {
        if !self.is_connected() {
            // They will miss its heartbeat.
            return;
        }
        let _ = timeout(SHUTDOWN_TIMEOUT, self.outgoing.emptied()).await;
        self.requests.put(SubscriptionRequest::Leave);
        let _ = timeout(SHUTDOWN_TIMEOUT, self.left.notified()).await;
    }
}

/// While NATS is disconnected, nodes that were present before count as present, so that events lost
/// to them are recorded.
#[async_trait]
impl EventBus for NatsBus {
    fn is_wanted(&self, interest: Interest) -> bool {
        self.is_believed(|peers| peers.want(interest))
    }

    fn has_others(&self) -> bool {
        self.is_believed(KnownNodes::are_there)
    }

    fn send(&self, to: &[Address], event: &DomainEvent) {
        if !self.is_connected() {
            measure::bus_dropped(BusDrop::Disconnected);
            return;
        }
        let (kind, body) = wire::encode(event);
        if body.len() + OVERHEAD > self.client.max_payload() {
            // Events of this size are not recovered from the store.
            measure::bus_dropped(BusDrop::TooLarge);
            return;
        }
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let head = Head { kind, node: self.node, sent_at: self.now(), number };
        for address in to {
            let subject = self.subjects.of(*address);
            let message = self.seal.seal(&subject, head, &body);
            let is_taken = self.outgoing.put(Subject::from(subject), message);
            // No other event is recovered from the store.
            if !is_taken && matches!(event, DomainEvent::RoomAdded { .. }) {
                self.losses.unsent();
            }
        }
    }

    fn begin(&self, interest: Interest) {
        self.requests.put(SubscriptionRequest::Begin(interest));
    }

    fn end(&self, interest: Interest) {
        self.requests.put(SubscriptionRequest::End(interest));
    }

    async fn settled(&self) {
        let made = self.requests.made();
        let mut heard = self.heard.subscribe();
        if *heard.borrow_and_update() >= made || !self.is_connected() {
            return;
        }
        // Without a confirmation the join does not wait longer; missed events are in the store.
        let _ = timeout(LONGEST_WAIT, heard.wait_for(|heard| *heard >= made)).await;
    }
}
