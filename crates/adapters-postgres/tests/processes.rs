//! Two servers on one database, in the same rooms at the same time.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

#[expect(dead_code, reason = "here are two stores on one database")]
mod common;

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use adapters_postgres::PostgresStore;
use common::{database, open};
use domain::caller::Caller;
use domain::chat::{AddParticipantCommand, CreateChat, CreateChatError, Named, Role};
use domain::delivery::{
    AdvanceDelivery, ClaimLease, DeliveryFilter, DeliveryRepository, DeliveryStatus, DeliveryStep,
};
use domain::id::{ChatId, MessageId, ParticipantId};
use domain::idempotency::{Fingerprint, IdempotencyKey, IdempotentRequest};
use domain::message::{
    HistoryFilter, MaxHops, Mention, MentionKind, MessageContent, MessageKind, MessageRepository, NewMessage,
    SendMessage, SendMessageError,
};
use domain::page::{Order, PageRequest, Slice};
use domain::plan::{Plan, PlanName};
use domain::store::{OnCommit, StoreError};
use domain::time::Timestamp;
use testkit::postgres::Database;
use testkit::{NOON, Stores, TestUser, World};
use tokio::task::JoinSet;
use tokio_postgres::NoTls;
use uuid::Uuid;

const ALL: PageRequest = PageRequest { slice: Slice::After { after: None, limit: 2000 }, count: true };

/// Two servers, each with its own connections, clock and ids; the ids of the second do not meet the first's.
async fn two() -> ([Arc<World>; 2], Database) {
    let database = database().await;
    let mut worlds = Vec::new();
    for server in 0..2 {
        let store = open(&database).await;
        let world = World::on(Stores::of(&store, PostgresStore::close));
        // Ids carry the time.
        world.clock.advance(std::time::Duration::from_secs(server * 1000));
        worlds.push(Arc::new(world));
    }
    (worlds.try_into().ok().unwrap(), database)
}

fn text(text: &str) -> SendMessage {
    SendMessage {
        content: MessageContent::new(text.to_owned()).unwrap(),
        mentions: Vec::new(),
        respond_by: None,
        in_reply_to: None,
        attachments: Vec::new(),
    }
}

/// Does it `times` on each server, all at once.
async fn at_once<T, F>(
    worlds: &[Arc<World>; 2],
    times: usize,
    work: impl Fn(Arc<World>, usize) -> F,
) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let mut all = JoinSet::new();
    for number in 0..times {
        for world in worlds {
            all.spawn(work(world.clone(), number));
        }
    }
    all.join_all().await
}

