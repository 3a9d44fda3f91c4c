//! The store as a whole: the list of its tables, and what only PostgreSQL does with texts.

mod common;

use common::{database, store};
use domain::archive::{Kind, STAY_BEHIND, TABLES, Table, Value, Written};

/// A column that is added to the schema and not to the list would be lost on every move.
#[tokio::test]
async fn the_list_of_tables_is_that_of_the_schema() {
    let database = database().await;
    let (client, connection) = tokio_postgres::connect(&database.url(), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let columns = "SELECT format('%s.%s %s%s%s', c.table_name, c.column_name, c.data_type, \
                   CASE c.is_nullable WHEN 'YES' THEN '?' ELSE '' END, ' key ' || k.ordinal_position) \
                   FROM information_schema.columns c \
                   LEFT JOIN information_schema.table_constraints t ON t.table_schema = c.table_schema \
                   AND t.table_name = c.table_name AND t.constraint_type = 'PRIMARY KEY' \
                   LEFT JOIN information_schema.key_column_usage k \
                   ON k.constraint_schema = t.constraint_schema AND k.constraint_name = t.constraint_name \
                   AND k.column_name = c.column_name \
                   WHERE c.table_schema = 'public' AND c.table_name NOT LIKE '%diesel%'";
    let live = client.query(columns, &[]).await.unwrap();
    let mut live = live.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>();
    live.retain(|line| !STAY_BEHIND.iter().any(|table| line.starts_with(&format!("{table}."))));
    let mut listed = Vec::new();
    for table in &TABLES {
        for (place, column) in table.columns.iter().enumerate() {
            let sql = match column.kind {
                Kind::Id | Kind::IdOrNil => "uuid",
                Kind::Bytes => "bytea",
                Kind::Instant => "timestamp with time zone",
                Kind::Integer => "bigint",
                Kind::Flag => "boolean",
                Kind::Text => "text",
            };
            let optional = if column.is_optional { "?" } else { "" };
            let key = if place < table.key { format!(" key {}", place + 1) } else { String::new() };
            listed.push(format!("{}.{} {sql}{optional}{key}", table.name, column.name));
        }
    }
    // Numbers of attempts are narrower, which takes no part in this.
    for line in &mut live {
        *line = line.replace(" integer", " bigint");
    }
    live.sort();
    listed.sort();
    assert_eq!(listed, live);
}

/// Until then the planner guesses; autovacuum comes later, or not at all.
#[tokio::test]
async fn its_own_tables_are_analysed_and_no_others() {
    let (stores, database) = store().await;
    let (client, connection) = tokio_postgres::connect(&database.url(), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute("CREATE TABLE others AS SELECT * FROM generate_series(1, 9) n").await.unwrap();
    let known = "SELECT relname::text FROM pg_class WHERE relnamespace = current_schema()::regnamespace \
                 AND relkind = 'r' AND relpages > 0 AND relname IN ('plans', 'others') AND EXISTS (\
                 SELECT 1 FROM pg_stats WHERE schemaname = current_schema() AND tablename = relname)";
    assert!(client.query(known, &[]).await.unwrap().is_empty());
    stores.archive.analyse().await.unwrap();
    let known = client.query(known, &[]).await.unwrap();
    assert_eq!(known.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>(), ["plans"]);
}

/// An older store may hold texts with U+0000; they come over readable, are counted, and are taken for the same
/// when they come again.
#[tokio::test]
async fn what_no_text_may_hold_here_is_replaced_and_counted() {
    let (stores, _database) = store().await;
    let plans = Table::named("plans").unwrap();
    let plan = |name: &str| {
        let mut row = vec![Value::Text(name.to_owned())];
        row.extend([Value::Null, Value::Null, Value::Null, Value::Integer(i64::MAX)]);
        row.extend([Value::Flag(true), Value::Flag(false), Value::Null]);
        row
    };
    for new in [2, 0] {
        let written = stores.archive.write(plans, vec![plan("a\0b\0"), plan("plain")]).await.unwrap();
        assert_eq!(written, Ok(Written { new, replaced: 1 }));
    }
    let mut snapshot = stores.archive.snapshot().await.unwrap();
    let behind = [Value::Text("a".to_owned())];
    let rows = snapshot.rows(plans, Some(&behind), 1).await.unwrap();
    assert_eq!(rows, [plan("a\u{FFFD}b\u{FFFD}")]);
}
