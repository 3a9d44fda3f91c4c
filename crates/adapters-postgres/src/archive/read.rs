//! Reading rows by key.

use diesel::sql_types::{BigInt, Untyped};
use diesel_async::RunQueryDsl;
use domain::archive::{Row, Table, Value};

use super::cell::{Cells, bind, bind_all};
use super::{names, placeholders};
use crate::error::Fault;
use crate::run::Db;
use crate::statement::statement;

pub(super) async fn count_on(mut db: &Db, table: &Table) -> Result<u64, Fault> {
    let count = statement::<BigInt>(format!("SELECT count(*) FROM \"{}\"", table.name));
    Ok(count.get_result::<i64>(&mut db).await?.unsigned_abs())
}

/// The first `limit` rows after a key.
pub(super) async fn rows_on(
    mut db: &Db,
    table: &Table,
    after: Option<&[Value]>,
    limit: usize,
) -> Result<Vec<Row>, Fault> {
    let key = names(table.key_columns());
    let behind = after.map_or_else(String::new, |_| format!("WHERE ({key}) > ({})", placeholders(table.key)));
    let text =
        format!("SELECT {} FROM \"{}\" {behind} ORDER BY {key} LIMIT ?", names(table.columns), table.name);
    let mut query = statement::<Untyped>(text);
    for (column, value) in table.key_columns().iter().zip(after.unwrap_or_default()) {
        query = bind(query, column.kind, value)?;
    }
    let query = query.bind::<BigInt, _>(i64::try_from(limit).unwrap_or(i64::MAX));
    Ok(query.load::<Cells>(&mut db).await?.into_iter().map(|cells| cells.0).collect())
}

/// The stored rows with the keys of `rows`, in no order.
pub(super) async fn rows_like_on(mut db: &Db, table: &Table, rows: &[Row]) -> Result<Vec<Row>, Fault> {
    let key = names(table.key_columns());
    let text = format!(
        "SELECT {} FROM \"{}\" WHERE ({key}) IN (SELECT * FROM unnest({}))",
        names(table.columns),
        table.name,
        placeholders(table.key)
    );
    let mut query = statement::<Untyped>(text);
    for (index, column) in table.key_columns().iter().enumerate() {
        query = bind_all(query, column.kind, rows.iter().map(|row| &row[index]))?;
    }
    Ok(query.load::<Cells>(&mut db).await?.into_iter().map(|cells| cells.0).collect())
}
