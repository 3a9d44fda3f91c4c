//! A job of a bulk deletion, and how it moves from item to item. Pure; the stores call this on the locked job.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::account::DeleteAgentRefused;
use crate::chat::DeleteRefused;
use crate::id::{BulkDeletionId, UserId, parse_uuid};
use crate::time::Timestamp;
use crate::words::words;

/// How often the deletion of an item is tried before it counts as impossible.
pub const ITEM_TRIES: u32 = 4;

/// The pause before an item is tried again.
pub const ITEM_RETRY_PAUSE: Duration = Duration::from_secs(20);

words! {
    /// What a job deletes.
    BulkResource {
        /// Agents of the user.
        Agent = "agent",
        /// Chats that the user, or an own agent, owns.
        Chat = "chat",
    }

    /// The state of a job.
    BulkStatus {
        /// No item was tried yet.
        Queued = "queued",
        /// Items are pending.
        Processing = "processing",
        /// Every item has its result.
        Completed = "completed",
        /// An item could not be deleted because of a fault of the store, and those after it were not tried.
        Failed = "failed",
    }

    /// The reason why an item was not deleted.
    ItemFailure {
        /// The user has no such agent, or cannot see the chat; also if the id is malformed.
        NotFound = "not_found",
        /// The user may not delete the chat, or has been disabled meanwhile.
        Forbidden = "forbidden",
        /// A legal hold keeps it.
        LegalHold = "legal_hold",
        /// The agent has worked, and `force` was not set.
        ExecutionHistoryExists = "execution_history_exists",
        /// The store failed each time.
        DeleteFailed = "delete_failed",
        /// An earlier item failed because of the store, so this one was not tried.
        NotAttempted = "not_attempted",
    }
}

impl From<DeleteAgentRefused> for ItemFailure {
    fn from(refused: DeleteAgentRefused) -> Self {
        match refused {
            DeleteAgentRefused::NotFound => Self::NotFound,
            DeleteAgentRefused::UnderHold => Self::LegalHold,
            DeleteAgentRefused::HasWorked { .. } => Self::ExecutionHistoryExists,
        }
    }
}

impl From<DeleteRefused> for ItemFailure {
    fn from(refused: DeleteRefused) -> Self {
        match refused {
            DeleteRefused::ChatNotFound => Self::NotFound,
            DeleteRefused::NotOwner => Self::Forbidden,
            DeleteRefused::UnderHold => Self::LegalHold,
        }
    }
}

/// The result of an item.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemState {
    /// It has not been tried.
    Pending,
    /// It was deleted.
    Succeeded,
    /// It was not deleted.
    Failed(ItemFailure),
}

impl From<Result<(), ItemFailure>> for ItemState {
    fn from(result: Result<(), ItemFailure>) -> Self {
        result.map_or_else(Self::Failed, |()| Self::Succeeded)
    }
}

/// An agent or a chat to be deleted.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BulkItem {
    /// Its id, as it was sent.
    pub id: String,
    /// Its result.
    pub state: ItemState,
}

impl BulkItem {
    /// A new item: pending, or failed if `verdict` refuses it.
    pub fn new(id: String, verdict: Result<(), ItemFailure>) -> Self {
        Self { id, state: verdict.map_or_else(ItemState::Failed, |()| ItemState::Pending) }
    }

    /// The id as a UUID; `None` if it is malformed.
    pub fn uuid(&self) -> Option<Uuid> {
        parse_uuid(&self.id)
    }
}

/// An item of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ItemKey {
    /// The job.
    pub job: BulkDeletionId,
    /// The index of the item.
    pub index: usize,
}

/// A job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BulkDeletion {
    /// Its id.
    pub id: BulkDeletionId,
    /// Its user.
    pub user: UserId,
    /// What it deletes.
    pub resource: BulkResource,
    /// Set to delete agents that have worked.
    pub force: bool,
    /// The items in the order of the request.
    pub items: Vec<BulkItem>,
    /// How often the first pending item has failed because of the store.
    pub faults: u32,
    /// The time of the next try; no sooner.
    pub next_at: Timestamp,
    /// The time of the request.
    pub inserted_at: Timestamp,
    /// The time of the first result.
    pub started_at: Option<Timestamp>,
    /// The time of the last result.
    pub completed_at: Option<Timestamp>,
}

impl BulkDeletion {
    /// The state.
    pub fn status(&self) -> BulkStatus {
        let is_broken = |item: &BulkItem| item.state == ItemState::Failed(ItemFailure::DeleteFailed);
        match (self.started_at, self.completed_at) {
            (None, None) => BulkStatus::Queued,
            (Some(_), None) => BulkStatus::Processing,
            (_, Some(_)) if self.items.iter().any(is_broken) => BulkStatus::Failed,
            (_, Some(_)) => BulkStatus::Completed,
        }
    }

    /// The number of deleted items.
    pub fn succeeded(&self) -> usize {
        self.items.iter().filter(|item| item.state == ItemState::Succeeded).count()
    }

