//! The bus as the rest of the server knows it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use async_nats::connection::State;
use async_nats::{Client, Event, Subject};
use async_trait::async_trait;
use domain::bus::{Address, EventBus, Interest, Note, Peers, Seen};
use domain::event::DomainEvent;
use domain::id::NodeId;
use domain::ports::{Clock, EventPublisher};
use domain::secret::Secret;
use domain::time::Timestamp;
use measure::BusDrop;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::connect::{ConnectFault, connect};
use crate::losses::Losses;
use crate::outgoing::{self, Outgoing, Sender};
use crate::seal::{Head, OVERHEAD, Seal};
use crate::settings::Settings;
use crate::subject::Subjects;
use crate::subscriptions::SubscriptionManager;
use crate::wire;

/// How long a join waits at most until it is heard elsewhere that somebody listens.
const LONGEST_WAIT: Duration = Duration::from_millis(500);

/// How long the link may take to take something; then it hangs.
pub(crate) const TAKEN: Duration = Duration::from_millis(500);

/// How long an end in order waits until what was sent is on its way, and as long again until others have been told.
const FAREWELL: Duration = Duration::from_secs(1);

/// What the own sockets want, one wish after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SubscriptionRequest {
    Begin(Interest),
    End(Interest),
    /// The server ends.
    Leave,
}

/// A bus on NATS.
pub struct NatsBus {
    node: NodeId,
    client: Client,
    subjects: Subjects,
    seal: Seal,
    clock: Arc<dyn Clock>,
    peers: RwLock<Peers>,
    seen: Mutex<Seen>,
    losses: Arc<Losses>,
    /// How many events were sent.
    numbers: AtomicU64,
    outgoing: Outgoing,
    wishes: Mutex<Wishes>,
    /// Whether NATS was away since it was begun anew to find out what others want.
    is_stale: AtomicBool,
    /// How many wishes are heard.
    heard: watch::Sender<u64>,
    /// Others were told that this node ends.
    left: Notify,
    into: OnceLock<Arc<dyn EventPublisher>>,
    /// For [`Self::start`], which takes it.
    rest: Mutex<Option<Rest>>,
}

struct Wishes {
    queue: UnboundedSender<SubscriptionRequest>,
    made: u64,
}

struct Rest {
    wishes: UnboundedReceiver<SubscriptionRequest>,
    events: UnboundedReceiver<Event>,
    sender: Sender,
}

impl NatsBus {
    /// Connects as this node, whose name nobody else may have; what is sent is signed with `secret`. Where NATS cannot
    /// be reached, it is tried again for as long as the bus lives.
    ///
    /// # Errors
    /// [`ConnectFault`] when it can never work.
    pub async fn connect(
        settings: &Settings,
        secret: Secret,
        node: NodeId,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<Self>, ConnectFault> {
        let (told, events) = unbounded_channel();
        let client = connect(settings, &told).await?;
        let losses = Arc::new(Losses::new(clock.clone()));
        let (outgoing, sender) = outgoing::queue(losses.clone());
        let (queue, wishes) = unbounded_channel();
        Ok(Arc::new(Self {
            node,
            client,
            subjects: Subjects::new(&settings.prefix),
            seal: Seal::new(secret),
            peers: RwLock::new(Peers::new(node, clock.now())),
            clock,
            seen: Mutex::default(),
            losses,
            numbers: AtomicU64::new(1),
            outgoing,
            wishes: Mutex::new(Wishes { queue, made: 0 }),
            is_stale: AtomicBool::new(true),
            heard: watch::Sender::new(0),
            left: Notify::new(),
            into: OnceLock::new(),
            rest: Mutex::new(Some(Rest { wishes, events, sender })),
        }))
    }

    /// Begins to carry: what other nodes tell is published to `into`. Goes on for as long as what it gives.
    pub fn start(self: &Arc<Self>, into: Arc<dyn EventPublisher>) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        let rest = self.rest.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(Rest { wishes, events, sender }) = rest else { return tasks };
        // Nothing has come yet, as nothing was subscribed.
        let _ = self.into.set(into);
        tasks.spawn(sender.run(self.client.clone()));
        tasks.spawn(SubscriptionManager::new(self.clone()).run(wishes, events));
        tasks
    }

    /// Whether NATS is connected.
    pub fn is_connected(&self) -> bool {
        self.client.connection_state() == State::Connected
    }

    /// Sends what was to be sent, and tells the others that this node ends, so that they send it nothing any more. It
    /// hears and tells nothing from then on.
    pub async fn say_farewell(&self) {
        if !self.is_connected() {
            // They miss its beat.
            return;
        }
        let _ = timeout(FAREWELL, self.outgoing.emptied()).await;
        self.wish(SubscriptionRequest::Leave);
        let _ = timeout(FAREWELL, self.left.notified()).await;
    }

