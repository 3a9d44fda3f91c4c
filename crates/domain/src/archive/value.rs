//! Rows of neutral values.

use std::fmt;

use uuid::Uuid;

use crate::time::Timestamp;

/// The value of a column.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Value {
    /// Null.
    Null,
    /// An id.
    Id(Uuid),
    /// An instant.
    Instant(Timestamp),
    /// A number.
    Integer(i64),
    /// Yes or no.
    Flag(bool),
    /// A text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

/// The values of a row, in the order of its table's columns.
pub type Row = Vec<Value>;

impl fmt::Display for Value {
    /// For messages to humans; bytes may be secret and are left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("nothing"),
            Self::Id(id) => write!(f, "{id}"),
            Self::Instant(instant) => write!(f, "{instant}"),
            Self::Integer(number) => write!(f, "{number}"),
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Bytes(bytes) => write!(f, "{} bytes", bytes.len()),
        }
    }
}
