//! A store as a whole.

use std::fmt;

use async_trait::async_trait;

use super::{Row, Table, Value};
use crate::store::StoreError;
use crate::time::Timestamp;

/// What of the rows that were given is new.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Written {
    /// How many were not there before.
    pub new: usize,
    /// In how many texts a character that this store cannot keep (U+0000) was replaced by U+FFFD.
    pub replaced: usize,
}

/// Why rows were not written; none of them was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WriteRefused {
    /// A row with this key is there, and holds something else.
    Differs {
        /// The table.
        table: &'static str,
        /// The values of its key.
        key: Vec<Value>,
    },
    /// A row breaks a rule of the store: something is taken by another row, or what is referred to is missing.
    Breaks {
        /// The table.
        table: &'static str,
        /// Which rule, in the words of the store.
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

/// A store as one thing that can be read and written whole.
#[async_trait]
pub trait ArchiveRepository: Send + Sync {
    /// Everything as it is now. It is let go when it is dropped.
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError>;

    /// Writes rows of one table, all or none. A row that is there as it is given is left.
    async fn write(
        &self,
        table: &'static Table,
        rows: Vec<Row>,
    ) -> Result<Result<Written, WriteRefused>, StoreError>;

    /// Since when an import into this store has been under way, or was interrupted; `None` if there is none.
    async fn unfinished_import(&self) -> Result<Option<Timestamp>, StoreError>;

    /// Marks the store as one that holds a part of an archive, before the first row is written. An earlier mark
    /// stays. Unless there is one, the plan that every new store has goes, since the archive's own may limit otherwise.
    async fn begin_import(&self, now: Timestamp) -> Result<(), StoreError>;

    /// Removes the mark: the store holds the whole archive.
    async fn end_import(&self) -> Result<(), StoreError>;

    /// Looks at what there is after much was written at once, so that reads are planned for it.
    async fn analyse(&self) -> Result<(), StoreError>;
}

/// A store as it was at one moment.
#[async_trait]
pub trait Snapshot: Send {
    /// How many rows a table has.
    async fn count(&mut self, table: &'static Table) -> Result<u64, StoreError>;

    /// The first `limit` rows of a table by key, of those behind the key `after`. Keys are compared value by
    /// value: ids and texts byte by byte, numbers by size.
    async fn rows(
        &mut self,
        table: &'static Table,
        after: Option<&[Value]>,
        limit: usize,
    ) -> Result<Vec<Row>, StoreError>;
}
