//! Looking up keys, users, and agents.

use diesel::dsl::{exists, select};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Bool, Nullable};
use diesel::sqlite::SqliteConnection;
use domain::account::{AccountStatus, Agent, KeyDigest, OpenSession, StoredKey, User};
use domain::caller::{AgentCaller, Caller, UserCaller};
use domain::delivery::Claims;
use domain::id::{AgentId, ApiKeyId, OrganizationId, ParticipantId, SessionId, UserId};
use domain::plan::Permits;

use super::keys::ScopeRow;
use super::row::{AgentRow, UserRow};
use crate::error::Fault;
use crate::row;
use crate::schema::{agents, api_keys, organizations, passwords, plans, sessions, users};
use crate::statement::statement;

/// A key and its holder: a user, or an agent with its owner.
#[derive(Queryable)]
struct KeyRow {
    id: Vec<u8>,
    digest: Vec<u8>,
    agent_id: Option<Vec<u8>>,
    user_id: Vec<u8>,
    organization_id: Vec<u8>,
    human_interface: bool,
    memories: bool,
    expires_at: Option<i64>,
    last_used_at: Option<i64>,
    is_disabled: bool,
    exclusive_claims: bool,
    scope: ScopeRow,
}

/// The SQL types of a [`KeyRow`].
type KeyColumns = (
    Binary,
    Binary,
    Nullable<Binary>,
    Binary,
    Binary,
    Bool,
    Bool,
    Nullable<BigInt>,
    Nullable<BigInt>,
    Bool,
    Bool,
    (Bool, Nullable<Binary>, Nullable<Binary>),
);

/// The key of a deleted agent has no user, so it is not found.
const FIND_KEY: &str = "SELECT key.id, key.digest, agent.id AS agent_id, user.id AS user_id, user.organization_id, \
     coalesce(plan.human_interface, TRUE) AS human_interface, coalesce(plan.memories, TRUE) AS memories, \
     key.expires_at, key.last_used_at, \
     user.disabled_at IS NOT NULL OR agent.disabled_at IS NOT NULL AS is_disabled, \
     coalesce(agent.exclusive_claims, FALSE) AS exclusive_claims, \
     key.read_only, key.only_chat_id, key.only_agent_id \
     FROM api_keys AS key \
     LEFT JOIN agents AS agent ON agent.id = key.agent_id AND agent.deleted_at IS NULL \
     JOIN users AS user ON user.id = coalesce(key.user_id, agent.owner_id) \
     JOIN organizations AS organization ON organization.id = user.organization_id \
     LEFT JOIN plans AS plan ON plan.name = organization.plan \
     WHERE key.digest = ? AND key.revoked_at IS NULL";

pub(super) fn key_on(
    connection: &mut SqliteConnection,
    digest: KeyDigest,
) -> Result<Option<StoredKey>, Fault> {
    let found = statement!(FIND_KEY => KeyColumns)
        .bind::<Binary, _>(digest.bytes().as_slice())
        .get_result::<KeyRow>(connection)
        .optional()?;
    let Some(found) = found else { return Ok(None) };
    let stored = <[u8; 32]>::try_from(found.digest)
        .map_err(|_| Fault::Row("a digest of another length".to_owned()))?;
    let user = row::user_id(&found.user_id)?;
    let organization = OrganizationId::new(row::uuid(&found.organization_id)?);
    let holder = match found.agent_id {
        None => Caller::User(UserCaller { user, organization }),
        Some(agent) => {
            let claims = Claims::of(found.exclusive_claims);
            Caller::Agent(AgentCaller { agent: row::agent_id(&agent)?, owner: user, organization, claims })
        }
    };
    let permits = Permits { human_interface: found.human_interface, memories: found.memories };
    Ok(Some(StoredKey {
        id: ApiKeyId::new(row::uuid(&found.id)?),
        digest: KeyDigest::new(stored),
        holder,
        permits,
        is_disabled: found.is_disabled,
        expires_at: found.expires_at.map(row::time),
        scope: found.scope.into_scope()?,
        last_used_at: found.last_used_at.map(row::time),
    }))
}

