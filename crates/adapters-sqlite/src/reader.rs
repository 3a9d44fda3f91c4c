//! The threads that read. They see the last commit and never wait for the writer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use diesel::connection::SimpleConnection;
use diesel::sqlite::SqliteConnection;
use domain::store::StoreError;
use tokio::sync::oneshot;

use crate::error::{Fault, closed};

type Job = Box<dyn FnOnce(&mut SqliteConnection) + Send>;

/// The queue in front of the reading threads.
pub(crate) struct Readers {
    jobs: Mutex<Option<Sender<Job>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Readers {
    pub(crate) fn start(connections: Vec<SqliteConnection>) -> std::io::Result<Self> {
        let (sender, receiver) = channel();
        let receiver = Arc::new(Mutex::new(receiver));
        let mut threads = Vec::with_capacity(connections.len());
        for connection in connections {
            let jobs = receiver.clone();
            let thread = std::thread::Builder::new().name("store-reader".to_owned());
            threads.push(thread.spawn(move || run(connection, &jobs))?);
        }
        Ok(Self { jobs: Mutex::new(Some(sender)), threads: Mutex::new(threads) })
    }

    /// Runs `work` on one snapshot of the store.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut SqliteConnection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, wait) = oneshot::channel();
        let job: Job = Box::new(move |connection| {
            if answer.is_closed() {
                return; // The caller has gone: nobody wants to know.
            }
            let _ = answer.send(on_snapshot(connection, work));
        });
        let queued = match &*self.jobs.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(jobs) => jobs.send(job).is_ok(),
            None => false,
        };
        if !queued {
            return Err(closed());
        }
        wait.await.unwrap_or_else(|_| Err(closed()))
    }

    /// Lets the queue run empty and ends the threads.
    pub(crate) fn close(&self) {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner).take();
        for thread in self.threads.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            if thread.join().is_err() {
                tracing::error!("a reading thread panicked");
            }
        }
    }
}

fn run(mut connection: SqliteConnection, jobs: &Mutex<Receiver<Job>>) {
    loop {
        // The lock is held while waiting, so one thread waits for a job and the others for it.
        let next = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = next else { return };
        job(&mut connection);
    }
}

/// Runs `work` between BEGIN and COMMIT; a panic is a fault of this one read.
fn on_snapshot<T>(
    connection: &mut SqliteConnection,
    work: impl FnOnce(&mut SqliteConnection) -> Result<T, Fault>,
) -> Result<T, StoreError> {
    connection.batch_execute("BEGIN DEFERRED").map_err(Fault::from)?;
    let done = catch_unwind(AssertUnwindSafe(|| work(connection)));
    // A snapshot has nothing to keep.
    if let Err(error) = connection.batch_execute("ROLLBACK") {
        tracing::warn!(error = %error, "a read did not end cleanly");
    }
    match done {
        Ok(done) => done.map_err(StoreError::from),
        Err(_) => Err(StoreError::Broken("a read panicked".into())),
    }
}
