//! The store of bulk deletions.
//!
//! A change of a job locks it first. Nothing else waits for that lock: other servers skip the job.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sql_types::{Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::account::DeleteAgent;
use domain::bulk_deletion::{
    BulkDeletion, BulkDeletionRepository, BulkResource, Deleted, DeletedItem, ItemFailure, ItemKey,
    NewBulkDeletion, RecordItemFault,
};
use domain::caller::{Caller, UserCaller};
use domain::chat::DeleteChat;
use domain::id::{AgentId, BulkDeletionId, ChatId, OrganizationId, ParticipantId, UserId};
use domain::store::{OnCommit, StoreError};
use domain::time::Timestamp;
use futures_util::FutureExt;
use futures_util::future::try_join_all;
use uuid::Uuid;

#[path = "../../sql-rows/bulk_deletion.rs"]
mod row;

use crate::PostgresStore;
use crate::account::delete_agent::delete_agent_on;
use crate::chat::delete::delete_on;
use crate::chat::load::standing_on;
use crate::error::Fault;
use crate::row::At;
use crate::run::Db;
use crate::schema::{agents, bulk_deletions, users};
use crate::statement::statement;
use row::{BulkDeletionRow, NEXT};

#[async_trait]
impl BulkDeletionRepository for PostgresStore {
    async fn accept(&self, new: NewBulkDeletion) -> Result<BulkDeletion, StoreError> {
        self.alter_quietly(new, |db, new| accept_on(db, new).boxed()).await
    }

    async fn job(&self, user: UserId, job: BulkDeletionId) -> Result<Option<BulkDeletion>, StoreError> {
        let found = self.query(job, |db, job| job_on(db, *job).boxed()).await?;
        Ok(found.filter(|job| job.user == user))
    }

    async fn next_item(&self, now: Timestamp) -> Result<Option<ItemKey>, StoreError> {
        self.query(now, |db, now| next_item_on(db, *now).boxed()).await
    }

    async fn delete_item(
        &self,
        item: ItemKey,
        now: Timestamp,
        on_commit: OnCommit<DeletedItem>,
    ) -> Result<Option<DeletedItem>, StoreError> {
        let announce = |deleted: &DeletedItem| on_commit.run(deleted);
        let given = (item, now);
        let deleted =
            self.change(given, |db, (item, now)| delete_item_on(db, *item, *now).boxed(), announce).await?;
        Ok(deleted.ok())
    }

    async fn record_item_fault(&self, fault: RecordItemFault) -> Result<Option<BulkDeletion>, StoreError> {
        Ok(self.change_quietly(fault, |db, fault| record_fault_on(db, *fault).boxed()).await?.ok())
    }

    async fn forget_jobs(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        self.query((before, limit), |db, (before, limit)| forget_on(db, *before, *limit).boxed()).await
    }
}

/// The item is no longer the first pending one of its job, or another server works on the job.
struct NotPending;

const FORGET: &str = "DELETE FROM bulk_deletions WHERE id IN (\
     SELECT id FROM bulk_deletions WHERE completed_at <= ? ORDER BY completed_at LIMIT ?)";

async fn forget_on(mut db: &Db, before: Timestamp, limit: u32) -> Result<u64, Fault> {
    let forgetting = statement::<()>(FORGET)
        .bind::<Timestamptz, _>(At(before))
        .bind::<diesel::sql_types::BigInt, _>(i64::from(limit));
    Ok(forgetting.execute(&mut db).await? as u64)
}

async fn accept_on(mut db: &Db, new: &NewBulkDeletion) -> Result<BulkDeletion, Fault> {
    // The statements are pipelined.
    let verdicts = try_join_all(new.ids.uuids().map(|id| verdict_on(db, new, id))).await?;
    let job = new.clone().into_job(verdicts);
    let row = BulkDeletionRow::of(&job)?;
    diesel::insert_into(bulk_deletions::table).values(row).execute(&mut db).await?;
    Ok(job)
}

/// Whether the user may delete an item now.
async fn verdict_on(
    db: &Db,
    new: &NewBulkDeletion,
    id: Option<Uuid>,
) -> Result<Result<(), ItemFailure>, Fault> {
    Ok(match (id, new.resource) {
        (None, _) => Err(ItemFailure::NotFound),
        (Some(id), BulkResource::Agent) => {
            owns_on(db, new.user, id).await?.then_some(()).ok_or(ItemFailure::NotFound)
        }
        (Some(id), BulkResource::Chat) => {
            let standing = standing_on(db, ParticipantId::User(new.user), ChatId::new(id)).await?;
            standing.decide_delete().map_err(ItemFailure::from)
        }
    })
}

