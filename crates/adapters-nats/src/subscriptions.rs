//! The task that keeps this node's subscriptions, and exchanges interests with the other nodes.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use async_nats::{RequestErrorKind, Subscriber};
use domain::bus::known_nodes::BEAT;
use domain::bus::{Address, Answer, Interest, OwnInterests, PeerMessage, RunningBus};
use domain::id::NodeId;
use futures_util::StreamExt;
use measure::{BusDrop, Outage};
use tokio::task::AbortHandle;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use crate::bus::{HANDOFF_TIMEOUT, NatsBus};
use crate::reports::Report;
use crate::requests::SubscriptionRequest;

/// The interval of checks for interests that have ended, nodes that are gone, and nodes that have
/// asked.
const TICK: Duration = Duration::from_millis(250);

/// A time without ticks after which the process counts as suspended.
const STANDSTILL: Duration = Duration::from_secs(3);

/// The time during which a fault is not logged again.
const SAID_ONCE: Duration = Duration::from_secs(60);

/// The task of one node among several.
pub(crate) struct SubscriptionManager {
    bus: Arc<NatsBus>,
    own: OwnInterests,
    /// The subscription of each address.
    ears: HashMap<Address, AbortHandle>,
    /// Addresses to subscribe to when the link accepts it.
    unheard: HashSet<Address>,
    granted: u64,
    /// The number of requests that NATS was last asked to confirm.
    asked: u64,
    /// Set if others need the full list of interests, and which nodes are to be asked for theirs.
    is_asked: bool,
    asks: HashSet<NodeId>,
    is_up: bool,
    outage: Outage,
    beat_at: Instant,
    ticked_at: Instant,
    /// Set if it was logged that NATS refuses the credentials.
    is_refused: bool,
    /// The last error that NATS reported, and the time at which it was logged.
    complained: Option<(String, Instant)>,
}

impl SubscriptionManager {
    pub(crate) fn new(bus: Arc<NatsBus>) -> Self {
        let mut outage = Outage::default();
        if !bus.is_connected() {
            // It is already logged.
            outage.begins();
        }
        Self {
            bus,
            own: OwnInterests::default(),
            ears: HashMap::new(),
            unheard: HashSet::new(),
            granted: 0,
            asked: 0,
            is_asked: false,
            asks: HashSet::new(),
            is_up: false,
            outage,
            beat_at: Instant::now(),
            ticked_at: Instant::now(),
            is_refused: false,
            complained: None,
        }
    }

