//! Accounts for operators.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use domain::account::{
    AdministrationRepository, Agent, AgentConnection, AgentHandle, DeleteUser, DeleteUserRefused,
    DeletedUser, SetDisabled, SetDisabledOutcome, User, UserHandle,
};
use domain::audit::AuditEntry;
use domain::change::Change;
use domain::id::{AgentId, ParticipantId, UserId};
use domain::page::Position;
use domain::store::{OnCommit, StoreError};
use futures_util::FutureExt;

use super::delete_user::delete_user_on;
use super::disconnects;
use super::row::{AgentRow, UserRow};
use crate::PostgresStore;
use crate::audit;
use crate::change;
use crate::error::Fault;
use crate::lock;
use crate::login::session;
use crate::row::At;
use crate::run::Db;
use crate::schema::{agents, users};

#[async_trait]
impl AdministrationRepository for PostgresStore {
    async fn users_after(&self, after: Option<UserHandle>, limit: u32) -> Result<Vec<User>, StoreError> {
        let given = (after, limit);
        self.query(given, |db, (after, limit)| users_on(db, after.as_ref(), *limit).boxed()).await
    }

    async fn agents_after(
        &self,
        owner: Option<UserId>,
        after: Option<AgentHandle>,
        limit: u32,
    ) -> Result<Vec<Agent>, StoreError> {
        let given = (owner, after, limit);
        self.query(given, |db, (owner, after, limit)| agents_on(db, *owner, after.as_ref(), *limit).boxed())
            .await
    }

    async fn users_of(&self, ids: Vec<UserId>) -> Result<Vec<User>, StoreError> {
        self.query(ids, |db, ids| users_of_on(db, ids).boxed()).await
    }

    async fn agents_of(&self, ids: Vec<AgentId>) -> Result<Vec<Agent>, StoreError> {
        self.query(ids, |db, ids| agents_of_on(db, ids).boxed()).await
    }

    async fn disconnects_before(
        &self,
        before: Option<Position>,
        limit: u32,
    ) -> Result<Vec<AgentConnection>, StoreError> {
        let given = (before, limit);
        self.query(given, |db, (before, limit)| disconnects::before_on(db, before.as_ref(), *limit).boxed())
            .await
    }

    async fn set_disabled(&self, command: SetDisabled) -> Result<SetDisabledOutcome, StoreError> {
        self.alter(command, |db, command| set_disabled_on(db, *command).boxed()).await
    }

    async fn delete_user(
        &self,
        command: DeleteUser,
        on_commit: OnCommit<DeletedUser>,
    ) -> Result<Result<DeletedUser, DeleteUserRefused>, StoreError> {
        let announce = |deleted: &DeletedUser| on_commit.run(deleted);
        self.change(command, |db, command| delete_user_on(db, command).boxed(), announce).await
    }
}

async fn users_on(mut db: &Db, after: Option<&UserHandle>, limit: u32) -> Result<Vec<User>, Fault> {
    let rows = users::table
        .filter(users::handle.gt(after.map_or("", UserHandle::as_str)))
        .filter(users::deleted_at.is_null())
        .order(users::handle)
        .limit(i64::from(limit))
        .select(UserRow::as_select())
        .load(&mut db)
        .await?;
    rows.into_iter().map(UserRow::into_user).collect()
}

async fn agents_on(
    mut db: &Db,
    owner: Option<UserId>,
    after: Option<&AgentHandle>,
    limit: u32,
) -> Result<Vec<Agent>, Fault> {
    let mut rows = agents::table
        .filter(agents::handle.gt(after.map_or("", AgentHandle::as_str)))
        .filter(agents::deleted_at.is_null())
        .into_boxed();
    if let Some(owner) = owner {
        rows = rows.filter(agents::owner_id.eq(owner.uuid()));
    }
    let rows = rows.order(agents::handle).limit(i64::from(limit)).select(AgentRow::as_select());
    let rows = rows.load(&mut db).await?;
    rows.into_iter().map(AgentRow::into_agent).collect()
}

async fn users_of_on(mut db: &Db, ids: &[UserId]) -> Result<Vec<User>, Fault> {
    let rows = users::table
        .filter(users::id.eq_any(ids.iter().map(|user| user.uuid())))
        .filter(users::deleted_at.is_null())
        .select(UserRow::as_select())
        .load(&mut db)
        .await?;
    rows.into_iter().map(UserRow::into_user).collect()
}

async fn agents_of_on(mut db: &Db, ids: &[AgentId]) -> Result<Vec<Agent>, Fault> {
    let rows = agents::table
        .filter(agents::id.eq_any(ids.iter().map(|agent| agent.uuid())))
        .filter(agents::deleted_at.is_null())
        .select(AgentRow::as_select())
        .load(&mut db)
        .await?;
    rows.into_iter().map(AgentRow::into_agent).collect()
}

async fn set_disabled_on(mut db: &Db, command: SetDisabled) -> Result<SetDisabledOutcome, Fault> {
    lock::parties_on(db, &[command.who]).await?;
    let id = command.who.uuid();
    let found = match command.who {
        ParticipantId::User(_) => {
            let there = users::table.find(id).filter(users::deleted_at.is_null());
            there.select(users::disabled_at).first(&mut db).await
        }
        ParticipantId::Agent(_) => {
            let there = agents::table.find(id).filter(agents::deleted_at.is_null());
            there.select(agents::disabled_at).first(&mut db).await
        }
    };
    let Some(since) = found.optional()? as Option<Option<At>> else {
        return Ok(SetDisabledOutcome::NotFound);
    };
    if since.is_some() == command.disabled {
        return Ok(SetDisabledOutcome::AlreadySo);
    }
    let since = command.disabled.then_some(At(command.now));
    match command.who {
        ParticipantId::User(user) => {
            let row = diesel::update(users::table.find(id));
            row.set(users::disabled_at.eq(since)).execute(&mut db).await?;
            if command.disabled {
                session::end_all_on(db, user, command.now).await?;
            }
        }
        ParticipantId::Agent(_) => {
            let agent = diesel::update(agents::table.find(id));
            agent.set(agents::disabled_at.eq(since)).execute(&mut db).await?;
        }
    }
    audit::append_on(db, [AuditEntry::account_disabled(&command)]).await?;
    let change = if command.disabled { Change::Disabled } else { Change::Enabled };
    change::append_on(db, [change(command.who)], command.now).await?;
    Ok(SetDisabledOutcome::Done)
}
