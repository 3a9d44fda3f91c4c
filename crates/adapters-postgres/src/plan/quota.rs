//! Counting, inside the write that would exceed a quota. Without a limit nothing is counted.
//!
//! Counting the contents of an organization or a chat locks it, so that nothing is added meanwhile.
//! Without a limit other transactions can add at the same time, but no other plan is assigned and
//! no user is moved before they finish.

use std::collections::HashMap;

use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Nullable, Text, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::id::{ChatId, OrganizationId};
use domain::plan::{LimitReached, Resource, check, check_more};
use futures_util::future::try_join;
use uuid::Uuid;

use crate::error::Fault;
use crate::run::Db;
use crate::schema::chats;
use crate::statement::statement;

/// Name of a plan, one of its limits, and the count, which is meaningless if the limit is null.
type UseTypes = (Text, Nullable<BigInt>, BigInt);
type UseColumns = (String, Option<i64>, i64);

/// The number of agents of `organization`.
macro_rules! count_agents {
    () => {
        "(SELECT count(*) FROM users AS member \
         JOIN agents AS agent ON agent.owner_id = member.id AND agent.deleted_at IS NULL \
         WHERE member.organization_id = organization.id)"
    };
}

/// The number of active chats of `organization`.
macro_rules! count_chats {
    () => {
        "(SELECT count(*) FROM chats AS chat WHERE chat.organization_id = organization.id \
         AND chat.deleted_at IS NULL AND chat.status = 'active')"
    };
}

/// The number of agents or chats of an organization, which is the value.
const AGENTS: &str = concat!(
    "SELECT plan.name, plan.agents, CASE WHEN plan.agents IS NULL THEN 0 ELSE ",
    count_agents!(),
    " END FROM organizations AS organization JOIN plans AS plan ON plan.name = organization.plan \
     WHERE organization.id = ?"
);
const CHATS: &str = concat!(
    "SELECT plan.name, plan.chats, CASE WHEN plan.chats IS NULL THEN 0 ELSE ",
    count_chats!(),
    " END FROM organizations AS organization JOIN plans AS plan ON plan.name = organization.plan \
     WHERE organization.id = ?"
);

/// The number of agents and of active chats of organizations.
const USED: &str = concat!(
    "SELECT organization.id, ",
    count_agents!(),
    ", ",
    count_chats!(),
    " FROM organizations AS organization WHERE organization.id = ANY(?)"
);

/// The number of participants of a chat, which is the value. The number of messages is read with
/// the lock of the chat ([`crate::message`]).
const PARTICIPANTS: &str = "SELECT plan.name, plan.participants, CASE WHEN plan.participants IS NULL THEN 0 \
         ELSE (SELECT count(*) FROM participants AS present \
         WHERE present.chat_id = chat.id AND present.left_at IS NULL) END \
     FROM chats AS chat JOIN organizations AS organization ON organization.id = chat.organization_id \
     JOIN plans AS plan ON plan.name = organization.plan WHERE chat.id = ?";

/// Keeps the plan and the members of the organization; other transactions can do the same at the
/// same time ([`crate::lock::organization_on`] waits).
const KEEP_PLAN: &str = "SELECT id FROM organizations WHERE id = ? FOR KEY SHARE";

/// Locks the organization if its plan, which is kept, limits it.
const HOLD_FOR_AGENTS: &str = "SELECT organization.id FROM organizations AS organization \
     JOIN plans AS plan ON plan.name = organization.plan \
     WHERE organization.id = ? AND plan.agents IS NOT NULL FOR NO KEY UPDATE OF organization";
const HOLD_FOR_CHATS: &str = "SELECT organization.id FROM organizations AS organization \
     JOIN plans AS plan ON plan.name = organization.plan \
     WHERE organization.id = ? AND plan.chats IS NOT NULL FOR NO KEY UPDATE OF organization";

/// The number of agents and of active chats of each organization.
pub(crate) async fn used_on(
    mut db: &Db,
    of: Vec<OrganizationId>,
) -> Result<HashMap<OrganizationId, (u64, u64)>, Fault> {
    let rows = statement::<(SqlUuid, BigInt, BigInt)>(USED)
        .bind::<Array<SqlUuid>, _>(of.into_iter().map(OrganizationId::uuid).collect::<Vec<_>>());
    let rows = rows.load::<(Uuid, i64, i64)>(&mut db).await?.into_iter();
    let used = rows.map(|(id, agents, chats)| {
        (OrganizationId::new(id), (agents.cast_unsigned(), chats.cast_unsigned()))
    });
    Ok(used.collect())
}

/// Must precede all other locks of a change that calls [`agents_on`] later.
pub(crate) async fn hold_for_agents_on(db: &Db, organization: OrganizationId) -> Result<(), Fault> {
    hold_on(db, HOLD_FOR_AGENTS, organization).await
}

