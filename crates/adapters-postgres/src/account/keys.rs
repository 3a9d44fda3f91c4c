//! API keys: listing, making, and revoking them, and their last use.

use diesel::dsl::{count_star, exists, select};
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sql_types::{Array, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::account::{
    CreateKeyRefused, KeyClaimRefused, KeyRecord, KeyScope, KeyUse, MAX_KEYS, MadeKey, NewKey, NewUserKey,
    RevokeKeys, RotateKey, RotateKeyRefused, RotatedKey, WhichKeys,
};
use domain::audit::{Actor, AuditEntry};
use domain::change::Change;
use domain::id::{AgentId, ApiKeyId, ChatId, ParticipantId, UserId};
use domain::idempotency::{KeyedRequest, Verdict};
use domain::page::{Page, PageRequest, Position};
use domain::time::Timestamp;
use futures_util::future::try_join;
use uuid::Uuid;

use super::update::owned_on;
use crate::audit;
use crate::change;
use crate::error::Fault;
use crate::idempotency_record;
use crate::lock;
use crate::login::session;
use crate::row::{At, can_be_stored};
use crate::run::Db;
use crate::schema::{api_keys, users};
use crate::statement::statement;

#[derive(Queryable, Selectable)]
#[diesel(table_name = api_keys)]
struct KeyRow {
    id: Uuid,
    user_id: Option<Uuid>,
    agent_id: Option<Uuid>,
    created_at: At,
    revoked_at: Option<At>,
    name: Option<String>,
    prefix: Option<String>,
    expires_at: Option<At>,
    last_used_at: Option<At>,
    #[diesel(embed)]
    scope: ScopeRow,
}

/// The scope of a key.
#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = api_keys)]
pub(super) struct ScopeRow {
    read_only: bool,
    only_chat_id: Option<Uuid>,
    only_agent_id: Option<Uuid>,
}

impl From<KeyScope> for ScopeRow {
    fn from(scope: KeyScope) -> Self {
        let KeyScope { is_read_only, chat, agent } = scope;
        let (only_chat_id, only_agent_id) = (chat.map(ChatId::uuid), agent.map(AgentId::uuid));
        Self { read_only: is_read_only, only_chat_id, only_agent_id }
    }
}

impl From<ScopeRow> for KeyScope {
    fn from(row: ScopeRow) -> Self {
        let (chat, agent) = (row.only_chat_id.map(ChatId::new), row.only_agent_id.map(AgentId::new));
        Self { is_read_only: row.read_only, chat, agent }
    }
}

impl KeyRow {
    fn into_record(self) -> Result<KeyRecord, Fault> {
        let holder = match (self.user_id, self.agent_id) {
            (Some(user), _) => ParticipantId::User(UserId::new(user)),
            (None, Some(agent)) => ParticipantId::Agent(AgentId::new(agent)),
            (None, None) => return Err(Fault::Row("a key that nobody holds".to_owned())),
        };
        let time = |at: Option<At>| at.map(|At(time)| time);
        Ok(KeyRecord {
            id: ApiKeyId::new(self.id),
            holder,
            name: self.name,
            prefix: self.prefix,
            created_at: self.created_at.0,
            expires_at: time(self.expires_at),
            scope: self.scope.into(),
            last_used_at: time(self.last_used_at),
            revoked_at: time(self.revoked_at),
        })
    }
}

type Keys = api_keys::BoxedQuery<'static, Pg>;

/// The keys that are not revoked.
fn current() -> Keys {
    api_keys::table.filter(api_keys::revoked_at.is_null()).into_boxed()
}

fn of(holder: ParticipantId) -> Keys {
    let id = holder.uuid();
    match holder {
        ParticipantId::User(_) => current().filter(api_keys::user_id.eq(id)),
        ParticipantId::Agent(_) => current().filter(api_keys::agent_id.eq(id)),
    }
}

pub(super) async fn insert_on(
    mut db: &Db,
    key: &NewKey,
    holder: ParticipantId,
    now: Timestamp,
) -> Result<(), Fault> {
    diesel::insert_into(api_keys::table)
        .values((
            api_keys::id.eq(key.id.uuid()),
            api_keys::digest.eq(key.digest.bytes().as_slice()),
            api_keys::user_id.eq(holder.user().map(UserId::uuid)),
            api_keys::agent_id.eq(holder.agent().map(AgentId::uuid)),
            api_keys::created_at.eq(At(now)),
            api_keys::name.eq(key.name.as_ref().map(|name| name.as_str().to_owned())),
            api_keys::prefix.eq(&key.prefix),
            api_keys::expires_at.eq(key.expires_at.map(At)),
            ScopeRow::from(key.scope),
        ))
        .execute(&mut db)
        .await?;
    Ok(())
}

/// Two statements if the keys are counted too, else one.
pub(super) async fn list_on(
    db: &Db,
    holder: ParticipantId,
    page: &PageRequest,
) -> Result<Page<KeyRecord>, Fault> {
    let total = async { Ok(if page.count { Some(count_on(db, holder).await?) } else { None }) };
    let (total, rows) = try_join(total, page_on(db, holder, page)).await?;
    let rows = rows.into_iter().map(KeyRow::into_record).collect::<Result<Vec<_>, _>>()?;
    let position = |key: &KeyRecord| Position::at(key.created_at.micros(), key.id);
    Ok(Page::from_overfetch(rows, page, total, position))
}

async fn count_on(mut db: &Db, holder: ParticipantId) -> Result<u64, Fault> {
    Ok(of(holder).select(count_star()).first::<i64>(&mut db).await?.cast_unsigned())
}

async fn page_on(mut db: &Db, holder: ParticipantId, page: &PageRequest) -> Result<Vec<KeyRow>, Fault> {
    let mut rows = of(holder);
    if let Some(Position { key, id, .. }) = page.slice.after() {
        let key = At(Timestamp::from_micros(key));
        // The first condition is redundant; it lets the index scan start at the right row.
        let older = api_keys::created_at.lt(key);
        let as_old = api_keys::created_at.eq(key).and(api_keys::id.lt(id.uuid()));
        rows = rows.filter(api_keys::created_at.le(key)).filter(older.or(as_old));
    }
    let rows = rows
        .order((api_keys::created_at.desc(), api_keys::id.desc()))
        .limit(i64::from(page.slice.limit()) + 1)
        .offset(page.slice.offset())
        .select(KeyRow::as_select());
    Ok(rows.load(&mut db).await?)
}

pub(super) async fn create_on(
    mut db: &Db,
    new: &NewUserKey,
) -> Result<Result<MadeKey, CreateKeyRefused>, Fault> {
    // Keys are created one after the other, so that the limit holds.
    lock::users_on(db, &[new.user]).await?;
    let user = users::table.find(new.user.uuid()).filter(users::deleted_at.is_null());
    if !select(exists(user)).get_result::<bool>(&mut db).await? {
        return Ok(Err(CreateKeyRefused::UserGone));
    }
    let holder = ParticipantId::User(new.user);
    match claim_on(db, new.keyed.as_ref(), &new.key, new.by, new.now).await? {
        Ok(None) => {}
        Ok(Some(renewed)) => return Ok(Ok(renewed)),
        Err(refused) => return Ok(Err(CreateKeyRefused::Claim(refused))),
    }
    if count_on(db, holder).await? >= u64::from(MAX_KEYS) {
        return Ok(Err(CreateKeyRefused::TooMany));
    }
    insert_on(db, &new.key, holder, new.now).await?;
    audit::append_on(db, [AuditEntry::key_created(new.by, &new.key, holder, new.now)]).await?;
    Ok(Ok(MadeKey { record: record_on(db, new.key.id).await?, replaces: None }))
}

/// Claims the idempotency key of a request for `key`. On a repetition, the key that the request made is replaced. The
/// sender, or the agent whose key is rotated, is locked, so repetitions wait for each other.
pub(super) async fn claim_on(
    mut db: &Db,
    keyed: Option<&KeyedRequest>,
    key: &NewKey,
    by: Actor,
    now: Timestamp,
) -> Result<Result<Option<MadeKey>, KeyClaimRefused>, Fault> {
    let Some(keyed) = keyed else { return Ok(Ok(None)) };
    let first = match idempotency_record::remember_on(db, keyed, key.id.into(), now).await? {
        Verdict::First => return Ok(Ok(None)),
        Verdict::KeyReused => return Ok(Err(KeyClaimRefused::KeyReused)),
        Verdict::Repeated(first) => ApiKeyId::new(first.record.uuid()),
    };
    // A concurrent rotation is either seen here, or revokes the new key too.
    let agent = api_keys::table.find(first.uuid()).select(api_keys::agent_id);
    let agent = agent.first::<Option<Uuid>>(&mut db).await.optional()?.flatten();
    lock::agents_on(db, &agent.map(AgentId::new).into_iter().collect::<Vec<_>>()).await?;
    let revoked = revoke_unlogged_on(db, &RevokeKeys { which: WhichKeys::Id(first), by, now }).await?;
    let Some(old) = revoked.into_iter().next() else { return Ok(Err(KeyClaimRefused::KeySpent)) };
    let key = match old.decide_replace(key) {
        Ok(key) => key,
        Err(spent) => return Ok(Err(spent)),
    };
    insert_on(db, &key, old.holder, now).await?;
    idempotency_record::replace_on(db, keyed, key.id.into()).await?;
    let record = record_on(db, key.id).await?;
    let entries =
        [AuditEntry::key_revoked(by, &old, now), AuditEntry::key_created(by, &key, old.holder, now)];
    audit::append_on(db, entries).await?;
    change::append_on(db, [Change::KeyRevoked(old.id)], now).await?;
    Ok(Ok(Some(MadeKey { record, replaces: Some(old.id) })))
}

pub(super) async fn revoke_on(db: &Db, command: &RevokeKeys) -> Result<Vec<KeyRecord>, Fault> {
    let revoked = revoke_unlogged_on(db, command).await?;
    audit::append_on(db, revoked.iter().map(|key| AuditEntry::key_revoked(command.by, key, command.now)))
        .await?;
    change::append_on(db, revoked.iter().map(|key| Change::KeyRevoked(key.id)), command.now).await?;
    Ok(revoked)
}

async fn revoke_unlogged_on(mut db: &Db, command: &RevokeKeys) -> Result<Vec<KeyRecord>, Fault> {
    let meant = match &command.which {
        WhichKeys::Own(holder, id) => of(*holder).filter(api_keys::id.eq(id.uuid())),
        WhichKeys::Id(id) => current().filter(api_keys::id.eq(id.uuid())),
        WhichKeys::Prefix(prefix) if !can_be_stored(prefix) => return Ok(Vec::new()),
        WhichKeys::Prefix(prefix) => current().filter(api_keys::prefix.eq(prefix.clone())),
        WhichKeys::AllOf(holder) => of(*holder),
    };
    let ids = meant.select(api_keys::id).load::<Uuid>(&mut db).await?;
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    // Of two concurrent revocations the later one finds the result of the first.
    lock::api_keys_on(db, ids.clone()).await?;
    let held = api_keys::table.filter(api_keys::id.eq_any(ids)).select(KeyRow::as_select());
    let mut rows = held.load::<KeyRow>(&mut db).await?;
    rows.retain(|row| row.revoked_at.is_none());
    let ids = rows.iter().map(|row| row.id).collect::<Vec<_>>();
    diesel::update(api_keys::table.filter(api_keys::id.eq_any(&ids)))
        .set(api_keys::revoked_at.eq(At(command.now)))
        .execute(&mut db)
        .await?;
    session::end_of_keys_on(db, &ids, command.now).await?;
    let revoked = |row: KeyRow| KeyRow { revoked_at: Some(At(command.now)), ..row }.into_record();
    let mut revoked = rows.into_iter().map(revoked).collect::<Result<Vec<_>, _>>()?;
    revoked.sort_by_key(|key| (key.created_at, key.id));
    Ok(revoked)
}

/// Revokes all keys of an account, which is locked. The caller writes the audit entry at the end of
/// its change.
pub(super) async fn revoke_all_of_on(
    db: &Db,
    holder: ParticipantId,
    by: Actor,
    now: Timestamp,
) -> Result<Vec<KeyRecord>, Fault> {
    let which = WhichKeys::AllOf(holder);
    revoke_unlogged_on(db, &RevokeKeys { which, by, now }).await
}

pub(super) async fn rotate_on(
    db: &Db,
    command: &RotateKey,
) -> Result<Result<RotatedKey, RotateKeyRefused>, Fault> {
    let found = owned_on(db, command.agent, command.owner).await?;
    let Some(agent) = found else { return Ok(Err(RotateKeyRefused::AgentNotFound)) };
    let agent = agent.into_agent()?;
    if !agent.kind.is_external() {
        return Ok(Err(RotateKeyRefused::HasNoKey));
    }
    let RotateKey { by, now, .. } = *command;
    match claim_on(db, command.keyed.as_ref(), &command.key, by, now).await? {
        Ok(None) => {}
        Ok(Some(MadeKey { record, replaces })) => {
            let revoked = replaces.into_iter().collect();
            return Ok(Ok(RotatedKey { agent, expires_at: record.expires_at, revoked }));
        }
        Err(refused) => return Ok(Err(RotateKeyRefused::Claim(refused))),
    }
    let holder = ParticipantId::Agent(agent.id);
    let revoked = revoke_all_of_on(db, holder, by, now).await?;
    insert_on(db, &command.key, holder, now).await?;
    let entries = revoked.iter().map(|key| AuditEntry::key_revoked(by, key, now));
    let entries = entries.chain([AuditEntry::key_created(by, &command.key, holder, now)]);
    audit::append_on(db, entries).await?;
    let revoked = revoked.into_iter().map(|key| key.id).collect::<Vec<_>>();
    change::append_on(db, revoked.iter().copied().map(Change::KeyRevoked), now).await?;
    Ok(Ok(RotatedKey { agent, expires_at: command.key.expires_at, revoked }))
}

async fn record_on(mut db: &Db, key: ApiKeyId) -> Result<KeyRecord, Fault> {
    let stored = api_keys::table.find(key.uuid()).select(KeyRow::as_select());
    stored.first(&mut db).await?.into_record()
}

/// The rows are locked in one order, so that servers do not deadlock.
const NOTE: &str = "WITH used AS (SELECT api_keys.id, used.at FROM unnest(?, ?) AS used (id, at) \
     JOIN api_keys ON api_keys.id = used.id AND (api_keys.last_used_at IS NULL OR api_keys.last_used_at < used.at) \
     ORDER BY api_keys.id FOR NO KEY UPDATE OF api_keys) \
     UPDATE api_keys SET last_used_at = used.at FROM used WHERE api_keys.id = used.id";

pub(super) async fn note_uses_on(mut db: &Db, uses: &[KeyUse]) -> Result<(), Fault> {
    statement::<()>(NOTE)
        .bind::<Array<SqlUuid>, _>(uses.iter().map(|one| one.key.uuid()).collect::<Vec<_>>())
        .bind::<Array<Timestamptz>, _>(uses.iter().map(|one| At(one.at)).collect::<Vec<_>>())
        .execute(&mut db)
        .await?;
    Ok(())
}
