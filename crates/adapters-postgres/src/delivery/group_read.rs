//! Reads the backlogs of agents in groups: one task answers the questions that have queued while it answered the previous
//! ones, with the same statement.
//!
//! Beginning a statement, and waking the threads and processes between a caller and its answer, costs more than finding a
//! row. The first question never waits for others, and a group that takes unusually long does not hold up the next. Only a
//! few groups run at once: if the database is slow, groups become larger, and leave the connections to others.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use domain::delivery::NextMessage;
use domain::store::StoreError;
use futures_util::FutureExt;
use measure::Work;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;

use super::next::{Backlog, next_on};
use crate::error::{Remedy, closed, crowded, panicked};
use crate::pool::Pool;
use crate::run::{Visibility, read_in_tries};

/// The maximum number of queued questions; further ones are refused as overload.
const QUEUE: usize = 8192;

/// The maximum number of questions per group, whose answers are in memory together.
const MAX_GROUP: usize = 64;

/// How long the next group waits for the previous one.
const TURN: Duration = Duration::from_millis(5);

/// A question, and the receiver of its answer.
struct Question {
    backlog: Backlog,
    answer: oneshot::Sender<Result<Option<NextMessage>, StoreError>>,
}

/// The queue in front of the reading task, which ends with it.
pub(crate) struct GroupRead(Sender<Question>);

impl GroupRead {
    /// Starts the task in the runtime that this is called in, with at most this number of concurrent groups.
    pub(crate) fn start(pool: Pool, at_once: usize) -> Self {
        let (sender, questions) = channel(QUEUE);
        tokio::spawn(run(pool, at_once, questions));
        Self(sender)
    }

    /// The first message of the backlog, read together with those of other backlogs.
    pub(crate) async fn next(&self, backlog: Backlog) -> Result<Option<NextMessage>, StoreError> {
        let _doing = measure::doing(Work::Read);
        let (answer, wait) = oneshot::channel();
        self.0.try_send(Question { backlog, answer }).map_err(|refused| match refused {
            TrySendError::Full(_) => crowded(),
            TrySendError::Closed(_) => closed(),
        })?;
        wait.await.unwrap_or_else(|_| Err(panicked()))
    }
}

async fn run(pool: Pool, at_once: usize, mut questions: Receiver<Question>) {
    let permits = Arc::new(Semaphore::new(at_once));
    let mut group = Vec::new();
    while let Ok(permit) = permits.clone().acquire_owned().await
        && questions.recv_many(&mut group, MAX_GROUP).await > 0
    {
        let (pool, group) = (pool.clone(), std::mem::take(&mut group));
        let answering = tokio::spawn(async move {
            answer(pool, group).await;
            drop(permit);
        });
        let _ = timeout(TURN, answering).await;
    }
}

async fn answer(pool: Pool, mut group: Vec<Question>) {
    group.retain(|question| !question.answer.is_closed());
    if group.is_empty() {
        return;
    }
    let backlogs = group.iter().map(|question| question.backlog).collect::<Vec<_>>();
    let read = read_in_tries(&pool, &backlogs, |db, backlogs| next_on(db, backlogs).boxed(), Visibility::Now);
    match read.await {
        Ok(answers) => {
            for (question, answer) in group.into_iter().zip(answers) {
                let _ = question.answer.send(Ok(answer));
            }
        }
        // One question caused the failure; the others must not fail with it.
        Err(fault) if fault.remedy() == Remedy::None && group.len() > 1 => {
            for question in group {
                Box::pin(answer(pool.clone(), vec![question])).await;
            }
        }
        Err(fault) => {
            for question in group {
                let _ = question.answer.send(Err(fault.to_store_error()));
            }
        }
    }
}
