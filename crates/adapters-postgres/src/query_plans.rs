//! Query plans of frequent statements: along indexes, and reading no more than is returned.
//!
//! The statements are those that the store really sends, captured on its own connection, so that a
//! changed one cannot escape. Two things are checked, before the tables were ever analysed and
//! after: the number of rows read, from the server's counters, and the plan.

mod attention;
mod boards;
mod distribution;
mod fill;
mod hot;
mod ledger;
mod lists;
mod operator;
mod pushes;
mod reminders;
mod search;
mod webhooks;
mod work;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use diesel::sql_types::{BigInt, Text};
use diesel_async::RunQueryDsl;
use domain::id::{ChatId, ParticipantId, RecordId};
use domain::page::{PageRequest, Position, Slice};
use testkit::postgres::{Database, server};
use testkit::{Stores, TestAgent, TestUser, World};
use tokio_postgres::{Client, NoTls};

use crate::statement::statement;
use crate::{PostgresConfig, PostgresStore};
use fill::Size;

/// The tables that grow.
const LARGE: [&str; 18] = [
    "attention_items",
    "messages",
    "deliveries",
    "attempts",
    "participants",
    "chats",
    "agents",
    "users",
    "api_keys",
    "contacts",
    "contact_requests",
    "memories",
    "idempotency_records",
    "boards",
    "tasks",
    "board_entries",
    "webhook_deliveries",
    "push_configs",
];

/// A fixture on a large database, and one connection that its store does everything on.
struct Watched {
    world: World,
    config: PostgresConfig,
    store: Arc<PostgresStore>,
    /// A connection beside the store's.
    client: Client,
    /// The number of runs of each statement so far.
    run: HashMap<String, i64>,
    is_analysed: bool,
    /// The first column of each index of a large table, except for those that only hold the few
    /// global agents.
    first_columns: HashMap<String, String>,
    /// All findings, so that one run reports them together.
    faults: Vec<String>,
    size: Size,
    ann: TestUser,
    /// An agent of the user with a backlog.
    bot: TestAgent,
    /// The chat with half of all messages; both are in it.
    chat: ChatId,
    _database: Database,
}

impl Watched {
    async fn open() -> Self {
        Self::open_with(Size::wanted()).await
    }

    /// The statements are planned after the tables are filled.
    async fn open_with(size: Size) -> Self {
        let mut watched = Self::on_empty_tables(size).await;
        watched.fill().await;
        // A fresh server; ids carry the time, so none is assigned twice.
        watched.store.close();
        let store = Arc::new(PostgresStore::open(&watched.config).await.unwrap());
        watched.world = World::on(Stores::of(&store, PostgresStore::close));
        watched.store = store;
        watched.world.clock.advance(Duration::from_secs(1000));
        watched
    }

    async fn fill(&self) {
        self.size.fill(&self.client, &self.ann, &self.bot, self.chat).await;
    }

    async fn on_empty_tables(size: Size) -> Self {
        let database = server().database();
        let config = PostgresConfig { connections: 1, ..PostgresConfig::at(&database.url()) };
        let store = Arc::new(PostgresStore::open(&config).await.unwrap());
        let (client, connection) = tokio_postgres::connect(&database.url(), NoTls).await.unwrap();
        tokio::spawn(connection);
        let world = World::on(Stores::of(&store, PostgresStore::close));
        let ann = world.user("ann").await;
        let bot = world.agent(&ann, "Bot").await;
        let chat = world.chat(ann.caller, &[bot.id.into()]).await;
        let (run, faults) = (HashMap::new(), Vec::new());
        let first_columns = first_columns(&client).await;
        Self {
            world,
            config,
            store,
            client,
            run,
            is_analysed: false,
            first_columns,
            faults,
            size,
            ann,
            bot,
            chat,
            _database: database,
        }
    }

    async fn analyse(&mut self) {
        self.client.batch_execute("ANALYZE").await.unwrap();
        self.is_analysed = true;
    }

    /// Runs the work and checks its cost: at most `rows` rows of tables and entries of indexes.
    async fn costs<T>(&mut self, what: &str, rows: i64, work: impl Future<Output = T>) -> T {
        let mut before = self.read().await;
        let answer = work.await;
        self.note(what, rows, &mut before).await;
        answer
    }

    /// Checks the cost of the work since `before`, which is set to the number of rows read now.
    async fn note(&mut self, what: &str, rows: i64, before: &mut i64) {
        let read = self.read().await - *before;
        let plans = self.plans().await;
        if read > rows {
            self.faults.push(format!("{what} read {read} rows instead of {rows}:\n{}", plans.join("\n")));
        }
        // All that waits for webhooks is counted, which is an index of its own.
        let plans = plans.iter().filter(|_| what != "count what waits");
        let whole = plans.filter(|plan| self.reads_all_of_something(plan));
        let whole = whole.map(|plan| format!("{what}: {plan}")).collect::<Vec<_>>();
        self.faults.extend(whole);
        *before = self.read().await;
    }

