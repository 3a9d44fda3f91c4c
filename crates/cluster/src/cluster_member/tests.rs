//! Hubs of several nodes on one store.

use domain::caller::Caller;
use domain::change::{Change, ChangePosition, ChangeRepository};
use domain::chat::{Role, Roster};
use domain::event::DomainEvent;
use domain::id::ChatId;
use domain::node::{Entrant, OnConflict, SocketNumber};
use domain::ports::{EventPublisher, Presence};
use domain::time::Timestamp;
use futures_util::FutureExt;
use serde_json::Value;
use testkit::bus::{BARE, ROOM, agent, agent_id, participant, user};
use testkit::nodes::MemoryNodes;
use testkit::{FixedClock, NOON, SequentialIds};
use tokio::task::{JoinHandle, JoinSet};
use uuid::Uuid;
use ws_gateway::inbox::{Event, InboxItem, Reader};
use ws_gateway::other_nodes::OtherNodes;
use ws_gateway::topic::Topic;
use ws_gateway::{ClaimRefused, Departure, HubConfig, SocketClaim};

use super::*;
/// A server, without the connections of its sockets.
struct Server {
    hub: Arc<Hub>,
    events: Arc<NodeEvents>,
    clock: Arc<FixedClock>,
    cluster_member: Arc<ClusterMember>,
    store: Arc<MemoryNodes>,
    position: ChangePosition,
    writer: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.writer.abort();
    }
}

fn node(id: NodeId, clock: &Arc<FixedClock>) -> (Arc<LocalNode>, Arc<Hub>) {
    let node = LocalNode::new(id, None);
    let hub = Hub::in_cluster(HubConfig::default(), clock.clone(), node.clone());
    (node, hub)
}

/// Makes `count` servers on one store.
async fn several(count: usize) -> (Vec<Server>, Arc<MemoryNodes>) {
    let (store, ids) = (Arc::<MemoryNodes>::default(), Arc::<SequentialIds>::default());
    let mut nodes = Vec::new();
    for _ in 0..count {
        let clock = Arc::new(FixedClock::at(Timestamp::from_micros(NOON)));
        let (node, hub) = node(NodeId::new(ids.generate(clock.now())), &clock);
        let events = NodeEvents::new(hub.clone(), clock.clone());
        let begun =
            ClusterMember::begin(node, events.clone(), store.clone(), None, clock.clone(), ids.clone());
        let cluster_member = Arc::new(begun.await.unwrap());
        let running = cluster_member.clone();
        let writer = tokio::spawn(async move { running.run().await });
        let (store, position) = (store.clone(), ChangePosition(0));
        nodes.push(Server { hub, events, clock, cluster_member, store, position, writer });
    }
    (nodes, store)
}

impl Server {
    async fn try_open(
        &self,
        caller: Caller,
        on_conflict: OnConflict,
    ) -> Result<(SocketClaim, Reader), ClaimRefused> {
        self.hub.open(caller, BARE, on_conflict).await
    }

    async fn open(&self, caller: Caller) -> (SocketClaim, Reader) {
        self.try_open(caller, OnConflict::Supersede).await.map_err(|why| format!("{why:?}")).unwrap()
    }

    /// Writes the queued changes, and applies those of other nodes.
    async fn follow(&mut self) {
        self.cluster_member.node.stored().await;
        loop {
            let entries = self.store.changes_after(self.position, 3).await.unwrap();
            let Some(last) = entries.last() else { return };
            self.position = last.position;
            let who = entries.iter().filter_map(|entry| match entry.change {
                Some(Change::ConnectionsChanged(who)) => Some(who),
                _ => None,
            });
            self.cluster_member.refresh_presence_of(who.collect()).await.unwrap();
            for change in entries.into_iter().filter_map(|entry| entry.change) {
                if let Change::NodeCleared(node) = change {
                    self.cluster_member.node_cleared(node);
                }
            }
        }
    }

    fn sees(&self, caller: Caller) -> bool {
        self.hub.is_online(caller.participant())
    }

