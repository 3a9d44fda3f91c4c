//! Conversion between neutral values and SQLite's.

use diesel::deserialize::{self, FromSql, QueryableByName};
use diesel::query_builder::{BoxedSqlQuery, SqlQuery};
use diesel::row::{Field, NamedRow, Row as Fields};
use diesel::sql_types::{BigInt, Binary, Bool, Nullable, Text};
use diesel::sqlite::{Sqlite, SqliteType};
use domain::archive::{ColumnKind, Row, Table, Value};
use domain::time::Timestamp;
use uuid::Uuid;

use crate::error::Fault;
use crate::row;

/// A statement whose values are bound one by one.
pub(super) type Query<'v> = BoxedSqlQuery<'v, Sqlite, SqlQuery>;

/// Binds the value of the next parameter, which is compared with or stored in a column of this
/// kind.
pub(super) fn bind<'v>(query: Query<'v>, kind: ColumnKind, value: &'v Value) -> Query<'v> {
    match value {
        Value::Null => query.bind::<Nullable<BigInt>, _>(None::<i64>),
        // A missing id is an empty key.
        Value::Id(id) if kind == ColumnKind::IdOrNil && id.is_nil() => query.bind::<Binary, _>(&[] as &[u8]),
        Value::Id(id) => query.bind::<Binary, _>(id.as_bytes().as_slice()),
        Value::Instant(instant) => query.bind::<BigInt, _>(instant.micros()),
        Value::Integer(number) => query.bind::<BigInt, _>(*number),
        Value::Flag(flag) => query.bind::<Bool, _>(*flag),
        Value::Text(text) => query.bind::<Text, _>(text.as_str()),
        Value::Bytes(bytes) => query.bind::<Binary, _>(bytes.as_slice()),
    }
}

/// A row from SQLite.
pub(super) struct Cells(Vec<Cell>);

enum Cell {
    Null,
    Integer(i64),
    Text(String),
    Blob(Vec<u8>),
}

impl QueryableByName<Sqlite> for Cells {
    fn build<'r>(row: &impl NamedRow<'r, Sqlite>) -> deserialize::Result<Self> {
        let mut cells = Vec::with_capacity(row.field_count());
        for index in 0..row.field_count() {
            let field = Fields::get(row, index).ok_or("a row has lost a column")?;
            let Some(value) = field.value() else {
                cells.push(Cell::Null);
                continue;
            };
            cells.push(match value.value_type() {
                None => Cell::Null,
                Some(SqliteType::Text) => Cell::Text(FromSql::<Text, Sqlite>::from_sql(value)?),
                Some(SqliteType::Binary) => Cell::Blob(FromSql::<Binary, Sqlite>::from_sql(value)?),
                Some(SqliteType::Long | SqliteType::Integer | SqliteType::SmallInt) => {
                    Cell::Integer(FromSql::<BigInt, Sqlite>::from_sql(value)?)
                }
                Some(SqliteType::Float | SqliteType::Double) => {
                    return Err("a column holds a fraction".into());
                }
            });
        }
        Ok(Self(cells))
    }
}

impl Cells {
    /// The row of this table that the cells form.
    pub(super) fn row(self, table: &Table) -> Result<Row, Fault> {
        let columns = table.columns.iter().zip(self.0);
        columns
            .map(|(column, cell)| cell.value(column.kind).map_err(|what| wrong(table, column.name, &what)))
            .collect()
    }
}

fn wrong(table: &Table, column: &str, what: &str) -> Fault {
    Fault::Row(format!("{}.{column} holds {what}", table.name))
}

impl Cell {
    fn value(self, kind: ColumnKind) -> Result<Value, String> {
        Ok(match (self, kind) {
            (Self::Null, _) => Value::Null,
            (Self::Blob(bytes), ColumnKind::IdOrNil) if bytes.is_empty() => Value::Id(Uuid::nil()),
            (Self::Blob(bytes), ColumnKind::Id | ColumnKind::IdOrNil) => {
                Value::Id(row::uuid(&bytes).map_err(|_| format!("an id of {} bytes", bytes.len()))?)
            }
            (Self::Blob(bytes), ColumnKind::Bytes) => Value::Bytes(bytes),
            (Self::Integer(micros), ColumnKind::Instant) => {
                let instant = Timestamp::from_micros(micros);
                if instant.micros() != micros {
                    return Err("an instant out of range".to_owned());
                }
                Value::Instant(instant)
            }
            (Self::Integer(number), ColumnKind::Integer) => Value::Integer(number),
            (Self::Integer(number @ (0 | 1)), ColumnKind::Flag) => Value::Flag(number == 1),
            (Self::Text(text), ColumnKind::Text) => Value::Text(text),
            (_, kind) => return Err(format!("what is not of the kind {kind:?}")),
        })
    }
}
