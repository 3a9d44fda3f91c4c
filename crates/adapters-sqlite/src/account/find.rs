//! Looking up keys, users and agents.

use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::account::{Agent, KeyDigest, Principal, StoredKey, User};
use domain::id::{AgentId, UserId};
use domain::page::{Page, PageRequest, Position};

use super::row::{AgentRow, UserRow};
use crate::error::Fault;
use crate::row;
use crate::schema::{agents, api_keys, users};

/// Digest, user, agent, and the agent's owner.
type KeyColumns = (Vec<u8>, Option<Vec<u8>>, Option<Vec<u8>>, Option<Vec<u8>>);

pub(super) fn key_on(
    connection: &mut SqliteConnection,
    digest: KeyDigest,
) -> Result<Option<StoredKey>, Fault> {
    let found = api_keys::table
        .left_join(
            agents::table.on(api_keys::agent_id.eq(agents::id.nullable()).and(agents::deleted_at.is_null())),
        )
        .filter(api_keys::digest.eq(digest.bytes().as_slice()))
        .filter(api_keys::revoked_at.is_null())
        .select((api_keys::digest, api_keys::user_id, agents::id.nullable(), agents::owner_id.nullable()))
        .first::<KeyColumns>(connection)
        .optional()?;
    let Some((stored, user, agent, owner)) = found else { return Ok(None) };
    let stored =
        <[u8; 32]>::try_from(stored).map_err(|_| Fault::Row("a digest of another length".to_owned()))?;
    let principal = match (user, agent, owner) {
        (Some(user), None, None) => Principal::User(row::user_id(&user)?),
        (None, Some(agent), Some(owner)) => {
            Principal::Agent { agent: row::agent_id(&agent)?, owner: row::user_id(&owner)? }
        }
        // The key of a deleted agent.
        _ => return Ok(None),
    };
    Ok(Some(StoredKey { digest: KeyDigest::new(stored), principal }))
}

pub(super) fn user_on(connection: &mut SqliteConnection, id: UserId) -> Result<Option<User>, Fault> {
    let found =
        users::table.find(row::bytes(id.uuid())).select(UserRow::as_select()).first(connection).optional()?;
    found.map(UserRow::into_user).transpose()
}

pub(super) fn agent_on(connection: &mut SqliteConnection, id: AgentId) -> Result<Option<Agent>, Fault> {
    let found = agents::table
        .find(row::bytes(id.uuid()))
        .filter(agents::deleted_at.is_null())
        .select(AgentRow::as_select())
        .first(connection)
        .optional()?;
    found.map(AgentRow::into_agent).transpose()
}

pub(super) fn agents_on(
    connection: &mut SqliteConnection,
    owner: UserId,
    page: PageRequest,
) -> Result<Page<Agent>, Fault> {
    let registered = agents::table
        .filter(agents::owner_id.eq(row::bytes(owner.uuid())))
        .filter(agents::deleted_at.is_null());
    let total = if page.count {
        Some(registered.clone().select(count_star()).first::<i64>(connection)?)
    } else {
        None
    };
    let mut rows = registered.select(AgentRow::as_select()).into_boxed();
    if let Some(Position { key, id }) = page.slice.after() {
        // The first condition says nothing new; it lets the index begin at the right place.
        rows = rows.filter(agents::created_at.le(key));
        let older = agents::created_at.lt(key);
        rows = rows.filter(older.or(agents::created_at.eq(key).and(agents::id.lt(row::bytes(id)))));
    }
    let rows = rows
        .order((agents::created_at.desc(), agents::id.desc()))
        .limit(i64::from(page.slice.limit()) + 1)
        .offset(page.slice.offset())
        .load(connection)?;
    let rows = rows.into_iter().map(AgentRow::into_agent).collect::<Result<Vec<_>, _>>()?;
    let total = total.map(i64::cast_unsigned);
    Ok(Page::from_overfetch(rows, page, total, |agent| Position {
        key: agent.created_at.micros(),
        id: agent.id.uuid(),
    }))
}
