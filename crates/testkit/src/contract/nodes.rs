//! What a store keeps of the servers that are several on it. Only stores on which there can be several have
//! it.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use domain::change::{Change, ChangePosition, ChangeRepository};
use domain::id::{AgentId, NodeId, ParticipantId, UserId};
use domain::node::{
    AgentClaim, ClaimReason, Connected, Granted, MIN_REMAINING_LEASE, NodeRepository, OnConflict,
    PresenceChange, Registered, SocketNumber,
};
use uuid::Uuid;

use crate::until;

/// The nodes of a store, and its log.
#[derive(Clone)]
pub struct Nodes {
    /// The nodes.
    pub nodes: Arc<dyn NodeRepository>,
    /// The log of changes.
    pub log: Arc<dyn ChangeRepository>,
}

impl Nodes {
    /// The ports of a store that has both.
    pub fn of<S: NodeRepository + ChangeRepository + 'static>(store: &Arc<S>) -> Self {
        Self { nodes: store.clone(), log: store.clone() }
    }
}

/// Expands to one `#[tokio::test]` for every case of the contract; `$make` gives [`Nodes`], and whatever must
/// stay alive with them.
#[macro_export]
macro_rules! node_contract_tests {
    ($make:expr) => {
        $crate::node_contract_tests! { @each $make,
            the_newest_socket_is_the_live_one, a_rejecting_claim_is_refused_while_a_socket_is_open,
            concurrent_claims_are_decided_one_by_one, one_of_a_hundred_concurrent_claims_wins,
            users_are_present_on_the_nodes_of_their_sockets, a_node_with_an_expired_lease_is_cleared,
            an_expired_lease_can_be_renewed_until_the_node_is_cleared, a_node_that_leaves_stays_present_for_the_grace_period,
            a_returning_node_keeps_sockets_that_were_not_superseded, connections_are_listed_page_by_page,
        }
    };
    (@each $make:expr, $($case:ident),+ $(,)?) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                let (nodes, _alive) = $make;
                $crate::contract::nodes::$case(nodes).await;
            }
        )+
    };
}

const LONG: Duration = Duration::from_secs(60);

/// For how long the people of a node that ends count as there.
const GRACE: Duration = Duration::from_millis(300);

fn node(number: u128) -> NodeId {
    NodeId::new(Uuid::from_u128(number))
}

fn agent(number: u128) -> AgentId {
    AgentId::new(Uuid::from_u128(number))
}

fn user(number: u128) -> UserId {
    UserId::new(Uuid::from_u128(number))
}

fn claim(number: u128, claiming: ClaimReason) -> AgentClaim {
    AgentClaim { agent: agent(number), claiming }
}

const NEWEST: ClaimReason = ClaimReason::NewSocket(OnConflict::Supersede);
const GIVES_WAY: ClaimReason = ClaimReason::NewSocket(OnConflict::Reject);

impl Nodes {
    async fn enter(&self, number: u128) -> NodeId {
        self.nodes.enter(node(number), LONG).await.unwrap();
        node(number)
    }

    async fn register(
        &self,
        node: NodeId,
        changes: &[PresenceChange],
        claims: &[AgentClaim],
    ) -> Vec<Granted> {
        let registered = self.nodes.register(node, changes.to_vec(), claims.to_vec()).await.unwrap();
        let Registered::Done(granted) = registered else { panic!("{node} was cleared") };
        granted
    }

    /// Claims one agent's place.
    async fn claim(&self, node: NodeId, agent: u128, claiming: ClaimReason) -> Granted {
        self.register(node, &[], &[claim(agent, claiming)]).await[0]
    }

    async fn record(&self, at: NodeId, change: PresenceChange) {
        assert_eq!(self.register(at, &[change], &[]).await, []);
    }

    async fn of_agent(&self, number: u128) -> Vec<Connected> {
        self.nodes.whereabouts(vec![ParticipantId::Agent(agent(number))]).await.unwrap()
    }

    async fn nodes_of_user(&self, number: u128) -> Vec<NodeId> {
        let connected = self.nodes.whereabouts(vec![ParticipantId::User(user(number))]).await.unwrap();
        assert!(connected.iter().all(|one| one.number.is_none()));
        let mut nodes = connected.into_iter().map(|one| one.node).collect::<Vec<_>>();
        nodes.sort();
        nodes
    }

    /// What was told since the last look.
    async fn logged(&self, since: &mut ChangePosition) -> Vec<Change> {
        let entries = self.log.changes_after(*since, 1_000).await.unwrap();
        *since = entries.last().map_or(*since, |last| last.position);
        entries.into_iter().filter_map(|entry| entry.change).collect()
    }

