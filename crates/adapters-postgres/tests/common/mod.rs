//! Stores, each on its own database.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::env;
use std::process::Command;
use std::sync::Arc;

use adapters_postgres::{PostgresConfig, PostgresStore};
use testkit::Stores;
use testkit::postgres::{Database, Template, programs, server};
use tokio::sync::OnceCell;

/// The script of the operator that partitions the largest tables by room.
const PARTITION: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/postgres/partition.sql");

/// Set if all tests here run on a partitioned database.
const PARTITIONED: &str = "PARLANCE_TEST_PARTITIONED";

/// Partitions a database; what the script says if it fails.
pub(crate) fn partition(url: &str) -> Result<(), String> {
    let psql = Command::new(programs().join("psql"))
        .args([
            "--no-psqlrc",
            "--quiet",
            "--set=ON_ERROR_STOP=1",
            "--set=partitions=4",
            "--file",
            PARTITION,
            url,
        ])
        .output()
        .unwrap();
    psql.status.success().then_some(()).ok_or_else(|| String::from_utf8(psql.stderr).unwrap())
}

/// A new, migrated database.
pub(crate) async fn database() -> Database {
    static MIGRATED: OnceCell<Template> = OnceCell::const_new();
    let migrate = async |url: String| {
        PostgresStore::open(&PostgresConfig::at(&url)).await.unwrap().close();
        if env::var_os(PARTITIONED).is_some() {
            partition(&url).unwrap();
        }
    };
    let template = MIGRATED.get_or_init(|| server().template(migrate)).await;
    server().clone_of(template)
}

/// A store on it.
pub(crate) async fn open(database: &Database) -> Arc<PostgresStore> {
    // Tests run side by side, and a server has so many connections.
    let config = PostgresConfig { connections: 8, ..PostgresConfig::at(&database.url()) };
    Arc::new(PostgresStore::open(&config).await.unwrap())
}

/// The ports of a new store, and what has to stay for it.
pub(crate) async fn store() -> (Stores, Database) {
    let database = database().await;
    let store = open(&database).await;
    (Stores::of(&store, PostgresStore::close), database)
}
