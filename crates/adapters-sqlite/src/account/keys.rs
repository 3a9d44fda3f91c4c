//! API keys: listing, making, and revoking them, and their last use.

use diesel::dsl::{count_star, exists, select};
use diesel::prelude::*;
use diesel::sqlite::{Sqlite, SqliteConnection};
use domain::account::{
    CreateKeyRefused, KeyClaimRefused, KeyRecord, KeyScope, KeyUse, MAX_KEYS, MadeKey, NewKey, NewUserKey,
    RevokeKeys, RotateKey, RotateKeyRefused, RotatedKey, WhichKeys,
};
use domain::audit::{Actor, AuditEntry};
use domain::change::Change;
use domain::id::{ApiKeyId, ChatId, ParticipantId};
use domain::idempotency::{KeyedRequest, Verdict};
use domain::page::{Page, PageRequest, Position};
use domain::time::Timestamp;

use super::find::agent_on;
use crate::audit;
use crate::change;
use crate::error::Fault;
use crate::idempotency_record;
use crate::login::session;
use crate::row;
use crate::schema::{api_keys, users};

#[derive(Queryable, Selectable)]
#[diesel(table_name = api_keys)]
struct KeyRow {
    id: Vec<u8>,
    user_id: Option<Vec<u8>>,
    agent_id: Option<Vec<u8>>,
    created_at: i64,
    revoked_at: Option<i64>,
    name: Option<String>,
    prefix: Option<String>,
    expires_at: Option<i64>,
    last_used_at: Option<i64>,
    #[diesel(embed)]
    scope: ScopeRow,
}

/// The scope of a key.
#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = api_keys)]
pub(super) struct ScopeRow {
    read_only: bool,
    only_chat_id: Option<Vec<u8>>,
    only_agent_id: Option<Vec<u8>>,
}

impl From<KeyScope> for ScopeRow {
    fn from(scope: KeyScope) -> Self {
        let KeyScope { is_read_only, chat, agent } = scope;
        let only_chat_id = chat.map(|chat| row::bytes(chat.uuid()));
        let only_agent_id = agent.map(|agent| row::bytes(agent.uuid()));
        Self { read_only: is_read_only, only_chat_id, only_agent_id }
    }
}

impl ScopeRow {
    pub(super) fn into_scope(self) -> Result<KeyScope, Fault> {
        let chat = self.only_chat_id.map(|id| row::uuid(&id)).transpose()?.map(ChatId::new);
        let agent = self.only_agent_id.map(|id| row::agent_id(&id)).transpose()?;
        Ok(KeyScope { is_read_only: self.read_only, chat, agent })
    }
}

impl KeyRow {
    fn into_record(self) -> Result<KeyRecord, Fault> {
        let holder = match (&self.user_id, &self.agent_id) {
            (Some(user), _) => ParticipantId::User(row::user_id(user)?),
            (None, Some(agent)) => ParticipantId::Agent(row::agent_id(agent)?),
            (None, None) => return Err(Fault::Row("a key that nobody holds".to_owned())),
        };
        Ok(KeyRecord {
            id: ApiKeyId::new(row::uuid(&self.id)?),
            holder,
            name: self.name,
            prefix: self.prefix,
            created_at: row::time(self.created_at),
            expires_at: self.expires_at.map(row::time),
            scope: self.scope.into_scope()?,
            last_used_at: self.last_used_at.map(row::time),
            revoked_at: self.revoked_at.map(row::time),
        })
    }
}

type Keys = api_keys::BoxedQuery<'static, Sqlite>;

/// The keys that are not revoked.
fn current() -> Keys {
    api_keys::table.filter(api_keys::revoked_at.is_null()).into_boxed()
}

fn of(holder: ParticipantId) -> Keys {
    let id = row::bytes(holder.uuid());
    match holder {
        ParticipantId::User(_) => current().filter(api_keys::user_id.eq(id)),
        ParticipantId::Agent(_) => current().filter(api_keys::agent_id.eq(id)),
    }
}

pub(super) fn insert_on(
    connection: &mut SqliteConnection,
    key: &NewKey,
    holder: ParticipantId,
    now: Timestamp,
) -> Result<(), Fault> {
    diesel::insert_into(api_keys::table)
        .values((
            api_keys::id.eq(row::bytes(key.id.uuid())),
            api_keys::digest.eq(key.digest.bytes().as_slice()),
            api_keys::user_id.eq(holder.user().map(|user| row::bytes(user.uuid()))),
            api_keys::agent_id.eq(holder.agent().map(|agent| row::bytes(agent.uuid()))),
            api_keys::created_at.eq(now.micros()),
            api_keys::name.eq(key.name.as_ref().map(|name| name.as_str().to_owned())),
            api_keys::prefix.eq(&key.prefix),
            api_keys::expires_at.eq(key.expires_at.map(Timestamp::micros)),
            ScopeRow::from(key.scope),
        ))
        .execute(connection)?;
    Ok(())
}

