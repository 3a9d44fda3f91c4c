//! The store of configurations of push notifications.

#[path = "../../../sql-rows/push.rs"]
mod row;

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::audit::AuditEntry;
use domain::change::Change;
use domain::id::{ChatId, ParticipantId, PushConfigId, UserId};
use domain::push::{
    DuePush, PushConfig, PushCredential, PushLease, PushRefused, PushRemoval, PushRepository, PushStep,
    PushTask, RemovePushConfig, SetPushConfig, SettledPush,
};
use domain::store::StoreError;
use domain::time::Timestamp;
use futures_util::FutureExt;
use uuid::Uuid;

use crate::PostgresStore;
use crate::error::Fault;
use crate::row::At;
use crate::run::Db;
use crate::schema::{api_keys, push_configs, sessions, users};
use crate::statement::statement;
use crate::{audit, change};
use row::{DUE, PushConfigRow, due};

#[async_trait]
impl PushRepository for PostgresStore {
    async fn set_push_config(
        &self,
        command: SetPushConfig,
    ) -> Result<Result<PushConfig, PushRefused>, StoreError> {
        self.change_quietly(command, |db, command| set_on(db, command).boxed()).await
    }

    async fn push_configs(
        &self,
        task: PushTask,
        caller: ParticipantId,
    ) -> Result<Vec<PushConfig>, StoreError> {
        self.query((task, caller), |db, (task, caller)| of_task_on(db, *task, *caller).boxed()).await
    }

    async fn remove_push_config(&self, command: RemovePushConfig) -> Result<bool, StoreError> {
        self.alter_quietly(command, |db, command| remove_on(db, command).boxed()).await
    }

    async fn count_push_configs(&self, user: UserId) -> Result<u64, StoreError> {
        self.query(user, |db, user| count_on(db, *user).boxed()).await
    }

    async fn push_chats(&self) -> Result<Vec<ChatId>, StoreError> {
        self.query((), |db, ()| chats_on(db).boxed()).await
    }

    async fn wake_push_configs(&self, chats: Vec<ChatId>, now: Timestamp) -> Result<(), StoreError> {
        self.query((chats, now), |db, (chats, now)| wake_on(db, chats, *now).boxed()).await
    }

    async fn due_push_configs(
        &self,
        now: Timestamp,
        of_user: u32,
        limit: u32,
    ) -> Result<Vec<DuePush>, StoreError> {
        let asked = (now, of_user, limit);
        self.query(asked, |db, (now, of_user, limit)| due_on(db, *now, *of_user, *limit).boxed()).await
    }

    async fn take_push_config(
        &self,
        id: PushConfigId,
        now: Timestamp,
    ) -> Result<Option<PushConfig>, StoreError> {
        self.alter_quietly((id, now), |db, (id, now)| take_on(db, *id, *now).boxed()).await
    }

    async fn step_push_config(
        &self,
        lease: PushLease,
        step: PushStep,
        now: Timestamp,
    ) -> Result<Option<SettledPush>, StoreError> {
        let given = (lease, step, now);
        self.alter_quietly(given, |db, (lease, step, now)| step_on(db, *lease, step, *now).boxed()).await
    }
}

async fn of_task_on(mut db: &Db, task: PushTask, caller: ParticipantId) -> Result<Vec<PushConfig>, Fault> {
    let rows = push_configs::table
        .filter(push_configs::chat_id.eq(task.chat.uuid()))
        .filter(push_configs::message_id.eq(task.first.uuid()))
        .filter(push_configs::agent_id.eq(task.agent.uuid()))
        .filter(push_configs::caller_id.eq(caller.uuid()))
        .select(PushConfigRow::as_select())
        .load(&mut db)
        .await?;
    let configs = rows.into_iter().map(PushConfigRow::into_config).collect::<Result<Vec<_>, _>>();
    let mut configs = configs?;
    configs.sort_by_key(|config| (config.created_at, config.id));
    Ok(configs)
}

