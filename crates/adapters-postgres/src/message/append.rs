//! Many who send at once share a commit.
//!
//! One task writes. It takes what has queued while it wrote the batch before, whatever the room, and
//! writes that in one transaction: the first never waits for others, and a room's row is written once a
//! batch. The answers are those that the same requests would get one after the other. A room that somebody
//! else holds does not stop the batch: its messages are set [`aside`](super::aside).

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::message::{AppendRefused, Appended, NewMessage};
use domain::store::{Announce, StoreError};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use measure::Work;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};
use uuid::Uuid;

use super::aside::Aside;
use super::at_once::{self, Remembered};
use super::batch::{Outcome, Patience, decide_on, held_on, is_there_on, write_on};
use crate::PostgresStore;
use crate::error::{Fault, Remedy, closed, crowded};
use crate::order::{Order, Turn};
use crate::pool::{Lease, Pool};
use crate::run::{Tries, execute};

/// The most messages in one transaction.
const MAX_BATCH: usize = 256;

/// No more messages are taken once they hold so many bytes of text.
const MAX_BATCH_BYTES: usize = 4 * 1024 * 1024;

/// The most messages that wait; more are refused for now.
pub(super) const QUEUE: usize = 8192;

/// How often a database that has gone is asked what became of a commit.
const ASKING: Duration = Duration::from_millis(100);

/// A message on its way, and where the answer goes.
pub(super) type Job = (NewMessage, Reply);

pub(super) struct Reply {
    /// When it came.
    since: Instant,
    announce: Announce<Appended>,
    answer: oneshot::Sender<Result<Outcome, StoreError>>,
}

/// Messages that are written together; each has its reply at the same place.
#[derive(Default)]
struct Batch {
    news: Vec<NewMessage>,
    replies: Vec<Reply>,
    bytes: usize,
}

/// The queue in front of the writing task, which ends with it.
#[derive(Clone)]
pub(crate) struct Appender(Sender<Job>);

impl Appender {
    /// Starts the task in the runtime that this is called in.
    pub(crate) fn start(pool: Pool, order: Arc<Order>) -> Self {
        let (sender, jobs) = channel(QUEUE);
        let aside = Aside::of(pool.max_size());
        tokio::spawn(Arc::new(Writer { pool, order, aside, remembered: Mutex::default() }).run(jobs));
        Self(sender)
    }

    /// Stores a message, see [`domain::message::MessageRepository::append`].
    pub(crate) async fn append(
        &self,
        new: NewMessage,
        announce: Announce<Appended>,
    ) -> Result<Result<Appended, AppendRefused>, StoreError> {
        let doing = measure::doing(Work::Append);
        let carried = doing.carry();
        let announce = Announce::new(|appended| carried.within(|| announce.tell(appended)));
        let (answer, wait) = oneshot::channel();
        let job = (new, Reply { since: Instant::now(), announce, answer });
        self.0.try_send(job).map_err(|refused| match refused {
            TrySendError::Full(_) => crowded(),
            TrySendError::Closed(_) => closed(),
        })?;
        wait.await.unwrap_or_else(|_| Err(closed()))
    }
}

struct Writer {
    pool: Pool,
    order: Arc<Order>,
    aside: Aside,
    remembered: Mutex<Remembered>,
}

impl Writer {
    async fn run(self: Arc<Self>, mut jobs: Receiver<Job>) {
        while let Some(first) = jobs.recv().await {
            let mut batch = Batch::default();
            self.take(first, &mut batch);
            while batch.has_room()
                && let Ok(job) = jobs.try_recv()
            {
                self.take(job, &mut batch);
            }
            self.write(batch, Patience::Brief).await;
        }
    }

    /// Takes up a message, unless its room is written apart, or it has waited so long that its sender has
    /// given up.
    fn take(&self, job: Job, batch: &mut Batch) {
        let Some(job) = self.aside.queue(job) else { return };
        self.take_up(job, batch);
    }

    fn take_up(&self, job: Job, batch: &mut Batch) {
        if job.1.since.elapsed() < self.pool.limit() {
            batch.push(job);
        } else {
            job.1.answer(Err(Fault::Slow.told()));
        }
    }

    /// Writes and answers all of them.
    async fn write(self: &Arc<Self>, mut batch: Batch, patience: Patience) {
        if batch.news.is_empty() {
            return;
        }
        match self.commit(&mut batch, patience).await {
            Ok(()) => {}
            // One of them is to blame; the others are not to suffer for it.
            Err(fault) if fault.remedy() == Remedy::None && batch.news.len() > 1 => {
                for job in batch.jobs() {
                    let mut alone = Batch::of(job);
                    if let Err(fault) = self.commit(&mut alone, patience).await {
                        alone.fail(&fault);
                    }
                }
            }
            Err(fault) => batch.fail(&fault),
        }
    }