    /// A human who is subscribed to the participants of the chat.
    async fn listener(&self) -> (SocketClaim, Reader) {
        let (claim, inbox) = self.open(user(100)).await;
        claim.subscribe(Topic::RoomParticipants(ROOM));
        let people = [user(100), agent(1), agent(2)].map(|caller| participant(caller.participant()));
        let roster = Roster { chat: ROOM, participants: people.to_vec() };
        claim.people(ROOM, async || Ok::<_, ()>(roster)).await.unwrap();
        (claim, inbox)
    }
}

async fn follow_all(nodes: &mut [Server]) {
    // A change that a node writes in its turn is news for the earlier ones.
    for _ in 0..2 {
        for node in &mut *nodes {
            node.follow().await;
        }
    }
}

/// The presence events that were received.
fn heard(inbox: &mut Reader) -> Vec<(String, bool)> {
    let mut all = Vec::new();
    for received in inbox {
        let InboxItem::Event(Event { payload, .. }) = received else { continue };
        if payload.event == "participant_presence_changed" {
            let content = serde_json::from_str::<Value>(&payload.json).unwrap();
            all.push((content["id"].as_str().unwrap().to_owned(), content["online"].as_bool().unwrap()));
        }
    }
    all
}

fn is_superseded(inbox: &mut Reader) -> bool {
    inbox.any(|received| matches!(received, InboxItem::Superseded { .. }))
}

fn bot(online: bool) -> (String, bool) {
    (agent_id(1).to_string(), online)
}

