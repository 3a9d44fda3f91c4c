//! The store of configurations of push notifications.

#[path = "../../../sql-rows/push.rs"]
mod row;

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary};
use diesel::sqlite::SqliteConnection;
use domain::audit::AuditEntry;
use domain::change::Change;
use domain::id::{ChatId, ParticipantId, PushConfigId, UserId};
use domain::push::{
    DuePush, PushConfig, PushCredential, PushLease, PushRefused, PushRemoval, PushRepository, PushStep,
    PushTask, RemovePushConfig, SetPushConfig, SettledPush,
};
use domain::store::StoreError;
use domain::time::Timestamp;

use crate::SqliteStore;
use crate::error::Fault;
use crate::row::{At, Id};
use crate::schema::{api_keys, push_configs, sessions};
use crate::statement::statement;
use crate::{audit, change};
use row::{DUE, PushConfigRow, due};

#[async_trait]
impl PushRepository for SqliteStore {
    async fn set_push_config(
        &self,
        command: SetPushConfig,
    ) -> Result<Result<PushConfig, PushRefused>, StoreError> {
        self.change(move |connection| set_on(connection, &command), |_| ()).await
    }

    async fn push_configs(
        &self,
        task: PushTask,
        caller: ParticipantId,
    ) -> Result<Vec<PushConfig>, StoreError> {
        self.read(move |connection| of_task_on(connection, task, caller)).await
    }

    async fn remove_push_config(&self, command: RemovePushConfig) -> Result<bool, StoreError> {
        self.alter(move |connection| remove_on(connection, &command)).await
    }

    async fn count_push_configs(&self, user: UserId) -> Result<u64, StoreError> {
        self.read(move |connection| count_on(connection, user)).await
    }

    async fn push_chats(&self) -> Result<Vec<ChatId>, StoreError> {
        let chats = move |connection: &mut SqliteConnection| {
            let found =
                push_configs::table.select(push_configs::chat_id).distinct().load::<Id>(connection)?;
            Ok(found.into_iter().map(|id| ChatId::new(id.0)).collect())
        };
        self.read(chats).await
    }

    async fn wake_push_configs(&self, chats: Vec<ChatId>, now: Timestamp) -> Result<(), StoreError> {
        self.alter(move |connection| wake_on(connection, &chats, now)).await
    }

    async fn due_push_configs(
        &self,
        now: Timestamp,
        of_user: u32,
        limit: u32,
    ) -> Result<Vec<DuePush>, StoreError> {
        self.read(move |connection| due_on(connection, now, of_user, limit)).await
    }

    async fn take_push_config(
        &self,
        id: PushConfigId,
        now: Timestamp,
    ) -> Result<Option<PushConfig>, StoreError> {
        self.alter(move |connection| take_on(connection, id, now)).await
    }

    async fn step_push_config(
        &self,
        lease: PushLease,
        step: PushStep,
        now: Timestamp,
    ) -> Result<Option<SettledPush>, StoreError> {
        self.alter(move |connection| step_on(connection, lease, &step, now)).await
    }
}

fn of_task_on(
    connection: &mut SqliteConnection,
    task: PushTask,
    caller: ParticipantId,
) -> Result<Vec<PushConfig>, Fault> {
    let rows = push_configs::table
        .filter(push_configs::chat_id.eq(Id(task.chat.uuid())))
        .filter(push_configs::message_id.eq(Id(task.first.uuid())))
        .filter(push_configs::agent_id.eq(Id(task.agent.uuid())))
        .filter(push_configs::caller_id.eq(Id(caller.uuid())))
        .select(PushConfigRow::as_select())
        .load(connection)?;
    let configs = rows.into_iter().map(PushConfigRow::into_config).collect::<Result<Vec<_>, _>>();
    let mut configs = configs?;
    configs.sort_by_key(|config| (config.created_at, config.id));
    Ok(configs)
}

/// The number of configurations of a user whose task has not ended.
fn count_on(connection: &mut SqliteConnection, user: UserId) -> Result<u64, Fault> {
    let of_user = push_configs::table
        .filter(push_configs::user_id.eq(Id(user.uuid())))
        .filter(push_configs::ended_at.is_null());
    Ok(of_user.count().get_result::<i64>(connection)?.cast_unsigned())
}

fn set_on(
    connection: &mut SqliteConnection,
    command: &SetPushConfig,
) -> Result<Result<PushConfig, PushRefused>, Fault> {
    let of_task = of_task_on(connection, command.task, command.caller)?;
    let of_user = count_on(connection, command.user)?;
    let applied = match command.apply(of_task, of_user) {
        Ok(applied) => applied,
        Err(refused) => return Ok(Err(refused)),
    };
    if applied.is_new {
        let row = PushConfigRow::of(&applied.config);
        diesel::insert_into(push_configs::table).values(row).execute(connection)?;
    } else {
        save_on(connection, &applied.config)?;
    }
    if applied.has_changed {
        audit::append_on(connection, [AuditEntry::push_set(command)])?;
        change::append_on(connection, [Change::PushConfigured(command.task.chat)], command.now)?;
    }
    Ok(Ok(applied.config))
}