/// The number of configurations of a user whose task has not ended.
async fn count_on(mut db: &Db, user: UserId) -> Result<u64, Fault> {
    let of_user = push_configs::table
        .filter(push_configs::user_id.eq(user.uuid()))
        .filter(push_configs::ended_at.is_null());
    Ok(of_user.count().get_result::<i64>(&mut db).await?.cast_unsigned())
}

async fn set_on(mut db: &Db, command: &SetPushConfig) -> Result<Result<PushConfig, PushRefused>, Fault> {
    lock_user_on(db, command.user).await?;
    let mut of_task = of_task_on(db, command.task, command.caller).await?;
    // What is changed is locked as well, as a sender may be at work.
    for config in of_task.iter_mut().filter(|config| config.name == command.name) {
        if let Some(locked) = locked_on(db, config.id).await? {
            *config = locked;
        }
    }
    let of_user = count_on(db, command.user).await?;
    let applied = match command.apply(of_task, of_user) {
        Ok(applied) => applied,
        Err(refused) => return Ok(Err(refused)),
    };
    // One that was removed meanwhile is made again.
    if applied.is_new || save_on(db, &applied.config).await? == 0 {
        let row = PushConfigRow::of(&applied.config);
        diesel::insert_into(push_configs::table).values(row).execute(&mut db).await?;
    }
    if applied.has_changed {
        audit::append_on(db, [AuditEntry::push_set(command)]).await?;
        change::append_on(db, [Change::PushConfigured(command.task.chat)], command.now).await?;
    }
    Ok(Ok(applied.config))
}

/// Locks the user, so that of two changes one comes first.
async fn lock_user_on(mut db: &Db, user: UserId) -> Result<(), Fault> {
    let locked = users::table.find(user.uuid()).select(users::id).for_no_key_update();
    locked.first::<Uuid>(&mut db).await.optional()?;
    Ok(())
}

async fn save_on(mut db: &Db, config: &PushConfig) -> Result<usize, Fault> {
    let row = PushConfigRow::of(config);
    Ok(diesel::update(push_configs::table.find(row.id)).set(&row).execute(&mut db).await?)
}

async fn remove_on(mut db: &Db, command: &RemovePushConfig) -> Result<bool, Fault> {
    let of_task = of_task_on(db, command.task, command.caller).await?;
    let Some(config) = of_task.into_iter().find(|config| config.name == command.name) else {
        return Ok(false);
    };
    let removed = diesel::delete(push_configs::table.find(config.id.uuid())).execute(&mut db).await?;
    if removed == 0 {
        return Ok(false);
    }
    audit::append_on(db, [AuditEntry::push_removed(command, config.user)]).await?;
    Ok(true)
}

async fn chats_on(mut db: &Db) -> Result<Vec<ChatId>, Fault> {
    let found = push_configs::table.select(push_configs::chat_id).distinct().load::<Uuid>(&mut db).await?;
    Ok(found.into_iter().map(ChatId::new).collect())
}

/// The configurations of each chat are looked up by the chat, however many are not due.
const WAKE: &str = "UPDATE push_configs SET next_at = ? FROM unnest(?) AS woken (chat_id) CROSS JOIN LATERAL (\
     SELECT id, next_at, failing_since, is_final FROM push_configs AS own WHERE own.chat_id = woken.chat_id OFFSET 0) AS found \
     WHERE push_configs.id = found.id AND found.next_at > ? AND found.failing_since IS NULL AND NOT found.is_final";

async fn wake_on(mut db: &Db, chats: &[ChatId], now: Timestamp) -> Result<(), Fault> {
    statement::<()>(WAKE)
        .bind::<Timestamptz, _>(At(now))
        .bind::<Array<SqlUuid>, _>(chats.iter().map(|chat| chat.uuid()).collect::<Vec<_>>())
        .bind::<Timestamptz, _>(At(now))
        .execute(&mut db)
        .await?;
    Ok(())
}

