//! The cost of agreeing on who is connected where. `PARLANCE_TEST_FULL=1` with `--nocapture` prints the
//! figures of `docs/scaling.md`.

#[expect(dead_code, reason = "no test here needs all ports")]
mod common;

use std::time::Duration;

use adapters_postgres::PostgresStore;
use domain::change::{Change, ChangeRepository};
use domain::chat::Role;
use domain::id::{AccountId, AgentId, NodeId, ParticipantId};
use domain::node::{
    AgentClaim, ClaimReason, EntrantPosition, NodeRepository, OnConflict, PresenceChange, Registered,
};
use domain::ports::Clock;
use domain::status::StatusRepository;
use testkit::{Stores, World};
use tokio::time::Instant;
use uuid::Uuid;

const NODE: NodeId = NodeId::new(Uuid::from_u128(1));

/// Ids that come in no order, as those of agents that connect.
fn agent(number: u32) -> AgentId {
    let (number, scattered) = (u128::from(number), u128::from(number.wrapping_mul(2_654_435_761)));
    AgentId::new(Uuid::from_u128(scattered << 64 | number))
}

fn claims(numbers: impl Iterator<Item = u32>) -> Vec<AgentClaim> {
    let claiming = ClaimReason::NewSocket(OnConflict::Supersede);
    numbers.map(|number| AgentClaim { agent: agent(number), claiming }).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_agents_connect_in_few_commits() {
    let is_full = std::env::var_os("PARLANCE_TEST_FULL").is_some();
    let (single, batches) = if is_full { (500, 4_000) } else { (20, 20) };
    let database = common::database().await;
    let store = common::open(&database).await;
    store.enter(NODE, Duration::from_secs(3_600)).await.unwrap();
    let register = async |claims: Vec<AgentClaim>| {
        let count = claims.len();
        let Registered::Done(granted) = store.register(NODE, Vec::new(), claims).await.unwrap() else {
            panic!("the node is cleared")
        };
        assert_eq!(granted.iter().flatten().count(), count);
    };
    let begun = Instant::now();
    for number in 0..single {
        register(claims(number..=number)).await;
    }
    let alone = begun.elapsed() / single;
    let begun = Instant::now();
    for batch in 0..batches {
        register(claims(batch * 256..(batch + 1) * 256)).await;
    }
    let together = begun.elapsed() / (batches * 256);
    assert!(together * 3 < alone, "{together:?} together, {alone:?} alone");

    let (client, connection) = tokio_postgres::connect(&database.url(), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let size = "SELECT pg_total_relation_size('agent_sockets') / (SELECT count(*) FROM agent_sockets)";
    let bytes = client.query_one(size, &[]).await.unwrap().get::<_, i64>(0);
    let rows = batches * 256;
    println!("{rows} agents: {alone:?} alone, {together:?} each of 256 together, {bytes} bytes a row");
    assert!(bytes < 1_000, "{bytes}");
}

/// Whoever is in a room now, in the order in which they came, page by page.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_has_come_into_rooms_is_found_by_time() {
    let database = common::database().await;
    let store = common::open(&database).await;
    let world = World::on(Stores::of(&store, PostgresStore::close));
    let ann = world.user("ann").await;
    let (one, two) = (world.agent(&ann, "One").await, world.agent(&ann, "Two").await);
    let (ids, begun) = ([one.id, two.id].map(AccountId::from), world.clock.now());
    world.chat(ann.caller, &ids).await;
    world.clock.advance(Duration::from_secs(1));
    let since = world.clock.now();
    let (room, gone) = (world.chat(ann.caller, &ids).await, world.chat(ann.caller, &ids).await);
    world.chats.remove_participant(ann.caller, room, two.id).await.unwrap();
    world.chats.delete(ann.caller, gone).await.unwrap();
    let entrants = async |since| {
        let (mut position, mut all) = (EntrantPosition::before(since), Vec::new());
        loop {
            let page = store.entrants(position, 2).await.unwrap();
            let Some(last) = page.last() else { return all };
            assert!(page.len() <= 2 && page[0].position() > position);
            position = last.position();
            all.extend(page);
        }
    };
    let found = entrants(since).await;
    let mut who = found.iter().map(|one| (one.chat.id, one.who, one.role)).collect::<Vec<_>>();
    who.sort_by_key(|(_, who, _)| who.kind().as_str());
    let (user, agent) = (ParticipantId::User(ann.id), ParticipantId::Agent(one.id));
    assert_eq!(who, [(room, agent, Role::Member), (room, user, Role::Owner)]);
    assert_eq!(found[0].chat.title, None);
    assert_eq!(entrants(begun).await.len(), 5);
    assert_eq!(entrants(since.plus(Duration::from_secs(60))).await, []);

    let newest = store.newest_change().await.unwrap();
    store.record_event_loss(NODE, begun).await.unwrap();
    let entries = store.changes_after(newest, 10).await.unwrap();
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0].change, Some(Change::EventsLost { by: NODE, since: begun }));
}

/// The servers that were not cleared, with what the clock of the database says about their leases.
#[tokio::test]
async fn leases_of_nodes_are_listed() {
    let database = common::database().await;
    let store = common::open(&database).await;
    assert_eq!(store.node_leases().await.unwrap(), []);
    let late = NodeId::new(Uuid::from_u128(2));
    store.enter(NODE, Duration::from_secs(60)).await.unwrap();
    store.enter(late, Duration::ZERO).await.unwrap();
    let leases = store.node_leases().await.unwrap();
    let seen = leases.iter().map(|lease| {
        let lease_secs = lease.lease_until.since(lease.entered_at).as_secs();
        (lease.node, lease_secs, lease.is_alive)
    });
    assert_eq!(seen.collect::<Vec<_>>(), [(NODE, 60, true), (late, 0, false)]);
    store.leave(NODE, Duration::ZERO).await.unwrap();
    assert!(store.node_leases().await.unwrap().iter().all(|lease| !lease.is_alive), "until they are cleared");
}

/// Without a server of a cluster, nobody knows who is connected.
#[tokio::test]
async fn agents_with_a_socket_on_a_live_node_are_connected() {
    let database = common::database().await;
    let store = common::open(&database).await;
    let world = World::on(Stores::of(&store, PostgresStore::close));
    let ann = world.user("ann").await;
    let (bot, other) = (world.agent(&ann, "Bot").await.id, world.agent(&ann, "Other").await.id);
    let connected = async || {
        let work = world.work.of_agents(vec![bot, other]).await.unwrap();
        work.iter().map(|work| work.is_connected).collect::<Vec<_>>()
    };
    assert_eq!(connected().await, [None, None]);
    store.enter(NODE, Duration::from_secs(60)).await.unwrap();
    assert_eq!(connected().await, [Some(false), Some(false)]);
    let claiming = ClaimReason::NewSocket(OnConflict::Supersede);
    let claimed = store.register(NODE, Vec::new(), vec![AgentClaim { agent: bot, claiming }]).await;
    assert!(matches!(claimed.unwrap(), Registered::Done(_)));
    assert_eq!(connected().await, [Some(true), Some(false)]);
    store.register(NODE, vec![PresenceChange::AgentLost(bot)], Vec::new()).await.unwrap();
    assert_eq!(connected().await, [Some(false), Some(false)], "its connection broke");
    store.leave(NODE, Duration::ZERO).await.unwrap();
    assert_eq!(connected().await, [None, None]);
}
