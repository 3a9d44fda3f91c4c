//! Analyzing tables, and replacing texts that PostgreSQL cannot store.

mod common;

use common::store;
use domain::archive::{Table, Value, Written};

/// Until then the planner guesses; autovacuum comes later, or not at all.
#[tokio::test]
async fn its_own_tables_are_analyzed_and_no_others() {
    let (stores, database) = store().await;
    let (client, connection) = tokio_postgres::connect(&database.url(), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute("CREATE TABLE others AS SELECT * FROM generate_series(1, 9) n").await.unwrap();
    let known = "SELECT relname::text FROM pg_class WHERE relnamespace = current_schema()::regnamespace \
                 AND relkind = 'r' AND relpages > 0 AND relname IN ('plans', 'others') AND EXISTS (\
                 SELECT 1 FROM pg_stats WHERE schemaname = current_schema() AND tablename = relname)";
    assert!(client.query(known, &[]).await.unwrap().is_empty());
    stores.archive.analyze().await.unwrap();
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