    /// As a node that is well.
    async fn clear(&self) -> u32 {
        let well = node(1_000);
        if !self.nodes.renew(well, LONG).await.unwrap() {
            self.nodes.enter(well, LONG).await.unwrap();
        }
        self.nodes.clear(well, MIN_REMAINING_LEASE).await.unwrap()
    }

    async fn end_lease(&self, node: NodeId) {
        assert!(self.nodes.renew(node, Duration::ZERO).await.unwrap());
    }
}

fn on(number: u128, node: NodeId, granted: Granted) -> Connected {
    Connected { who: ParticipantId::Agent(agent(number)), node, number: granted }
}

fn moved(number: u128) -> Change {
    Change::ConnectionsChanged(ParticipantId::Agent(agent(number)))
}

/// The number grows from socket to socket; each is told, and is the only one.
pub async fn the_newest_socket_is_the_live_one(nodes: Nodes) {
    let (one, two) = (nodes.enter(1).await, nodes.enter(2).await);
    let mut since = nodes.log.newest_change().await.unwrap();
    let mut last = None;
    for at in [one, two, two, one] {
        let granted = nodes.claim(at, 7, NEWEST).await;
        assert!(granted > last && granted.is_some());
        assert_eq!(nodes.of_agent(7).await, [on(7, at, granted)]);
        assert_eq!(nodes.logged(&mut since).await, [moved(7)]);
        last = granted;
    }
    // It is not the other node's to give up.
    nodes.record(two, PresenceChange::AgentDisconnected(agent(7))).await;
    nodes.record(two, PresenceChange::AgentLost(agent(7))).await;
    assert_eq!(nodes.claim(two, 7, GIVES_WAY).await, None);
    assert_eq!(nodes.logged(&mut since).await, []);
    nodes.record(one, PresenceChange::AgentDisconnected(agent(7))).await;
    assert_eq!((nodes.of_agent(7).await, nodes.logged(&mut since).await), (vec![], vec![moved(7)]));
    assert_eq!(nodes.of_agent(8).await, []);
}

/// Also on the same node; not for one whose connection broke, or whose node was cleared.
pub async fn a_rejecting_claim_is_refused_while_a_socket_is_open(nodes: Nodes) {
    let (one, two) = (nodes.enter(1).await, nodes.enter(2).await);
    let first = nodes.claim(one, 7, GIVES_WAY).await;
    assert!(first.is_some());
    for at in [one, two] {
        assert_eq!(nodes.claim(at, 7, GIVES_WAY).await, None);
    }
    assert_eq!(nodes.of_agent(7).await, [on(7, one, first)]);
    nodes.record(one, PresenceChange::AgentLost(agent(7))).await;
    assert_eq!(nodes.of_agent(7).await, [on(7, one, first)], "it counts as there");
    let second = nodes.claim(two, 7, GIVES_WAY).await;
    assert!(second > first);
    assert_eq!(nodes.claim(one, 7, GIVES_WAY).await, None);
    nodes.end_lease(two).await;
    assert_eq!(nodes.of_agent(7).await, [on(7, two, second)], "until somebody clears the node");
    assert_eq!(nodes.claim(one, 7, GIVES_WAY).await, None, "it may only have been kept from the store");
    assert_eq!(nodes.clear().await, 1);
    assert!(nodes.claim(one, 7, GIVES_WAY).await > second);
}

/// Each as if it came alone, and after the changes.
pub async fn concurrent_claims_are_decided_one_by_one(nodes: Nodes) {
    let one = nodes.enter(1).await;
    nodes.claim(one, 9, NEWEST).await.unwrap();
    let mut since = nodes.log.newest_change().await.unwrap();
    let claims =
        [claim(7, GIVES_WAY), claim(7, GIVES_WAY), claim(8, NEWEST), claim(7, NEWEST), claim(9, GIVES_WAY)];
    let said = [PresenceChange::AgentDisconnected(agent(9)), PresenceChange::UserConnected(user(1))];
    let granted = nodes.register(one, &said, &claims).await;
    assert_eq!(granted.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false, true, true, true]);
    assert!(granted.iter().flatten().is_sorted(), "{granted:?}");
    assert_eq!(nodes.of_agent(7).await, [on(7, one, granted[3])]);
    assert_eq!(nodes.of_agent(9).await, [on(9, one, granted[4])]);
    let logged = nodes.logged(&mut since).await;
    assert_eq!(logged.iter().filter(|change| **change == moved(7)).count(), 2, "{logged:?}");
    assert_eq!(logged.len(), 6, "{logged:?}");
}