pub(super) fn list_on(
    connection: &mut SqliteConnection,
    holder: ParticipantId,
    page: &PageRequest,
) -> Result<Page<KeyRecord>, Fault> {
    let total = if page.count {
        Some(of(holder).select(count_star()).get_result::<i64>(connection)?.cast_unsigned())
    } else {
        None
    };
    let mut rows = of(holder);
    if let Some(Position { key, id, .. }) = page.slice.after() {
        // The first condition is redundant; it lets the index scan start at the right row.
        let older = api_keys::created_at.lt(key);
        let as_old = api_keys::created_at.eq(key).and(api_keys::id.lt(row::bytes(id.uuid())));
        rows = rows.filter(api_keys::created_at.le(key)).filter(older.or(as_old));
    }
    let rows = rows
        .order((api_keys::created_at.desc(), api_keys::id.desc()))
        .limit(i64::from(page.slice.limit()) + 1)
        .offset(page.slice.offset())
        .select(KeyRow::as_select())
        .load(connection)?;
    let rows = rows.into_iter().map(KeyRow::into_record).collect::<Result<Vec<_>, _>>()?;
    let position = |key: &KeyRecord| Position::at(key.created_at.micros(), key.id);
    Ok(Page::from_overfetch(rows, page, total, position))
}

pub(super) fn create_on(
    connection: &mut SqliteConnection,
    new: &NewUserKey,
) -> Result<Result<MadeKey, CreateKeyRefused>, Fault> {
    let user = users::table.find(row::bytes(new.user.uuid())).filter(users::deleted_at.is_null());
    if !select(exists(user)).get_result::<bool>(connection)? {
        return Ok(Err(CreateKeyRefused::UserGone));
    }
    let holder = ParticipantId::User(new.user);
    match claim_on(connection, new.keyed.as_ref(), &new.key, new.by, new.now)? {
        Ok(None) => {}
        Ok(Some(renewed)) => return Ok(Ok(renewed)),
        Err(refused) => return Ok(Err(CreateKeyRefused::Claim(refused))),
    }
    if of(holder).select(count_star()).get_result::<i64>(connection)? >= i64::from(MAX_KEYS) {
        return Ok(Err(CreateKeyRefused::TooMany));
    }
    insert_on(connection, &new.key, holder, new.now)?;
    audit::append_on(connection, [AuditEntry::key_created(new.by, &new.key, holder, new.now)])?;
    Ok(Ok(MadeKey { record: record_on(connection, new.key.id)?, replaces: None }))
}

/// Claims the idempotency key of a request for `key`. On a repetition, the key that the request made is replaced.
pub(super) fn claim_on(
    connection: &mut SqliteConnection,
    keyed: Option<&KeyedRequest>,
    key: &NewKey,
    by: Actor,
    now: Timestamp,
) -> Result<Result<Option<MadeKey>, KeyClaimRefused>, Fault> {
    let Some(keyed) = keyed else { return Ok(Ok(None)) };
    let first = match idempotency_record::judge_on(connection, keyed)? {
        Verdict::First => {
            idempotency_record::remember_on(connection, keyed, key.id.into(), now)?;
            return Ok(Ok(None));
        }
        Verdict::KeyReused => return Ok(Err(KeyClaimRefused::KeyReused)),
        Verdict::Repeated(first) => ApiKeyId::new(first.record.uuid()),
    };
    let revoked = revoke_on(connection, &RevokeKeys { which: WhichKeys::Id(first), by, now })?;
    let Some(old) = revoked.into_iter().next() else { return Ok(Err(KeyClaimRefused::KeySpent)) };
    let key = match old.decide_replace(key) {
        Ok(key) => key,
        Err(spent) => return Ok(Err(spent)),
    };
    insert_on(connection, &key, old.holder, now)?;
    idempotency_record::replace_on(connection, keyed, key.id.into())?;
    audit::append_on(connection, [AuditEntry::key_created(by, &key, old.holder, now)])?;
    Ok(Ok(Some(MadeKey { record: record_on(connection, key.id)?, replaces: Some(old.id) })))
}

