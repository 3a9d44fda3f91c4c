//! A snapshot of the store: a transaction on a connection of its own, which ends with it.

use async_trait::async_trait;
use diesel_async::AsyncPgConnection;
use domain::archive::{Row, Snapshot, TABLES, Table, Value};
use domain::store::StoreError;

use super::read::{count_on, rows_on};
use crate::connect::Connect;
use crate::error::Fault;
use crate::run::execute;

/// Statement and idle time-outs are disabled for this connection.
pub(super) struct Moment(AsyncPgConnection);

pub(super) async fn begin(connect: &Connect) -> Result<Moment, StoreError> {
    let connection = connect.bare().await.map_err(|cause| Fault::NoConnection(Box::new(cause)))?;
    execute(&connection, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
    // The first read takes the snapshot.
    count_on(&connection, &TABLES[0]).await?;
    Ok(Moment(connection))
}

#[async_trait]
impl Snapshot for Moment {
    async fn count(&mut self, table: &'static Table) -> Result<u64, StoreError> {
        Ok(count_on(&self.0, table).await?)
    }

    async fn rows(
        &mut self,
        table: &'static Table,
        after: Option<&[Value]>,
        limit: usize,
    ) -> Result<Vec<Row>, StoreError> {
        Ok(rows_on(&self.0, table, after, limit).await?)
    }
}