    /// The number of rows of tables and entries of indexes that have been read so far.
    async fn read(&self) -> i64 {
        const FLUSH: &str = "SELECT pg_stat_force_next_flush()::text";
        let connection = self.store.pool.acquire().await.unwrap();
        let mut db = connection.db();
        statement::<Text>(FLUSH).get_result::<String>(&mut db).await.unwrap();
        connection.release();
        // The rows that the test itself filled in with this connection would be counted seconds later.
        self.client.query_one(FLUSH, &[]).await.unwrap();
        let read = "SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables)::int8 \
             + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes)::int8";
        self.client.query_one(read, &[]).await.unwrap().get(0)
    }

    /// Returns whether a large table is scanned from end to end; or an index of one, once the
    /// planner has statistics, which is the case if there is no condition on its first column.
    fn reads_all_of_something(&self, plan: &str) -> bool {
        let mut lines = plan.lines().peekable();
        while let Some(line) = lines.next() {
            if LARGE.iter().any(|table| line.contains(&format!("Seq Scan on {table} "))) {
                return true;
            }
            let index =
                [" Scan using ", "Bitmap Index Scan on "].into_iter().find_map(|node| line.split_once(node));
            let index = index.and_then(|(_, rest)| rest.split(' ').next()).unwrap_or_default();
            let Some(first) = self.first_columns.get(index).filter(|_| self.is_analysed) else { continue };
            let condition = lines.peek().filter(|line| line.contains("Index Cond: "));
            if !condition.is_some_and(|condition| condition.contains(first.as_str())) {
                return true;
            }
        }
        false
    }

    /// The statements since the last call, each with its plan, which is the same for all values.
    async fn plans(&mut self) -> Vec<String> {
        let connection = self.store.pool.acquire().await.unwrap();
        let mut db = connection.db();
        let all = statement::<(Text, Text, BigInt, BigInt)>(
            "SELECT name, statement, cardinality(parameter_types)::int8, generic_plans FROM pg_prepared_statements \
             WHERE statement NOT LIKE '%pg\\_%' AND statement ~ '^[(]*(SELECT|WITH|UPDATE|DELETE)'",
        );
        let mut plans = Vec::new();
        for (name, text, values, times) in all.load::<(String, String, i64, i64)>(&mut db).await.unwrap() {
            let explain = self.run.get(&name) != Some(&times);
            self.run.insert(name.clone(), times + i64::from(explain));
            if explain {
                let values = vec!["NULL"; usize::try_from(values).unwrap()].join(", ");
                let values = if values.is_empty() { values } else { format!("({values})") };
                let lines = statement::<Text>(format!("EXPLAIN EXECUTE \"{name}\"{values}"));
                let lines = lines.load::<String>(&mut db).await.unwrap();
                plans.push(format!("{text}\n{}", lines.join("\n")));
            }
        }
        connection.release();
        plans
    }

    fn viewer(&self) -> ParticipantId {
        ParticipantId::User(self.ann.id)
    }

    fn end(self) {
        assert!(self.faults.is_empty(), "{} faults:\n{}", self.faults.len(), self.faults.join("\n\n"));
    }
}

async fn first_columns(client: &Client) -> HashMap<String, String> {
    let columns = "SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid, 1, FALSE) FROM pg_index \
         WHERE indrelid::regclass::text = ANY($1) \
         AND indexrelid::regclass::text NOT IN ('agents_global', 'agents_listed')";
    let rows = client.query(columns, &[&LARGE.as_slice()]).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

const FIRST: PageRequest = PageRequest { slice: Slice::After { after: None, limit: 50 }, count: false };

fn after(key: i64) -> PageRequest {
    PageRequest {
        slice: Slice::After { after: Some(Position::at(key, RecordId::MAX)), limit: 50 },
        count: false,
    }
}

#[tokio::test]
async fn no_table_is_read_from_end_to_end() {
    let mut watched = Watched::open().await;
    for _ in ["before the tables are analysed", "after"] {
        watched.reads_of_rooms().await;
        watched.reads_of_messages().await;
        watched.reads_of_people().await;
        watched.reads_of_contacts().await;
        watched.reads_of_memories().await;
        watched.reads_of_operators().await;
        watched.boards().await;
        watched.attention().await;
        watched.reminders().await;
        watched.work().await;
        watched.changes().await;
        watched.analyse().await;
    }
    watched.erases_old_messages().await;
    watched.end();
}