pub(super) fn revoke_on(
    connection: &mut SqliteConnection,
    command: &RevokeKeys,
) -> Result<Vec<KeyRecord>, Fault> {
    let revoked = revoke_unaudited_on(connection, command)?;
    let entry = |key| AuditEntry::key_revoked(command.by, key, command.now);
    audit::append_on(connection, revoked.iter().map(entry))?;
    Ok(revoked)
}

fn revoke_unaudited_on(
    connection: &mut SqliteConnection,
    command: &RevokeKeys,
) -> Result<Vec<KeyRecord>, Fault> {
    let meant = match &command.which {
        WhichKeys::Own(holder, id) => of(*holder).filter(api_keys::id.eq(row::bytes(id.uuid()))),
        WhichKeys::Id(id) => current().filter(api_keys::id.eq(row::bytes(id.uuid()))),
        WhichKeys::Prefix(prefix) => current().filter(api_keys::prefix.eq(prefix.clone())),
        WhichKeys::AllOf(holder) => of(*holder),
    };
    let rows = meant
        .order((api_keys::created_at, api_keys::id))
        .select(KeyRow::as_select())
        .load::<KeyRow>(connection)?;
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let now = command.now.micros();
    let ids = rows.iter().map(|row| row.id.clone()).collect::<Vec<_>>();
    diesel::update(api_keys::table.filter(api_keys::id.eq_any(&ids)))
        .set(api_keys::revoked_at.eq(now))
        .execute(connection)?;
    session::end_of_keys_on(connection, &ids, command.now)?;
    let revoked = |row: KeyRow| KeyRow { revoked_at: Some(now), ..row }.into_record();
    let revoked = rows.into_iter().map(revoked).collect::<Result<Vec<_>, _>>()?;
    change::append_on(connection, revoked.iter().map(|key| Change::KeyRevoked(key.id)), command.now)?;
    Ok(revoked)
}

/// Revokes all keys of a deleted account; the audit log has one entry for the account.
pub(super) fn revoke_all_of_on(
    connection: &mut SqliteConnection,
    holder: ParticipantId,
    by: Actor,
    now: Timestamp,
) -> Result<(), Fault> {
    let which = WhichKeys::AllOf(holder);
    revoke_unaudited_on(connection, &RevokeKeys { which, by, now }).map(|_| ())
}

pub(super) fn rotate_on(
    connection: &mut SqliteConnection,
    command: &RotateKey,
) -> Result<Result<RotatedKey, RotateKeyRefused>, Fault> {
    let found = agent_on(connection, command.agent)?.filter(|agent| agent.owner == command.owner);
    let Some(agent) = found else { return Ok(Err(RotateKeyRefused::AgentNotFound)) };
    if !agent.kind.is_external() {
        return Ok(Err(RotateKeyRefused::HasNoKey));
    }
    match claim_on(connection, command.keyed.as_ref(), &command.key, command.by, command.now)? {
        Ok(None) => {}
        Ok(Some(MadeKey { record, replaces })) => {
            let revoked = replaces.into_iter().collect();
            return Ok(Ok(RotatedKey { agent, expires_at: record.expires_at, revoked }));
        }
        Err(refused) => return Ok(Err(RotateKeyRefused::Claim(refused))),
    }
    let holder = ParticipantId::Agent(agent.id);
    let old = RevokeKeys { which: WhichKeys::AllOf(holder), by: command.by, now: command.now };
    let revoked = revoke_on(connection, &old)?.into_iter().map(|key| key.id).collect();
    insert_on(connection, &command.key, holder, command.now)?;
    audit::append_on(connection, [AuditEntry::key_created(command.by, &command.key, holder, command.now)])?;
    Ok(Ok(RotatedKey { agent, expires_at: command.key.expires_at, revoked }))
}

fn record_on(connection: &mut SqliteConnection, key: ApiKeyId) -> Result<KeyRecord, Fault> {
    let stored = api_keys::table.find(row::bytes(key.uuid()));
    stored.select(KeyRow::as_select()).get_result(connection)?.into_record()
}

pub(super) fn note_uses_on(connection: &mut SqliteConnection, uses: &[KeyUse]) -> Result<(), Fault> {
    for KeyUse { key, at } in uses.iter().copied() {
        let at = at.micros();
        let unknown = api_keys::last_used_at.is_null().or(api_keys::last_used_at.lt(at));
        let key = api_keys::table.find(row::bytes(key.uuid())).filter(unknown);
        diesel::update(key).set(api_keys::last_used_at.eq(at)).execute(connection)?;
    }
    Ok(())
}
