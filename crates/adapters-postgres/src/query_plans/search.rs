//! A search reads a small part of a large index, whatever it looks for.

use std::fmt::Write;

use domain::id::Sequence;
use domain::message::MessageKind;
use domain::ports::Clock;
use domain::search::{INDEXED_AT_ONCE, MessageSearch, SearchKey, SearchPlace, SearchQuery, SearchRepository};
use domain::time::Timestamp;
use tokio::time::Instant;

use super::*;
use crate::search::span_keys;

/// The number of messages, one a minute.
fn many() -> i64 {
    if std::env::var_os("PARLANCE_TEST_FULL").is_some() { 1_000_000 } else { 30_000 }
}

/// The words of the nth message; every tenth one is in the first room.
fn words(number: i64) -> Vec<&'static str> {
    let mut words = vec!["common", if number % 2 == 0 { "even" } else { "odd" }];
    if number % 5_000 == 0 {
        words.push("rare");
    }
    words
}

const MESSAGES: &str = "INSERT INTO messages (id, chat_id, sequence, kind, content, sender_id, sender_kind, sender_name, \
     mentions, created_at, updated_at) \
     SELECT ('00000004' || lpad(to_hex(n), 24, '0'))::uuid, CASE WHEN n % 10 = 0 THEN $own ELSE $foreign END, n, 'text', \
     'common ' || CASE WHEN n % 2 = 0 THEN 'even' ELSE 'odd' END || CASE WHEN n % 5000 = 0 THEN ' rare' ELSE '' END, \
     $sender, 'User', 'Ann', '[]', $start + n * interval '1 minute', $start FROM generate_series(1, $many) AS n; \
     UPDATE chats SET last_sequence = $many";

async fn fill(client: &Client, sender: &TestUser, rooms: [ChatId; 2], start: Timestamp, many: i64) {
    let quoted = |id: &dyn std::fmt::Display| format!("'{id}'::uuid");
    let messages = MESSAGES
        .replace("$own", &quoted(&rooms[0]))
        .replace("$foreign", &quoted(&rooms[1]))
        .replace("$sender", &quoted(&sender.id))
        .replace("$start", &format!("timestamptz '{start}'"))
        .replace("$many", &many.to_string());
    client.batch_execute(&messages).await.unwrap();
    let numbers = (1..=many).collect::<Vec<_>>();
    for part in numbers.chunks(2_000) {
        let mut rows = String::new();
        for number in part {
            let room = rooms[usize::from(number % 10 != 0)];
            let at = start.plus(Duration::from_secs(60 * number.unsigned_abs()));
            let place = SearchPlace::of(at, Sequence::new(*number));
            let words = words(*number).into_iter().map(SearchKey::token);
            let others =
                [SearchKey::room(room), SearchKey::kind(MessageKind::Text), SearchKey::sender("ann")];
            let keys = words.chain(others).chain(span_keys(place)).map(|key| key.number().to_string());
            let (comma, keys) = (if rows.is_empty() { "" } else { "," }, keys.collect::<Vec<_>>().join(","));
            write!(rows, "{comma}('{room}', {number}, {}, '{{{keys}}}')", place.number()).unwrap();
        }
        client.batch_execute(&format!("INSERT INTO search_texts VALUES {rows}")).await.unwrap();
    }
    client.batch_execute("SELECT pg_stat_force_next_flush()").await.unwrap();
}

/// The number of pages of the index of keys, and of the table, that were read so far.
async fn read(store: &PostgresStore, client: &Client) -> i64 {
    let connection = store.pool.acquire().await.unwrap();
    let mut db = connection.db();
    let flush = statement::<Text>("SELECT pg_stat_force_next_flush()::text");
    flush.get_result::<String>(&mut db).await.unwrap();
    connection.release();
    let read = "SELECT (heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read)::int8 \
         FROM pg_statio_user_tables WHERE relname = 'search_texts'";
    client.query_one(read, &[]).await.unwrap().get(0)
}

async fn entries(client: &Client) -> i64 {
    client.query_one("SELECT count(*) FROM search_texts", &[]).await.unwrap().get(0)
}

