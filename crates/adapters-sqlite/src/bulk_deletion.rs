//! The store of bulk deletions.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary};
use diesel::sqlite::SqliteConnection;
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
use uuid::Uuid;

#[path = "../../sql-rows/bulk_deletion.rs"]
mod row;

use crate::SqliteStore;
use crate::account::delete_agent::delete_agent_on;
use crate::account::find::agent_on;
use crate::chat::delete::delete_on;
use crate::chat::load::standing_on;
use crate::error::Fault;
use crate::row::{At, Id};
use crate::schema::{bulk_deletions, users};
use crate::statement::statement;
use row::{BulkDeletionRow, NEXT};

#[async_trait]
impl BulkDeletionRepository for SqliteStore {
    async fn accept(&self, new: NewBulkDeletion) -> Result<BulkDeletion, StoreError> {
        self.alter(move |connection| accept_on(connection, new)).await
    }

    async fn job(&self, user: UserId, job: BulkDeletionId) -> Result<Option<BulkDeletion>, StoreError> {
        self.read(move |connection| Ok(job_on(connection, job)?.filter(|job| job.user == user))).await
    }

    async fn next_item(&self, now: Timestamp) -> Result<Option<ItemKey>, StoreError> {
        self.read(move |connection| next_item_on(connection, now)).await
    }

    async fn delete_item(
        &self,
        item: ItemKey,
        now: Timestamp,
        on_commit: OnCommit<DeletedItem>,
    ) -> Result<Option<DeletedItem>, StoreError> {
        let work = move |connection: &mut SqliteConnection| {
            Ok(delete_item_on(connection, item, now)?.ok_or(NotPending))
        };
        Ok(self.change(work, |deleted| on_commit.run(deleted)).await?.ok())
    }

    async fn record_item_fault(&self, fault: RecordItemFault) -> Result<Option<BulkDeletion>, StoreError> {
        let work = move |connection: &mut SqliteConnection| {
            let Some(mut job) = pending_on(connection, fault.item)? else { return Ok(Err(NotPending)) };
            job.record_fault(fault.now);
            save_on(connection, &job)?;
            Ok(Ok(job))
        };
        Ok(self.change(work, |_| ()).await?.ok())
    }

    async fn forget_jobs(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        self.alter(move |connection| {
            let old = bulk_deletions::table
                .filter(bulk_deletions::completed_at.le(At(before)))
                .order(bulk_deletions::completed_at)
                .limit(i64::from(limit))
                .select(bulk_deletions::id)
                .load::<Id>(connection)?;
            let forgotten = diesel::delete(bulk_deletions::table.filter(bulk_deletions::id.eq_any(old)));
            Ok(forgotten.execute(connection)? as u64)
        })
        .await
    }
}

/// The item is no longer the first pending one of its job.
struct NotPending;

fn accept_on(connection: &mut SqliteConnection, new: NewBulkDeletion) -> Result<BulkDeletion, Fault> {
    let mut verdicts = Vec::new();
    for id in new.ids.uuids() {
        let verdict = match (id, new.resource) {
            (None, _) => Err(ItemFailure::NotFound),
            (Some(id), BulkResource::Agent) => {
                let agent = agent_on(connection, AgentId::new(id))?;
                agent.filter(|agent| agent.owner == new.user).map(|_| ()).ok_or(ItemFailure::NotFound)
            }
            (Some(id), BulkResource::Chat) => {
                let standing = standing_on(connection, ParticipantId::User(new.user), ChatId::new(id))?;
                standing.decide_delete().map_err(ItemFailure::from)
            }
        };
        verdicts.push(verdict);
    }
    let job = new.into_job(verdicts);
    diesel::insert_into(bulk_deletions::table).values(BulkDeletionRow::of(&job)?).execute(connection)?;
    Ok(job)
}

fn job_on(connection: &mut SqliteConnection, job: BulkDeletionId) -> Result<Option<BulkDeletion>, Fault> {
    let found = bulk_deletions::table.find(Id(job.uuid())).select(BulkDeletionRow::as_select());
    found.get_result(connection).optional()?.map(BulkDeletionRow::into_job).transpose()
}

fn next_item_on(connection: &mut SqliteConnection, now: Timestamp) -> Result<Option<ItemKey>, Fault> {
    let turn =
        statement!(NEXT => Binary).bind::<BigInt, _>(At(now)).get_result::<Id>(connection).optional()?;
    let Some(Id(id)) = turn else { return Ok(None) };
    Ok(job_on(connection, BulkDeletionId::new(id))?.and_then(|job| job.next_item()))
}

/// The job of an item, if it is the first pending one.
fn pending_on(connection: &mut SqliteConnection, item: ItemKey) -> Result<Option<BulkDeletion>, Fault> {
    Ok(job_on(connection, item.job)?.filter(|job| job.next_item() == Some(item)))
}

fn save_on(connection: &mut SqliteConnection, job: &BulkDeletion) -> Result<(), Fault> {
    let row = BulkDeletionRow::of(job)?;
    diesel::update(bulk_deletions::table.find(row.id)).set(&row).execute(connection)?;
    Ok(())
}

fn delete_item_on(
    connection: &mut SqliteConnection,
    item: ItemKey,
    now: Timestamp,
) -> Result<Option<DeletedItem>, Fault> {
    let Some(mut job) = pending_on(connection, item)? else { return Ok(None) };
    let result = match (job.items[item.index].uuid(), caller_on(connection, job.user)?) {
        (_, None) => Err(ItemFailure::Forbidden),
        (None, _) => Err(ItemFailure::NotFound),
        (Some(id), Some(caller)) => delete_on_behalf_on(connection, &job, caller, id, now)?,
    };
    job.settle(result.as_ref().map(|_| ()).map_err(|failure| *failure), now);
    save_on(connection, &job)?;
    Ok(Some(DeletedItem { result, at: now }))
}

fn delete_on_behalf_on(
    connection: &mut SqliteConnection,
    job: &BulkDeletion,
    caller: UserCaller,
    id: Uuid,
    now: Timestamp,
) -> Result<Result<Deleted, ItemFailure>, Fault> {
    Ok(match job.resource {
        BulkResource::Agent => {
            let (owner, by) = (caller.user, caller.user.into());
            let command = DeleteAgent { agent: AgentId::new(id), owner, by, force: job.force, now };
            let deleted = delete_agent_on(connection, &command)?;
            deleted.map(|agent| Deleted::Agent(Box::new(agent))).map_err(ItemFailure::from)
        }
        BulkResource::Chat => {
            let command = DeleteChat { chat: ChatId::new(id), by: Some(Caller::User(caller)), now };
            delete_on(connection, &command)?.map(Deleted::Chat).map_err(ItemFailure::from)
        }
    })
}

/// The user as a caller; `None` if the user is disabled or deleted.
fn caller_on(connection: &mut SqliteConnection, user: UserId) -> Result<Option<UserCaller>, Fault> {
    let organization = users::table
        .find(crate::row::bytes(user.uuid()))
        .filter(users::deleted_at.is_null())
        .filter(users::disabled_at.is_null())
        .select(users::organization_id)
        .get_result::<Id>(connection)
        .optional()?;
    Ok(organization
        .map(|Id(organization)| UserCaller { user, organization: OrganizationId::new(organization) }))
}

#[cfg(test)]
mod tests;