/// Must precede all other locks of a change that calls [`chats_on`] later.
pub(crate) async fn hold_for_chats_on(db: &Db, organization: OrganizationId) -> Result<(), Fault> {
    hold_on(db, HOLD_FOR_CHATS, organization).await
}

async fn hold_on(db: &Db, text: &'static str, organization: OrganizationId) -> Result<(), Fault> {
    let run = async |text: &'static str| {
        let mut db = db;
        statement::<()>(text).bind::<SqlUuid, _>(organization.uuid()).execute(&mut db).await
    };
    // The second begins when the first has its lock, and sees the plan that is kept.
    try_join(run(KEEP_PLAN), run(text)).await?;
    Ok(())
}

/// Checks that the organization may have one more agent, after [`hold_for_agents_on`].
pub(crate) async fn agents_on(
    db: &Db,
    organization: OrganizationId,
) -> Result<Result<(), LimitReached>, Fault> {
    check_on(db, AGENTS, organization.uuid(), Resource::Agents, None).await
}

/// Checks that this many agents may be added to the organization, which is locked.
pub(crate) async fn more_agents_on(
    db: &Db,
    organization: OrganizationId,
    more: u64,
) -> Result<Result<(), LimitReached>, Fault> {
    let Some((plan, limit, current)) = use_on(db, AGENTS, organization.uuid()).await? else {
        return Ok(Ok(()));
    };
    Ok(check_more(Resource::Agents, Some(limit.into()), current, more, &plan))
}

/// Checks that the organization may have one more chat, after [`hold_for_chats_on`].
pub(crate) async fn chats_on(
    db: &Db,
    organization: OrganizationId,
) -> Result<Result<(), LimitReached>, Fault> {
    check_on(db, CHATS, organization.uuid(), Resource::Chats, None).await
}

/// Checks that the chat may have one more participant.
pub(crate) async fn participants_on(db: &Db, chat: ChatId) -> Result<Result<(), LimitReached>, Fault> {
    check_on(db, PARTICIPANTS, chat.uuid(), Resource::Participants, Some(chat)).await
}

/// The plan of an organization, its limit of bytes, and the last stored sum.
const BYTES: &str = "SELECT plans.name, plans.bytes, organizations.content_bytes FROM organizations \
     JOIN plans ON plans.name = organizations.plan WHERE organizations.id = ?";

/// Checks that the organization of a chat may store more bytes.
pub(crate) async fn chat_bytes_on(mut db: &Db, chat: ChatId) -> Result<Result<(), LimitReached>, Fault> {
    let of = chats::table.find(chat.uuid()).select(chats::organization_id);
    match of.get_result::<Option<Uuid>>(&mut db).await.optional()?.flatten() {
        Some(organization) => bytes_on(db, OrganizationId::new(organization)).await,
        None => Ok(Ok(())),
    }
}

/// Checks that the organization may store more bytes, by the last stored sum.
pub(crate) async fn bytes_on(
    mut db: &Db,
    organization: OrganizationId,
) -> Result<Result<(), LimitReached>, Fault> {
    let found = statement::<(Text, Nullable<BigInt>, BigInt)>(BYTES)
        .bind::<SqlUuid, _>(organization.uuid())
        .get_result::<(String, Option<i64>, i64)>(&mut db)
        .await
        .optional()?;
    let Some((plan, limit, kept)) = found else { return Ok(Ok(())) };
    Ok(check(Resource::Bytes, limit.map(bytes_of), bytes_of(kept), &plan, None))
}

async fn check_on(
    db: &Db,
    text: &'static str,
    of: Uuid,
    resource: Resource,
    chat: Option<ChatId>,
) -> Result<Result<(), LimitReached>, Fault> {
    let Some((plan, limit, current)) = use_on(db, text, of).await? else { return Ok(Ok(())) };
    Ok(check(resource, Some(limit.into()), current, &plan, chat))
}

/// The plan, its limit, and the count; `None` without a limit.
async fn use_on(mut db: &Db, text: &'static str, of: Uuid) -> Result<Option<(String, u32, u64)>, Fault> {
    let found = statement::<UseTypes>(text)
        .bind::<SqlUuid, _>(of)
        .get_result::<UseColumns>(&mut db)
        .await
        .optional()?;
    let Some((plan, Some(limit), current)) = found else { return Ok(None) };
    Ok(Some((plan, limit_of(limit), current.cast_unsigned())))
}

/// The value of a column as bytes.
pub(crate) fn bytes_of(column: i64) -> u64 {
    u64::try_from(column).unwrap_or(0)
}

/// The value of a column as a limit.
pub(crate) fn limit_of(column: i64) -> u32 {
    u32::try_from(column).unwrap_or(if column < 0 { 0 } else { u32::MAX })
}