/// Three nodes at once: the place belongs to the one with the largest number, and all numbers differ.
pub async fn one_of_a_hundred_concurrent_claims_wins(nodes: Nodes) {
    let at = [nodes.enter(1).await, nodes.enter(2).await, nodes.enter(3).await];
    let claims = (0..100).map(|number| {
        let (nodes, at) = (nodes.clone(), at[number % at.len()]);
        tokio::spawn(async move { (nodes.claim(at, 7, NEWEST).await, at) })
    });
    let mut granted = Vec::new();
    for claim in claims.collect::<Vec<_>>() {
        granted.push(claim.await.unwrap());
    }
    let numbers = granted.iter().map(|(number, _)| number.unwrap().0).collect::<HashSet<_>>();
    assert_eq!(numbers.len(), 100);
    let (number, at) = *granted.iter().max_by_key(|(number, _)| *number).unwrap();
    assert_eq!(nodes.of_agent(7).await, [on(7, at, number)]);
}

/// On several at once; what is said twice is told once.
pub async fn users_are_present_on_the_nodes_of_their_sockets(nodes: Nodes) {
    let (one, two) = (nodes.enter(1).await, nodes.enter(2).await);
    let mut since = nodes.log.newest_change().await.unwrap();
    let changed = Change::ConnectionsChanged(ParticipantId::User(user(5)));
    for (at, change, expected, logged) in [
        (one, PresenceChange::UserConnected(user(5)), vec![one], vec![changed]),
        (one, PresenceChange::UserConnected(user(5)), vec![one], vec![]),
        (two, PresenceChange::UserConnected(user(5)), vec![one, two], vec![changed]),
        (one, PresenceChange::UserDisconnected(user(5)), vec![two], vec![changed]),
        (one, PresenceChange::UserDisconnected(user(5)), vec![two], vec![]),
        (two, PresenceChange::UserDisconnected(user(5)), vec![], vec![changed]),
    ] {
        nodes.record(at, change).await;
        assert_eq!(
            (nodes.nodes_of_user(5).await, nodes.logged(&mut since).await),
            (expected, logged),
            "{change:?}"
        );
    }
}

/// It is told, its people are nowhere at once, and nothing is left of it in the end.
pub async fn a_node_with_an_expired_lease_is_cleared(nodes: Nodes) {
    let (one, two) = (nodes.enter(1).await, nodes.enter(2).await);
    nodes
        .register(one, &[PresenceChange::UserConnected(user(5))], &[claim(7, NEWEST), claim(8, NEWEST)])
        .await;
    nodes.register(two, &[PresenceChange::UserConnected(user(5))], &[claim(9, NEWEST)]).await;
    let mut since = nodes.log.newest_change().await.unwrap();
    assert_eq!(nodes.clear().await, 0);
    nodes.end_lease(one).await;
    nodes.nodes.enter(node(3), MIN_REMAINING_LEASE).await.unwrap();
    for away in [one, node(3), node(4)] {
        let cleared = nodes.nodes.clear(away, MIN_REMAINING_LEASE).await.unwrap();
        assert_eq!(cleared, 0, "who has not renewed its own lease lately clears nobody");
    }
    assert_eq!(nodes.clear().await, 1);
    assert_eq!(nodes.clear().await, 0, "once");
    assert_eq!(nodes.logged(&mut since).await, [Change::NodeCleared(one)]);
    assert_eq!((nodes.of_agent(7).await, nodes.nodes_of_user(5).await), (vec![], vec![two]));
    assert!(!nodes.nodes.renew(one, LONG).await.unwrap());
    let late = nodes
        .nodes
        .register(one, vec![PresenceChange::UserConnected(user(6))], vec![claim(7, NEWEST)])
        .await
        .unwrap();
    assert_eq!(late, Registered::Cleared);
    assert_eq!((nodes.of_agent(7).await, nodes.nodes_of_user(6).await), (vec![], vec![]));
    let taken = nodes.claim(two, 8, GIVES_WAY).await;
    assert!(taken.is_some(), "what is left of it is in nobody's way");

    let (mut erased, mut steps) = (0, 0);
    loop {
        match nodes.nodes.erase_cleared(1).await.unwrap() {
            0 => break,
            count => (erased, steps) = (erased + count, steps + 1),
        }
    }
    assert!(erased == 3 && steps >= 2, "one agent, one user, the node: {erased} in {steps}");
    assert_eq!(nodes.of_agent(8).await, [on(8, two, taken)]);
    assert_eq!(nodes.nodes_of_user(5).await, [two]);
    assert_eq!(nodes.logged(&mut since).await, [moved(8)], "erasing is no news");
}

