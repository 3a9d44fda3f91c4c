//! Conversion between columns and values: ids, times, words.

use domain::account::KeyDigest;
use domain::id::{AgentId, ChatId, MessageId, ParticipantId, ParticipantKind, UserId};
use domain::time::Timestamp;
use uuid::Uuid;

use crate::error::Fault;

/// An id as a column value.
pub(crate) fn bytes(id: Uuid) -> Vec<u8> {
    id.as_bytes().to_vec()
}

/// The id in a column.
pub(crate) fn uuid(column: &[u8]) -> Result<Uuid, Fault> {
    Uuid::from_slice(column).map_err(|_| Fault::Row(format!("an id of {} bytes", column.len())))
}

/// The id in a column as an element of a JSON list, for SQLite's `unhex`.
pub(crate) fn hex(column: &[u8]) -> Result<String, Fault> {
    Ok(uuid(column)?.simple().to_string())
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

pub(crate) fn participant_id(kind: &str, column: &[u8]) -> Result<ParticipantId, Fault> {
    Ok(word(kind, ParticipantKind::parse)?.with_uuid(uuid(column)?))
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
