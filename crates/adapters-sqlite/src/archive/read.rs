//! Reading rows by key.

use diesel::prelude::*;
use diesel::sql_types::BigInt;
use diesel::sqlite::SqliteConnection;
use domain::archive::{Row, Table, Value};

use super::cell::{Cells, bind};
use super::{names, placeholders};
use crate::error::Fault;

pub(super) fn count_on(connection: &mut SqliteConnection, table: &Table) -> Result<u64, Fault> {
    #[derive(QueryableByName)]
    struct Count {
        #[diesel(sql_type = BigInt)]
        number: i64,
    }
    let count = diesel::sql_query(format!("SELECT count(*) AS number FROM \"{}\"", table.name));
    Ok(count.get_result::<Count>(connection)?.number.unsigned_abs())
}

/// The first `limit` rows after a key.
pub(super) fn rows_on(
    connection: &mut SqliteConnection,
    table: &Table,
    after: Option<&[Value]>,
    limit: usize,
) -> Result<Vec<Row>, Fault> {
    let key = names(table.key_columns());
    let behind = after.map_or_else(String::new, |_| format!("WHERE ({key}) > {}", placeholders(table.key)));
    let text =
        format!("SELECT {} FROM \"{}\" {behind} ORDER BY {key} LIMIT ?", names(table.columns), table.name);
    let mut query = diesel::sql_query(text).into_boxed();
    for (column, value) in table.key_columns().iter().zip(after.unwrap_or_default()) {
        query = bind(query, column.kind, value);
    }
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let found = query.bind::<BigInt, _>(limit).load::<Cells>(connection)?;
    found.into_iter().map(|cells| cells.row(table)).collect()
}

/// The row with this key.
pub(super) fn row_on(
    connection: &mut SqliteConnection,
    table: &Table,
    key: &[Value],
) -> Result<Option<Row>, Fault> {
    let text = format!(
        "SELECT {} FROM \"{}\" WHERE ({}) = {}",
        names(table.columns),
        table.name,
        names(table.key_columns()),
        placeholders(table.key)
    );
    let mut query = diesel::sql_query(text).into_boxed();
    for (column, value) in table.key_columns().iter().zip(key) {
        query = bind(query, column.kind, value);
    }
    query.get_result::<Cells>(connection).optional()?.map(|cells| cells.row(table)).transpose()
}