fn save_on(connection: &mut SqliteConnection, config: &PushConfig) -> Result<(), Fault> {
    let row = PushConfigRow::of(config);
    diesel::update(push_configs::table.find(row.id)).set(&row).execute(connection)?;
    Ok(())
}

fn remove_on(connection: &mut SqliteConnection, command: &RemovePushConfig) -> Result<bool, Fault> {
    let of_task = of_task_on(connection, command.task, command.caller)?;
    let Some(config) = of_task.into_iter().find(|config| config.name == command.name) else {
        return Ok(false);
    };
    diesel::delete(push_configs::table.find(Id(config.id.uuid()))).execute(connection)?;
    audit::append_on(connection, [AuditEntry::push_removed(command, config.user)])?;
    Ok(true)
}

fn wake_on(connection: &mut SqliteConnection, chats: &[ChatId], now: Timestamp) -> Result<(), Fault> {
    for chat in chats {
        let waiting = push_configs::table
            .filter(push_configs::chat_id.eq(Id(chat.uuid())))
            .filter(push_configs::next_at.gt(At(now)))
            .filter(push_configs::failing_since.is_null())
            .filter(push_configs::is_final.eq(false));
        diesel::update(waiting).set(push_configs::next_at.eq(At(now))).execute(connection)?;
    }
    Ok(())
}

fn due_on(
    connection: &mut SqliteConnection,
    now: Timestamp,
    of_user: u32,
    limit: u32,
) -> Result<Vec<DuePush>, Fault> {
    let found = statement!(DUE => (Binary, Binary, Binary))
        .bind::<BigInt, _>(At(now))
        .bind::<BigInt, _>(At(now))
        .bind::<BigInt, _>(i64::from(of_user))
        .bind::<BigInt, _>(i64::from(limit))
        .load::<(Id, Id, Id)>(connection)?;
    Ok(found.into_iter().map(|(Id(id), Id(user), Id(organization))| due((id, user, organization))).collect())
}

fn find_on(connection: &mut SqliteConnection, id: PushConfigId) -> Result<Option<PushConfig>, Fault> {
    let found = push_configs::table.find(Id(id.uuid())).select(PushConfigRow::as_select());
    found.get_result(connection).optional()?.map(PushConfigRow::into_config).transpose()
}

fn take_on(
    connection: &mut SqliteConnection,
    id: PushConfigId,
    now: Timestamp,
) -> Result<Option<PushConfig>, Fault> {
    let Some(mut config) = find_on(connection, id)?.filter(|config| config.is_due(now)) else {
        return Ok(None);
    };
    if !is_valid_on(connection, config.credential, now)? {
        end_on(connection, &config, PushRemoval::Revoked, now)?;
        return Ok(None);
    }
    config.begin(now);
    save_on(connection, &config)?;
    Ok(Some(config))
}

/// Whether the key is neither revoked nor expired, and the session has not ended.
fn is_valid_on(
    connection: &mut SqliteConnection,
    credential: PushCredential,
    now: Timestamp,
) -> Result<bool, Fault> {
    if let Some(key) = credential.key {
        let current = api_keys::table
            .find(Id(key.uuid()))
            .filter(api_keys::revoked_at.is_null())
            .filter(api_keys::expires_at.is_null().or(api_keys::expires_at.gt(At(now))));
        return Ok(current.count().get_result::<i64>(connection)? > 0);
    }
    if let Some(session) = credential.session {
        let open = sessions::table.find(Id(session.uuid())).filter(sessions::expires_at.gt(At(now)));
        return Ok(open.count().get_result::<i64>(connection)? > 0);
    }
    Ok(true)
}

fn end_on(
    connection: &mut SqliteConnection,
    config: &PushConfig,
    reason: PushRemoval,
    now: Timestamp,
) -> Result<(), Fault> {
    diesel::delete(push_configs::table.find(Id(config.id.uuid()))).execute(connection)?;
    if reason != PushRemoval::Ended {
        audit::append_on(connection, [AuditEntry::push_ended(config, reason, now)])?;
    }
    Ok(())
}

fn step_on(
    connection: &mut SqliteConnection,
    lease: PushLease,
    step: &PushStep,
    now: Timestamp,
) -> Result<Option<SettledPush>, Fault> {
    let Some(mut config) = find_on(connection, lease.config)?.filter(|config| lease.holds(config)) else {
        return Ok(None);
    };
    // The next notification would follow.
    let is_revoked =
        matches!(step, PushStep::Sent { .. }) && !is_valid_on(connection, config.credential, now)?;
    let removed = if is_revoked { Some(PushRemoval::Revoked) } else { config.apply(step, now) };
    match removed {
        Some(reason) => end_on(connection, &config, reason, now)?,
        None => save_on(connection, &config)?,
    }
    Ok(Some(SettledPush { config, removed }))
}

/// Removes the configurations of a user or an agent, and those of tasks at the agent.
pub(crate) fn forget_on(connection: &mut SqliteConnection, who: ParticipantId) -> Result<(), Fault> {
    let id = Id(who.uuid());
    diesel::delete(push_configs::table.filter(push_configs::caller_id.eq(id))).execute(connection)?;
    if who.agent().is_some() {
        diesel::delete(push_configs::table.filter(push_configs::agent_id.eq(id))).execute(connection)?;
    }
    Ok(())
}
