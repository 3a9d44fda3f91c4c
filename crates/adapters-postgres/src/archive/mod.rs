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
use diesel_async::SimpleAsyncConnection;
use domain::archive::{ArchiveRepository, Column, Row, Snapshot, TABLES, Table, WriteRefused, Written};
use domain::store::StoreError;
use domain::time::Timestamp;
use futures_util::FutureExt;

use crate::PostgresStore;
use crate::connect::Connect;
use crate::error::Fault;

#[async_trait]
impl ArchiveRepository for PostgresStore {
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        let connect = self.connect.clone();
        let begun = self.in_task(async move { snapshot::begin(&connect).await }).await?;
        Ok(Box::new(begun?))
    }

    async fn write(
        &self,
        table: &'static Table,
        rows: Vec<Row>,
    ) -> Result<Result<Written, WriteRefused>, StoreError> {
        let given = (table, write::without_nul(rows));
        self.change(given, |db, (table, rows)| write::write_on(db, table, rows).boxed(), |_| ()).await
    }

    async fn unfinished_import(&self) -> Result<Option<Timestamp>, StoreError> {
        self.query((), |db, ()| mark::find_on(db).boxed()).await
    }

    async fn begin_import(&self, now: Timestamp) -> Result<(), StoreError> {
        self.alter(now, |db, now| mark::set_on(db, *now).boxed()).await
    }

    async fn end_import(&self) -> Result<(), StoreError> {
        self.alter((), |db, ()| mark::remove_on(db).boxed()).await
    }

    async fn analyze(&self) -> Result<(), StoreError> {
        let connect = self.connect.clone();
        self.in_task(async move { Ok(analyze(&connect).await?) }).await?
    }
}

/// Analyzes the store's own tables, one after the other, without a time limit. The database may
/// contain tables that the role does not own.
async fn analyze(connect: &Connect) -> Result<(), Fault> {
    let connection = connect.bare().await.map_err(|cause| Fault::NoConnection(Box::new(cause)))?;
    let mut db = &connection;
    for table in &TABLES {
        db.batch_execute(&format!("ANALYZE \"{}\"", table.name)).await?;
    }
    Ok(())
}

/// The names of columns for a statement; some of them are SQL keywords.
fn names(columns: &[Column]) -> String {
    let names = columns.iter().map(|column| format!("\"{}\"", column.name));
    names.collect::<Vec<_>>().join(", ")
}

/// So many placeholders.
fn placeholders(number: usize) -> String {
    vec!["?"; number].join(", ")
}
