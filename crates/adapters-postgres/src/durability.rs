//! Durability of commits in a crash of the database.
//!
//! `synchronous_commit` is set for every transaction ([`begin`](crate::run)); settings that only
//! the database's administrator can change are checked.

use diesel_async::RunQueryDsl;

use crate::error::Fault;
use crate::run::Db;
use crate::statement::statement;

/// Settings that must be on, since a crash of the machine may otherwise lose or tear flushed data.
const OFF: &str = "SELECT name FROM pg_settings \
     WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off' ORDER BY name";

pub(crate) async fn unsafe_settings_on(mut db: &Db) -> Result<Vec<String>, Fault> {
    Ok(statement::<diesel::sql_types::Text>(OFF).load::<String>(&mut db).await?)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use diesel::sql_types::Text;
    use testkit::postgres::{Cluster, Options};
    use testkit::{Stores, World};

    use super::*;
    use crate::run::execute;
    use crate::{PostgresConfig, PostgresStore};

    /// More than one batch, and fewer than fill the log's buffers, which are written when full.
    const MESSAGES: usize = 40;

    async fn commits(store: &PostgresStore) -> String {
        let connection = store.pool.acquire().await.unwrap();
        let shown = statement::<Text>("SELECT current_setting('synchronous_commit') AS setting");
        let setting = shown.get_result::<String>(&mut connection.db()).await.unwrap();
        connection.release();
        setting
    }

    async fn alter(cluster: &Cluster, name: &str, value: &str) {
        let (client, connection) =
            tokio_postgres::connect(&cluster.administrator_url(), tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        let sql = format!("ALTER DATABASE \"{name}\" SET synchronous_commit = {value}");
        client.batch_execute(&sql).await.unwrap();
    }

    /// The log is flushed by a commit that requests it, or after ten seconds.
    fn lazy() -> Cluster {
        Cluster::own(Options::default().setting("wal_writer_delay", "10s"))
    }

    /// Undoes the settings of the session, as a pooler does that gives every transaction another
    /// connection.
    async fn undo_the_session(store: &PostgresStore) {
        let connection = store.pool.acquire().await.unwrap();
        execute(connection.db(), "SET synchronous_commit = off").await.unwrap();
        connection.release();
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_is_acknowledged_outlives_a_crash_of_a_database_that_commits_lazily() {
        let cluster = tokio::task::block_in_place(lazy);
        let database = cluster.server().database();
        alter(&cluster, database.name(), "off").await;
        let config = PostgresConfig { connections: 1, ..PostgresConfig::at(&database.url()) };
        let store = Arc::new(PostgresStore::open(&config).await.unwrap());
        assert_eq!(commits(&store).await, "on");
        let world = World::on(Stores::of(&store, PostgresStore::close));
        let ann = world.user("ann").await;
        undo_the_session(&store).await;
        let chat = world.chat(ann.caller, &[]).await;
        for number in 0..MESSAGES {
            world.send(ann.caller, chat, &format!("text {number}"), &[]).await;
            tokio::task::block_in_place(|| {
                // The first few take the regular path, the others the optimistic one; each is
                // durable once it is answered.
                if number % 8 == 0 {
                    cluster.restart_immediately();
                }
            });
            if number % 8 == 0 {
                // Every connection is a new one from here on.
                while store.ping().await.is_err() {}
                undo_the_session(&store).await;
            }
        }
        tokio::task::block_in_place(|| cluster.restart_immediately());
        let again = PostgresStore::open(&config).await.unwrap();
        let connection = again.pool.acquire().await.unwrap();
        let count = statement::<diesel::sql_types::BigInt>("SELECT count(*) FROM messages");
        let kept = count.get_result::<i64>(&mut connection.db()).await.unwrap();
        assert_eq!(kept, i64::try_from(MESSAGES).unwrap());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_stronger_setting_stays_and_what_cannot_be_set_here_is_named() {
        let cluster = tokio::task::block_in_place(|| {
            Cluster::own(Options::default().setting("full_page_writes", "off"))
        });
        let database = cluster.server().database();
        let config = PostgresConfig { connections: 1, ..PostgresConfig::at(&database.url()) };
        for value in ["remote_apply", "remote_write", "local", "on"] {
            alter(&cluster, database.name(), value).await;
            let store = PostgresStore::open(&config).await.unwrap();
            assert_eq!(commits(&store).await, value);
            assert_eq!(store.unsafe_settings().await.unwrap(), ["fsync", "full_page_writes"]);
            store.close();
        }
    }
}
