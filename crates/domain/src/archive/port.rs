//! A store as a whole.

use std::fmt;

use async_trait::async_trait;

use super::{Row, Table, Value};
use crate::store::StoreError;
use crate::time::Timestamp;

/// The result of writing rows.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Written {
    /// The number of rows that did not exist before.
    pub new: usize,
    /// The number of texts in which a character that this store cannot hold (U+0000) was replaced
    /// by U+FFFD.
    pub replaced: usize,
}

/// The reason why rows were not written; none of them was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WriteRefused {
    /// A row with this key exists, with other content.
    Differs {
        /// The table.
        table: &'static str,
        /// The values of its key.
        key: Vec<Value>,
    },
    /// A row violates a rule of the store: a value is taken by another row, or a referenced row is
    /// missing.
    Breaks {
        /// The table.
        table: &'static str,
        /// The rule, in the words of the store.
        rule: String,
    },
}

impl fmt::Display for WriteRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Differs { table, key } => {
                let key = key.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
                write!(f, "the store holds another row of {table} with the key {key}")
            }
            Self::Breaks { table, rule } => write!(f, "a row of {table} does not fit into the store: {rule}"),
        }
    }
}

/// A store that can be read and written as a whole.
#[async_trait]
pub trait ArchiveRepository: Send + Sync {
    /// A snapshot of all data, released when it is dropped.
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError>;

    /// Writes rows of one table, all or none. Identical rows are skipped.
    async fn write(
        &self,
        table: &'static Table,
        rows: Vec<Row>,
    ) -> Result<Result<Written, WriteRefused>, StoreError>;

    /// The beginning of an import into this store that is running or was interrupted; `None` if
    /// there is none.
    async fn unfinished_import(&self) -> Result<Option<Timestamp>, StoreError>;

    /// Marks the store as holding part of an archive, before the first row is written. An earlier
    /// mark stays. With a new mark, the plan of every new store is removed, since the archive's own
    /// may have other limits.
    async fn begin_import(&self, now: Timestamp) -> Result<(), StoreError>;

    /// Removes the mark: the store holds the whole archive.
    async fn end_import(&self) -> Result<(), StoreError>;

    /// Updates statistics after many writes, so that reads are planned for them.
    async fn analyze(&self) -> Result<(), StoreError>;
}

/// A snapshot of a store.
#[async_trait]
pub trait Snapshot: Send {
    /// The number of rows of a table.
    async fn count(&mut self, table: &'static Table) -> Result<u64, StoreError>;

    /// The first `limit` rows of a table by key, after the key `after`. Keys are compared value by
    /// value: ids and texts byte by byte, numbers by size.
    async fn rows(
        &mut self,
        table: &'static Table,
        after: Option<&[Value]>,
        limit: usize,
    ) -> Result<Vec<Row>, StoreError>;
}
