//! Conversion between columns and values: times, ids, words.

use std::io::Write;

use diesel::deserialize::{self, FromSql, FromSqlRow};
use diesel::expression::AsExpression;
use diesel::pg::{Pg, PgValue};
use diesel::serialize::{self, IsNull, Output, ToSql};
use diesel::sql_types::{BigInt, Timestamptz, Uuid as SqlUuid};
use domain::id::{ParticipantId, ParticipantKind};
use domain::text::without_nul;
use domain::time::Timestamp;
use uuid::Uuid;

use crate::error::Fault;

/// The SQL type of an id.
pub(crate) type IdType = SqlUuid;

/// The SQL type of a time.
pub(crate) type AtType = Timestamptz;

/// An id as a column value.
#[derive(AsExpression, FromSqlRow, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[diesel(sql_type = SqlUuid)]
pub(crate) struct Id(pub(crate) Uuid);

impl ToSql<SqlUuid, Pg> for Id {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        ToSql::<SqlUuid, Pg>::to_sql(&self.0, out)
    }
}

impl FromSql<SqlUuid, Pg> for Id {
    fn from_sql(value: PgValue<'_>) -> deserialize::Result<Self> {
        FromSql::<SqlUuid, Pg>::from_sql(value).map(Self)
    }
}

/// The beginning of PostgreSQL's time (2000-01-01), in microseconds since 1970.
const EPOCH: i64 = 946_684_800_000_000;

/// The earliest time in PostgreSQL, in microseconds since its own beginning; only minus infinity
/// precedes it.
const EARLIEST: i64 = -211_813_488_000_000_000;

/// A timestamp as a column value.
#[derive(AsExpression, FromSqlRow, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[diesel(sql_type = Timestamptz)]
pub(crate) struct At(pub(crate) Timestamp);

impl ToSql<Timestamptz, Pg> for At {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        let since = self.0.micros().saturating_sub(EPOCH);
        let since = if since < EARLIEST { i64::MIN } else { since };
        out.write_all(&since.to_be_bytes())?;
        Ok(IsNull::No)
    }
}

impl FromSql<Timestamptz, Pg> for At {
    fn from_sql(value: PgValue<'_>) -> deserialize::Result<Self> {
        let since = <i64 as FromSql<BigInt, Pg>>::from_sql(value)?;
        Ok(Self(Timestamp::from_micros(since.saturating_add(EPOCH))))
    }
}

pub(crate) fn participant_id(kind: &str, id: Uuid) -> Result<ParticipantId, Fault> {
    Ok(word(kind, ParticipantKind::parse)?.with_uuid(id))
}

/// Parses a word of the domain.
pub(crate) fn word<T>(column: &str, parse: impl FnOnce(&str) -> Option<T>) -> Result<T, Fault> {
    parse(column).ok_or_else(|| Fault::Row(format!("the word '{column}'")))
}

/// Parses the JSON in a column.
pub(crate) fn json<T: serde::de::DeserializeOwned>(column: &str) -> Result<T, Fault> {
    serde_json::from_str(column).map_err(|error| Fault::Row(format!("a column's JSON: {error}")))
}

/// A value as JSON for a column.
pub(crate) fn to_json<T: serde::Serialize>(value: &T) -> Result<String, Fault> {
    serde_json::to_string(value).map_err(|error| Fault::Row(format!("a value that is no JSON: {error}")))
}

/// Returns whether a text can be stored in a column; a search for any other text finds nothing.
pub(crate) fn can_be_stored(text: &str) -> bool {
    without_nul(text).is_ok()
}