#[tokio::test]
async fn the_newest_socket_wins_on_whichever_node() {
    let (mut nodes, _) = several(2).await;
    let (_first, mut first) = nodes[0].open(agent(1)).await;
    let (_second, mut second) = nodes[1].open(agent(1)).await;
    follow_all(&mut nodes).await;
    assert!(is_superseded(&mut first) && !is_superseded(&mut second));
    for node in &nodes {
        let late = node.try_open(agent(1), OnConflict::Reject).await.map(|_| ());
        assert_eq!(late, Err(ClaimRefused::Conflict));
    }
    let (_third, mut third) = nodes[0].open(agent(1)).await;
    let (_fourth, mut fourth) = nodes[0].open(agent(1)).await;
    follow_all(&mut nodes).await;
    assert!(is_superseded(&mut second) && is_superseded(&mut third) && !is_superseded(&mut fourth));
    assert_eq!(nodes.iter().map(|node| node.hub.figures().agent_sockets).sum::<usize>(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_a_hundred_concurrent_sockets_stays() {
    let (mut nodes, _) = several(3).await;
    let mut opening = JoinSet::new();
    for number in 0..100 {
        let hub = nodes[number % 3].hub.clone();
        opening.spawn(async move { hub.open(agent(1), BARE, OnConflict::Supersede).await });
    }
    let mut opened = Vec::new();
    while let Some(done) = opening.join_next().await {
        opened.push(done.unwrap().map_err(|why| format!("{why:?}")).unwrap());
    }
    follow_all(&mut nodes).await;
    let left = opened.iter_mut().filter_map(|(_, inbox)| (!is_superseded(inbox)).then_some(())).count();
    assert_eq!((opened.len(), left), (100, 1));
    assert_eq!(nodes.iter().map(|node| node.hub.figures().agent_sockets).sum::<usize>(), 1);
    assert!(nodes.iter().all(|node| node.sees(agent(1))));
}

/// A closed socket releases its claim on all nodes before the reply.
#[tokio::test]
async fn a_closed_socket_releases_its_claim_before_the_reply() {
    let (mut nodes, _) = several(2).await;
    let (claim, _inbox) = nodes[0].open(agent(1)).await;
    claim.release(Departure::Closed);
    claim.wait_until_released().await;
    let (_claim, _inbox) = nodes[1].try_open(agent(1), OnConflict::Reject).await.ok().unwrap();
    follow_all(&mut nodes).await;
    assert!(nodes.iter().all(|node| node.sees(agent(1))));
    assert_eq!(nodes[0].hub.figures().remote, 1);
}

#[tokio::test]
async fn presence_is_announced_on_all_nodes() {
    let (mut nodes, _) = several(3).await;
    let mut inboxes = Vec::new();
    for node in &nodes {
        inboxes.push(node.listener().await);
    }
    follow_all(&mut nodes).await;
    for (_, inbox) in &mut inboxes {
        heard(inbox);
    }

    let (claim, _inbox) = nodes[1].open(agent(1)).await;
    follow_all(&mut nodes).await;
    for (_, inbox) in &mut inboxes {
        assert_eq!(heard(inbox), [bot(true)]);
    }
    assert!(nodes.iter().all(|node| node.sees(agent(1)) && !node.sees(agent(2))));
    // From one node to the next, and back.
    let (moved, _inbox) = nodes[2].open(agent(1)).await;
    follow_all(&mut nodes).await;
    drop(claim);
    follow_all(&mut nodes).await;
    for (_, inbox) in &mut inboxes {
        assert_eq!(heard(inbox), []);
    }
    moved.release(Departure::Closed);
    follow_all(&mut nodes).await;
    for (_, inbox) in &mut inboxes {
        assert_eq!(heard(inbox), [bot(false)]);
    }
    assert!(!nodes.iter().any(|node| node.sees(agent(1))));
    // A user on two nodes is absent when both have lost the connection.
    let (on_two, _inbox) = nodes[2].open(user(200)).await;
    let (on_one, _inbox) = nodes[1].open(user(200)).await;
    follow_all(&mut nodes).await;
    on_two.release(Departure::Closed);
    follow_all(&mut nodes).await;
    assert!(nodes.iter().all(|node| node.sees(user(200))));
    on_one.release(Departure::Closed);
    follow_all(&mut nodes).await;
    assert!(!nodes.iter().any(|node| node.sees(user(200))));
}

/// A broken connection counts for ten seconds on all nodes, so a user who returns on another node
/// was never absent.
#[tokio::test]
async fn a_reconnect_on_another_node_is_not_announced() {
    let (mut nodes, _) = several(2).await;
    let (_human, mut inbox) = nodes[0].listener().await;
    let (claim, _socket) = nodes[0].open(agent(1)).await;
    follow_all(&mut nodes).await;
    heard(&mut inbox);
    drop(claim);
    follow_all(&mut nodes).await;
    assert!(nodes.iter().all(|node| node.sees(agent(1))));
    let (claim, _socket) = nodes[1].try_open(agent(1), OnConflict::Reject).await.ok().unwrap();
    follow_all(&mut nodes).await;
    let pass = |nodes: &[Server]| {
        for node in nodes {
            node.clock.advance(GRACE);
            node.hub.expire_presence();
        }
    };
    pass(&nodes);
    follow_all(&mut nodes).await;
    assert_eq!(heard(&mut inbox), []);
    assert!(nodes.iter().all(|node| node.sees(agent(1))));

    drop(claim);
    pass(&nodes);
    follow_all(&mut nodes).await;
    assert_eq!(heard(&mut inbox), [bot(false)]);
    assert!(!nodes.iter().any(|node| node.sees(agent(1))));
}

#[tokio::test]
async fn accounts_on_an_expired_node_are_absent() {
    let (mut nodes, store) = several(2).await;
    let (_human, mut inbox) = nodes[0].listener().await;
    let _agent = nodes[1].open(agent(1)).await;
    let _user = nodes[1].open(user(200)).await;
    let _both = (nodes[0].open(user(300)).await, nodes[1].open(user(300)).await);
    follow_all(&mut nodes).await;
    assert_eq!(heard(&mut inbox), [bot(true)]);
    let dead = nodes.pop().unwrap();
    store.end_lease(dead.cluster_member.node());
    nodes[0].cluster_member.clear(true).await.unwrap();
    nodes[0].follow().await;
    assert_eq!(heard(&mut inbox), [bot(false)]);
    let node = &nodes[0];
    assert!(!node.sees(agent(1)) && !node.sees(user(200)) && node.sees(user(300)));
    assert_eq!(store.connected_agents(None, 9).await.unwrap(), []);
}

/// It was suspended for longer than its lease, and its sockets are still open.
#[tokio::test]
async fn a_returning_node_keeps_sockets_not_superseded_elsewhere() {
    let (mut nodes, store) = several(2).await;
    let (_kept, mut kept) = nodes[0].open(agent(1)).await;
    let (_taken, mut taken) = nodes[0].open(agent(2)).await;
    let (_human, _inbox) = nodes[0].open(user(200)).await;
    follow_all(&mut nodes).await;
    let before = nodes[0].cluster_member.node();
    store.end_lease(before);
    nodes[1].cluster_member.clear(true).await.unwrap();
    nodes[1].follow().await;
    assert!(!nodes[1].sees(agent(1)) && !nodes[1].sees(user(200)));
    let (_newer, mut newer) = nodes[1].open(agent(2)).await;

    // It tries to renew its lease.
    nodes[0].cluster_member.renew().await.unwrap();
    follow_all(&mut nodes).await;
    assert_ne!(nodes[0].cluster_member.node(), before);
    assert!(!is_superseded(&mut kept) && is_superseded(&mut taken) && !is_superseded(&mut newer));
    for node in &nodes {
        assert!([agent(1), agent(2), user(200)].iter().all(|who| node.sees(*who)));
    }
    // It also recovers if it only learns from the change log that it was cleared.
    store.end_lease(nodes[0].cluster_member.node());
    nodes[1].cluster_member.clear(true).await.unwrap();
    follow_all(&mut nodes).await;
    assert!(nodes.iter().all(|node| node.sees(agent(1)) && node.sees(user(200))));
    let (_third, _inbox) = nodes[1].open(agent(1)).await;
    follow_all(&mut nodes).await;
    assert!(is_superseded(&mut kept));
}

#[tokio::test]
async fn agents_are_refused_while_the_store_is_unavailable() {
    let (mut nodes, store) = several(2).await;
    let (agent_claim, _inbox) = nodes[0].open(agent(1)).await;
    let (user_claim, _inbox) = nodes[0].open(user(200)).await;
    follow_all(&mut nodes).await;
    store.be_away(true);
    let refused = nodes[0].try_open(agent(2), OnConflict::Supersede).await.map(|_| ());
    assert_eq!(refused, Err(ClaimRefused::Unavailable));
    agent_claim.release(Departure::Closed);
    user_claim.release(Departure::Closed);
    let (_newcomer, _inbox) = nodes[0].open(user(300)).await;
    store.be_away(false);
    follow_all(&mut nodes).await;
    let node = &nodes[1];
    assert!(!node.sees(agent(1)) && !node.sees(user(200)) && node.sees(user(300)) && !node.sees(agent(2)));
    assert_eq!(store.connected_agents(None, 9).await.unwrap(), []);
}

/// A starting node reads the presence at once.
#[tokio::test]
async fn a_starting_node_reads_the_presence() {
    let (mut nodes, _) = several(2).await;
    let held =
        (nodes[1].open(agent(1)).await, nodes[1].open(user(200)).await, nodes[0].open(user(200)).await);
    follow_all(&mut nodes).await;
    let late = nodes.remove(0);
    let _gone = late.open(agent(2)).await;
    late.cluster_member.load_remote_presence().await.unwrap();
    assert!(late.sees(agent(1)) && late.sees(user(200)) && late.sees(agent(2)));
    drop(held);
    nodes[0].clock.advance(GRACE);
    nodes[0].hub.expire_presence();
    nodes[0].follow().await;
    late.cluster_member.load_remote_presence().await.unwrap();
    assert!(!late.sees(agent(1)) && late.sees(agent(2)));
}

/// A newer socket on another node becomes known while the claim of an older one is still under way.
#[tokio::test]
async fn a_claim_that_is_overtaken_opens_nothing() {
    let clock = Arc::new(FixedClock::at(Timestamp::from_micros(NOON)));
    let (local, hub) = node(NodeId::new(Uuid::from_u128(1)), &clock);
    let (who, node) = (agent(1).participant(), NodeId::new(Uuid::from_u128(2)));
    hub.observe(who, &[Connected { who, node, number: Some(SocketNumber(11)) }]);
    for (number, is_open) in [(10, false), (12, true)] {
        let mut opening = Box::pin(hub.open(agent(1), BARE, OnConflict::Supersede));
        assert!((&mut opening).now_or_never().is_none());
        for pending in local.take_pending().unwrap().claims {
            pending.resolve(Some(SocketNumber(number)));
        }
        let opened = opening.await;
        assert_eq!(hub.who_is_here().0.len(), usize::from(is_open));
        assert_eq!(opened.map(|_| ()), if is_open { Ok(()) } else { Err(ClaimRefused::Conflict) });
    }
}

/// Its client may be connected to another node by now.
#[tokio::test]
async fn a_claim_that_nobody_waits_for_any_more_is_not_made() {
    let clock = Arc::new(FixedClock::at(Timestamp::from_micros(NOON)));
    let (node, hub) = node(NodeId::new(Uuid::from_u128(1)), &clock);
    assert!(hub.open(agent(1), BARE, OnConflict::Supersede).now_or_never().is_none());
    assert!(node.take_pending().is_none());
    let mut waits = Box::pin(hub.open(agent(1), BARE, OnConflict::Supersede));
    assert!((&mut waits).now_or_never().is_none());
    assert_eq!(node.take_pending().map(|batch| batch.claims.len()), Some(1));
}

/// A list that was read may be older than a claim that was granted meanwhile.
#[tokio::test]
async fn presence_read_before_a_claim_ends_no_socket() {
    let (nodes, store) = several(2).await;
    let _older = nodes[1].open(agent(1)).await;
    let who = agent(1).participant();
    let read = store.whereabouts(vec![who]).await.unwrap();
    let (_newer, mut newer) = nodes[0].open(agent(1)).await;
    nodes[0].cluster_member.observe(who, &read);
    assert!(!is_superseded(&mut newer));
    assert_eq!(nodes[0].hub.figures().remote, 0);
}

/// The chats of the `room_added` events that a socket received, in order.
fn rooms(inbox: &mut Reader) -> Vec<String> {
    let mut all = Vec::new();
    for received in inbox {
        let InboxItem::Event(Event { payload, .. }) = received else { continue };
        if payload.event == "room_added" {
            let content = serde_json::from_str::<Value>(&payload.json).unwrap();
            all.push(content["id"].as_str().unwrap().to_owned());
        }
    }
    all
}

#[tokio::test]
async fn a_room_of_which_nothing_was_heard_is_found_and_told_once() {
    let (nodes, store) = several(2).await;
    let (one, two) = (&nodes[0], &nodes[1]);
    let (bot, other) = (agent(1).participant(), agent(2).participant());
    let (claim, mut inbox) = one.open(agent(1)).await;
    claim.subscribe(Topic::AgentRooms(agent_id(1)));
    let room = |number: u128| ChatId::new(Uuid::from_u128(number));
    let at = |seconds: i64| Timestamp::from_micros(NOON + seconds * 1_000_000);
    let entrant = |seconds, who, number| Entrant {
        entered_at: at(seconds),
        who,
        chat: testkit::bus::chat(room(number)),
        role: Role::Member,
    };
    let received = DomainEvent::RoomAdded {
        to: bot,
        owner: None,
        chat: testkit::bus::chat(room(1)),
        role: Role::Member,
    };
    one.events.publish(received);
    assert_eq!(rooms(&mut inbox), [room(1).to_string()]);
    for entrant in [
        entrant(-100, bot, 5),
        entrant(-1, bot, 1),
        entrant(-1, other, 2),
        entrant(-1, bot, 3),
        entrant(2, bot, 1),
    ] {
        store.enter_room(entrant);
    }
    // More than one page.
    for number in 0..2 * u128::from(PAGE) {
        store.enter_room(entrant(1, other, 1_000 + number));
    }
    for node in [one, two] {
        node.cluster_member.resync.catch_up(at(-50)).await.unwrap();
    }
    assert_eq!(
        rooms(&mut inbox),
        [room(3), room(1)].map(|room| room.to_string()),
        "the first again, as it left"
    );
    one.cluster_member.resync.catch_up(at(-50)).await.unwrap();
    assert_eq!(rooms(&mut inbox), [""; 0], "also while this clock is behind");
    let left = DomainEvent::RoomRemoved { from: bot, chat: testkit::bus::chat(room(3)), removed_at: at(0) };
    one.events.publish(left);
    one.cluster_member.resync.catch_up(at(-50)).await.unwrap();
    assert_eq!(rooms(&mut inbox), [room(3).to_string()], "it has left, and is there again");
    store.be_away(true);
    one.cluster_member.resync.catch_up(at(-50)).await.unwrap_err();
}
