//! Conversion between columns and values: ids, times, words.

use diesel::deserialize::{self, FromSql, FromSqlRow};
use diesel::expression::AsExpression;
use diesel::serialize::{self, IsNull, Output, ToSql};
use diesel::sql_types::{BigInt, Binary};
use diesel::sqlite::{Sqlite, SqliteValue};
use domain::account::KeyDigest;
use domain::id::{AgentId, ChatId, MessageId, ParticipantId, ParticipantKind, UserId};
use domain::time::Timestamp;
use uuid::Uuid;

use crate::error::Fault;

/// The SQL type of an id.
pub(crate) type IdType = Binary;

/// The SQL type of a time.
pub(crate) type AtType = BigInt;

/// An id as a column value.
#[derive(AsExpression, FromSqlRow, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[diesel(sql_type = Binary)]
pub(crate) struct Id(pub(crate) Uuid);

impl Id {
    /// As an element of a JSON list, for SQLite's `unhex`.
    pub(crate) fn hex(self) -> String {
        self.0.simple().to_string()
    }
}

impl ToSql<Binary, Sqlite> for Id {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
        out.set_value(self.0.as_bytes().as_slice());
        Ok(IsNull::No)
    }
}

impl FromSql<Binary, Sqlite> for Id {
    fn from_sql(mut value: SqliteValue<'_, '_, '_>) -> deserialize::Result<Self> {
        Ok(Self(Uuid::from_slice(value.read_blob())?))
    }
}

/// A timestamp as a column value.
#[derive(AsExpression, FromSqlRow, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[diesel(sql_type = BigInt)]
pub(crate) struct At(pub(crate) Timestamp);

impl ToSql<BigInt, Sqlite> for At {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
        out.set_value(self.0.micros());
        Ok(IsNull::No)
    }
}

impl FromSql<BigInt, Sqlite> for At {
    fn from_sql(value: SqliteValue<'_, '_, '_>) -> deserialize::Result<Self> {
        let micros = <i64 as FromSql<BigInt, Sqlite>>::from_sql(value)?;
        Ok(Self(Timestamp::from_micros(micros)))
    }
}

/// The bytes of an id, as a column value.
pub(crate) fn bytes(id: Uuid) -> Vec<u8> {
    id.as_bytes().to_vec()
}

/// The id in a column.
pub(crate) fn uuid(column: &[u8]) -> Result<Uuid, Fault> {
    Uuid::from_slice(column).map_err(|_| Fault::Row(format!("an id of {} bytes", column.len())))
}

pub(crate) fn user_id(column: &[u8]) -> Result<UserId, Fault> {
    uuid(column).map(UserId::new)
}

pub(crate) fn agent_id(column: &[u8]) -> Result<AgentId, Fault> {
    uuid(column).map(AgentId::new)
}

pub(crate) fn chat_id(column: &[u8]) -> Result<ChatId, Fault> {
    uuid(column).map(ChatId::new)
}

pub(crate) fn message_id(column: &[u8]) -> Result<MessageId, Fault> {
    uuid(column).map(MessageId::new)
}

pub(crate) fn participant_id(kind: &str, id: Uuid) -> Result<ParticipantId, Fault> {
    Ok(word(kind, ParticipantKind::parse)?.with_uuid(id))
}

/// A SHA-256 digest.
pub(crate) fn digest(column: Vec<u8>) -> Result<KeyDigest, Fault> {
    let bytes = <[u8; 32]>::try_from(column);
    bytes.map(KeyDigest::new).map_err(|_| Fault::Row("a digest of another length".to_owned()))
}

pub(crate) fn time(column: i64) -> Timestamp {
    Timestamp::from_micros(column)
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