    /// Writes the messages of a room that is held by somebody else.
    fn write_apart(self: &Arc<Self>, room: Uuid) {
        let writer = self.clone();
        tokio::spawn(async move {
            let mut lane = writer.aside.lane(room);
            let permit = timeout(writer.pool.limit(), writer.aside.permit()).await;
            while let Some(jobs) = lane.next() {
                match &permit {
                    Ok(_) => writer.write_all(jobs).await,
                    Err(_) => jobs.into_iter().for_each(|job| job.1.answer(Err(Fault::Slow.told()))),
                }
            }
        });
    }

    async fn write_all(self: &Arc<Self>, jobs: Vec<Job>) {
        let mut jobs = jobs.into_iter().peekable();
        while jobs.peek().is_some() {
            let mut batch = Batch::default();
            while batch.has_room()
                && let Some(job) = jobs.next()
            {
                self.take_up(job, &mut batch);
            }
            self.write(batch, Patience::Long).await;
        }
    }

    /// Takes out of the batch what is for rooms that somebody else holds, to be written apart; all of it if it is
    /// not a room that is held, as then nobody knows what.
    async fn set_aside(self: &Arc<Self>, batch: &mut Batch) -> Result<(), Fault> {
        let lease = self.pool.lease().await?;
        let held = self.pool.timed(held_on(lease.db(), &batch.news)).await?;
        lease.give_back();
        let mut apart = HashMap::<Uuid, Vec<Job>>::new();
        for job in std::mem::take(batch).jobs() {
            let room = job.0.chat.uuid();
            if held.is_empty() || held.contains(&room) {
                apart.entry(room).or_default().push(job);
            } else {
                batch.push(job);
            }
        }
        for (room, jobs) in apart {
            tracing::debug!(%room, messages = jobs.len(), "chat row locked by another transaction; deferring its messages");
            if self.aside.set(room, jobs) {
                self.write_apart(room);
            }
        }
        Ok(())
    }

    /// Writes, tells and answers all of them, or none.
    fn commit<'w>(
        self: &'w Arc<Self>,
        batch: &'w mut Batch,
        mut patience: Patience,
    ) -> BoxFuture<'w, Result<(), Fault>> {
        let commit = async move {
            let (mut tries, mut doubt, mut asking) = (Tries::default(), None, None);
            let mut doubted = false;
            while !batch.news.is_empty() {
                match self.commit_once(batch, &mut doubt, patience).await {
                    Err(_) if doubt.is_some() => {
                        if asking.get_or_insert_with(Instant::now).elapsed() >= self.pool.patience() {
                            self.order.doubt();
                            return Err(Fault::Uncertain);
                        }
                        // What became of it is known once its rooms are free, or written by somebody else.
                        (patience, doubted) = (Patience::Long, true);
                        tokio::time::sleep(ASKING).await;
                    }
                    Err(fault) if patience == Patience::Brief && fault.may_be_lock_timeout() => {
                        self.set_aside(batch).await?;
                    }
                    Err(fault) if tries.again_after(&fault).await => {}
                    // A statement that is on its way yet may come to its end after this.
                    Err(_) if doubted => {
                        self.order.doubt();
                        return Err(Fault::Uncertain);
                    }
                    done => return done,
                }
            }
            Ok(())
        };
        commit.boxed()
    }

    async fn commit_once(
        &self,
        batch: &mut Batch,
        doubt: &mut Option<Doubt>,
        patience: Patience,
    ) -> Result<(), Fault> {
        let mut lease = self.pool.lease().await?;
        let connections = self.pool.connections_made();
        if doubt.is_none() && patience == Patience::Brief {
            match self.commit_at_once(lease, batch, doubt, connections).await? {
                Some(unused) => lease = unused,
                None => return Ok(()),
            }
        }
        // The rooms are locked from here on, so a batch whose commit is in doubt has come to its end.
        let mut decided = match self.pool.timed(decide_on(lease.db(), &batch.news, patience)).await {
            Err(fault) if fault.may_be_lock_timeout() => {
                self.roll_back(lease).await;
                return Err(fault);
            }
            decided => decided?,
        };
        let kept = match &*doubt {
            Some(doubt) => self.pool.timed(is_there_on(lease.db(), doubt.messages())).await?,
            None => false,
        };
        if let Some(Doubt { outcomes, turn }) = doubt.take()
            && kept
        {
            self.roll_back(lease).await;
            let replies = std::mem::take(&mut batch.replies);
            turn.tell((), move |()| tell(replies, outcomes)).await;
            return Ok(());
        }
        if decided.outcomes.iter().all(Result::is_err) {
            self.roll_back(lease).await;
            tell(std::mem::take(&mut batch.replies), decided.outcomes);
            return Ok(());
        }
        if let Err(fault) = self.pool.timed(write_on(lease.db(), &batch.news, &mut decided)).await {
            if fault.may_be_lock_timeout() {
                self.roll_back(lease).await;
            }
            return Err(fault);
        }
        // Who else writes in one of the rooms comes after this.
        let turn = self.order.turn();
        match self.pool.timed(execute(lease.db(), "COMMIT")).await {
            Ok(()) => lease.give_back(),
            Err(fault) => {
                if fault.is_lost_connection() {
                    *doubt = Some(Doubt { outcomes: decided.outcomes, turn });
                }
                return Err(fault);
            }
        }
        if patience == Patience::Brief {
            self.remembered().keep(&decided, connections);
        }
        batch.tell_all(turn, decided.outcomes).await;
        Ok(())
    }

    /// Writes the batch by one statement, if its rooms are as they are remembered; gives the connection back if not.
    ///
    /// A statement in doubt that comes to its end late writes nothing, as whoever tries again writes the rooms' rows
    /// before.
    async fn commit_at_once(
        &self,
        lease: Lease,
        batch: &mut Batch,
        doubt: &mut Option<Doubt>,
        connections: u64,
    ) -> Result<Option<Lease>, Fault> {
        let Some(mut decided) = self.remembered().decide(&batch.news, connections) else {
            return Ok(Some(lease));
        };
        // Who has written in one of the rooms with an earlier turn has come to an end, or these do not fit.
        let turn = self.order.turn();
        match self.pool.timed(at_once::write_on(lease.db(), &mut decided)).await {
            Ok(true) => {
                lease.give_back();
                self.remembered().keep(&decided, connections);
                batch.tell_all(turn, decided.outcomes).await;
                Ok(None)
            }
            Ok(false) => {
                self.remembered().misfit(&decided);
                Ok(Some(lease))
            }
            Err(fault) => {
                self.remembered().forget();
                if fault.is_lost_connection() {
                    *doubt = Some(Doubt { outcomes: decided.outcomes, turn });
                }
                Err(fault)
            }
        }
    }

    fn remembered(&self) -> MutexGuard<'_, Remembered> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What cannot be rolled back ends with its connection.
    async fn roll_back(&self, lease: Lease) {
        if self.pool.timed(execute(lease.db(), "ROLLBACK")).await.is_ok() {
            lease.give_back();
        }
    }
}