async fn due_on(mut db: &Db, now: Timestamp, of_user: u32, limit: u32) -> Result<Vec<DuePush>, Fault> {
    let found = statement::<(SqlUuid, SqlUuid, SqlUuid)>(DUE)
        .bind::<Timestamptz, _>(At(now))
        .bind::<Timestamptz, _>(At(now))
        .bind::<BigInt, _>(i64::from(of_user))
        .bind::<BigInt, _>(i64::from(limit))
        .load::<(Uuid, Uuid, Uuid)>(&mut db)
        .await?;
    Ok(found.into_iter().map(due).collect())
}

/// A configuration, which is locked.
async fn locked_on(mut db: &Db, id: PushConfigId) -> Result<Option<PushConfig>, Fault> {
    let found = push_configs::table.find(id.uuid()).select(PushConfigRow::as_select()).for_update();
    found.first(&mut db).await.optional()?.map(PushConfigRow::into_config).transpose()
}

async fn take_on(db: &Db, id: PushConfigId, now: Timestamp) -> Result<Option<PushConfig>, Fault> {
    let Some(mut config) = locked_on(db, id).await?.filter(|config| config.is_due(now)) else {
        return Ok(None);
    };
    if !is_valid_on(db, config.credential, now).await? {
        end_on(db, &config, PushRemoval::Revoked, now).await?;
        return Ok(None);
    }
    config.begin(now);
    save_on(db, &config).await?;
    Ok(Some(config))
}

/// Whether the key is neither revoked nor expired, and the session has not ended.
async fn is_valid_on(mut db: &Db, credential: PushCredential, now: Timestamp) -> Result<bool, Fault> {
    if let Some(key) = credential.key {
        let current = api_keys::table
            .find(key.uuid())
            .filter(api_keys::revoked_at.is_null())
            .filter(api_keys::expires_at.is_null().or(api_keys::expires_at.gt(At(now))));
        return Ok(current.count().get_result::<i64>(&mut db).await? > 0);
    }
    if let Some(session) = credential.session {
        let open = sessions::table.find(session.uuid()).filter(sessions::expires_at.gt(At(now)));
        return Ok(open.count().get_result::<i64>(&mut db).await? > 0);
    }
    Ok(true)
}

async fn end_on(mut db: &Db, config: &PushConfig, reason: PushRemoval, now: Timestamp) -> Result<(), Fault> {
    diesel::delete(push_configs::table.find(config.id.uuid())).execute(&mut db).await?;
    if reason != PushRemoval::Ended {
        audit::append_on(db, [AuditEntry::push_ended(config, reason, now)]).await?;
    }
    Ok(())
}

async fn step_on(
    db: &Db,
    lease: PushLease,
    step: &PushStep,
    now: Timestamp,
) -> Result<Option<SettledPush>, Fault> {
    let Some(mut config) = locked_on(db, lease.config).await?.filter(|config| lease.holds(config)) else {
        return Ok(None);
    };
    // The next notification would follow.
    let is_revoked =
        matches!(step, PushStep::Sent { .. }) && !is_valid_on(db, config.credential, now).await?;
    let removed = if is_revoked { Some(PushRemoval::Revoked) } else { config.apply(step, now) };
    match removed {
        Some(reason) => end_on(db, &config, reason, now).await?,
        None => _ = save_on(db, &config).await?,
    }
    Ok(Some(SettledPush { config, removed }))
}

/// Removes the configurations of a user or an agent, and those of tasks at the agent.
pub(crate) async fn forget_on(mut db: &Db, who: ParticipantId) -> Result<(), Fault> {
    let of_caller = push_configs::table.filter(push_configs::caller_id.eq(who.uuid()));
    diesel::delete(of_caller).execute(&mut db).await?;
    if let Some(agent) = who.agent() {
        let of_agent = push_configs::table.filter(push_configs::agent_id.eq(agent.uuid()));
        diesel::delete(of_agent).execute(&mut db).await?;
    }
    Ok(())
}
