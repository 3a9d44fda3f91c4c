//! Waiting for changes of a task.

use std::time::Duration;

use http_wire::room_waiters::Waiter;
use tokio::time::Instant;

use crate::failure::Failure;
use crate::read;
use crate::session::Session;
use crate::slots::Slot;
use crate::task::{TaskId, Tree};

/// The longest time that a blocking request waits: some clients give a request a minute.
const LONGEST: Duration = Duration::from_secs(50);

/// The shortest time between two reads of a task, whatever happens in its room.
const SHORTEST: Duration = Duration::from_millis(50);

/// The same for a task with more than [`LARGE`] messages.
const LONGER: Duration = Duration::from_millis(500);
const LARGE: usize = 50;

/// Somebody who follows a task.
pub(crate) struct Follower {
    pub(crate) session: Session,
    id: TaskId,
    waiter: Waiter,
    read_at: Instant,
    /// The shortest time until the next read.
    pause: Duration,
    _slot: Slot,
}

/// What has become of a task.
pub(crate) enum Followed {
    /// It was read again.
    Read(Box<Tree>),
    /// The time is over.
    Nothing,
    /// The server stops, or the caller may not read the task any more.
    Over,
}

impl Follower {
    /// Begins to follow a task in a slot. What happens from now on is noticed.
    pub(crate) fn begin(session: &Session, id: TaskId, slot: Slot) -> Self {
        let waiter = session.gateway().waiters.waiter(id.room);
        let (session, read_at) = (session.clone(), Instant::now());
        Self { session, id, waiter, read_at, pause: SHORTEST, _slot: slot }
    }

    /// Waits until the task may have changed, at most until a time.
    pub(crate) async fn next(&mut self, until: Instant) -> Followed {
        while self.waiter.wait(self.read_at, self.pause, until, || self.session.is_stopping()).await {
            self.read_at = Instant::now();
            match self.read().await {
                Ok(tree) => {
                    self.pause = if tree.messages.len() > LARGE { LONGER } else { SHORTEST };
                    return Followed::Read(Box::new(tree));
                }
                Err(failure) if failure.is_temporary() => {}
                Err(_) => return Followed::Over,
            }
        }
        if self.session.is_stopping() { Followed::Over } else { Followed::Nothing }
    }

    /// Reads the task, if the credential is still valid.
    async fn read(&self) -> Result<Tree, Failure> {
        self.session.check_again().await?;
        read::tree(&self.session, self.id).await
    }
}

/// The task once it waits for its caller or has ended, or as it is after [`LONGEST`]. If too many requests wait already, it is
/// as it is now.
pub(crate) async fn settled(session: &Session, id: TaskId) -> Result<Tree, Failure> {
    let until = Instant::now() + LONGEST;
    let slot = session.slot();
    let follower = slot.map(|slot| Follower::begin(session, id, slot));
    let mut tree = read::tree(session, id).await?;
    let Some(mut follower) = follower else { return Ok(tree) };
    while !tree.mark().is_settled() {
        match follower.next(until).await {
            Followed::Read(read) => tree = *read,
            Followed::Nothing | Followed::Over => break,
        }
    }
    Ok(tree)
}
