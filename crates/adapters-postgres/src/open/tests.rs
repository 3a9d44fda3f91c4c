//! Undoing the steps of the schema.

use testkit::postgres::server;

use super::*;

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

fn schema_on(connection: &mut AsyncConnectionWrapper<AsyncPgConnection>) -> Vec<String> {
    let lines = diesel::sql_query(SCHEMA).load::<Line>(connection).unwrap();
    lines.into_iter().map(|row| row.line).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_step_can_be_undone_and_redone() {
    let database = server().database();
    let connection = connector(&PostgresConfig::at(&database.url())).unwrap().bare().await.unwrap();
    let undone = tokio::task::spawn_blocking(move || {
        let mut connection = AsyncConnectionWrapper::<AsyncPgConnection>::from(connection);
        let steps = connection.pending_migrations(MIGRATIONS).unwrap();
        let mut schemas = vec![schema_on(&mut connection)];
        assert_eq!(schemas[0], Vec::<String>::new());
        for step in &steps {
            connection.run_migration(step).unwrap();
            schemas.push(schema_on(&mut connection));
        }
        assert!(schemas[steps.len()].len() > 300);
        for (step, before) in steps.iter().zip(&schemas).rev() {
            connection.revert_migration(step).unwrap();
            assert_eq!(schema_on(&mut connection), *before, "after undoing {}", step.name());
        }
        connection.run_pending_migrations(MIGRATIONS).unwrap();
        assert_eq!(schema_on(&mut connection), schemas[steps.len()]);
    });
    undone.await.unwrap();
}
