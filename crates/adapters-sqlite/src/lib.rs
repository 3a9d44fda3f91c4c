//! The embedded store: the domain's ports on SQLite, in one file or in memory.
//!
//! One thread writes the queued changes and commits them in one transaction ([`writer`](self));
//! others read and never wait for it. In memory there is no write-ahead log, so the writer reads as
//! well.

mod account;
mod archive;
mod attention;
mod audit;
mod board;
mod budget;
mod bulk_deletion;
mod change;
mod chat;
mod contact;
mod control;
mod delivery;
mod error;
mod file;
mod idempotency_record;
mod legal_hold;
mod login;
mod memory;
mod message;
mod notification;
mod open;
mod organization;
mod peer;
mod plan;
mod push;
#[cfg(test)]
mod query_plans;
mod reader;
mod reminder;
mod row;
mod schema;
mod search;
mod secret;
mod statement;
mod status;
mod usage;
mod webhook;
mod work;
mod writer;

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;

use diesel::sqlite::SqliteConnection;
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, RunQueryDsl};
use domain::store::{SchemaSteps, StoreError};
use domain::time::Timestamp;
use measure::Work;
use tokio::sync::Semaphore;

pub use open::{Location, OpenError};

use crate::error::Fault;
use crate::reader::{Connect, Readers};
use crate::writer::Writer;

/// A store on SQLite; implements every repository of the domain.
pub struct SqliteStore {
    writer: Writer,
    readers: Option<Readers>,
    /// Makes another reading connection, unless the store is in memory.
    connect: Option<Connect>,
    steps: SchemaSteps,
    /// One search at a time: it can keep a reading thread for long, and others must be able to read.
    searches: Arc<Semaphore>,
}

impl SqliteStore {
    /// Opens the store and brings its schema up to date.
    ///
    /// # Errors
    /// [`OpenError`] names the file or directory that cannot be used, and the cause.
    pub fn open(location: &Location) -> Result<Self, OpenError> {
        Self::on(open::connect(location)?)
    }

    /// Opens the store in this file for reading; its schema is not touched, and nothing can be
    /// changed.
    ///
    /// # Errors
    /// [`OpenError::Older`] if steps are missing, and those of [`Self::open`].
    pub fn open_as_it_is(path: &Path) -> Result<Self, OpenError> {
        Self::on(open::connect_as_it_is(path)?)
    }

    fn on(opened: open::OpenedDatabase) -> Result<Self, OpenError> {
        let (readers, connect) = match opened.readers {
            none if none.is_empty() => (None, None),
            some => {
                let readers = Readers::start(some, &opened.reader).map_err(OpenError::Thread)?;
                (Some(readers), Some(opened.reader))
            }
        };
        measure::connections_at_most(readers.as_ref().map_or(0, Readers::count) + 1);
        let writer = Writer::start(opened.writer).map_err(OpenError::Thread)?;
        let searches = Arc::new(Semaphore::new(1));
        Ok(Self { writer, readers, connect, steps: opened.steps, searches })
    }

    /// The steps of the schema, and which of them were applied when this was opened.
    pub fn steps(&self) -> &SchemaSteps {
        &self.steps
    }

    /// Reads from the database, to check that it answers.
    pub async fn ping(&self) -> Result<(), StoreError> {
        self.read(|connection| {
            let any = schema::users::table.select(schema::users::id);
            diesel::select(diesel::dsl::exists(any)).get_result::<bool>(connection)?;
            Ok(())
        })
        .await
    }

    /// The time of the newest message; `None` if there is none.
    pub async fn newest_message(&self) -> Result<Option<Timestamp>, StoreError> {
        self.read(|connection| {
            let newest = schema::messages::table.order(schema::messages::id.desc());
            let at = newest.select(schema::messages::created_at).first::<i64>(connection).optional()?;
            Ok(at.map(row::time))
        })
        .await
    }

    /// Finishes the queued work and ends the threads. Later calls fail as unavailable.
    pub fn close(&self) {
        self.writer.close();
        if let Some(readers) = &self.readers {
            readers.close();
        }
    }

    /// Reads on one snapshot.
    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut SqliteConnection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        let _doing = measure::doing(Work::Read);
        if let Some(readers) = &self.readers {
            return readers.read(work).await;
        }
        let Ok(read) = self.writer.change(never_refused(work), |_| ()).await?;
        Ok(read)
    }

    /// Runs a change in one transaction, and announces it after the commit.
    async fn change<T: Send + 'static, R: Send + 'static>(
        &self,
        work: impl FnOnce(&mut SqliteConnection) -> Result<Result<T, R>, Fault> + Send + 'static,
        after: impl FnOnce(&T) + Send + 'static,
    ) -> Result<Result<T, R>, StoreError> {
        let doing = measure::doing(Work::Change);
        let carried = doing.carry();
        self.writer.change(work, |outcome| carried.within(|| after(outcome))).await
    }

    /// [`Self::change`] that cannot be refused.
    async fn alter_announced<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut SqliteConnection) -> Result<T, Fault> + Send + 'static,
        after: impl FnOnce(&T) + Send + 'static,
    ) -> Result<T, StoreError> {
        let Ok(done) = self.change(never_refused(work), after).await?;
        Ok(done)
    }

    /// [`Self::alter_announced`] with nothing to announce.
    async fn alter<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut SqliteConnection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.alter_announced(work, |_| ()).await
    }
}

fn never_refused<T>(
    work: impl FnOnce(&mut SqliteConnection) -> Result<T, Fault> + Send + 'static,
) -> impl FnOnce(&mut SqliteConnection) -> Result<Result<T, Infallible>, Fault> + Send + 'static {
    |connection| work(connection).map(Ok)
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        self.close();
    }
}