    /// Others were told that this node ends.
    pub(crate) fn leave(&self) {
        self.left.notify_one();
    }

    /// Since when something of what this node has told may not have reached the others; nothing until the next such
    /// loss.
    pub fn take_unsent(&self) -> Option<Timestamp> {
        self.losses.take_unsent()
    }

    /// Since when something of what others have told may not have reached this node; nothing until the next such loss.
    pub fn take_unheard(&self) -> Option<Timestamp> {
        self.losses.take_unheard()
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

    pub(crate) fn seal(&self) -> &Seal {
        &self.seal
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn peers(&self) -> RwLockReadGuard<'_, Peers> {
        self.peers.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn peers_mut(&self) -> RwLockWriteGuard<'_, Peers> {
        self.peers.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The link has gone, or is back and all is asked anew.
    pub(crate) fn set_stale(&self, is_stale: bool) {
        self.is_stale.store(is_stale, Ordering::Release);
    }

    /// What is known of others; everything may be so while it is known to be old. Where nobody can be reached, what was
    /// so before counts.
    fn is_believed(&self, is_so: impl Fn(&Peers) -> bool) -> bool {
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

    /// Tells the other nodes something of this one; what cannot be told now is asked for later. Gives whether the link
    /// took it: one that hangs is not waited for.
    pub(crate) async fn tell(&self, note: &Note) -> bool {
        let (kind, body) = wire::encode_note(note);
        let subject = self.subjects.nodes();
        let head = Head { kind, node: self.node, sent_at: self.now(), number: 0 };
        let message = self.seal.seal(&subject, head, &body);
        let Ok(told) = timeout(TAKEN, self.client.publish(subject, message)).await else { return false };
        if let Err(error) = told {
            tracing::debug!(error = %error, "could not publish to NATS");
        }
        true
    }

    /// How many interests a note may hold that NATS is to take.
    pub(crate) fn most_interests(&self) -> usize {
        self.client.max_payload().saturating_sub(OVERHEAD + wire::BESIDE_INTERESTS) / wire::INTEREST
    }

    /// How many wishes are heard.
    pub(crate) fn heard(&self) -> u64 {
        *self.heard.borrow()
    }

    /// So many wishes are heard.
    pub(crate) fn hear(&self, wishes: u64) {
        self.heard.send_if_modified(|heard| {
            let is_news = *heard < wishes;
            *heard = wishes.max(*heard);
            is_news
        });
    }

    fn wish(&self, wish: SubscriptionRequest) {
        let mut wishes = self.wishes.lock().unwrap_or_else(PoisonError::into_inner);
        wishes.made += 1;
        // Nobody grants any when the server ends.
        let _ = wishes.queue.send(wish);
    }
}

/// While NATS is away, whoever was heard before it went is taken to be there, so that what they miss is counted.
#[async_trait]
impl EventBus for NatsBus {
    fn is_wanted(&self, interest: Interest) -> bool {
        self.is_believed(|peers| peers.want(interest))
    }

    fn has_others(&self) -> bool {
        self.is_believed(Peers::are_there)
    }

    fn send(&self, to: &[Address], event: &DomainEvent) {
        if !self.is_connected() {
            measure::bus_dropped(BusDrop::Disconnected);
            return;
        }
        let (kind, body) = wire::encode(event);
        if body.len() + OVERHEAD > self.client.max_payload() {
            // Nothing of this size is looked up.
            measure::bus_dropped(BusDrop::TooLarge);
            return;
        }
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let head = Head { kind, node: self.node, sent_at: self.now(), number };
        for address in to {
            let subject = self.subjects.of(*address);
            let message = self.seal.seal(&subject, head, &body);
            let is_taken = self.outgoing.put(Subject::from(subject), message);
            // Nothing else is looked up.
            if !is_taken && matches!(event, DomainEvent::RoomAdded { .. }) {
                self.losses.unsent();
            }
        }
    }

    fn begin(&self, interest: Interest) {
        self.wish(SubscriptionRequest::Begin(interest));
    }

    fn end(&self, interest: Interest) {
        self.wish(SubscriptionRequest::End(interest));
    }

    async fn settled(&self) {
        let made = self.wishes.lock().unwrap_or_else(PoisonError::into_inner).made;
        let mut heard = self.heard.subscribe();
        if *heard.borrow_and_update() >= made || !self.is_connected() {
            return;
        }
        // Without an answer nobody waits for ever; what is missed until then is in the store.
        let _ = timeout(LONGEST_WAIT, heard.wait_for(|heard| *heard >= made)).await;
    }
}
