//! What a message writes: the index entries, and which changes of a delivery write none.
//!
//! The server counts them exactly, so they are tested and not measured.

use std::sync::Arc;

use diesel::sql_types::Text;
use diesel_async::RunQueryDsl;
use domain::chat::Role;
use domain::delivery::{DeliveryKey, DeliveryStep};
use domain::id::{MessageId, ParticipantId};
use testkit::postgres::server;
use testkit::{Stores, TestAgent, World};
use tokio_postgres::{Client, NoTls};

use crate::statement::statement;
use crate::{PostgresConfig, PostgresStore};

/// The indexes that have an entry for this row of a table.
const ENTRIES: &str = "SELECT index.relname::text, pg_get_expr(indpred, indrelid) \
     FROM pg_index JOIN pg_class AS index ON index.oid = indexrelid \
     WHERE indrelid = $1::text::regclass ORDER BY index.relname";

struct Counted {
    store: Arc<PostgresStore>,
    client: Client,
}

impl Counted {
    /// The updates of deliveries so far, and those of them that wrote no index entry (HOT).
    async fn updates(&self) -> (i64, i64) {
        let connection = self.store.pool.acquire().await.unwrap();
        let flush = statement::<Text>("SELECT pg_stat_force_next_flush()::text");
        flush.get_result::<String>(&mut connection.db()).await.unwrap();
        connection.release();
        let counts = "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'deliveries'";
        let row = self.client.query_one(counts, &[]).await.unwrap();
        (row.get(0), row.get(1))
    }

    /// The number of index entries of all rows of the table.
    async fn entries(&self, table: &str) -> i64 {
        let mut entries = 0;
        for index in self.client.query(ENTRIES, &[&table]).await.unwrap() {
            let condition = index.get::<_, Option<String>>(1).unwrap_or_else(|| "true".to_owned());
            let count = format!("SELECT count(*) FROM {table} WHERE {condition}");
            entries += self.client.query_one(&count, &[]).await.unwrap().get::<_, i64>(0);
        }
        entries
    }
}

#[tokio::test]
async fn a_message_writes_six_index_entries_and_a_mark_none() {
    let database = server().database();
    let config = PostgresConfig { connections: 1, ..PostgresConfig::at(&database.url()) };
    let store = Arc::new(PostgresStore::open(&config).await.unwrap());
    let (client, connection) = tokio_postgres::connect(&database.url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    let world = World::on(Stores::of(&store, PostgresStore::close));
    let ann = world.user("ann").await;
    let (bot, other) = (world.agent(&ann, "Bot").await, world.agent(&ann, "Other").await);
    let chat = world.chat(ann.caller, &[bot.id.into()]).await;
    world.add(ann.caller, chat, other.id.into(), Role::Member).await;
    let counted = Counted { store, client };

    let to = [&bot, &other].map(|agent: &TestAgent| ParticipantId::Agent(agent.id));
    let mut messages = Vec::<MessageId>::new();
    for number in 0..10 {
        messages.push(world.send(ann.caller, chat, &format!("message {number}"), &to).await.id);
    }
    assert_eq!(counted.entries("messages").await, 2 * 10);
    assert_eq!(counted.entries("deliveries").await, 2 * 20);

    let taken = messages.iter().map(|message| DeliveryKey { message: *message, agent: bot.id });
    world.deliveries.mark_delivered(taken.collect()).await.unwrap();
    assert_eq!(counted.updates().await, (10, 10));
    // The first attempt enters the index of work, and the last leaves both.
    for (step, entries) in [(DeliveryStep::Begin, 41), (DeliveryStep::Succeed, 39)] {
        world.deliveries.advance(bot.caller, chat, messages[0], step).await.unwrap();
        assert_eq!(counted.entries("deliveries").await, entries);
    }
    assert_eq!(counted.updates().await, (12, 10));
    // The newest attempt is in the delivery.
    assert_eq!(counted.entries("attempts").await, 0);
}
