//! Writing rows that do not exist yet.

use std::collections::HashMap;

use diesel::result::{DatabaseErrorKind, Error};
use diesel_async::RunQueryDsl;
use domain::archive::{Row, Table, Value, WriteRefused, Written};

use super::cell::bind_all;
use super::read::rows_like_on;
use super::{names, placeholders};
use crate::error::Fault;
use crate::run::Db;
use crate::statement::statement;

/// Rows in storable form.
pub(super) struct Kept {
    rows: Vec<Row>,
    replaced: usize,
}

/// PostgreSQL has no U+0000 in a text; the replacement character takes its place.
pub(super) fn without_nul(mut rows: Vec<Row>) -> Kept {
    let mut replaced = 0;
    for value in rows.iter_mut().flatten() {
        if let Value::Text(text) = value
            && text.contains('\0')
        {
            *text = text.replace('\0', "\u{FFFD}");
            replaced += 1;
        }
    }
    Kept { rows, replaced }
}

pub(super) async fn write_on(
    db: &Db,
    table: &'static Table,
    kept: &Kept,
) -> Result<Result<Written, WriteRefused>, Fault> {
    let new = match insert_on(db, table, &kept.rows).await {
        Ok(new) => new,
        Err(Fault::Driver(error)) => return breaks(table, error).map(Err),
        Err(fault) => return Err(fault),
    };
    if new < kept.rows.len() {
        let found = rows_like_on(db, table, &kept.rows).await?;
        let found = found.iter().map(|row| (table.key_of(row), row)).collect::<HashMap<_, _>>();
        for row in &kept.rows {
            let key = table.key_of(row);
            if found.get(key) != Some(&row) {
                return Ok(Err(WriteRefused::Differs { table: table.name, key: key.to_vec() }));
            }
        }
    }
    Ok(Ok(Written { new, replaced: kept.replaced }))
}

/// Returns the number of inserted rows.
async fn insert_on(mut db: &Db, table: &Table, rows: &[Row]) -> Result<usize, Fault> {
    let text = format!(
        "INSERT INTO \"{}\" ({}) SELECT * FROM unnest({}) ON CONFLICT ({}) DO NOTHING",
        table.name,
        names(table.columns),
        placeholders(table.columns.len()),
        names(table.key_columns())
    );
    let mut insert = statement::<()>(text);
    for (index, column) in table.columns.iter().enumerate() {
        insert = bind_all(insert, column.kind, rows.iter().map(|row| &row[index]))?;
    }
    Ok(insert.execute(&mut db).await?)
}

/// The constraint that a row violates.
fn breaks(table: &Table, error: Error) -> Result<WriteRefused, Fault> {
    match error {
        Error::DatabaseError(
            DatabaseErrorKind::UniqueViolation
            | DatabaseErrorKind::ForeignKeyViolation
            | DatabaseErrorKind::NotNullViolation
            | DatabaseErrorKind::CheckViolation,
            said,
        ) => Ok(WriteRefused::Breaks { table: table.name, rule: said.message().to_owned() }),
        other => Err(other.into()),
    }
}
