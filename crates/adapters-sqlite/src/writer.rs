//! The writing thread, which does group commit.
//!
//! It takes the queued jobs without waiting for more, runs each in a savepoint of one transaction
//! (a single job needs none), commits once, and only then announces and answers, in the order of
//! the jobs. A job that is refused or fails is rolled back alone; if the commit fails, all jobs
//! have failed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use diesel::RunQueryDsl;
use diesel::connection::SimpleConnection;
use diesel::sqlite::SqliteConnection;
use domain::store::StoreError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::error::{Fault, closed, not_committed};
use crate::statement::statement;

/// The maximum number of changes per transaction.
const MAX_BATCH: usize = 256;

/// The maximum number of changes that are queued or in a transaction; further ones wait, in order.
const MAX_QUEUED: usize = 16 * MAX_BATCH;

/// A change on its way through the writer.
trait Job: Send {
    /// Does the work. Returns whether to keep it.
    fn work(&mut self, connection: &mut SqliteConnection) -> bool;
    /// After the commit: announces the change and answers.
    fn settle(self: Box<Self>);
    /// Answers with an error, since nothing was committed.
    fn fail(self: Box<Self>, error: StoreError);
}

/// The queue in front of the writing thread.
pub(crate) struct Writer {
    capacity: Arc<Semaphore>,
    jobs: Mutex<Option<Sender<Box<dyn Job>>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    pub(crate) fn start(connection: SqliteConnection) -> std::io::Result<Self> {
        let (sender, receiver) = channel();
        let thread = std::thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || run(connection, &receiver))?;
        let capacity = Arc::new(Semaphore::new(MAX_QUEUED));
        Ok(Self { capacity, jobs: Mutex::new(Some(sender)), thread: Mutex::new(Some(thread)) })
    }

    /// Runs `work` in a transaction. If it returns `Ok`, the result is committed and passed to
    /// `after`; with `Err` it is rolled back, and only answered.
    pub(crate) async fn change<T, R>(
        &self,
        work: impl FnOnce(&mut SqliteConnection) -> Result<Result<T, R>, Fault> + Send + 'static,
        after: impl FnOnce(&T) + Send + 'static,
    ) -> Result<Result<T, R>, StoreError>
    where
        T: Send + 'static,
        R: Send + 'static,
    {
        let capacity = self.capacity.clone().acquire_owned().await.map_err(|_| closed())?;
        let (answer, wait) = oneshot::channel();
        let job = Change { work: Some(work), after, done: None, answer, _capacity: capacity };
        let queued = match &*self.jobs.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(jobs) => jobs.send(Box::new(job)).is_ok(),
            None => false,
        };
        if !queued {
            return Err(closed());
        }
        wait.await.unwrap_or_else(|_| Err(closed()))
    }

    /// Finishes the queued changes and ends the thread.
    pub(crate) fn close(&self) {
        self.capacity.close();
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner).take();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("writer thread panicked");
        }
    }
}

/// One change: its work, its announcement, and the receiver of the answer.
struct Change<W, A, T, R> {
    work: Option<W>,
    after: A,
    done: Option<Result<Result<T, R>, StoreError>>,
    answer: oneshot::Sender<Result<Result<T, R>, StoreError>>,
    _capacity: OwnedSemaphorePermit,
}

impl<W, A, T, R> Job for Change<W, A, T, R>
where
    W: FnOnce(&mut SqliteConnection) -> Result<Result<T, R>, Fault> + Send,
    A: FnOnce(&T) + Send,
    T: Send,
    R: Send,
{
    fn work(&mut self, connection: &mut SqliteConnection) -> bool {
        let Some(work) = self.work.take() else { return false };
        let done = match catch_unwind(AssertUnwindSafe(|| work(connection))) {
            Ok(done) => done.map_err(StoreError::from),
            Err(_) => Err(StoreError::Broken("a change panicked".into())),
        };
        let keep = matches!(done, Ok(Ok(_)));
        self.done = Some(done);
        keep
    }

    fn settle(self: Box<Self>) {
        let Some(done) = self.done else { return };
        if let Ok(Ok(outcome)) = &done {
            let after = self.after;
            if catch_unwind(AssertUnwindSafe(|| after(outcome))).is_err() {
                tracing::error!("publishing a change panicked");
            }
        }
        // The receiver may have been dropped; the change is kept nonetheless.
        let _ = self.answer.send(done);
    }

    fn fail(self: Box<Self>, error: StoreError) {
        // A change that failed on the full disk itself has the more specific error. All other
        // results, refusals included, were based on rows that are rolled back now.
        let answer = match self.done {
            Some(Err(own @ StoreError::Unavailable(_))) => Err(own),
            _ => Err(error),
        };
        let _ = self.answer.send(answer);
    }
}

fn run(mut connection: SqliteConnection, jobs: &Receiver<Box<dyn Job>>) {
    let mut batch = Vec::new();
    while let Ok(first) = jobs.recv() {
        batch.push(first);
        batch.extend(jobs.try_iter().take(MAX_BATCH - 1));
        let _in_use = measure::connection_in_use();
        measure::batch(batch.len());
        match commit(&mut connection, &mut batch) {
            Ok(()) => batch.drain(..).for_each(Job::settle),
            Err(error) => {
                // After some errors SQLite has already rolled back, and this fails; that is fine.
                let _ = connection.batch_execute("ROLLBACK");
                tracing::warn!(error = %error, changes = batch.len(), "batch of changes could not be committed");
                batch.drain(..).for_each(|job| job.fail(not_committed(&error)));
            }
        }
    }
}

fn commit(
    connection: &mut SqliteConnection,
    batch: &mut [Box<dyn Job>],
) -> Result<(), diesel::result::Error> {
    statement!("BEGIN IMMEDIATE").execute(connection)?;
    let keep = match batch {
        [alone] => alone.work(connection),
        several => {
            for job in several {
                statement!("SAVEPOINT change").execute(connection)?;
                if !job.work(connection) {
                    statement!("ROLLBACK TO change").execute(connection)?;
                }
                statement!("RELEASE change").execute(connection)?;
            }
            true
        }
    };
    if keep { statement!("COMMIT").execute(connection) } else { statement!("ROLLBACK").execute(connection) }?;
    Ok(())
}

#[cfg(test)]
mod tests;
