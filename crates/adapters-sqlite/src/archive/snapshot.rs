//! A snapshot of the store.

use std::collections::HashMap;

use async_trait::async_trait;
use diesel::connection::SimpleConnection;
use diesel::sqlite::SqliteConnection;
use domain::archive::{Row, Snapshot, TABLES, Table, Value};
use domain::store::StoreError;

use super::read::{count_on, rows_on};
use crate::error::{Fault, closed};
use crate::reader::Connect;

/// A connection of its own that stays in one transaction, which ends with it.
pub(super) struct OfFile(Option<SqliteConnection>);

impl OfFile {
    pub(super) async fn begin(connect: Connect) -> Result<Self, StoreError> {
        let connected = tokio::task::spawn_blocking(move || connect());
        let connection =
            connected.await.map_err(|_| closed())?.map_err(|what| StoreError::Unavailable(what.into()))?;
        let mut snapshot = Self(Some(connection));
        // The first read takes the snapshot.
        let begin = |connection: &mut SqliteConnection| {
            connection.batch_execute("BEGIN DEFERRED")?;
            count_on(connection, &TABLES[0])
        };
        snapshot.on(begin).await?;
        Ok(snapshot)
    }

    /// Reads on a thread that may wait for the disk.
    async fn on<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut SqliteConnection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        // A read whose caller stopped waiting has taken the connection with it.
        let mut connection = self.0.take().ok_or_else(closed)?;
        let read = tokio::task::spawn_blocking(move || {
            let done = work(&mut connection);
            (connection, done)
        });
        let (connection, done) = read.await.map_err(|_| StoreError::Broken("a read panicked".into()))?;
        self.0 = Some(connection);
        Ok(done?)
    }
}

#[async_trait]
impl Snapshot for OfFile {
    async fn count(&mut self, table: &'static Table) -> Result<u64, StoreError> {
        self.on(|connection| count_on(connection, table)).await
    }

    async fn rows(
        &mut self,
        table: &'static Table,
        after: Option<&[Value]>,
        limit: usize,
    ) -> Result<Vec<Row>, StoreError> {
        let after = after.map(<[Value]>::to_vec);
        self.on(move |connection| rows_on(connection, table, after.as_deref(), limit)).await
    }
}

/// A store in memory has one connection, which others need; all its data is copied.
pub(super) struct OfMemory(HashMap<&'static str, Vec<Row>>);

impl OfMemory {
    pub(super) fn of(connection: &mut SqliteConnection) -> Result<Self, Fault> {
        let all = TABLES.iter().map(|table| Ok((table.name, rows_on(connection, table, None, usize::MAX)?)));
        all.collect::<Result<_, Fault>>().map(Self)
    }

    fn rows_of(&self, table: &Table) -> &[Row] {
        self.0.get(table.name).map_or(&[], Vec::as_slice)
    }
}

#[async_trait]
impl Snapshot for OfMemory {
    async fn count(&mut self, table: &'static Table) -> Result<u64, StoreError> {
        Ok(self.rows_of(table).len() as u64)
    }

    async fn rows(
        &mut self,
        table: &'static Table,
        after: Option<&[Value]>,
        limit: usize,
    ) -> Result<Vec<Row>, StoreError> {
        let rows = self.rows_of(table);
        let first = match after {
            None => 0,
            Some(key) => rows.iter().position(|row| table.key_of(row) == key).map_or(rows.len(), |at| at + 1),
        };
        Ok(rows[first..].iter().take(limit).cloned().collect())
    }
}
