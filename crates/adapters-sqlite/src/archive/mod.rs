//! The complete store, for export and import.
//!
//! The statements are generated from the domain's list of tables: names from there, types in
//! [`cell`].

mod cell;
mod mark;
mod read;
#[path = "../../../sql-rows/archive.rs"]
mod rules;
mod snapshot;
mod write;

use async_trait::async_trait;
use domain::archive::{ArchiveRepository, Row, Snapshot, Table, WriteRefused, Written};
use domain::store::StoreError;
use domain::time::Timestamp;

use crate::SqliteStore;

#[async_trait]
impl ArchiveRepository for SqliteStore {
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        match &self.connect {
            Some(connect) => Ok(Box::new(snapshot::OfFile::begin(connect.clone()).await?)),
            None => Ok(Box::new(self.read(snapshot::OfMemory::of).await?)),
        }
    }

    async fn write(
        &self,
        table: &'static Table,
        rows: Vec<Row>,
    ) -> Result<Result<Written, WriteRefused>, StoreError> {
        self.change(move |connection| write::write_on(connection, table, &rows), |_| ()).await
    }

    async fn unfinished_import(&self) -> Result<Option<Timestamp>, StoreError> {
        self.read(mark::find_on).await
    }

    async fn begin_import(&self, now: Timestamp) -> Result<(), StoreError> {
        self.alter(move |connection| mark::set_on(connection, now)).await
    }

    async fn end_import(&self) -> Result<(), StoreError> {
        self.alter(mark::remove_on).await
    }

    /// Does nothing: without statistics every statement uses its index. With statistics of small
    /// tables SQLite would scan them, and continue to do so when they have grown, since the
    /// statistics are not renewed.
    async fn analyze(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

/// The names of columns for a statement; some of them are SQL keywords.
fn names<'c>(columns: impl IntoIterator<Item = &'c domain::archive::Column>) -> String {
    let names = columns.into_iter().map(|column| format!("\"{}\"", column.name));
    names.collect::<Vec<_>>().join(", ")
}

/// So many placeholders, in parentheses.
fn placeholders(number: usize) -> String {
    format!("({})", vec!["?"; number].join(", "))
}
