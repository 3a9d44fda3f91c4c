use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use diesel_migrations::MigrationHarness;
use domain::archive::{Kind, STAY_BEHIND, TABLES};

use crate::open::MIGRATIONS;

/// A column that is in the schema but not in the list would be lost on every move.
#[test]
fn the_list_of_tables_is_that_of_the_schema() {
    #[derive(QueryableByName)]
    struct Line {
        #[diesel(sql_type = diesel::sql_types::Text)]
        line: String,
    }
    let mut connection = SqliteConnection::establish(":memory:").unwrap();
    connection.run_pending_migrations(MIGRATIONS).unwrap();
    let columns = "SELECT t.name || '.' || c.name || ' ' || c.type || iif(c.\"notnull\", '', '?') \
                   || iif(c.pk, ' key ' || c.pk, '') AS line \
                   FROM sqlite_schema t, pragma_table_info(t.name) c \
                   WHERE t.type = 'table' AND t.name NOT LIKE '%diesel%' AND t.name NOT LIKE 'sqlite_%'";
    let live = diesel::sql_query(columns).load::<Line>(&mut connection).unwrap();
    let mut live = live.into_iter().map(|line| line.line).collect::<Vec<_>>();
    live.retain(|line| !STAY_BEHIND.iter().any(|table| line.starts_with(&format!("{table}."))));
    let mut listed = Vec::new();
    for table in &TABLES {
        for (place, column) in table.columns.iter().enumerate() {
            let sql = match column.kind {
                Kind::Id | Kind::IdOrNil | Kind::Bytes => "BLOB",
                Kind::Instant | Kind::Integer | Kind::Flag => "INTEGER",
                Kind::Text => "TEXT",
            };
            let optional = if column.is_optional { "?" } else { "" };
            let key = if place < table.key { format!(" key {}", place + 1) } else { String::new() };
            listed.push(format!("{}.{} {sql}{optional}{key}", table.name, column.name));
        }
    }
    live.sort();
    listed.sort();
    assert_eq!(listed, live);
}
