//! Writing rows that do not exist yet.

use diesel::prelude::*;
use diesel::result::{DatabaseErrorKind, Error};
use diesel::sql_types::{BigInt, Binary, Text};
use diesel::sqlite::SqliteConnection;
use domain::archive::{Row, Table, WriteRefused, Written};

use super::cell::bind;
use super::read::row_on;
use super::{names, placeholders, rules};
use crate::error::Fault;
use crate::row;
use crate::statement::statement;

/// The number of rows per statement.
const AT_ONCE: usize = 64;

pub(super) fn write_on(
    connection: &mut SqliteConnection,
    table: &'static Table,
    rows: &[Row],
) -> Result<Result<Written, WriteRefused>, Fault> {
    if let Some(refused) = rules::repeated_mention(table, rows) {
        return Ok(Err(refused));
    }
    let mut written = Written::default();
    for rows in rows.chunks(AT_ONCE) {
        let new = match insert_on(connection, table, rows) {
            Ok(new) => new,
            Err(error) => return breaks(table, error).map(Err),
        };
        written.new += new;
        if new == rows.len() {
            continue;
        }
        for row in rows {
            let key = table.key_of(row);
            if row_on(connection, table, key)?.as_ref() != Some(row) {
                return Ok(Err(WriteRefused::Differs { table: table.name, key: key.to_vec() }));
            }
        }
    }
    Ok(unmentioned_on(connection, table, rows)?.map_or(Ok(written), Err))
}

/// Refuses an addressed delivery of a message that does not mention its agent.
fn unmentioned_on(
    connection: &mut SqliteConnection,
    table: &Table,
    rows: &[Row],
) -> Result<Option<WriteRefused>, Fault> {
    for delivery in rules::addressed(table, rows) {
        let mentions = statement!("SELECT mentions FROM messages WHERE chat_id = ? AND sequence = ?" => Text);
        let mentions = mentions
            .bind::<Binary, _>(row::bytes(delivery.chat))
            .bind::<BigInt, _>(delivery.sequence)
            .get_result::<String>(connection)
            .optional()?;
        if let Some(refused) = mentions.map(|mentions| delivery.unmentioned(&mentions)).transpose()?.flatten()
        {
            return Ok(Some(refused));
        }
    }
    Ok(None)
}

/// Returns the number of inserted rows.
fn insert_on(connection: &mut SqliteConnection, table: &Table, rows: &[Row]) -> QueryResult<usize> {
    let text = format!(
        "INSERT INTO \"{}\" ({}) VALUES {} ON CONFLICT ({}) DO NOTHING",
        table.name,
        names(table.columns),
        vec![placeholders(table.columns.len()); rows.len()].join(", "),
        names(table.key_columns())
    );
    let mut query = diesel::sql_query(text).into_boxed();
    for row in rows {
        for (column, value) in table.columns.iter().zip(row) {
            query = bind(query, column.kind, value);
        }
    }
    query.execute(connection)
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