pub(super) fn agent_of_revoked_key_on(
    connection: &mut SqliteConnection,
    digest: KeyDigest,
) -> Result<Option<AgentId>, Fault> {
    let found = api_keys::table
        .inner_join(agents::table.on(api_keys::agent_id.eq(agents::id.nullable())))
        .filter(api_keys::digest.eq(digest.bytes().as_slice()))
        .filter(api_keys::revoked_at.is_not_null())
        .filter(agents::deleted_at.is_null())
        .select(agents::id)
        .get_result::<Vec<u8>>(connection)
        .optional()?;
    found.map(|agent| row::agent_id(&agent)).transpose()
}

pub(super) fn account_status_on(
    connection: &mut SqliteConnection,
    user: UserId,
) -> Result<Option<AccountStatus>, Fault> {
    let found = users::table
        .inner_join(organizations::table.on(organizations::id.eq(users::organization_id)))
        .left_join(plans::table.on(plans::name.eq(organizations::plan)))
        .filter(users::id.eq(row::bytes(user.uuid())))
        .filter(users::deleted_at.is_null())
        .left_join(passwords::table.on(passwords::user_id.eq(users::id)))
        .select((
            users::organization_id,
            (plans::human_interface, plans::memories).nullable(),
            (passwords::changed_at.nullable(), users::disabled_at.is_not_null()),
        ))
        .get_result::<(Vec<u8>, Option<(bool, bool)>, (Option<i64>, bool))>(connection)
        .optional()?;
    let Some((organization, plan, (password_set_at, is_disabled))) = found else { return Ok(None) };
    let permits =
        plan.map_or(Permits::ALL, |(human_interface, memories)| Permits { human_interface, memories });
    let organization = OrganizationId::new(row::uuid(&organization)?);
    let password_set_at = password_set_at.map(row::time);
    Ok(Some(AccountStatus { organization, permits, password_set_at, is_disabled }))
}

pub(super) fn session_on(
    connection: &mut SqliteConnection,
    session: SessionId,
) -> Result<Option<OpenSession>, Fault> {
    let found = sessions::table
        .find(row::bytes(session.uuid()))
        .select((sessions::user_id, sessions::created_at))
        .get_result::<(Vec<u8>, i64)>(connection)
        .optional()?;
    let Some((user, began_at)) = found else { return Ok(None) };
    Ok(Some(OpenSession { user: row::user_id(&user)?, began_at: row::time(began_at) }))
}

pub(crate) fn user_on(connection: &mut SqliteConnection, id: UserId) -> Result<Option<User>, Fault> {
    let found = users::table
        .find(row::bytes(id.uuid()))
        .filter(users::deleted_at.is_null())
        .select(UserRow::as_select())
        .get_result(connection)
        .optional()?;
    found.map(UserRow::into_user).transpose()
}

pub(super) fn user_of_handle_on(
    connection: &mut SqliteConnection,
    handle: &str,
) -> Result<Option<User>, Fault> {
    let found = users::table
        .filter(users::handle.eq(handle))
        .filter(users::deleted_at.is_null())
        .select(UserRow::as_select())
        .get_result(connection)
        .optional()?;
    found.map(UserRow::into_user).transpose()
}

/// Returns whether `who` was deleted. The key may have been valid when the request arrived, so a
/// write that no membership guards checks again.
pub(crate) fn is_gone_on(connection: &mut SqliteConnection, who: ParticipantId) -> Result<bool, Fault> {
    let id = row::bytes(who.uuid());
    let present = match who {
        ParticipantId::User(_) => {
            let present = users::table.find(id).filter(users::deleted_at.is_null());
            select(exists(present)).get_result::<bool>(connection)?
        }
        ParticipantId::Agent(_) => {
            let present = agents::table.find(id).filter(agents::deleted_at.is_null());
            select(exists(present)).get_result::<bool>(connection)?
        }
    };
    Ok(!present)
}

pub(crate) fn agent_on(connection: &mut SqliteConnection, id: AgentId) -> Result<Option<Agent>, Fault> {
    let found = agents::table
        .find(row::bytes(id.uuid()))
        .filter(agents::deleted_at.is_null())
        .select(AgentRow::as_select())
        .get_result(connection)
        .optional()?;
    found.map(AgentRow::into_agent).transpose()
}

pub(super) fn agent_of_handle_on(
    connection: &mut SqliteConnection,
    handle: &str,
) -> Result<Option<Agent>, Fault> {
    let found = agents::table
        .filter(agents::handle.eq(handle))
        .filter(agents::deleted_at.is_null())
        .select(AgentRow::as_select())
        .get_result(connection)
        .optional()?;
    found.map(AgentRow::into_agent).transpose()
}
