//! The tables match the code, and can be created by a role without other rights.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

#[expect(dead_code, reason = "no test here needs all ports")]
mod common;

use std::sync::Arc;

use adapters_postgres::{OpenError, PostgresConfig, PostgresStore};
use domain::archive::{CLUSTER, ColumnKind, LOCAL, TABLES};
use testkit::postgres::{Cluster, Options};
use testkit::{Stores, World};
use tokio_postgres::{Client, Config, NoTls};

/// A connection in addition to the store's.
async fn connect(config: &Config) -> Client {
    let (client, connection) = config.connect(NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

async fn lines(client: &Client, sql: &str) -> Vec<String> {
    let rows = client.query(sql, &[]).await.unwrap();
    rows.iter().map(|row| row.get::<_, String>(0)).collect()
}

/// The tables that the code lists, as `table.column type`, with `?` if it may be null, and its place
/// in the key.
fn listed() -> Vec<String> {
    let mut listed = Vec::new();
    for table in TABLES.iter().chain(&LOCAL).chain(&CLUSTER) {
        for (index, column) in table.columns.iter().enumerate() {
            let sql = match column.kind {
                ColumnKind::Id | ColumnKind::IdOrNil => "uuid",
                ColumnKind::Bytes => "bytea",
                ColumnKind::Instant => "timestamp with time zone",
                ColumnKind::Integer => "bigint",
                ColumnKind::Flag => "boolean",
                ColumnKind::Text => "text",
            };
            let optional = if column.is_optional { "?" } else { "" };
            let key = if index < table.key { format!(" key {}", index + 1) } else { String::new() };
            listed.push(format!("{}.{} {sql}{optional}{key}", table.name, column.name));
        }
    }
    listed
}

/// Each column at its place. Of integers, only the size is not compared.
#[tokio::test]
async fn the_schema_in_code_is_that_of_the_tables() {
    let database = common::database().await;
    let client = connect(&database.url().parse().unwrap()).await;
    let columns = "SELECT c.relname || '.' || a.attname || ' ' \
         || replace(format_type(a.atttypid, a.atttypmod), 'integer', 'bigint') \
         || CASE WHEN a.attnotnull THEN '' ELSE '?' END \
         || coalesce(' key ' || array_position(i.indkey::smallint[], a.attnum) + 1, '') FROM pg_attribute a \
         JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary \
         WHERE c.relkind IN ('r', 'p') \
         AND c.relnamespace = current_schema()::regnamespace AND c.relname NOT LIKE '%diesel%' \
         AND c.relname <> 'search_texts' AND a.attnum > 0 AND NOT a.attisdropped ORDER BY c.oid, a.attnum";
    let (mut live, mut listed) = (lines(&client, columns).await, listed());
    assert!(live.len() > 100, "{live:?}");
    // The order of the tables does not matter; that of their columns does.
    let table = |line: &String| line.split('.').next().unwrap().to_owned();
    live.sort_by_key(table);
    listed.sort_by_key(table);
    assert_eq!(listed, live);
}

/// Neither lists nor searches may depend on the locale that the database was made with.
#[tokio::test]
async fn every_text_is_compared_byte_by_byte() {
    let database = common::database().await;
    let client = connect(&database.url().parse().unwrap()).await;
    let others = "SELECT c.relname || '.' || a.attname FROM pg_attribute a \
         JOIN pg_class c ON c.oid = a.attrelid WHERE c.relkind IN ('r', 'p', 'i') \
         AND c.relnamespace = current_schema()::regnamespace AND c.relname NOT LIKE '%diesel%' \
         AND a.attnum > 0 AND a.attcollation <> 0 AND a.attcollation <> '\"C\"'::regcollation";
    assert_eq!(lines(&client, others).await, Vec::<String>::new());
    assert_eq!(lines(&client, "SELECT extname::text FROM pg_extension").await, ["plpgsql"]);
}

/// A role that owns one schema, which is not `public`, and may do nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn a_schema_of_ones_own_is_all_that_is_needed() {
    let cluster = Cluster::own(Options::default());
    let database = cluster.server().database();
    let mut administrator = Config::new();
    administrator.host_path(cluster.directory()).port(cluster.port()).user("postgres");
    administrator.dbname(database.name());
    let client = connect(&administrator).await;
    let prepare = "CREATE ROLE guest LOGIN; CREATE SCHEMA rooms AUTHORIZATION guest; \
         REVOKE ALL ON SCHEMA public FROM PUBLIC";
    client.batch_execute(prepare).await.unwrap();
    let revoke = format!("REVOKE ALL ON DATABASE {} FROM PUBLIC; ", database.name());
    client.batch_execute(&revoke).await.unwrap();
    let grant = format!("GRANT CONNECT ON DATABASE {} TO guest", database.name());
    client.batch_execute(&grant).await.unwrap();

    let port = cluster.port();
    let name = database.name();
    let url = format!("postgres://guest@127.0.0.1:{port}/{name}?options=-csearch_path%3Drooms");
    // The second finds what the first has made.
    for round in 0..2 {
        let store = Arc::new(PostgresStore::open(&PostgresConfig::at(&url)).await.unwrap());
        let world = World::on(Stores::of(&store, PostgresStore::close));
        if round == 0 {
            let ann = world.user("ann").await;
            let chat = world.chat(ann.caller, &[]).await;
            world.send(ann.caller, chat, "hello", &[]).await;
        }
        store.ping().await.unwrap();
    }
    let made = "SELECT DISTINCT schemaname::text FROM pg_tables \
         WHERE schemaname NOT IN ('pg_catalog', 'information_schema')";
    assert_eq!(lines(&client, made).await, ["rooms"]);
    assert_eq!(lines(&client, "SELECT content FROM rooms.messages").await, ["hello"]);
}

#[tokio::test]
async fn a_store_is_read_as_it_is_if_it_has_all_steps() {
    let database = common::database().await;
    let config = PostgresConfig::at(&database.url());
    let client = connect(&database.url().parse().unwrap()).await;
    let store = PostgresStore::open_as_it_is(&config).await.unwrap();
    store.ping().await.unwrap();
    let steps = lines(&client, "SELECT version::text FROM __diesel_schema_migrations ORDER BY version").await;
    assert_eq!((&store.steps().all, store.steps().applied.len()), (&steps, 0));
    let last = steps.last().unwrap();
    let without = format!("DELETE FROM __diesel_schema_migrations WHERE version = '{last}'");
    client.batch_execute(&without).await.unwrap();
    for _ in 0..2 {
        let opened = PostgresStore::open_as_it_is(&config).await.map(|_| ());
        assert!(matches!(opened, Err(OpenError::Older { step, .. }) if step == *last));
    }
    let with = "INSERT INTO __diesel_schema_migrations (version) VALUES ('29990101000000')";
    client.batch_execute(with).await.unwrap();
    let opened = PostgresStore::open_as_it_is(&config).await.map(|_| ());
    assert!(matches!(opened, Err(OpenError::Newer { step, .. }) if step == "29990101000000"));
}
