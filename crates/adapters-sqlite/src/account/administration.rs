//! Accounts for operators.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::account::{
    AdministrationRepository, Agent, AgentConnection, AgentHandle, DeleteUser, DeleteUserRefused,
    DeletedUser, SetDisabled, SetDisabledOutcome, User, UserHandle,
};
use domain::audit::AuditEntry;
use domain::change::Change;
use domain::id::{AgentId, ParticipantId, UserId};
use domain::page::Position;
use domain::store::{OnCommit, StoreError};

use super::delete_user::delete_user_on;
use super::disconnects;
use super::row::{AgentRow, UserRow};
use crate::SqliteStore;
use crate::audit;
use crate::change;
use crate::error::Fault;
use crate::login::session;
use crate::row;
use crate::schema::{agents, users};

#[async_trait]
impl AdministrationRepository for SqliteStore {
    async fn users_after(&self, after: Option<UserHandle>, limit: u32) -> Result<Vec<User>, StoreError> {
        self.read(move |connection| users_on(connection, after.as_ref(), limit)).await
    }

    async fn agents_after(
        &self,
        owner: Option<UserId>,
        after: Option<AgentHandle>,
        limit: u32,
    ) -> Result<Vec<Agent>, StoreError> {
        self.read(move |connection| agents_on(connection, owner, after.as_ref(), limit)).await
    }

    async fn users_of(&self, ids: Vec<UserId>) -> Result<Vec<User>, StoreError> {
        self.read(move |connection| users_of_on(connection, &ids)).await
    }

    async fn agents_of(&self, ids: Vec<AgentId>) -> Result<Vec<Agent>, StoreError> {
        self.read(move |connection| agents_of_on(connection, &ids)).await
    }

    async fn disconnects_before(
        &self,
        before: Option<Position>,
        limit: u32,
    ) -> Result<Vec<AgentConnection>, StoreError> {
        self.read(move |connection| disconnects::before_on(connection, before.as_ref(), limit)).await
    }

    async fn set_disabled(&self, command: SetDisabled) -> Result<SetDisabledOutcome, StoreError> {
        self.alter(move |connection| set_disabled_on(connection, command)).await
    }

    async fn delete_user(
        &self,
        command: DeleteUser,
        on_commit: OnCommit<DeletedUser>,
    ) -> Result<Result<DeletedUser, DeleteUserRefused>, StoreError> {
        let work = move |connection: &mut SqliteConnection| delete_user_on(connection, &command);
        self.change(work, |deleted| on_commit.run(deleted)).await
    }
}

fn users_on(
    connection: &mut SqliteConnection,
    after: Option<&UserHandle>,
    limit: u32,
) -> Result<Vec<User>, Fault> {
    let after = after.map_or_else(String::new, |handle| handle.as_str().to_owned());
    let rows = users::table
        .filter(users::handle.gt(after))
        .filter(users::deleted_at.is_null())
        .order(users::handle)
        .limit(i64::from(limit))
        .select(UserRow::as_select())
        .load(connection)?;
    rows.into_iter().map(UserRow::into_user).collect()
}

fn agents_on(
    connection: &mut SqliteConnection,
    owner: Option<UserId>,
    after: Option<&AgentHandle>,
    limit: u32,
) -> Result<Vec<Agent>, Fault> {
    let after = after.map_or_else(String::new, |handle| handle.as_str().to_owned());
    let mut rows =
        agents::table.filter(agents::handle.gt(after)).filter(agents::deleted_at.is_null()).into_boxed();
    if let Some(owner) = owner {
        rows = rows.filter(agents::owner_id.eq(row::bytes(owner.uuid())));
    }
    let rows =
        rows.order(agents::handle).limit(i64::from(limit)).select(AgentRow::as_select()).load(connection)?;
    rows.into_iter().map(AgentRow::into_agent).collect()
}

fn users_of_on(connection: &mut SqliteConnection, ids: &[UserId]) -> Result<Vec<User>, Fault> {
    let rows = users::table
        .filter(users::id.eq_any(ids.iter().map(|user| row::bytes(user.uuid()))))
        .filter(users::deleted_at.is_null())
        .select(UserRow::as_select())
        .load(connection)?;
    rows.into_iter().map(UserRow::into_user).collect()
}

fn agents_of_on(connection: &mut SqliteConnection, ids: &[AgentId]) -> Result<Vec<Agent>, Fault> {
    let rows = agents::table
        .filter(agents::id.eq_any(ids.iter().map(|agent| row::bytes(agent.uuid()))))
        .filter(agents::deleted_at.is_null())
        .select(AgentRow::as_select())
        .load(connection)?;
    rows.into_iter().map(AgentRow::into_agent).collect()
}

fn set_disabled_on(
    connection: &mut SqliteConnection,
    command: SetDisabled,
) -> Result<SetDisabledOutcome, Fault> {
    let id = row::bytes(command.who.uuid());
    let found = match command.who {
        ParticipantId::User(_) => users::table
            .find(&id)
            .filter(users::deleted_at.is_null())
            .select(users::disabled_at)
            .get_result(connection),
        ParticipantId::Agent(_) => agents::table
            .find(&id)
            .filter(agents::deleted_at.is_null())
            .select(agents::disabled_at)
            .get_result(connection),
    };
    let Some(since) = found.optional()? as Option<Option<i64>> else {
        return Ok(SetDisabledOutcome::NotFound);
    };
    if since.is_some() == command.disabled {
        return Ok(SetDisabledOutcome::AlreadySo);
    }
    let since = command.disabled.then(|| command.now.micros());
    match command.who {
        ParticipantId::User(user) => {
            diesel::update(users::table.find(&id)).set(users::disabled_at.eq(since)).execute(connection)?;
            if command.disabled {
                session::end_all_on(connection, user, command.now)?;
            }
        }
        ParticipantId::Agent(_) => {
            diesel::update(agents::table.find(&id)).set(agents::disabled_at.eq(since)).execute(connection)?;
        }
    }
    let change = if command.disabled { Change::Disabled } else { Change::Enabled };
    change::append_on(connection, [change(command.who)], command.now)?;
    audit::append_on(connection, [AuditEntry::account_disabled(&command)])?;
    Ok(SetDisabledOutcome::Done)
}
