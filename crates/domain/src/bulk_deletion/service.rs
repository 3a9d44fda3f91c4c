//! Use cases on bulk deletions.

use std::sync::Arc;
use std::time::Duration;

use super::ids::BulkIds;
use super::job::{BulkDeletion, BulkResource};
use super::port::{BulkDeletionRepository, Deleted, DeletedItem, NewBulkDeletion, RecordItemFault};
use crate::account::publish_deleted_agent;
use crate::caller::UserCaller;
use crate::chat::publish_deleted_chat;
use crate::id::BulkDeletionId;
use crate::ports::{Clock, EventPublisher, IdGenerator};
use crate::store::{OnCommit, StoreError};
use crate::time::Timestamp;

/// How long a finished job can be read.
pub const FINISHED_JOBS_ARE_KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The number of finished jobs that are erased at a time.
const FORGOTTEN_AT_ONCE: u32 = 200;

/// The reason why a job was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadBulkDeletionError {
    /// The caller has no such job.
    #[error("there is no such bulk deletion of the caller")]
    NotFound,
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Use cases on bulk deletions.
pub struct BulkDeletionService {
    jobs: Arc<dyn BulkDeletionRepository>,
    events: Arc<dyn EventPublisher>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdGenerator>,
}

impl BulkDeletionService {
    /// Wires the area to its ports.
    pub fn new(
        jobs: Arc<dyn BulkDeletionRepository>,
        events: Arc<dyn EventPublisher>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdGenerator>,
    ) -> Self {
        Self { jobs, events, clock, ids }
    }

    /// Accepts a job that deletes agents of the caller; those that have worked only with `force`.
    pub async fn delete_agents(
        &self,
        caller: UserCaller,
        ids: BulkIds,
        force: bool,
    ) -> Result<BulkDeletion, StoreError> {
        self.accept(caller, BulkResource::Agent, ids, force).await
    }

    /// Accepts a job that deletes chats.
    pub async fn delete_chats(&self, caller: UserCaller, ids: BulkIds) -> Result<BulkDeletion, StoreError> {
        self.accept(caller, BulkResource::Chat, ids, false).await
    }

    async fn accept(
        &self,
        caller: UserCaller,
        resource: BulkResource,
        ids: BulkIds,
        force: bool,
    ) -> Result<BulkDeletion, StoreError> {
        let now = self.clock.now();
        let id = BulkDeletionId::new(self.ids.generate(now));
        self.jobs.accept(NewBulkDeletion { id, user: caller.user, resource, force, ids, now }).await
    }

    /// A job of the caller.
    pub async fn find(
        &self,
        caller: UserCaller,
        job: BulkDeletionId,
    ) -> Result<BulkDeletion, ReadBulkDeletionError> {
        self.jobs.job(caller.user, job).await?.ok_or(ReadBulkDeletionError::NotFound)
    }

    /// Deletes the next item of a job, and returns it; `None` if there is nothing to do. Servers on one store may call this
    /// at the same time.
    ///
    /// # Errors
    /// If the store fails. The fault is recorded with the job, so that an item that cannot be deleted does not stop the
    /// others for ever.
    pub async fn delete_next(&self) -> Result<Option<DeletedItem>, StoreError> {
        let now = self.clock.now();
        let Some(item) = self.jobs.next_item(now).await? else { return Ok(None) };
        let events = self.events.clone();
        let on_commit = OnCommit::new(move |item: &DeletedItem| match &item.result {
            Ok(Deleted::Agent(agent)) => publish_deleted_agent(&*events, agent, item.at),
            Ok(Deleted::Chat(chat)) => publish_deleted_chat(&*events, chat),
            Err(_) => {}
        });
        match self.jobs.delete_item(item, now, on_commit).await {
            Ok(deleted) => Ok(deleted),
            Err(error) => {
                self.jobs.record_item_fault(RecordItemFault { item, now: self.clock.now() }).await?;
                Err(error)
            }
        }
    }

    /// Erases the jobs that can no longer be read at `now`, in batches, so that no other write waits for long. Returns their
    /// number.
    pub async fn forget_old(&self, now: Timestamp) -> Result<u64, StoreError> {
        let before = now.minus(FINISHED_JOBS_ARE_KEPT);
        let mut forgotten = 0;
        loop {
            let count = self.jobs.forget_jobs(before, FORGOTTEN_AT_ONCE).await?;
            forgotten += count;
            if count < u64::from(FORGOTTEN_AT_ONCE) {
                return Ok(forgotten);
            }
        }
    }
}