async fn owns_on(mut db: &Db, user: UserId, agent: Uuid) -> Result<bool, Fault> {
    let own = agents::table.find(agent).filter(agents::owner_id.eq(user.uuid()));
    let own = own.filter(agents::deleted_at.is_null());
    Ok(diesel::select(diesel::dsl::exists(own)).get_result::<bool>(&mut db).await?)
}

async fn job_on(mut db: &Db, job: BulkDeletionId) -> Result<Option<BulkDeletion>, Fault> {
    let found = bulk_deletions::table.find(job.uuid()).select(BulkDeletionRow::as_select());
    found.first(&mut db).await.optional()?.map(BulkDeletionRow::into_job).transpose()
}

async fn next_item_on(mut db: &Db, now: Timestamp) -> Result<Option<ItemKey>, Fault> {
    let turn = statement::<SqlUuid>(NEXT).bind::<Timestamptz, _>(At(now));
    let Some(id) = turn.get_result::<Uuid>(&mut db).await.optional()? else { return Ok(None) };
    Ok(job_on(db, BulkDeletionId::new(id)).await?.and_then(|job| job.next_item()))
}

/// The job of an item, which is locked, if the item is the first pending one and no other server has the lock.
async fn pending_on(mut db: &Db, item: ItemKey) -> Result<Option<BulkDeletion>, Fault> {
    let found = bulk_deletions::table
        .find(item.job.uuid())
        .select(BulkDeletionRow::as_select())
        .for_update()
        .skip_locked()
        .first(&mut db)
        .await
        .optional()?;
    let job = found.map(BulkDeletionRow::into_job).transpose()?;
    Ok(job.filter(|job| job.next_item() == Some(item)))
}

async fn save_on(mut db: &Db, job: &BulkDeletion) -> Result<(), Fault> {
    let row = BulkDeletionRow::of(job)?;
    diesel::update(bulk_deletions::table.find(row.id)).set(&row).execute(&mut db).await?;
    Ok(())
}

async fn record_fault_on(db: &Db, fault: RecordItemFault) -> Result<Result<BulkDeletion, NotPending>, Fault> {
    let Some(mut job) = pending_on(db, fault.item).await? else { return Ok(Err(NotPending)) };
    job.record_fault(fault.now);
    save_on(db, &job).await?;
    Ok(Ok(job))
}

async fn delete_item_on(
    db: &Db,
    item: ItemKey,
    now: Timestamp,
) -> Result<Result<DeletedItem, NotPending>, Fault> {
    let Some(mut job) = pending_on(db, item).await? else { return Ok(Err(NotPending)) };
    let result = match (job.items[item.index].uuid(), caller_on(db, job.user).await?) {
        (_, None) => Err(ItemFailure::Forbidden),
        (None, _) => Err(ItemFailure::NotFound),
        (Some(id), Some(caller)) => delete_on_behalf_on(db, &job, caller, id, now).await?,
    };
    job.settle(result.as_ref().map(|_| ()).map_err(|failure| *failure), now);
    save_on(db, &job).await?;
    Ok(Ok(DeletedItem { result, at: now }))
}

async fn delete_on_behalf_on(
    db: &Db,
    job: &BulkDeletion,
    caller: UserCaller,
    id: Uuid,
    now: Timestamp,
) -> Result<Result<Deleted, ItemFailure>, Fault> {
    Ok(match job.resource {
        BulkResource::Agent => {
            let (owner, by) = (caller.user, caller.user.into());
            let command = DeleteAgent { agent: AgentId::new(id), owner, by, force: job.force, now };
            let deleted = delete_agent_on(db, &command).await?;
            deleted.map(|agent| Deleted::Agent(Box::new(agent))).map_err(ItemFailure::from)
        }
        BulkResource::Chat => {
            let command = DeleteChat { chat: ChatId::new(id), by: Some(Caller::User(caller)), now };
            delete_on(db, &command).await?.map(Deleted::Chat).map_err(ItemFailure::from)
        }
    })
}

/// The user as a caller, pinned so that disabling the user waits; `None` if the user is disabled or deleted.
async fn caller_on(mut db: &Db, user: UserId) -> Result<Option<UserCaller>, Fault> {
    let organization = users::table
        .find(user.uuid())
        .filter(users::deleted_at.is_null())
        .filter(users::disabled_at.is_null())
        .select(users::organization_id)
        .for_share()
        .first::<Uuid>(&mut db)
        .await
        .optional()?;
    Ok(organization.map(|organization| UserCaller { user, organization: OrganizationId::new(organization) }))
}