    /// The number of items that were not deleted, and will not be.
    pub fn failed(&self) -> usize {
        self.items.iter().filter(|item| matches!(item.state, ItemState::Failed(_))).count()
    }

    /// The first pending item.
    pub fn next_item(&self) -> Option<ItemKey> {
        self.next().map(|index| ItemKey { job: self.id, index })
    }

    /// The index of the first pending item.
    fn next(&self) -> Option<usize> {
        self.items.iter().position(|item| item.state == ItemState::Pending)
    }

    /// Finishes the job if nothing is pending, for a job whose items were all refused when it was accepted.
    pub fn finish(&mut self, now: Timestamp) {
        if self.next().is_none() {
            self.started_at.get_or_insert(now);
            self.completed_at = Some(now);
        }
    }

    /// Records the result of the first pending item.
    pub fn settle(&mut self, result: Result<(), ItemFailure>, now: Timestamp) {
        if let Some(index) = self.next() {
            self.items[index].state = result.into();
        }
        (self.faults, self.next_at) = (0, now);
        self.started_at.get_or_insert(now);
        self.finish(now);
    }

    /// Records that the store failed to delete the first pending item. It is tried again later, [`ITEM_TRIES`] times in
    /// all; then the job ends.
    pub fn record_fault(&mut self, now: Timestamp) {
        self.faults += 1;
        self.started_at.get_or_insert(now);
        if self.faults < ITEM_TRIES {
            self.next_at = now.plus(ITEM_RETRY_PAUSE);
            return;
        }
        self.settle(Err(ItemFailure::DeleteFailed), now);
        while self.next().is_some() {
            self.settle(Err(ItemFailure::NotAttempted), now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    fn job(verdicts: &[Result<(), ItemFailure>]) -> BulkDeletion {
        let items = verdicts.iter().enumerate();
        BulkDeletion {
            id: BulkDeletionId::NIL,
            user: UserId::NIL,
            resource: BulkResource::Chat,
            force: false,
            items: items.map(|(number, verdict)| BulkItem::new(number.to_string(), *verdict)).collect(),
            faults: 0,
            next_at: at(0),
            inserted_at: at(0),
            started_at: None,
            completed_at: None,
        }
    }

    fn counts(job: &BulkDeletion) -> (BulkStatus, usize, usize) {
        (job.status(), job.succeeded(), job.failed())
    }

    #[test]
    fn items_are_settled_in_order() {
        let mut job = job(&[Ok(()), Err(ItemFailure::NotFound), Ok(())]);
        job.finish(at(1));
        assert_eq!((counts(&job), job.next()), ((BulkStatus::Queued, 0, 1), Some(0)));
        job.settle(Ok(()), at(2));
        assert_eq!((counts(&job), job.next()), ((BulkStatus::Processing, 1, 1), Some(2)));
        assert_eq!((job.started_at, job.completed_at, job.next_at), (Some(at(2)), None, at(2)));
        job.settle(Err(ItemFailure::Forbidden), at(3));
        assert_eq!((counts(&job), job.next()), ((BulkStatus::Completed, 1, 2), None));
        assert_eq!((job.started_at, job.completed_at), (Some(at(2)), Some(at(3))));
    }

    #[test]
    fn a_job_without_a_chance_is_complete_at_once() {
        let mut job = job(&[Err(ItemFailure::NotFound), Err(ItemFailure::Forbidden)]);
        job.finish(at(1));
        assert_eq!(counts(&job), (BulkStatus::Completed, 0, 2));
        assert_eq!((job.started_at, job.completed_at), (Some(at(1)), Some(at(1))));
    }

    #[test]
    fn an_item_is_tried_four_times_in_a_minute() {
        let mut job = job(&[Ok(()), Ok(()), Err(ItemFailure::NotFound), Ok(())]);
        job.settle(Ok(()), at(0));
        for second in [0, 20, 40] {
            job.record_fault(at(second));
            assert_eq!(job.next_at, at(second + 20));
            assert_eq!((counts(&job), job.next()), ((BulkStatus::Processing, 1, 1), Some(1)));
        }
        job.record_fault(at(60));
        assert_eq!(counts(&job), (BulkStatus::Failed, 1, 3));
        let states = job.items.iter().map(|item| item.state).collect::<Vec<_>>();
        let failed = [ItemFailure::DeleteFailed, ItemFailure::NotFound, ItemFailure::NotAttempted];
        assert_eq!(states[1..], failed.map(ItemState::Failed));
        assert_eq!(job.completed_at, Some(at(60)));
    }

    #[test]
    fn a_success_ends_a_series_of_faults() {
        let mut job = job(&[Ok(()), Ok(())]);
        (0..3).for_each(|_| job.record_fault(at(0)));
        job.settle(Ok(()), at(1));
        (0..3).for_each(|_| job.record_fault(at(2)));
        assert_eq!(counts(&job), (BulkStatus::Processing, 1, 0));
    }
}
