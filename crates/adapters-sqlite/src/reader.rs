//! The reading threads. They see the last commit and never wait for the writer.
//!
//! Their queue is bounded: under overload the newest request is refused at once, so that it can be
//! retried, instead of all of them getting slow.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use diesel::RunQueryDsl;
use diesel::sqlite::SqliteConnection;
use domain::store::StoreError;
use tokio::sync::oneshot;

use crate::error::{Fault, closed};
use crate::statement::statement;

/// The capacity of the queue. A cheap read takes a fraction of a millisecond, so the last one waits
/// about one second, the value of `Retry-After`.
const MAX_WAITING: usize = 2048;

/// Makes a reading connection, like the initial ones.
pub(crate) type Connect = Arc<dyn Fn() -> Result<SqliteConnection, String> + Send + Sync>;

/// A read. Returns the state in which it left the connection.
type Job = Box<dyn FnOnce(&mut SqliteConnection) -> Left + Send>;

/// The state in which a read leaves its connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Left {
    Idle,
    /// In the middle of a transaction: the next read would fail on it.
    Stuck,
}

/// The queue in front of the reading threads.
pub(crate) struct Readers {
    jobs: Mutex<Option<SyncSender<Job>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Readers {
    /// Starts a thread for every connection; `connect` replaces a connection that cannot be used
    /// any more.
    pub(crate) fn start(connections: Vec<SqliteConnection>, connect: &Connect) -> std::io::Result<Self> {
        Self::bounded(connections, connect, MAX_WAITING)
    }

    fn bounded(
        connections: Vec<SqliteConnection>,
        connect: &Connect,
        waiting: usize,
    ) -> std::io::Result<Self> {
        let (sender, receiver) = sync_channel(waiting);
        let receiver = Arc::new(Mutex::new(receiver));
        let mut threads = Vec::with_capacity(connections.len());
        for connection in connections {
            let (jobs, connect) = (receiver.clone(), connect.clone());
            let thread = std::thread::Builder::new().name("store-reader".to_owned());
            threads.push(thread.spawn(move || run(connection, &connect, &jobs))?);
        }
        Ok(Self { jobs: Mutex::new(Some(sender)), threads: Mutex::new(threads) })
    }

    /// The number of threads.
    pub(crate) fn count(&self) -> usize {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Runs `work` on one snapshot of the store.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut SqliteConnection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, wait) = oneshot::channel();
        let job: Job = Box::new(move |connection| {
            if answer.is_closed() {
                return Left::Idle; // The caller has gone: nobody wants to know.
            }
            let (done, left) = on_snapshot(connection, work);
            let _ = answer.send(done);
            left
        });
        let queued = match &*self.jobs.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(jobs) => jobs.try_send(job),
            None => return Err(closed()),
        };
        match queued {
            Ok(()) => wait.await.unwrap_or_else(|_| Err(closed())),
            Err(TrySendError::Full(_)) => Err(StoreError::Unavailable("too many reads are queued".into())),
            Err(TrySendError::Disconnected(_)) => Err(closed()),
        }
    }

    /// Finishes the queued reads and ends the threads.
    pub(crate) fn close(&self) {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner).take();
        for thread in self.threads.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            if thread.join().is_err() {
                tracing::error!("reader thread panicked");
            }
        }
    }
}

fn run(mut connection: SqliteConnection, connect: &Connect, jobs: &Mutex<Receiver<Job>>) {
    let mut left = Left::Idle;
    loop {
        // The lock is held while waiting, so one thread waits for a job and the others for the
        // lock.
        let next = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = next else { return };
        let _in_use = measure::connection_in_use();
        if left == Left::Stuck {
            match connect() {
                Ok(fresh) => connection = fresh,
                Err(error) => tracing::warn!(error, "reader connection cannot be replaced"),
            }
        }
        left = job(&mut connection);
    }
}

/// Runs `work` between BEGIN and ROLLBACK; a panic fails only this read.
fn on_snapshot<T>(
    connection: &mut SqliteConnection,
    work: impl FnOnce(&mut SqliteConnection) -> Result<T, Fault>,
) -> (Result<T, StoreError>, Left) {
    if let Err(error) = statement!("BEGIN DEFERRED").execute(connection) {
        return (Err(StoreError::Unavailable(Box::new(error))), Left::Stuck);
    }
    let done = catch_unwind(AssertUnwindSafe(|| work(connection)));
    let done = match done {
        Ok(done) => done.map_err(StoreError::from),
        Err(_) => Err(StoreError::Broken("a read panicked".into())),
    };
    // A snapshot has nothing to commit.
    let left = match statement!("ROLLBACK").execute(connection) {
        Ok(_) => Left::Idle,
        Err(error) => {
            tracing::warn!(error = %error, "read transaction did not end cleanly");
            Left::Stuck
        }
    };
    (done, left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use diesel::Connection;
    use diesel::connection::SimpleConnection;
    use std::sync::mpsc::channel;

    fn connect() -> Connect {
        Arc::new(|| SqliteConnection::establish(":memory:").map_err(|error| error.to_string()))
    }

    fn one_reader(waiting: usize) -> Readers {
        let connect = connect();
        Readers::bounded(vec![connect().unwrap()], &connect, waiting).unwrap()
    }

    fn one(connection: &mut SqliteConnection) -> Result<i32, Fault> {
        Ok(diesel::select(diesel::dsl::sql::<diesel::sql_types::Integer>("1")).get_result(connection)?)
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_full_queue_refuses_at_once_and_takes_again_later() {
        let readers = Arc::new(one_reader(1));
        let (begun, has_begun) = channel();
        let (go, may_go) = channel::<()>();
        let holding = {
            let readers = readers.clone();
            tokio::spawn(async move {
                let wait = move |_: &mut SqliteConnection| {
                    begun.send(()).unwrap();
                    may_go.recv().unwrap();
                    Ok(())
                };
                readers.read(wait).await
            })
        };
        tokio::task::spawn_blocking(move || has_begun.recv().unwrap()).await.unwrap();
        // The reader is busy. One read may wait; after one poll it is in the queue.
        let mut waiting = Box::pin(readers.read(one));
        let polled = std::future::poll_fn(|context| {
            std::task::Poll::Ready(std::future::Future::poll(waiting.as_mut(), context))
        });
        assert!(polled.await.is_pending());
        let refused = readers.read(one).await;
        assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
        go.send(()).unwrap();
        holding.await.unwrap().unwrap();
        assert_eq!(waiting.await.unwrap(), 1);
        assert_eq!(readers.read(one).await.unwrap(), 1);
        readers.close();
        assert!(matches!(readers.read(one).await, Err(StoreError::Unavailable(_))));
    }

    #[tokio::test]
    async fn a_connection_that_does_not_end_cleanly_is_replaced() {
        let readers = one_reader(8);
        let spoil = |connection: &mut SqliteConnection| {
            connection.batch_execute("CREATE TABLE spoilt (id); COMMIT")?;
            Ok(())
        };
        readers.read(spoil).await.unwrap();
        let look = |connection: &mut SqliteConnection| {
            Ok(connection.batch_execute("SELECT id FROM spoilt").map_err(|error| error.to_string()))
        };
        let found = readers.read(look).await.unwrap();
        assert!(found.unwrap_err().contains("no such table"), "the old connection is still in use");
        assert_eq!(readers.read(one).await.unwrap(), 1);
    }
}
