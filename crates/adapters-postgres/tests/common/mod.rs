//! Stores, each on its own database.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::sync::Arc;

use adapters_postgres::{PostgresConfig, PostgresStore};
use testkit::Stores;
use testkit::postgres::{Database, Template, server};
use tokio::sync::OnceCell;

/// A new, migrated database.
pub(crate) async fn database() -> Database {
    static MIGRATED: OnceCell<Template> = OnceCell::const_new();
    let migrate = async |url: String| {
        PostgresStore::open(&PostgresConfig::at(&url)).await.unwrap().close();
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
