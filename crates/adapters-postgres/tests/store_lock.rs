//! The lock of a store: which processes exclude each other, and how the lock ends with a connection or
//! process.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

#[expect(dead_code, reason = "no test here needs all ports")]
mod common;

use std::time::Duration;

use adapters_postgres::{ImportLock, OpenError, PostgresConfig, StoreUse};
use testkit::postgres::{Cluster, Database, Options, server};
use testkit::{elapse, until};
use tokio::time::timeout;
use tokio_postgres::{Client, NoTls};

const SOON: Duration = Duration::from_secs(20);

async fn connect(database: &Database) -> Client {
    let (client, connection) = tokio_postgres::connect(&database.url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

const LOCKS: &str = "pg_locks WHERE locktype = 'advisory' AND granted \
     AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";

/// How many hold a lock.
async fn holders(client: &Client) -> i64 {
    client.query_one(&format!("SELECT count(*) FROM {LOCKS}"), &[]).await.unwrap().get(0)
}

/// Whose connection holds a lock.
async fn holder(client: &Client) -> Option<i32> {
    let row = client.query_opt(&format!("SELECT pid FROM {LOCKS} LIMIT 1"), &[]).await.unwrap();
    row.map(|row| row.get(0))
}

async fn until_held_by(client: &Client, number: i64) {
    until(&format!("not held by {number}"), async || holders(client).await == number).await;
}

/// Ends the connections that hold a lock, as the database does when it is restarted.
async fn cut(client: &Client) {
    client.execute(&format!("SELECT pg_terminate_backend(pid) FROM {LOCKS}"), &[]).await.unwrap();
}

#[tokio::test]
async fn many_work_or_one_fills() {
    let database = server().database();
    let (config, client) = (PostgresConfig::at(&database.url()), connect(&database).await);
    let first = StoreUse::begin(&config).await.unwrap();
    let second = StoreUse::begin(&config).await.unwrap();
    assert!(matches!(ImportLock::begin(&config).await.err().unwrap(), OpenError::InUse { .. }));
    drop(first);
    assert!(matches!(ImportLock::begin(&config).await.err().unwrap(), OpenError::InUse { .. }));
    drop(second);
    let import_lock = ImportLock::begin(&config).await.unwrap();
    assert!(matches!(ImportLock::begin(&config).await.err().unwrap(), OpenError::InUse { .. }));
    let refused = StoreUse::begin(&config).await.err().unwrap();
    assert!(matches!(&refused, OpenError::BeingImported { database: at } if at.contains(database.name())));
    import_lock.end().await;
    let third = StoreUse::begin(&config).await.unwrap();
    drop(third);
    until_held_by(&client, 0).await;
}

#[tokio::test]
async fn another_schema_is_another_store() {
    let database = server().database();
    connect(&database).await.batch_execute("CREATE SCHEMA rooms").await.unwrap();
    let mark = if database.url().contains('?') { '&' } else { '?' };
    let url = format!("{}{mark}options=-csearch_path%3Drooms", database.url());
    let _filling = ImportLock::begin(&PostgresConfig::at(&database.url())).await.unwrap();
    let rooms = PostgresConfig::at(&url);
    let _at_work = StoreUse::begin(&rooms).await.unwrap();
    assert!(matches!(ImportLock::begin(&rooms).await.err().unwrap(), OpenError::InUse { .. }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_works_goes_on_after_the_connection_was_lost() {
    let database = server().database();
    let (config, client) = (PostgresConfig::at(&database.url()), connect(&database).await);
    let store_use = StoreUse::begin(&config).await.unwrap();
    for _ in 0..2 {
        let before = holder(&client).await;
        cut(&client).await;
        let is_held_again = async || ![None, before].contains(&holder(&client).await);
        until("the lock is not held again", is_held_again).await;
    }
    assert!(matches!(ImportLock::begin(&config).await.err().unwrap(), OpenError::InUse { .. }));
    // Somebody was faster: it waits, and has its lock as soon as it may.
    let import_lock = loop {
        cut(&client).await;
        if let Ok(import_lock) = ImportLock::begin(&config).await {
            break import_lock;
        }
    };
    // It tries meanwhile, which leaves no trace in the database.
    elapse(Duration::from_millis(1500)).await;
    import_lock.end().await;
    until_held_by(&client, 1).await;
    assert!(matches!(ImportLock::begin(&config).await.err().unwrap(), OpenError::InUse { .. }));
    drop(store_use);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_works_goes_on_when_the_database_is_back() {
    let cluster = Cluster::own(Options::default());
    let database = cluster.server().database();
    let config = PostgresConfig::at(&database.url());
    let store_use = StoreUse::begin(&config).await.unwrap();
    tokio::task::block_in_place(|| cluster.stop_immediately());
    // It tries meanwhile, with nobody there.
    elapse(Duration::from_millis(1500)).await;
    tokio::task::block_in_place(|| cluster.start());
    let client = connect(&database).await;
    until_held_by(&client, 1).await;
    assert!(matches!(ImportLock::begin(&config).await.err().unwrap(), OpenError::InUse { .. }));
    drop(store_use);
    until_held_by(&client, 0).await;
}

#[tokio::test]
async fn an_import_fails_when_its_lock_is_lost() {
    let database = server().database();
    let (config, client) = (PostgresConfig::at(&database.url()), connect(&database).await);
    let mut import_lock = ImportLock::begin(&config).await.unwrap();
    timeout(Duration::from_millis(200), import_lock.lost()).await.unwrap_err();
    cut(&client).await;
    timeout(SOON, import_lock.lost()).await.unwrap();
}
