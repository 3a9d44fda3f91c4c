//! Conversion between neutral values and PostgreSQL's.

use std::num::NonZeroU32;

use diesel::deserialize::{self, FromSql, QueryableByName};
use diesel::pg::{Pg, PgValue};
use diesel::row::{Field, NamedRow, Row as Fields};
use diesel::sql_types::{Array, BigInt, Bool, Bytea, Integer, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use domain::archive::{ColumnKind, Row, Value};
use uuid::Uuid;

use crate::error::Fault;
use crate::row::At;
use crate::statement::Statement;

/// The OIDs of types, which are the same in every database.
mod oid {
    pub(super) const BOOL: u32 = 16;
    pub(super) const BYTEA: u32 = 17;
    pub(super) const INT8: u32 = 20;
    pub(super) const INT4: u32 = 23;
    pub(super) const TEXT: u32 = 25;
    pub(super) const TIMESTAMPTZ: u32 = 1184;
    pub(super) const UUID: u32 = 2950;
}

/// A row of any table.
pub(super) struct Cells(pub(super) Row);

impl QueryableByName<Pg> for Cells {
    fn build<'r>(row: &impl NamedRow<'r, Pg>) -> deserialize::Result<Self> {
        let mut values = Vec::with_capacity(row.field_count());
        for index in 0..row.field_count() {
            let field = Fields::get(row, index).ok_or("a row has lost a column")?;
            values.push(field.value().map_or(Ok(Value::Null), value_of)?);
        }
        Ok(Self(values))
    }
}

fn value_of(value: PgValue<'_>) -> deserialize::Result<Value> {
    Ok(match NonZeroU32::get(value.get_oid()) {
        oid::BOOL => Value::Flag(FromSql::<Bool, Pg>::from_sql(value)?),
        oid::BYTEA => Value::Bytes(FromSql::<Bytea, Pg>::from_sql(value)?),
        oid::INT8 => Value::Integer(FromSql::<BigInt, Pg>::from_sql(value)?),
        oid::INT4 => Value::Integer(<i32 as FromSql<Integer, Pg>>::from_sql(value)?.into()),
        oid::TEXT => Value::Text(FromSql::<Text, Pg>::from_sql(value)?),
        oid::TIMESTAMPTZ => Value::Instant(<At as FromSql<Timestamptz, Pg>>::from_sql(value)?.0),
        oid::UUID => Value::Id(FromSql::<SqlUuid, Pg>::from_sql(value)?),
        other => return Err(format!("a column of the type {other}").into()),
    })
}

/// Binds the value of the next parameter.
pub(super) fn bind<'v, Row>(
    statement: Statement<'v, Row>,
    kind: ColumnKind,
    value: &Value,
) -> Result<Statement<'v, Row>, Fault> {
    Ok(match (kind, value) {
        (ColumnKind::Id | ColumnKind::IdOrNil, Value::Id(id)) => statement.bind::<SqlUuid, _>(*id),
        (ColumnKind::Instant, Value::Instant(instant)) => statement.bind::<Timestamptz, _>(At(*instant)),
        (ColumnKind::Integer, Value::Integer(number)) => statement.bind::<BigInt, _>(*number),
        (ColumnKind::Flag, Value::Flag(flag)) => statement.bind::<Bool, _>(*flag),
        (ColumnKind::Text, Value::Text(text)) => statement.bind::<Text, _>(text.clone()),
        (ColumnKind::Bytes, Value::Bytes(bytes)) => statement.bind::<Bytea, _>(bytes.clone()),
        (kind, value) => return Err(wrong(kind, value)),
    })
}

/// Binds the values of one column as the array of the next parameter.
pub(super) fn bind_all<'v, Row>(
    statement: Statement<'v, Row>,
    kind: ColumnKind,
    values: impl Iterator<Item = &'v Value>,
) -> Result<Statement<'v, Row>, Fault> {
    Ok(match kind {
        ColumnKind::Id | ColumnKind::IdOrNil => {
            let ids = column(values, kind, |value| if let Value::Id(id) = value { Some(*id) } else { None })?;
            statement.bind::<Array<Nullable<SqlUuid>>, Vec<Option<Uuid>>>(ids)
        }
        ColumnKind::Instant => {
            let instant = |value: &'v Value| {
                if let Value::Instant(instant) = value { Some(At(*instant)) } else { None }
            };
            statement.bind::<Array<Nullable<Timestamptz>>, Vec<Option<At>>>(column(values, kind, instant)?)
        }
        ColumnKind::Integer => {
            let number =
                |value: &'v Value| if let Value::Integer(number) = value { Some(*number) } else { None };
            statement.bind::<Array<Nullable<BigInt>>, Vec<Option<i64>>>(column(values, kind, number)?)
        }
        ColumnKind::Flag => {
            let flag = |value: &'v Value| if let Value::Flag(flag) = value { Some(*flag) } else { None };
            statement.bind::<Array<Nullable<Bool>>, Vec<Option<bool>>>(column(values, kind, flag)?)
        }
        ColumnKind::Text => {
            let text =
                |value: &'v Value| if let Value::Text(text) = value { Some(text.as_str()) } else { None };
            statement.bind::<Array<Nullable<Text>>, Vec<Option<&'v str>>>(column(values, kind, text)?)
        }
        ColumnKind::Bytes => {
            let bytes = |value: &'v Value| {
                if let Value::Bytes(bytes) = value { Some(bytes.as_slice()) } else { None }
            };
            statement.bind::<Array<Nullable<Bytea>>, Vec<Option<&'v [u8]>>>(column(values, kind, bytes)?)
        }
    })
}

/// The values of a column, all of one type.
fn column<'v, T>(
    values: impl Iterator<Item = &'v Value>,
    kind: ColumnKind,
    open: impl Fn(&'v Value) -> Option<T>,
) -> Result<Vec<Option<T>>, Fault> {
    let opened = values.map(|value| match value {
        Value::Null => Ok(None),
        value => open(value).map(Some).ok_or_else(|| wrong(kind, value)),
    });
    opened.collect()
}

fn wrong(kind: ColumnKind, value: &Value) -> Fault {
    Fault::Row(format!("{value} is not of the kind {kind:?}"))
}