/// Of four times as many messages as the plan allows exactly those are there, each with its own sequence.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quota_is_exact_and_the_sequence_has_no_gaps() {
    const LIMIT: u32 = 50;
    let (worlds, _database) = two().await;
    let plan = Plan { name: PlanName::new("small").unwrap(), messages: Some(LIMIT), ..Plan::enterprise() };
    let ann = worlds[0].user_with_plan("ann", plan).await;
    let chat = worlds[0].chat(ann.caller, &[]).await;
    let sent = at_once(&worlds, 2 * LIMIT as usize, |world, number| async move {
        world.messages.send(ann.caller, chat, text(&format!("text {number}"))).await.map(|sent| sent.id)
    });
    let mut ids = HashSet::new();
    for sent in sent.await {
        match sent {
            Ok(id) => assert!(ids.insert(id)),
            Err(SendMessageError::Limit(reached)) => assert_eq!(reached.current, u64::from(LIMIT)),
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!(ids.len(), LIMIT as usize);
    let page = worlds[1].messages.history(ann.caller, chat, HistoryFilter::default(), ALL).await.unwrap();
    let places = page.rows.iter().map(|message| message.sequence.get()).rev().collect::<Vec<_>>();
    assert_eq!(places, (1..=i64::from(LIMIT)).collect::<Vec<_>>());
    assert!(page.rows.iter().all(|message| ids.contains(&message.id)));
    assert!(page.rows.windows(2).all(|pair| pair[0].created_at > pair[1].created_at), "times follow places");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rooms_and_participants_are_counted_exactly() {
    let (worlds, _database) = two().await;
    let plan = Plan {
        name: PlanName::new("small").unwrap(),
        chats: Some(5),
        participants: Some(4),
        ..Plan::enterprise()
    };
    let ann = worlds[0].user_with_plan("ann", plan).await;
    let made = at_once(&worlds, 10, |world, _| async move {
        world.chats.create(ann.caller, CreateChat::default()).await.map(|chat| chat.id)
    });
    let mut rooms = Vec::new();
    for made in made.await {
        match made {
            Ok(chat) => rooms.push(chat),
            Err(CreateChatError::Limit(_)) => {}
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!(rooms.len(), 5);
    let mut agents = Vec::new();
    for number in 0..8 {
        agents.push(worlds[0].agent(&ann, &format!("bot {number}")).await.id.into());
    }
    let (agents, chat) = (Arc::new(agents), rooms[0]);
    let added = at_once(&worlds, agents.len(), |world, number| {
        let command = AddParticipantCommand { candidate: agents[number], role: Role::Member };
        async move { world.chats.add_participant(ann.caller, chat, command).await.is_ok() }
    });
    assert_eq!(added.await.into_iter().filter(|added| *added).count(), 3);
    assert_eq!(worlds[1].chats.roster(ann.caller, chat).await.unwrap().participants.len(), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_counts_once_and_attempts_are_numbered_without_gaps() {
    let (worlds, _database) = two().await;
    let ann = worlds[0].user("ann").await;
    let bot = worlds[0].agent(&ann, "Bot").await;
    let chat = worlds[0].chat(ann.caller, &[bot.id.into()]).await;
    let first = at_once(&worlds, 20, |world, _| async move {
        let key = IdempotencyKey::new("once").unwrap();
        let once = Some(IdempotentRequest { key, fingerprint: Fingerprint::new([1; 32]) });
        world.messages.send_once(ann.caller, chat, text("once"), once).await.unwrap().id
    });
    assert_eq!(first.await.into_iter().collect::<BTreeSet<_>>().len(), 1);

    let message = worlds[0].send(ann.caller, chat, "work", &[ParticipantId::Agent(bot.id)]).await.id;
    let caller = bot.caller;
    let begun = at_once(&worlds, 20, |world, _| async move {
        let step = world.deliveries.advance(caller, chat, message, DeliveryStep::Begin).await;
        step.unwrap().attempt_number.get()
    });
    let mut numbers = begun.await;
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=40).collect::<Vec<_>>());
    // Of those who finish at once one does.
    let done = at_once(&worlds, 5, |world, _| async move {
        world.deliveries.advance(caller, chat, message, DeliveryStep::Succeed).await.is_ok()
    });
    assert_eq!(done.await.into_iter().filter(|done| *done).count(), 1);
    let listed =
        worlds[1].deliveries.list(caller, chat, DeliveryFilter::Processed, Order::Ascending, ALL).await;
    let listed = listed.unwrap();
    let attempts = listed.rows[0].deliveries[0].attempts();
    assert_eq!(
        attempts.iter().map(|attempt| attempt.number.get()).collect::<Vec<_>>(),
        (1..=40).collect::<Vec<_>>()
    );
}

/// Of two owners who go at once, each by another server, one stays, as somebody has to own the room.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_owners_who_go_at_once_one_stays() {
    let (worlds, _database) = two().await;
    let ann = worlds[0].user("ann").await;
    let ben = worlds[0].agent(&ann, "Ben").await;
    for _ in 0..10 {
        let chat = worlds[0].chat(ann.caller, &[]).await;
        worlds[0].add(ann.caller, chat, ben.id.into(), Role::Owner).await;
        let (ann_goes, ben_goes) = tokio::join!(
            worlds[0].chats.remove_participant(ann.caller, chat, ann.id),
            worlds[1].chats.remove_participant(ben.caller, chat, ben.id),
        );
        assert_ne!(ann_goes.is_ok(), ben_goes.is_ok(), "{ann_goes:?} {ben_goes:?}");
        let left = if ann_goes.is_ok() { Caller::from(ben.caller) } else { ann.caller.into() };
        let roster = worlds[1].chats.roster(left, chat).await.unwrap();
        assert_eq!(roster.participants.len(), 1);
        assert_eq!(roster.participants[0].role, Role::Owner);
    }
}

/// In how many transactions the messages were written.
async fn commits(database: &Database) -> i64 {
    let (client, connection) = tokio_postgres::connect(&database.url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    let different = "SELECT count(DISTINCT xmin::text) FROM messages";
    client.query_one(different, &[]).await.unwrap().get(0)
}

/// Thirty-two who send one after the other share their commits; one who sends alone has its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn those_who_send_at_once_share_commits() {
    const SENDERS: usize = 32;
    const EACH: usize = 30;
    let database = database().await;
    let store = open(&database).await;
    let world = Arc::new(World::on(Stores::of(&store, PostgresStore::close)));
    let ann = world.user("ann").await;
    let mut rooms = Vec::new();
    for _ in 0..SENDERS {
        rooms.push(world.chat(ann.caller, &[]).await);
    }
    for number in 1..=5 {
        world.send(ann.caller, rooms[0], "alone", &[]).await;
        assert_eq!(commits(&database).await, number);
    }
    let mut all = JoinSet::new();
    for room in rooms.clone() {
        let world = world.clone();
        all.spawn(async move {
            for _ in 0..EACH {
                world.send(ann.caller, room, "together", &[]).await;
            }
        });
    }
    all.join_all().await;
    let shared = commits(&database).await - 5;
    assert!(
        shared < i64::try_from(SENDERS * EACH / 4).unwrap(),
        "{shared} commits for {} messages",
        SENDERS * EACH
    );
    for room in rooms {
        let page = world.messages.history(ann.caller, room, HistoryFilter::default(), ALL).await.unwrap();
        assert!(page.rows.len() >= EACH);
    }
}

fn new(ann: &TestUser, chat: ChatId, number: u128, content: &str) -> NewMessage {
    let id = ParticipantId::User(ann.id);
    let ann = Named { id, handle: "ann".to_owned(), name: "Ann".to_owned(), is_external: None };
    let (id, now) = (MessageId::new(Uuid::from_u128(number)), Timestamp::from_micros(NOON));
    let text = NewMessage::new(id, chat, ann, MessageKind::Text, content.to_owned(), now);
    NewMessage { max_hops: MaxHops::default(), ..text }
}

/// A step waits for a mark that is not committed yet, and keeps what it wrote.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_keeps_the_mark_of_the_same_moment() {
    let database = database().await;
    let store = open(&database).await;
    let world = World::on(Stores::of(&store, PostgresStore::close));
    let ann = world.user("ann").await;
    let bot = world.agent(&ann, "Bot").await;
    let chat = world.chat(ann.caller, &[bot.id.into()]).await;
    let mention = Mention {
        id: ParticipantId::Agent(bot.id),
        handle: bot.handle.clone(),
        name: "Bot".to_owned(),
        kind: MentionKind::Mention,
    };
    let message = NewMessage { mentions: vec![mention], ..new(&ann, chat, 5000, "work") };
    let id = message.id;
    store.append(message, OnCommit::nothing()).await.unwrap().unwrap();

    let (client, connection) = tokio_postgres::connect(&database.url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    let mark = "BEGIN; UPDATE deliveries SET delivered_at = '2026-07-01 12:00:01+00'";
    client.batch_execute(mark).await.unwrap();
    let now = Timestamp::from_micros(NOON + 2);
    let command = AdvanceDelivery {
        agent: bot.id,
        chat,
        message: id,
        step: DeliveryStep::Begin,
        attempt: None,
        lease: ClaimLease::default(),
        now,
    };
    let stepping = store.clone();
    let step = tokio::spawn(async move { stepping.advance(command, OnCommit::nothing()).await });
    // The activity of a transaction is frozen, but its locks are not.
    let waiting =
        "SELECT count(*) FROM pg_locks WHERE NOT granted AND transactionid = pg_current_xact_id()::xid";
    while client.query_one(waiting, &[]).await.unwrap().get::<_, i64>(0) == 0 {
        assert!(!step.is_finished(), "the step did not wait");
    }
    client.batch_execute("COMMIT").await.unwrap();
    let stepped = step.await.unwrap().unwrap().unwrap();
    assert_eq!(stepped.delivery.status(), DeliveryStatus::Processing);
    assert_eq!(stepped.delivery.delivered_at(), Some(Timestamp::from_micros(NOON + 1_000_000)));
}

/// What the store cannot keep is refused; whoever is in the same batch is not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_message_does_not_hurt_those_beside_it() {
    let database = database().await;
    let store = open(&database).await;
    let world = World::on(Stores::of(&store, PostgresStore::close));
    let ann = world.user("ann").await;
    let chat = world.chat(ann.caller, &[]).await;
    // The first that this connection sends, of which nothing may remain.
    let alone = store.append(new(&ann, chat, 999, "a\0b"), OnCommit::nothing()).await;
    assert!(matches!(alone, Err(StoreError::Broken(_))), "{alone:?}");
    assert_eq!(
        store
            .append(new(&ann, chat, 998, "fine"), OnCommit::nothing())
            .await
            .unwrap()
            .unwrap()
            .message
            .sequence
            .get(),
        1
    );
    let mut all = JoinSet::new();
    for number in 0..60_u128 {
        let is_bad = number % 10 == 3;
        let message = new(&ann, chat, 1000 + number, if is_bad { "a\0b" } else { "fine" });
        let store = store.clone();
        all.spawn(async move { (is_bad, store.append(message, OnCommit::nothing()).await) });
    }
    for (is_bad, answer) in all.join_all().await {
        match answer {
            Ok(Ok(_)) => assert!(!is_bad),
            Err(StoreError::Broken(_)) => assert!(is_bad),
            other => panic!("{other:?}"),
        }
    }
    let page = world.messages.history(ann.caller, chat, HistoryFilter::default(), ALL).await.unwrap();
    let places = page.rows.iter().map(|message| message.sequence.get()).rev().collect::<Vec<_>>();
    assert_eq!(places, (1..=55).collect::<Vec<_>>());
}
