//! The store of bulk deletions.

use async_trait::async_trait;

use super::ids::BulkIds;
use super::job::{BulkDeletion, BulkItem, BulkResource, ItemFailure, ItemKey};
use crate::account::DeletedAgent;
use crate::chat::DeletedChat;
use crate::id::{BulkDeletionId, UserId};
use crate::store::{OnCommit, StoreError};
use crate::time::Timestamp;

/// A job to be stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewBulkDeletion {
    /// Its id.
    pub id: BulkDeletionId,
    /// The caller.
    pub user: UserId,
    /// What it deletes.
    pub resource: BulkResource,
    /// Set to delete agents that have worked.
    pub force: bool,
    /// The ids of the items.
    pub ids: BulkIds,
    /// The current time.
    pub now: Timestamp,
}

impl NewBulkDeletion {
    /// The job, with the verdicts on its items in the order of the request.
    pub fn into_job(self, verdicts: impl IntoIterator<Item = Result<(), ItemFailure>>) -> BulkDeletion {
        let items = self.ids.into_texts().into_iter().zip(verdicts);
        let mut job = BulkDeletion {
            id: self.id,
            user: self.user,
            resource: self.resource,
            force: self.force,
            items: items.map(|(id, verdict)| BulkItem::new(id, verdict)).collect(),
            faults: 0,
            next_at: self.now,
            inserted_at: self.now,
            started_at: None,
            completed_at: None,
        };
        job.finish(self.now);
        job
    }
}

/// An agent or a chat that a job deleted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Deleted {
    /// An agent.
    Agent(Box<DeletedAgent>),
    /// A chat.
    Chat(DeletedChat),
}

/// An item that has its result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeletedItem {
    /// What was deleted, or the reason why it was not.
    pub result: Result<Deleted, ItemFailure>,
    /// The time of the result.
    pub at: Timestamp,
}

/// A fault of the store while an item was deleted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordItemFault {
    /// The item.
    pub item: ItemKey,
    /// The current time.
    pub now: Timestamp,
}

/// The store of bulk deletions.
#[async_trait]
pub trait BulkDeletionRepository: Send + Sync {
    /// Stores a job, and returns it. An item that the user may not delete now is refused for good: an agent that is not
    /// the user's, and a chat as [`decide_delete`](crate::chat::Standing::decide_delete) decides. The job is finished if
    /// all items are refused.
    async fn accept(&self, new: NewBulkDeletion) -> Result<BulkDeletion, StoreError>;

    /// A job of `user`.
    async fn job(&self, user: UserId, job: BulkDeletionId) -> Result<Option<BulkDeletion>, StoreError>;

    /// The item to delete next: the first pending one of the job that has waited longest, among those whose turn has come
    /// ([`next_at`](BulkDeletion::next_at)). Of each user, only the oldest unfinished job is considered.
    async fn next_item(&self, now: Timestamp) -> Result<Option<ItemKey>, StoreError>;

    /// Deletes an item exactly like the single deletion does, with the user as the actor, and stores its result with
    /// [`settle`](BulkDeletion::settle) in the same transaction. All items of a disabled or deleted user are
    /// [`Forbidden`](ItemFailure::Forbidden). `None`, and no change, if the item is no longer the first pending one, or
    /// another server works on the job.
    async fn delete_item(
        &self,
        item: ItemKey,
        now: Timestamp,
        on_commit: OnCommit<DeletedItem>,
    ) -> Result<Option<DeletedItem>, StoreError>;

    /// Stores that [`delete_item`](Self::delete_item) failed, with [`record_fault`](BulkDeletion::record_fault), and
    /// returns the job; no change if the item is no longer the first pending one, since then the deletion was stored after
    /// all.
    async fn record_item_fault(&self, fault: RecordItemFault) -> Result<Option<BulkDeletion>, StoreError>;

    /// Erases at most `limit` jobs that were finished at `before` or earlier; returns their number.
    async fn forget_jobs(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError>;
}