/// Nobody had noticed.
pub async fn an_expired_lease_can_be_renewed_until_the_node_is_cleared(nodes: Nodes) {
    nodes.nodes.enter(node(1), LONG).await.unwrap();
    let granted = nodes.claim(node(1), 7, NEWEST).await;
    nodes.end_lease(node(1)).await;
    assert!(nodes.nodes.renew(node(1), LONG).await.unwrap());
    assert_eq!(nodes.clear().await, 0);
    assert_eq!(nodes.of_agent(7).await, [on(7, node(1), granted)]);
}

/// For as long as they are given its people count as there, and are in nobody's way.
pub async fn a_node_that_leaves_stays_present_for_the_grace_period(nodes: Nodes) {
    let (one, two) = (nodes.enter(1).await, nodes.enter(2).await);
    let granted = nodes
        .register(one, &[PresenceChange::UserConnected(user(5))], &[claim(7, NEWEST), claim(8, NEWEST)])
        .await;
    nodes.nodes.leave(one, GRACE).await.unwrap();
    assert_eq!(nodes.clear().await, 0);
    assert_eq!(nodes.of_agent(7).await, [on(7, one, granted[0])]);
    assert_eq!(nodes.nodes_of_user(5).await, [one]);
    let moved = nodes.claim(two, 8, GIVES_WAY).await;
    assert!(moved.is_some());
    until("its lease does not end", async || nodes.clear().await == 1).await;
    assert_eq!(nodes.of_agent(7).await, []);
    assert_eq!(nodes.of_agent(8).await, [on(8, two, moved)]);
    assert_eq!(nodes.nodes_of_user(5).await, []);
}

/// A node that was cleared while it was away, and its sockets are still open.
pub async fn a_returning_node_keeps_sockets_that_were_not_superseded(nodes: Nodes) {
    let (one, two) = (nodes.enter(1).await, nodes.enter(2).await);
    nodes.register(one, &[], &[claim(7, NEWEST), claim(8, NEWEST), claim(9, NEWEST)]).await;
    nodes.end_lease(one).await;
    assert_eq!(nodes.clear().await, 1);
    let taken = nodes.claim(two, 8, NEWEST).await;
    nodes.claim(two, 9, NEWEST).await.unwrap();
    nodes.record(two, PresenceChange::AgentLost(agent(9))).await;
    let again = nodes.enter(3).await;
    let kept = [7, 8, 9].map(|number| claim(number, ClaimReason::Reregistered));
    for _ in 0..2 {
        let granted = nodes.register(again, &[], &kept).await;
        assert_eq!(granted.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false, true]);
        assert_eq!(nodes.of_agent(7).await, [on(7, again, granted[0])]);
        assert_eq!(nodes.of_agent(8).await, [on(8, two, taken)]);
    }
}

/// Those of cleared nodes are left out.
pub async fn connections_are_listed_page_by_page(nodes: Nodes) {
    let (one, two, dead) = (nodes.enter(1).await, nodes.enter(2).await, nodes.enter(3).await);
    for number in 1..=7_u128 {
        let at = if number.is_multiple_of(2) { two } else { one };
        nodes.register(at, &[PresenceChange::UserConnected(user(number))], &[claim(number, NEWEST)]).await;
    }
    nodes.record(two, PresenceChange::UserConnected(user(3))).await;
    nodes
        .register(
            dead,
            &[PresenceChange::UserConnected(user(3)), PresenceChange::UserConnected(user(100))],
            &[claim(100, NEWEST)],
        )
        .await;
    nodes.end_lease(dead).await;
    nodes.clear().await;
    let (mut agents, mut after) = (Vec::new(), None);
    loop {
        let page = nodes.nodes.connected_agents(after, 3).await.unwrap();
        let Some(last) = page.last() else { break };
        after = last.who.agent();
        agents.extend(page.iter().map(|one| (one.who.agent().unwrap(), one.node)));
        assert!(page.len() <= 3 && page.iter().all(|one| one.number > Some(SocketNumber(0))));
    }
    let at = |number: u128| if number.is_multiple_of(2) { two } else { one };
    assert_eq!(agents, (1..=7).map(|number| (agent(number), at(number))).collect::<Vec<_>>());
    let (mut users, mut after) = (Vec::new(), None);
    loop {
        let page = nodes.nodes.connected_users(after, 3).await.unwrap();
        let Some(last) = page.last() else { break };
        after = last.who.user().map(|user| (user, last.node));
        users.extend(page.iter().map(|one| (one.who.user().unwrap(), one.node)));
    }
    let mut expected = (1..=7).map(|number| (user(number), at(number))).collect::<Vec<_>>();
    expected.insert(3, (user(3), two));
    assert_eq!(users, expected);
}
