//! Bulk deletion: a user deletes many agents or many chats with one request, which answers with a job.
//!
//! The job deletes its items in the order of the request, each exactly like a single deletion and in a transaction that
//! also stores the result. So a job that a crash interrupts continues with its first pending item, and no item is
//! deleted twice. The lock on the job in that transaction also keeps other servers on the same store away from the job.
//!
//! Whether the user may delete an item is decided twice: when the job is accepted, and when its turn comes. Both decisions
//! must allow it, so rights that are gained in between do not count.
//!
//! Invariants: the jobs of one user run one at a time, the oldest first. A finished job has no pending item.

mod ids;
mod job;
mod port;
mod service;

pub use ids::{BulkIds, BulkIdsFault};
pub use job::{
    BulkDeletion, BulkItem, BulkResource, BulkStatus, ITEM_RETRY_PAUSE, ITEM_TRIES, ItemFailure, ItemKey,
    ItemState,
};
pub use port::{BulkDeletionRepository, Deleted, DeletedItem, NewBulkDeletion, RecordItemFault};
pub use service::{BulkDeletionService, FINISHED_JOBS_ARE_KEPT, ReadBulkDeletionError};