impl Reply {
    /// Nobody waits when the caller has gone.
    pub(super) fn answer(self, answer: Result<Outcome, StoreError>) {
        let _ = self.answer.send(answer);
    }
}

/// What was decided of a batch whose connection was lost in the commit: it was kept as a whole or not at
/// all, which the ids of its messages tell.
struct Doubt {
    outcomes: Vec<Outcome>,
    turn: Turn,
}

impl Doubt {
    fn messages(&self) -> Vec<Uuid> {
        self.outcomes.iter().flatten().map(|appended| appended.message.id.uuid()).collect()
    }
}

impl Batch {
    fn of(job: Job) -> Self {
        let mut batch = Self::default();
        batch.push(job);
        batch
    }

    fn push(&mut self, (new, reply): Job) {
        self.bytes += new.content.len();
        self.news.push(new);
        self.replies.push(reply);
    }

    fn jobs(self) -> impl Iterator<Item = Job> {
        self.news.into_iter().zip(self.replies)
    }

    fn has_room(&self) -> bool {
        self.news.len() < MAX_BATCH && self.bytes < MAX_BATCH_BYTES
    }

    /// All of it is committed.
    async fn tell_all(&mut self, turn: Turn, outcomes: Vec<Outcome>) {
        measure::batch(self.news.len());
        let replies = std::mem::take(&mut self.replies);
        turn.tell((), move |()| tell(replies, outcomes)).await;
    }

    fn fail(self, fault: &Fault) {
        tracing::warn!(fault = ?fault, messages = self.news.len(), "messages could not be written");
        for reply in self.replies {
            reply.answer(Err(fault.told()));
        }
    }
}

/// Tells of what was kept, in the order of the rooms, and answers.
fn tell(replies: Vec<Reply>, outcomes: Vec<Outcome>) {
    for (reply, outcome) in replies.into_iter().zip(outcomes) {
        if let Ok(appended) = &outcome
            && catch_unwind(AssertUnwindSafe(|| reply.announce.tell(appended))).is_err()
        {
            tracing::error!("publishing a message panicked");
        }
        let _ = reply.answer.send(Ok(outcome));
    }
}

impl PostgresStore {
    /// Stores a message with whatever else is on its way.
    pub(super) async fn append_message(
        &self,
        new: NewMessage,
        announce: Announce<Appended>,
    ) -> Result<Result<Appended, AppendRefused>, StoreError> {
        self.appender.append(new, announce).await
    }
}