    /// Runs until the server stops.
    pub(crate) async fn run(mut self) {
        let bus = self.bus.clone();
        let (nodes, all) = (self.bus.subjects().nodes(), self.bus.subjects().of(Address::Everywhere));
        let (Some(mut nodes), Some(all)) = (self.subscribe(nodes).await, self.subscribe(all).await) else {
            return;
        };
        self.listen(Address::Everywhere, all);
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                (number, requests) = bus.requests().take() => {
                    let is_last = requests.contains(&SubscriptionRequest::Leave);
                    self.grant(number, requests).await;
                    if is_last {
                        return self.leave().await;
                    }
                }
                Some(message) = nodes.next() => {
                    if let Some((from, peer_message)) = self.bus.take_peer_message(&message) {
                        self.on_peer_message(from, peer_message);
                    }
                }
                report = bus.reports().take() => {
                    self.on_report(report);
                    self.follow_link().await;
                }
                _ = ticks.tick() => self.tick().await,
            }
        }
    }

    /// Subscribes for the requests, and notifies the other nodes.
    async fn grant(&mut self, number: u64, requests: Vec<SubscriptionRequest>) {
        let (mut begun, now) = (Vec::new(), self.bus.now());
        self.follow_link().await;
        self.granted = number;
        for request in requests {
            match request {
                SubscriptionRequest::Begin(interest) if self.own.begin(interest) => begun.push(interest),
                SubscriptionRequest::Begin(_) | SubscriptionRequest::Leave => {}
                SubscriptionRequest::End(interest) => self.own.end(interest, now),
            }
        }
        let addresses = begun.iter().map(|interest| interest.address());
        self.unheard.extend(addresses.filter(|address| !self.ears.contains_key(address)));
        self.subscribe_all().await;
        // Without a new interest, requests whose confirmation is pending are not released early.
        let is_settled = begun.is_empty() && self.asked <= self.bus.heard();
        self.send_changes(&begun, &[]).await;
        if is_settled || !self.is_up {
            self.bus.hear(self.granted);
            return;
        }
        self.asked = self.granted;
        let (bus, granted) = (self.bus.clone(), self.granted);
        tokio::spawn(async move {
            // The subject has no subscribers, which the server answers after it has processed the
            // earlier commands.
            let answer = bus.client().request(bus.subjects().nobody(), bytes::Bytes::new()).await;
            if answer.is_err_and(|error| error.kind() != RequestErrorKind::NoResponders) {
                bus.losses().unheard(now);
            }
            bus.hear(granted);
        });
    }

    /// Announces that this node stops; any later message would bring it back.
    async fn leave(&self) {
        self.bus.send_to_nodes(&PeerMessage::Leaving).await;
        let _ = self.bus.client().flush().await;
        self.bus.leave();
    }

    fn on_peer_message(&mut self, from: NodeId, peer_message: PeerMessage) {
        let now = self.bus.now();
        match self.bus.known_nodes_mut().hear(from, peer_message, now) {
            Some(Answer::Tell) => self.is_asked = true,
            Some(Answer::Ask(other)) => {
                self.asks.insert(other);
            }
            None => {}
        }
        self.record_silence();
    }

    /// Events in both directions may be lost while a node is silent.
    fn record_silence(&self) {
        if let Some(since) = self.bus.known_nodes_mut().take_lost() {
            self.bus.losses().unheard(since);
            self.bus.losses().unsent_since(since);
        }
    }

    fn on_report(&mut self, report: Report) {
        if report.is_refused {
            self.refuse();
        }
        if report.dropped > 0 {
            // It may be the interests of others.
            self.bus.losses().unheard(self.bus.now());
            self.bus.losses().unsent();
            (0..report.dropped).for_each(|_| measure::bus_dropped(BusDrop::TooSlow));
        }
        if let Some(error) = report.error {
            self.complain(error);
        }
        if report.was_lost {
            self.lose();
        }
    }

    async fn tick(&mut self) {
        // A suspended process has received nothing, and others count it as gone.
        let since = self.ticked_at.elapsed();
        if since > STANDSTILL {
            self.is_up = false;
            let since = self.bus.now().minus(since);
            self.bus.losses().unheard(since);
            self.bus.losses().unsent_since(since);
        }
        self.ticked_at = Instant::now();
        self.follow_link().await;
        let now = self.bus.now();
        let over = self.own.over(now);
        for interest in &over {
            let address = interest.address();
            if !self.own.take(address) {
                self.unheard.remove(&address);
                if let Some(ear) = self.ears.remove(&address) {
                    ear.abort();
                }
            }
        }
        self.subscribe_all().await;
        if !self.unheard.is_empty() {
            self.bus.losses().unheard(now);
        }
        self.send_changes(&[], &over).await;
        if self.is_up {
            if self.bus.known_nodes_mut().expire(now) {
                tracing::info!(nodes = self.bus.peers().count(), "other servers on NATS known");
            }
            self.record_silence();
            self.answer().await;
        }
        let nodes = self.bus.peers().count();
        measure::bus_state(self.is_up, nodes, self.own.len());
    }

    /// Detects that the link is down or up; after a reconnect all interests are exchanged again.
    async fn follow_link(&mut self) {
        let is_connected = self.bus.is_connected();
        if !is_connected {
            self.lose();
            return;
        }
        if self.is_up {
            return;
        }
        self.is_up = true;
        self.is_refused = false;
        if let Some(lasted) = self.outage.ends() {
            tracing::info!(duration_ms = lasted.as_millis(), "NATS available again");
        } else {
            tracing::info!("NATS connected");
        }
        self.bus.known_nodes_mut().begin_again(self.bus.now());
        self.bus.set_stale(false);
        self.subscribe_all().await;
        self.bus.send_to_nodes(&PeerMessage::AskInterests { of: None }).await;
        self.is_asked = true;
        self.beat_at = Instant::now();
    }

    /// Logs a fault that NATS reports, but not each time.
    fn complain(&mut self, fault: String) {
        let is_known = |(known, at): &(String, Instant)| *known == fault && at.elapsed() < SAID_ONCE;
        if !self.complained.as_ref().is_some_and(is_known) {
            tracing::warn!(error = fault, "NATS reported an error");
            self.complained = Some((fault, Instant::now()));
        }
    }

    /// Logs that NATS refuses the credentials: once, though the connection is retried.
    fn refuse(&mut self) {
        if !std::mem::replace(&mut self.is_refused, true) {
            tracing::warn!(
                "NATS refuses the credentials, retrying; sockets receive only events of this server"
            );
        }
    }

    /// Records a loss in both directions, including events for nodes whose interests are unknown.
    fn lose(&mut self) {
        self.bus.losses().unheard(self.bus.now());
        self.bus.losses().unsent();
        self.bus.set_stale(true);
        self.is_up = false;
        if self.outage.begins() {
            tracing::warn!("NATS unavailable, reconnecting; sockets receive only events of this server");
        }
    }

    /// Sends the peer messages that have accumulated since the last call, and the heartbeat.
    async fn answer(&mut self) {
        if std::mem::take(&mut self.is_asked) {
            for peer_message in self.own.whole(self.bus.most_interests()) {
                if !self.bus.send_to_nodes(&peer_message).await {
                    self.is_asked = true;
                    return;
                }
            }
        }
        for node in std::mem::take(&mut self.asks) {
            self.bus.send_to_nodes(&PeerMessage::AskInterests { of: Some(node) }).await;
        }
        if self.beat_at <= Instant::now() {
            self.beat_at = Instant::now() + BEAT;
            self.bus.send_to_nodes(&self.own.here()).await;
        }
    }

    async fn send_changes(&mut self, begun: &[Interest], over: &[Interest]) {
        // If it cannot be sent, the number advances nonetheless, so that others detect the gap.
        for peer_message in self.own.changed(begun, over, self.bus.most_interests()) {
            if !self.is_up || !self.bus.send_to_nodes(&peer_message).await {
                return;
            }
        }
    }

    /// Makes the missing subscriptions. A link that is down or hangs is not waited for; the next
    /// call retries.
    async fn subscribe_all(&mut self) {
        while self.is_up
            && let Some(address) = self.unheard.iter().next().copied()
        {
            let taken = timeout(HANDOFF_TIMEOUT, self.subscribe(self.bus.subjects().of(address))).await;
            let Ok(Some(subscriber)) = taken else { return };
            self.unheard.remove(&address);
            self.listen(address, subscriber);
        }
    }

    async fn subscribe(&self, subject: String) -> Option<Subscriber> {
        match self.bus.client().subscribe(subject).await {
            Ok(subscriber) => Some(subscriber),
            Err(error) => {
                tracing::error!(error = %error, "cannot subscribe on NATS");
                None
            }
        }
    }

    fn listen(&mut self, address: Address, mut subscriber: Subscriber) {
        let bus = self.bus.clone();
        let ear = tokio::spawn(async move {
            while let Some(message) = subscriber.next().await {
                bus.take_event(&message);
            }
        });
        self.ears.insert(address, ear.abort_handle());
    }
}

impl Drop for SubscriptionManager {
    fn drop(&mut self) {
        self.ears.values().for_each(AbortHandle::abort);
    }
}
