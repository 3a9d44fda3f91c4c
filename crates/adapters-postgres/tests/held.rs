//! Rooms that another process has locked delay only their own messages.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

mod common;

use std::sync::Arc;
use std::time::Duration;

use adapters_postgres::{PostgresConfig, PostgresStore};
use domain::id::ChatId;
use domain::message::{HistoryFilter, MessageContent, SendMessage, SendMessageError};
use domain::page::{PageRequest, Slice};
use domain::store::StoreError;
use testkit::postgres::Database;
use testkit::{Stores, TestUser, World, until};
use tokio::task::JoinHandle;
use tokio_postgres::{Client, NoTls};

const ALL: PageRequest = PageRequest { slice: Slice::After { after: None, limit: 2000 }, count: true };

/// A transaction of somebody else that has the rooms locked, until it is dropped.
async fn hold(database: &Database, rooms: &[ChatId]) -> Client {
    let (client, connection) = tokio_postgres::connect(&database.url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute("BEGIN").await.unwrap();
    let ids = rooms.iter().map(|room| room.uuid().to_string()).collect::<Vec<_>>();
    let lock = "SELECT 1 FROM chats WHERE id = ANY($1::text[]::uuid[]) FOR UPDATE";
    let locked = client.query(lock, &[&ids]).await.unwrap();
    assert_eq!(locked.len(), rooms.len());
    client
}

async fn world() -> (Arc<World>, TestUser, Database) {
    let (stores, database) = common::store().await;
    let world = World::on(stores);
    let ann = world.user("ann").await;
    (Arc::new(world), ann, database)
}

type Sent = Result<(), SendMessageError>;

fn send(world: &Arc<World>, ann: &TestUser, room: ChatId, text: &str) -> JoinHandle<Sent> {
    let (world, caller) = (world.clone(), ann.caller);
    let content = MessageContent::new(text.to_owned()).unwrap();
    tokio::spawn(async move {
        let message = SendMessage {
            content,
            mentions: Vec::new(),
            respond_by: None,
            in_reply_to: None,
            attachments: Vec::new(),
        };
        world.messages.send(caller, room, message).await.map(|_| ())
    })
}

/// What is in a room, the newest first.
async fn texts(world: &World, ann: &TestUser, room: ChatId) -> Vec<String> {
    let page = world.messages.history(ann.caller, room, HistoryFilter::default(), ALL).await.unwrap();
    let sequences = page.rows.iter().map(|message| message.sequence.get()).rev().collect::<Vec<_>>();
    assert_eq!(sequences, (1..).take(page.rows.len()).collect::<Vec<_>>());
    page.rows.into_iter().map(|message| message.content).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn others_go_on_while_a_room_is_held() {
    let (world, ann, database) = world().await;
    let (held, free) = (world.chat(ann.caller, &[]).await, world.chat(ann.caller, &[]).await);
    let holding = hold(&database, &[held]).await;
    let waiting =
        (0..5).map(|number| send(&world, &ann, held, &format!("held {number}"))).collect::<Vec<_>>();
    for number in 0..20 {
        send(&world, &ann, free, &format!("free {number}")).await.unwrap().unwrap();
    }
    let more = (0..5).map(|number| send(&world, &ann, held, &format!("more {number}"))).collect::<Vec<_>>();
    send(&world, &ann, free, "free at last").await.unwrap().unwrap();
    assert!(waiting.iter().chain(&more).all(|one| !one.is_finished()));
    assert_eq!(texts(&world, &ann, free).await.len(), 21);
    drop(holding);
    for one in waiting.into_iter().chain(more) {
        one.await.unwrap().unwrap();
    }
    send(&world, &ann, held, "after").await.unwrap().unwrap();
    let texts = texts(&world, &ann, held).await;
    assert_eq!(texts.len(), 11);
    assert_eq!(texts[0], "after");
}

/// More rooms than may wait on connections of their own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_held_rooms_leave_connections_for_the_others() {
    let (world, ann, database) = world().await;
    let mut rooms = Vec::new();
    for _ in 0..20 {
        rooms.push(world.chat(ann.caller, &[]).await);
    }
    let free = world.chat(ann.caller, &[]).await;
    let holding = hold(&database, &rooms).await;
    let waiting = rooms.iter().map(|room| send(&world, &ann, *room, "held")).collect::<Vec<_>>();
    for _ in 0..10 {
        send(&world, &ann, free, "free").await.unwrap().unwrap();
    }
    assert!(waiting.iter().all(|one| !one.is_finished()));
    drop(holding);
    for one in waiting {
        one.await.unwrap().unwrap();
    }
    for room in rooms {
        assert_eq!(texts(&world, &ann, room).await, ["held"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waits_too_long_for_a_held_room_is_told() {
    let database = common::database().await;
    let config = PostgresConfig {
        connections: 8,
        statement_timeout: Duration::from_secs(3),
        ..PostgresConfig::at(&database.url())
    };
    let store = Arc::new(PostgresStore::open(&config).await.unwrap());
    let world = Arc::new(World::on(Stores::of(&store, PostgresStore::close)));
    let ann = world.user("ann").await;
    let room = world.chat(ann.caller, &[]).await;
    let holding = hold(&database, &[room]).await;
    let refused = send(&world, &ann, room, "too late").await.unwrap().unwrap_err();
    assert!(matches!(refused, SendMessageError::Store(StoreError::Unavailable(_))), "{refused:?}");
    drop(holding);
    send(&world, &ann, room, "in time").await.unwrap().unwrap();
    assert_eq!(texts(&world, &ann, room).await, ["in time"], "what was refused is not there");
}

/// The message that waits for its room is stored or given up, and everything else is refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_shuts_down_when_its_last_message_is_stored_or_takes_too_long() {
    for is_released in [true, false] {
        let database = common::database().await;
        let store = common::open(&database).await;
        let world = Arc::new(World::on(Stores::of(&store, PostgresStore::close)));
        let ann = world.user("ann").await;
        let (held, free) = (world.chat(ann.caller, &[]).await, world.chat(ann.caller, &[]).await);
        let holding = hold(&database, &[held]).await;
        let last = send(&world, &ann, held, "last");
        let waits =
            "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
        until("the message does not wait", async || !holding.query(waits, &[]).await.unwrap().is_empty())
            .await;
        let closing = tokio::spawn(async move { store.shut_down().await });
        until("messages are still taken", async || send(&world, &ann, free, "late").await.unwrap().is_err())
            .await;
        assert!(!closing.is_finished() && !last.is_finished());
        if is_released {
            holding.batch_execute("COMMIT").await.unwrap();
        }
        closing.await.unwrap();
        if is_released {
            last.await.unwrap().unwrap();
        } else {
            assert!(!last.is_finished());
        }
    }
}

/// The database cancels such a statement before its commit, so nobody has to read the store again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_takes_too_long_is_not_in_doubt() {
    let database = common::database().await;
    let statement_timeout = Duration::from_secs(1);
    let config = PostgresConfig { connections: 8, statement_timeout, ..PostgresConfig::at(&database.url()) };
    let store = Arc::new(PostgresStore::open(&config).await.unwrap());
    let world = Arc::new(World::on(Stores::of(&store, PostgresStore::close)));
    let ann = world.user("ann").await;
    let room = world.chat(ann.caller, &[]).await;
    // The next one is written with one statement, as the room is known.
    send(&world, &ann, room, "in time").await.unwrap().unwrap();
    let (client, connection) = tokio_postgres::connect(&database.url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    let slow = "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS \
         $$ BEGIN PERFORM pg_advisory_xact_lock(7); RETURN NEW; END $$; \
         CREATE TRIGGER slow BEFORE INSERT ON messages FOR EACH ROW EXECUTE FUNCTION slow(); \
         SELECT pg_advisory_lock(7)";
    client.batch_execute(slow).await.unwrap();
    let refused = send(&world, &ann, room, "too slow").await.unwrap().unwrap_err();
    assert!(matches!(refused, SendMessageError::Store(StoreError::Unavailable(_))), "{refused:?}");
    assert_eq!(*store.commits_in_doubt().borrow(), 0);
    assert_eq!(texts(&world, &ann, room).await, ["in time"]);
}