/// Entries go with their messages and rooms, whatever erases them.
#[tokio::test]
async fn no_entry_outlives_its_message() {
    let database = server().database();
    let config = PostgresConfig { connections: 1, ..PostgresConfig::at(&database.url()) };
    let store = Arc::new(PostgresStore::open(&config).await.unwrap());
    let (client, connection) = tokio_postgres::connect(&database.url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    let world = World::on(Stores::of(&store, PostgresStore::close));
    let ann = world.user("ann").await;
    let (one, other) = (world.chat(ann.caller, &[]).await, world.chat(ann.caller, &[]).await);
    let first = world.send(ann.caller, one, "first", &[]).await.id;
    world.send(ann.caller, one, "second", &[]).await;
    world.send(ann.caller, other, "third", &[]).await;
    assert_eq!(store.index_rooms(vec![one, other], INDEXED_AT_ONCE).await.unwrap().messages, 3);
    assert_eq!(store.index_rooms(vec![one, other], INDEXED_AT_ONCE).await.unwrap().messages, 0);
    world.messages.delete(ann.caller, one, first).await.unwrap();
    assert_eq!(entries(&client).await, 2);
    world.chats.delete(ann.caller, other).await.unwrap();
    while store.erase_entries().await.unwrap() {}
    assert_eq!(entries(&client).await, 1);
    world.clock.advance(Duration::from_secs(3 * 24 * 60 * 60));
    let mut walk = domain::message::Retention::days(domain::message::Ageing::Texts, 2);
    while world.messages.erase_old(&mut walk, world.clock.now()).await.unwrap().is_some() {}
    assert_eq!(entries(&client).await, 0);
    // What is left of a room that was indexed before is replaced.
    let again = world.send(ann.caller, one, "again", &[]).await;
    store.index_rooms(vec![one], INDEXED_AT_ONCE).await.unwrap();
    client.batch_execute("DELETE FROM search_rooms").await.unwrap();
    assert_eq!(store.index_rooms(vec![one], INDEXED_AT_ONCE).await.unwrap().messages, 1, "{again:?}");
    assert_eq!(entries(&client).await, 1);
}

/// An edit waits until the room is indexed, and indexing passes over a room whose message is edited.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_room_is_passed_over() {
    let database = server().database();
    let store = Arc::new(PostgresStore::open(&PostgresConfig::at(&database.url())).await.unwrap());
    let (client, connection) = tokio_postgres::connect(&database.url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    let world = World::on(Stores::of(&store, PostgresStore::close));
    let ann = world.user("ann").await;
    let chat = world.chat(ann.caller, &[]).await;
    let message = world.send(ann.caller, chat, "first", &[]).await.id;
    store.index_rooms(vec![chat], INDEXED_AT_ONCE).await.unwrap();
    world.send(ann.caller, chat, "second", &[]).await;
    client.batch_execute("BEGIN; SELECT * FROM search_rooms FOR UPDATE").await.unwrap();
    let step = store.index_rooms(vec![chat], INDEXED_AT_ONCE).await.unwrap();
    assert_eq!((step.messages, step.unfinished), (0, vec![chat]));
    let content = domain::message::MessageContent::new("other".to_owned()).unwrap();
    let mut editing = Box::pin(world.messages.edit(ann.caller, chat, message, content));
    let waits = tokio::time::timeout(Duration::from_millis(300), &mut editing).await;
    assert!(waits.is_err(), "the edit does not wait");
    client.batch_execute("COMMIT").await.unwrap();
    editing.await.unwrap();
    assert_eq!(store.index_rooms(vec![chat], INDEXED_AT_ONCE).await.unwrap().messages, 1);
}

#[tokio::test]
async fn a_search_reads_a_small_part_of_a_large_index() {
    let database = server().database();
    let config = PostgresConfig { connections: 1, ..PostgresConfig::at(&database.url()) };
    let store = Arc::new(PostgresStore::open(&config).await.unwrap());
    let (client, connection) = tokio_postgres::connect(&database.url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    let world = World::on(Stores::of(&store, PostgresStore::close));
    let (ann, ben) = (world.user("ann").await, world.user("ben").await);
    let rooms = [world.chat(ann.caller, &[]).await, world.chat(ben.caller, &[]).await];
    let (many, start) = (many(), world.clock.now());
    fill(&client, &ann, rooms, start, many).await;

    let plan = "SET enable_seqscan = off; EXPLAIN SELECT place FROM search_texts \
         WHERE keys @> '{1,2}' AND keys && '{3,4}' AND place + 0 >= 0 AND place + 0 < 9 LIMIT 2049";
    let lines = client.simple_query(plan).await.unwrap();
    let lines = lines.into_iter().filter_map(|line| match line {
        tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    });
    let lines = lines.collect::<Vec<_>>().join("\n");
    assert!(lines.contains("Bitmap Index Scan on search_texts_keys"), "{lines}");

    let middle = start.plus(Duration::from_secs(60 * many.unsigned_abs() / 2));
    for (query, hits, most) in [
        ("common".to_owned(), 20, 3_000),
        ("common even".to_owned(), 20, 3_000),
        ("rare".to_owned(), usize::try_from(many / 5_000).unwrap().min(20), 3_000),
        ("odd".to_owned(), 0, 3_000),
        ("even odd".to_owned(), 0, 3_000),
        ("nothing".to_owned(), 0, 3_000),
        ("kind:text".to_owned(), 20, 3_000),
        (format!("common before:{middle}"), 20, 3_000),
    ] {
        let parsed = SearchQuery::parse(&query).unwrap();
        let viewer = ParticipantId::User(ann.id);
        let search = MessageSearch { viewer, query: parsed, after: None, limit: 20 };
        let (before, begun) = (read(&store, &client).await, Instant::now());
        let page = store.search_messages(search).await.unwrap();
        let took = begun.elapsed();
        let rows = read(&store, &client).await - before;
        assert_eq!(page.rows.len(), hits, "{query}");
        assert!(rows <= most, "{query} read {rows} pages instead of {most}, in {took:?}");
    }
}
