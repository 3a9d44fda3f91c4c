//! Bulk deletions as rows. Compiled into each store, whose table it names.

use diesel::prelude::*;
use domain::bulk_deletion::{BulkDeletion, BulkResource};
use domain::id::{BulkDeletionId, UserId};

use crate::error::Fault;
use crate::row::{self, At, Id};
use crate::schema::bulk_deletions;

/// The job whose turn it is: see [`BulkDeletionRepository::next_item`](domain::bulk_deletion::BulkDeletionRepository). The
/// value is the current time.
pub(crate) const NEXT: &str = "SELECT id FROM bulk_deletions AS job \
     WHERE completed_at IS NULL AND next_at <= ? AND NOT EXISTS (\
         SELECT 1 FROM bulk_deletions AS earlier WHERE earlier.user_id = job.user_id \
         AND earlier.completed_at IS NULL AND earlier.id < job.id) \
     ORDER BY next_at, id LIMIT 1";

#[derive(Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = bulk_deletions, treat_none_as_null = true)]
pub(crate) struct BulkDeletionRow {
    pub(crate) id: Id,
    user_id: Id,
    resource: String,
    force: bool,
    faults: i32,
    next_at: At,
    inserted_at: At,
    started_at: Option<At>,
    completed_at: Option<At>,
    items: String,
}

impl BulkDeletionRow {
    pub(crate) fn of(job: &BulkDeletion) -> Result<Self, Fault> {
        Ok(Self {
            id: Id(job.id.uuid()),
            user_id: Id(job.user.uuid()),
            resource: job.resource.as_str().to_owned(),
            force: job.force,
            faults: i32::try_from(job.faults).unwrap_or(i32::MAX),
            next_at: At(job.next_at),
            inserted_at: At(job.inserted_at),
            started_at: job.started_at.map(At),
            completed_at: job.completed_at.map(At),
            items: row::to_json(&job.items)?,
        })
    }

    pub(crate) fn into_job(self) -> Result<BulkDeletion, Fault> {
        Ok(BulkDeletion {
            id: BulkDeletionId::new(self.id.0),
            user: UserId::new(self.user_id.0),
            resource: row::word(&self.resource, BulkResource::parse)?,
            force: self.force,
            items: row::json(&self.items)?,
            faults: self.faults.unsigned_abs(),
            next_at: self.next_at.0,
            inserted_at: self.inserted_at.0,
            started_at: self.started_at.map(|at| at.0),
            completed_at: self.completed_at.map(|at| at.0),
        })
    }
}
