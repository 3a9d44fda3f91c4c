//! Looking up keys, users, and agents.

use diesel::dsl::{exists, select};
use diesel::prelude::*;
use diesel::sql_types::{Bool, Bytea, Nullable, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::account::{AccountStatus, Agent, KeyDigest, OpenSession, StoredKey, User, UserHandle};
use domain::caller::{AgentCaller, Caller, UserCaller};
use domain::delivery::Claims;
use domain::id::{AgentId, ApiKeyId, OrganizationId, ParticipantId, SessionId, UserId};
use domain::plan::Permits;
use uuid::Uuid;

use super::keys::ScopeRow;
use super::row::{AgentRow, UserRow};
use crate::error::Fault;
use crate::row::{At, can_be_stored};
use crate::run::Db;
use crate::schema::{agents, api_keys, organizations, passwords, plans, sessions, users};
use crate::statement::statement;

/// A key and its holder, a user or an agent with its owner: digest, agent, user, organization,
/// permissions of the plan; id, expiry, last use, whether the holder is disabled, the agent's claims; scope of the key.
type KeyTypes = (
    (Bytea, Nullable<SqlUuid>, SqlUuid, SqlUuid, Bool, Bool),
    (SqlUuid, Nullable<Timestamptz>, Nullable<Timestamptz>, Bool, Bool),
    (Bool, Nullable<SqlUuid>, Nullable<SqlUuid>),
);
type KeyColumns =
    ((Vec<u8>, Option<Uuid>, Uuid, Uuid, bool, bool), (Uuid, Option<At>, Option<At>, bool, bool), ScopeRow);

/// The key of a deleted agent has no user, so it is not found. The agent is joined by its id alone: a condition on its deletion
/// would let a plan for empty tables read the whole index of agents that are left.
const FIND_KEY: &str = "SELECT api_key.digest, agent.id, account.id, account.organization_id, \
     coalesce(plan.human_interface, TRUE), coalesce(plan.memories, TRUE), \
     api_key.id, api_key.expires_at, api_key.last_used_at, \
     account.disabled_at IS NOT NULL OR agent.disabled_at IS NOT NULL, coalesce(agent.exclusive_claims, FALSE), \
     api_key.read_only, api_key.only_chat_id, api_key.only_agent_id \
     FROM api_keys AS api_key \
     LEFT JOIN agents AS agent ON agent.id = api_key.agent_id \
     JOIN users AS account \
     ON account.id = CASE WHEN agent.deleted_at IS NULL THEN coalesce(api_key.user_id, agent.owner_id) END \
     JOIN organizations AS organization ON organization.id = account.organization_id \
     LEFT JOIN plans AS plan ON plan.name = organization.plan \
     WHERE api_key.digest = ? AND api_key.revoked_at IS NULL";

pub(super) async fn key_on(mut db: &Db, digest: KeyDigest) -> Result<Option<StoredKey>, Fault> {
    let found = statement::<KeyTypes>(FIND_KEY)
        .bind::<Bytea, _>(digest.bytes().to_vec())
        .get_result::<KeyColumns>(&mut db)
        .await
        .optional()?;
    let Some((whose, (id, expires_at, last_used_at, is_disabled, is_exclusive), scope)) = found else {
        return Ok(None);
    };
    let claims = Claims::of(is_exclusive);
    let (stored, agent, user, organization, human_interface, memories) = whose;
    let stored =
        <[u8; 32]>::try_from(stored).map_err(|_| Fault::Row("a digest of another length".to_owned()))?;
    let (user, organization) = (UserId::new(user), OrganizationId::new(organization));
    let holder = match agent.map(AgentId::new) {
        None => Caller::User(UserCaller { user, organization }),
        Some(agent) => Caller::Agent(AgentCaller { agent, owner: user, organization, claims }),
    };
    let permits = Permits { human_interface, memories };
    Ok(Some(StoredKey {
        id: ApiKeyId::new(id),
        digest: KeyDigest::new(stored),
        holder,
        permits,
        is_disabled,
        expires_at: expires_at.map(|At(time)| time),
        scope: scope.into(),
        last_used_at: last_used_at.map(|At(time)| time),
    }))
}

pub(super) async fn agent_of_revoked_key_on(
    mut db: &Db,
    digest: KeyDigest,
) -> Result<Option<AgentId>, Fault> {
    let found = api_keys::table
        .inner_join(agents::table.on(api_keys::agent_id.eq(agents::id.nullable())))
        .filter(api_keys::digest.eq(digest.bytes().as_slice()))
        .filter(api_keys::revoked_at.is_not_null())
        .filter(agents::deleted_at.is_null())
        .select(agents::id)
        .get_result::<Uuid>(&mut db)
        .await
        .optional()?;
    Ok(found.map(AgentId::new))
}

pub(super) async fn account_status_on(mut db: &Db, user: UserId) -> Result<Option<AccountStatus>, Fault> {
    let found = users::table
        .inner_join(organizations::table.on(organizations::id.eq(users::organization_id)))
        .left_join(plans::table.on(plans::name.eq(organizations::plan)))
        .filter(users::id.eq(user.uuid()))
        .filter(users::deleted_at.is_null())
        .left_join(passwords::table.on(passwords::user_id.eq(users::id)))
        .select((
            users::organization_id,
            (plans::human_interface, plans::memories).nullable(),
            (passwords::changed_at.nullable(), users::disabled_at.is_not_null()),
        ))
        .first::<(Uuid, Option<(bool, bool)>, (Option<At>, bool))>(&mut db)
        .await
        .optional()?;
    let Some((organization, plan, (password_set_at, is_disabled))) = found else { return Ok(None) };
    let permits =
        plan.map_or(Permits::ALL, |(human_interface, memories)| Permits { human_interface, memories });
    let organization = OrganizationId::new(organization);
    let password_set_at = password_set_at.map(|At(time)| time);
    Ok(Some(AccountStatus { organization, permits, password_set_at, is_disabled }))
}

pub(super) async fn session_on(mut db: &Db, session: SessionId) -> Result<Option<OpenSession>, Fault> {
    let found = sessions::table
        .find(session.uuid())
        .select((sessions::user_id, sessions::created_at))
        .first::<(Uuid, At)>(&mut db)
        .await
        .optional()?;
    Ok(found.map(|(user, At(began_at))| OpenSession { user: UserId::new(user), began_at }))
}

pub(crate) async fn user_on(mut db: &Db, id: UserId) -> Result<Option<User>, Fault> {
    let found = users::table
        .find(id.uuid())
        .filter(users::deleted_at.is_null())
        .select(UserRow::as_select())
        .first(&mut db)
        .await
        .optional()?;
    found.map(UserRow::into_user).transpose()
}

pub(super) async fn user_of_handle_on(mut db: &Db, handle: &UserHandle) -> Result<Option<User>, Fault> {
    let found = users::table
        .filter(users::handle.eq(handle.as_str()))
        .filter(users::deleted_at.is_null())
        .select(UserRow::as_select())
        .first(&mut db)
        .await
        .optional()?;
    found.map(UserRow::into_user).transpose()
}

/// Returns whether `who` was deleted. The key may have been valid when the request arrived, so
/// writes that do not check a membership must check this again; it locks the agent meanwhile
/// ([`pin_agent_on`](crate::lock::pin_agent_on)).
pub(crate) async fn is_gone_on(mut db: &Db, who: ParticipantId) -> Result<bool, Fault> {
    let present = match who {
        ParticipantId::User(user) => {
            let present = users::table.find(user.uuid()).filter(users::deleted_at.is_null());
            select(exists(present)).get_result::<bool>(&mut db).await?
        }
        ParticipantId::Agent(agent) => {
            let present = agents::table.find(agent.uuid()).filter(agents::deleted_at.is_null());
            select(exists(present)).get_result::<bool>(&mut db).await?
        }
    };
    Ok(!present)
}

pub(super) async fn agent_on(mut db: &Db, id: AgentId) -> Result<Option<Agent>, Fault> {
    let found = agents::table
        .find(id.uuid())
        .filter(agents::deleted_at.is_null())
        .select(AgentRow::as_select())
        .first(&mut db)
        .await
        .optional()?;
    found.map(AgentRow::into_agent).transpose()
}

pub(super) async fn agent_of_handle_on(mut db: &Db, handle: &str) -> Result<Option<Agent>, Fault> {
    if !can_be_stored(handle) {
        return Ok(None);
    }
    let found = agents::table
        .filter(agents::handle.eq(handle))
        .filter(agents::deleted_at.is_null())
        .select(AgentRow::as_select())
        .first(&mut db)
        .await
        .optional()?;
    found.map(AgentRow::into_agent).transpose()
}
