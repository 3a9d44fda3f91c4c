//! Writing rows that do not exist yet.

use std::collections::HashMap;

use diesel::result::{DatabaseErrorKind, Error};
use diesel::sql_types::{Array, BigInt, Text, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::archive::{Row, Table, Value, WriteRefused, Written};

use super::cell::bind_all;
use super::read::rows_like_on;
use super::{names, placeholders, rules};
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
    if let Some(refused) = rules::repeated_mention(table, &kept.rows) {
        return Ok(Err(refused));
    }
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
    let written = Written { new, replaced: kept.replaced };
    Ok(unmentioned_on(db, table, &kept.rows).await?.map_or(Ok(written), Err))
}

/// Refuses an addressed delivery of a message that does not mention its agent.
async fn unmentioned_on(mut db: &Db, table: &Table, rows: &[Row]) -> Result<Option<WriteRefused>, Fault> {
    let addressed = rules::addressed(table, rows);
    if addressed.is_empty() {
        return Ok(None);
    }
    let count = i64::try_from(addressed.len()).unwrap_or(i64::MAX);
    let mentions = statement::<(BigInt, Text)>(
        "SELECT wanted.ordinal, messages.mentions FROM unnest(?, ?, ?) AS wanted (ordinal, chat_id, sequence) \
         JOIN messages ON messages.chat_id = wanted.chat_id AND messages.sequence = wanted.sequence",
    )
    .bind::<Array<BigInt>, _>((0..count).collect::<Vec<_>>())
    .bind::<Array<SqlUuid>, _>(addressed.iter().map(|delivery| delivery.chat).collect::<Vec<_>>())
    .bind::<Array<BigInt>, _>(addressed.iter().map(|delivery| delivery.sequence).collect::<Vec<_>>())
    .load::<(i64, String)>(&mut db)
    .await?;
    for (ordinal, mentions) in mentions {
        let delivery = usize::try_from(ordinal).ok().and_then(|ordinal| addressed.get(ordinal));
        let delivery = delivery.ok_or_else(|| Fault::Row(format!("the delivery {ordinal}")))?;
        if let Some(refused) = delivery.unmentioned(&mentions)? {
            return Ok(Some(refused));
        }
    }
    Ok(None)
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
