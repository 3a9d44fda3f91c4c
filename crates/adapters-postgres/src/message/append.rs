//! Messages that share transactions. The row of a chat is written once per batch.

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use domain::message::{AppendRefused, Appended, NewMessage};
use uuid::Uuid;

use super::batch::{self, DecidedAppends};
use super::optimistic::VersionCache;
use super::{cause, hold, locked, one_statement};
use crate::error::Fault;
use crate::group_commit::{self, BatchOutcome, BatchWork, LockWait};
use crate::run::Db;

/// The writing of messages, with the chats that it has cached.
#[derive(Default)]
pub(crate) struct Messages(Mutex<VersionCache>);

impl Messages {
    fn cache(&self) -> MutexGuard<'_, VersionCache> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BatchWork for Messages {
    type Change = NewMessage;
    type Stored = Appended;
    type Refused = AppendRefused;
    type Decided = DecidedAppends;

    const NAME: &'static str = "messages";
    const KIND: measure::Work = measure::Work::Append;

    fn bytes(new: &NewMessage) -> usize {
        new.content.len()
    }

    fn lane(new: &NewMessage) -> Uuid {
        new.chat.uuid()
    }

    fn decide_cached(&self, news: &[NewMessage], connections: u64) -> Option<DecidedAppends> {
        self.cache().decide(news, connections)
    }

    async fn write_cached_on(&self, db: &Db, decided: &mut DecidedAppends) -> Result<bool, Fault> {
        one_statement::write_on(db, decided).await
    }

    async fn decide_on(
        &self,
        db: &Db,
        news: &[NewMessage],
        lock_wait: LockWait,
        in_doubt: Option<&mut DecidedAppends>,
    ) -> Result<Option<DecidedAppends>, Fault> {
        let decided = batch::decide_on(db, news, lock_wait).await?;
        if let Some(before) = in_doubt {
            let stored = cause::stored_on(db, before.messages()).await?;
            if !stored.is_empty() {
                // Their causes, and what is held, may be in the lost answer.
                let held = hold::stored_on(db, before.messages()).await?;
                before.follow(&stored, |message, agent| held.get(&(message, agent)).copied());
                return Ok(None);
            }
        }
        Ok(Some(decided))
    }

    async fn write_on(
        &self,
        db: &Db,
        news: &[NewMessage],
        decided: &mut DecidedAppends,
    ) -> Result<(), Fault> {
        batch::write_on(db, news, decided).await
    }

    fn learn(&self, decided: &DecidedAppends, outcome: BatchOutcome) {
        let mut cache = self.cache();
        cache.record_statement(decided);
        match outcome {
            BatchOutcome::Committed { connections } => cache.store(decided, connections),
            BatchOutcome::Conflict => cache.record_conflict(decided),
            BatchOutcome::InDoubt => cache.clear(),
        }
    }

    async fn locked_on(&self, db: &Db, news: &[NewMessage]) -> Result<HashSet<Uuid>, Fault> {
        locked::locked_by_others_on(db, news).await
    }
}

impl group_commit::Decided<Appended, AppendRefused> for DecidedAppends {
    fn outcomes(&self) -> &[batch::Outcome] {
        &self.outcomes
    }

    fn into_outcomes(self) -> Vec<batch::Outcome> {
        self.outcomes
    }
}
