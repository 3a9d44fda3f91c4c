//! Undoing the steps of the schema.

use diesel::pg::Pg;
use testkit::contract::archives::all_rows;
use testkit::postgres::{Database, server};
use testkit::{Fixture, Stores, World};

use super::*;
use crate::PostgresStore;

#[derive(QueryableByName)]
struct Line {
    #[diesel(sql_type = diesel::sql_types::Text)]
    line: String,
}

/// Tables, columns, constraints, indexes, sequences, and functions, in the database's own words.
const SCHEMA: &str = "SELECT line FROM ( \
     SELECT relkind::text || ' ' || relname || ' ' || coalesce(reloptions::text, '') FROM pg_class \
     WHERE relnamespace = current_schema()::regnamespace \
     UNION ALL SELECT a.attrelid::regclass || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || ' ' \
     || a.attnotnull || ' ' || a.attcollation || ' ' || coalesce(pg_get_expr(d.adbin, d.adrelid), '') \
     FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid \
     LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum \
     WHERE c.relnamespace = current_schema()::regnamespace AND a.attnum > 0 AND NOT a.attisdropped \
     UNION ALL SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint \
     WHERE connamespace = current_schema()::regnamespace \
     UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema() \
     UNION ALL SELECT proname::text FROM pg_proc WHERE pronamespace = current_schema()::regnamespace \
     ) AS schema (line) WHERE line NOT LIKE '%diesel%' ORDER BY line COLLATE \"C\"";

/// The step before the last one whose columns hold something that no other step can make again: the limits of
/// attempts, retries, and dead letters.
const STAYS: &str = "change_log_index";

/// The last such step before that: the limits of keys.
const LOSES: &str = "key_scopes";

type PgHarness = AsyncConnectionWrapper<AsyncPgConnection>;

fn schema_on(connection: &mut PgHarness) -> Vec<String> {
    let lines = diesel::sql_query(SCHEMA).load::<Line>(connection).unwrap();
    lines.into_iter().map(|row| row.line).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_step_can_be_undone_and_redone() {
    let (empty, database) = (server().database(), server().database());
    let schemas = on(&empty, |connection| {
        let steps = connection.pending_migrations(MIGRATIONS).unwrap();
        let mut schemas = vec![schema_on(connection)];
        assert_eq!(schemas[0], Vec::<String>::new());
        for step in &steps {
            connection.run_migration(step).unwrap();
            schemas.push(schema_on(connection));
        }
        assert!(schemas[steps.len()].len() > 300);
        schemas
    })
    .await;

    // In a store that holds something of everything.
    let config = PostgresConfig { connections: 8, ..PostgresConfig::at(&database.url()) };
    let stores = async || {
        let store = Arc::new(PostgresStore::open(&config).await.unwrap());
        Stores::of(&store, PostgresStore::close)
    };
    let world = World::on(stores().await);
    Fixture::in_world(&world).await;
    (world.stores.close)();
    drop(world);
    let steps = schemas.clone();
    on(&database, move |connection| undo(connection, &steps, Some(STAYS))).await;
    let without_dead_letters = stores().await;
    let content = all_rows(&*without_dead_letters.archive, 1_000).await;
    (without_dead_letters.close)();
    drop(without_dead_letters);
    let steps = schemas.clone();
    on(&database, move |connection| undo(connection, &steps, Some(LOSES))).await;
    let redone = stores().await;
    assert_eq!(all_rows(&*redone.archive, 1_000).await, content, "all rows are as before");
    (redone.close)();
    drop(redone);
    on(&database, move |connection| {
        undo(connection, &schemas, None);
        connection.run_pending_migrations(MIGRATIONS).unwrap();
        assert_eq!(schema_on(connection), *schemas.last().unwrap());
    })
    .await;
}

/// Works on a connection of its own.
async fn on<T: Send + 'static>(
    database: &Database,
    work: impl FnOnce(&mut PgHarness) -> T + Send + 'static,
) -> T {
    let connection = connector(&PostgresConfig::at(&database.url())).unwrap().bare().await.unwrap();
    tokio::task::spawn_blocking(move || work(&mut PgHarness::from(connection))).await.unwrap()
}

/// Undoes the steps, the newest first, down to the one with `last` in its name, which stays.
fn undo(connection: &mut PgHarness, schemas: &[Vec<String>], last: Option<&str>) {
    let mut steps = MigrationSource::<Pg>::migrations(&MIGRATIONS).unwrap();
    steps.sort_unstable_by_key(|step| step.name().to_string());
    assert_eq!(steps.len() + 1, schemas.len());
    for (step, before) in steps.iter().zip(schemas).rev() {
        if last.is_some_and(|last| step.name().to_string().contains(last)) {
            return;
        }
        connection.revert_migration(step).unwrap_or_else(|error| panic!("{}: {error}", step.name()));
        assert_eq!(schema_on(connection), *before, "after undoing {}", step.name());
    }
}
