//! The audit log. Entries become visible when their transactions commit, so one may appear behind a
//! reader who has passed its time; nothing depends on that.

#[path = "../../sql-rows/audit.rs"]
mod entry;

use std::collections::HashMap;

use async_trait::async_trait;
use diesel::dsl::{count_star, exists, min};
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Bytea, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::audit::{
    AuditEntry, AuditFilter, AuditLead, AuditObject, AuditRecord, AuditRepository, AuditScope, AuditState,
    ChainDigest, ChainLink, SealedEntry,
};
use domain::id::{AccountId, AuditEntryId, ChatId, OrganizationId};
use domain::organization::NotAdmin;
use domain::page::{Page, PageRequest, Position};
use domain::store::StoreError;
use domain::time::Timestamp;
use domain::webhook::EventEntry;
use futures_util::FutureExt;
use uuid::Uuid;

use self::entry::AuditRow;
use crate::PostgresStore;
use crate::error::Fault;
use crate::lock;
use crate::organization::member;
use crate::row::At;
use crate::run::Db;
use crate::schema::{audit, audit_chain, chats};
use crate::statement::statement;

/// The current name of a subject. That of a chat is not stored, since its title may derive from a
/// text that is deleted later.
macro_rules! name_of {
    ($kind:literal, $id:literal) => {
        concat!(
            "(CASE ",
            $kind,
            " WHEN 'User' THEN (SELECT handle FROM users WHERE id = ",
            $id,
            ") WHEN 'Agent' THEN (SELECT handle FROM agents WHERE id = ",
            $id,
            ") WHEN 'Organization' THEN (SELECT name FROM organizations WHERE id = ",
            $id,
            ") WHEN 'ApiKey' THEN (SELECT prefix FROM api_keys WHERE id = ",
            $id,
            ") END)"
        )
    };
}

/// The organization of an entry is that of its chat, its user or agent, or its organization,
/// whichever is found first.
const APPEND: &str = concat!(
    "WITH entry (at, chat, holder, organization, actor_kind, actor, action, subject_kind, subject, place_kind, place, \
         detail) AS (VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)) \
     INSERT INTO audit (at, organization_id, actor_kind, actor_id, action, subject_kind, subject_id, place_kind, \
         place_id, detail, actor_name, subject_name, place_name) \
     SELECT at, coalesce(\
         (SELECT organization_id FROM chats WHERE id = entry.chat), \
         (SELECT organization_id FROM users WHERE id = entry.holder), \
         (SELECT users.organization_id FROM agents JOIN users ON users.id = agents.owner_id \
             WHERE agents.id = entry.holder), \
         organization), actor_kind, actor, action, subject_kind, subject, place_kind, place, detail, ",
    name_of!("actor_kind", "entry.actor"),
    ", ",
    name_of!("subject_kind", "entry.subject"),
    ", ",
    name_of!("place_kind", "entry.place"),
    " FROM entry"
);

/// Writes seals: ids, numbers, and digests.
const SEAL: &str = "UPDATE audit SET number = seal.number, digest = seal.digest \
     FROM unnest(?, ?, ?) AS seal (id, number, digest) WHERE audit.id = seal.id";

#[async_trait]
impl AuditRepository for PostgresStore {
    async fn list_audit(
        &self,
        filter: AuditFilter,
        page: PageRequest,
    ) -> Result<Result<Page<AuditRecord>, NotAdmin>, StoreError> {
        self.read((filter, page), |db, (filter, page)| list_on(db, filter, page).boxed()).await
    }

    async fn append_audit(&self, entries: Vec<AuditEntry>) -> Result<(), StoreError> {
        self.alter(entries, |db, entries| append_on(db, entries.clone()).boxed()).await
    }

    async fn seal_audit(&self, limit: u32) -> Result<u32, StoreError> {
        // There is mostly nothing to seal, and nothing is locked then.
        if self.query((), |db, ()| is_sealed_on(db).boxed()).await? {
            return Ok(0);
        }
        self.alter(limit, |db, limit| seal_on(db, *limit).boxed()).await
    }

    async fn audit_state(&self) -> Result<AuditState, StoreError> {
        self.read((), |db, ()| state_on(db).boxed()).await
    }

    async fn sealed_audit(&self, after: Option<i64>, limit: u32) -> Result<Vec<SealedEntry>, StoreError> {
        self.query((after, limit), |db, (after, limit)| sealed_on(db, *after, *limit).boxed()).await
    }
}

/// Writes entries as part of the change that they record.
pub(crate) async fn append_on(
    mut db: &Db,
    entries: impl IntoIterator<Item = AuditEntry>,
) -> Result<(), Fault> {
    let entries = entries.into_iter().collect::<Vec<_>>();
    for entry in entries {
        let (chat, holder, organization) = entry.tenant.parts();
        let (actor_kind, actor) = entry.actor.parts();
        let (subject_kind, subject) = entry.subject.parts();
        let place = entry.place.map(AuditObject::parts);
        statement::<()>(APPEND)
            .bind::<Timestamptz, _>(At(entry.at))
            .bind::<Nullable<SqlUuid>, _>(chat.map(ChatId::uuid))
            .bind::<Nullable<SqlUuid>, _>(holder.map(AccountId::uuid))
            .bind::<Nullable<SqlUuid>, _>(organization.map(OrganizationId::uuid))
            .bind::<Text, _>(actor_kind)
            .bind::<Nullable<SqlUuid>, _>(actor.map(AccountId::uuid))
            .bind::<Text, _>(entry.action.as_str())
            .bind::<Text, _>(subject_kind)
            .bind::<SqlUuid, _>(subject.uuid())
            .bind::<Nullable<Text>, _>(place.map(|(kind, _)| kind))
            .bind::<Nullable<SqlUuid>, _>(place.map(|(_, id)| id.uuid()))
            .bind::<Nullable<Text>, _>(entry.detail)
            .execute(&mut db)
            .await?;
    }
    Ok(())
}

/// The entries of the filter, newest first. In an organization, they are read along the index of the lead: its value is
/// given as a range and ordered by, because PostgreSQL could else choose another index.
fn wanted(filter: &AuditFilter) -> audit::BoxedQuery<'static, Pg> {
    let mut rows = audit::table.into_boxed();
    let mut lead = AuditLead::Time;
    if let AuditScope::Of(by) = filter.scope {
        rows = rows.filter(audit::organization_id.eq(by.organization().uuid()));
        lead = filter.lead();
    }
    if let Some(subject) = filter.subject {
        let subject = subject.uuid();
        rows = match lead {
            AuditLead::Subject => rows.filter(audit::subject_id.between(subject, subject)),
            _ => rows.filter(audit::subject_id.eq(subject)),
        };
    }
    if let Some(actor) = filter.actor {
        let actor = actor.uuid();
        rows = match lead {
            AuditLead::Actor => rows.filter(audit::actor_id.between(actor, actor)),
            _ => rows.filter(audit::actor_id.eq(actor)),
        };
    }
    if let Some(action) = filter.action {
        let action = action.as_str();
        rows = match lead {
            AuditLead::Action => rows.filter(audit::action.between(action, action)),
            _ => rows.filter(audit::action.eq(action)),
        };
    }
    if let Some(since) = filter.since {
        rows = rows.filter(audit::at.ge(At(since)));
    }
    if let Some(until) = filter.until {
        rows = rows.filter(audit::at.le(At(until)));
    }
    rows
}

async fn list_on(
    mut db: &Db,
    filter: &AuditFilter,
    page: &PageRequest,
) -> Result<Result<Page<AuditRecord>, NotAdmin>, Fault> {
    if let AuditScope::Of(by) = filter.scope
        && let Err(refused) = member::check_on(db, by).await?
    {
        return Ok(Err(refused));
    }
    let total = if page.count {
        Some(wanted(filter).select(count_star()).first::<i64>(&mut db).await?.cast_unsigned())
    } else {
        None
    };
    let mut rows = wanted(filter);
    if let Some(Position { key, id, .. }) = page.slice.after() {
        let key = At(Timestamp::from_micros(key));
        // The first condition is redundant; it lets the index scan start at the right row.
        let as_old = audit::at.eq(key).and(audit::id.lt(id.uuid()));
        rows = rows.filter(audit::at.le(key)).filter(audit::at.lt(key).or(as_old));
    }
    let lead = if matches!(filter.scope, AuditScope::Of(_)) { filter.lead() } else { AuditLead::Time };
    let rows = match lead {
        AuditLead::Subject => rows.order(audit::subject_id),
        AuditLead::Actor => rows.order(audit::actor_id),
        AuditLead::Action => rows.order(audit::action),
        AuditLead::Time => rows,
    };
    let rows = rows
        .then_order_by((audit::at.desc(), audit::id.desc()))
        .limit(i64::from(page.slice.limit()) + 1)
        .offset(page.slice.offset())
        .select(AuditRow::as_select())
        .load(&mut db)
        .await?;
    let titles = titles_on(db, rows.iter().flat_map(AuditRow::chats).collect()).await?;
    let records = rows.into_iter().map(|row| row.titled(&titles).into_record());
    let records = records.collect::<Result<Vec<_>, _>>()?;
    let position = |record: &AuditRecord| Position::at(record.at.micros(), record.id);
    Ok(Ok(Page::from_overfetch(records, page, total, position)))
}

/// The first `limit` sealed entries of an organization with higher numbers than `seen`, by number.
pub(crate) async fn entries_after_on(
    mut db: &Db,
    organization: OrganizationId,
    seen: i64,
    limit: u32,
) -> Result<Vec<EventEntry>, Fault> {
    let organization = organization.uuid();
    let rows = audit::table
        // As in `wanted`: PostgreSQL could else read the entries of all organizations, by their numbers.
        .filter(audit::organization_id.between(organization, organization))
        .filter(audit::number.gt(seen))
        .order((audit::organization_id, audit::number))
        .limit(i64::from(limit))
        .select((audit::number.assume_not_null(), audit::id, audit::action))
        .load::<(i64, Uuid, String)>(&mut db)
        .await?;
    let entry = |(number, id, action)| EventEntry { number, id: AuditEntryId::new(id), action };
    Ok(rows.into_iter().map(entry).collect())
}

/// An entry; none is ever erased.
pub(crate) async fn record_on(mut db: &Db, entry: Uuid) -> Result<AuditRecord, Fault> {
    let row = audit::table.find(entry).select(AuditRow::as_select()).first(&mut db).await?;
    let titles = titles_on(db, row.chats().collect()).await?;
    row.titled(&titles).into_record()
}

async fn titles_on(mut db: &Db, chats: Vec<Uuid>) -> Result<HashMap<Uuid, String>, Fault> {
    if chats.is_empty() {
        return Ok(HashMap::new());
    }
    let titled = chats::table.filter(chats::id.eq_any(chats)).filter(chats::title.is_not_null());
    let named = titled.select((chats::id, chats::title.assume_not_null()));
    Ok(named.load::<(Uuid, String)>(&mut db).await?.into_iter().collect())
}

async fn is_sealed_on(mut db: &Db) -> Result<bool, Fault> {
    let unsealed = audit::table.filter(audit::number.is_null());
    Ok(!diesel::select(exists(unsealed)).get_result::<bool>(&mut db).await?)
}

/// Entries become visible in any order; the visible ones get the next numbers. One transaction at a
/// time does it.
async fn seal_on(mut db: &Db, limit: u32) -> Result<u32, Fault> {
    if !lock::audit_chain_on(db).await? {
        return Ok(0);
    }
    let mut seal = head_on(db).await?.unwrap_or(ChainLink::START);
    let rows = audit::table
        .filter(audit::number.is_null())
        .order((audit::at, audit::id))
        .limit(i64::from(limit))
        .select(AuditRow::as_select())
        .load(&mut db)
        .await?;
    let (mut ids, mut numbers, mut digests) = (Vec::new(), Vec::new(), Vec::new());
    for row in rows {
        let entry = row.into_stored();
        seal = seal.next(&entry);
        ids.push(entry.id.uuid());
        numbers.push(seal.number);
        digests.push(seal.digest.0.to_vec());
    }
    let count = u32::try_from(ids.len()).unwrap_or(u32::MAX);
    if count == 0 {
        return Ok(0);
    }
    statement::<()>(SEAL)
        .bind::<Array<SqlUuid>, _>(ids)
        .bind::<Array<BigInt>, _>(numbers)
        .bind::<Array<Bytea>, _>(digests)
        .execute(&mut db)
        .await?;
    let head = (audit_chain::number.eq(seal.number), audit_chain::digest.eq(seal.digest.0.to_vec()));
    diesel::insert_into(audit_chain::table)
        .values((audit_chain::id.eq(1), head.clone()))
        .on_conflict(audit_chain::id)
        .do_update()
        .set(head)
        .execute(&mut db)
        .await?;
    Ok(count)
}

/// The newest seal.
pub(crate) async fn head_on(mut db: &Db) -> Result<Option<ChainLink>, Fault> {
    let head = audit_chain::table.select((audit_chain::number, audit_chain::digest));
    let head = head.first::<(i64, Vec<u8>)>(&mut db).await.optional()?;
    Ok(head.map(|(number, digest)| ChainLink { number, digest: digest_of(digest) }))
}

/// A digest of the wrong length counts as a wrong digest, so that the check reports its place.
fn digest_of(bytes: Vec<u8>) -> ChainDigest {
    ChainDigest(bytes.try_into().unwrap_or([0; 32]))
}

async fn state_on(mut db: &Db) -> Result<AuditState, Fault> {
    let unsealed = audit::table.filter(audit::number.is_null()).select((count_star(), min(audit::at)));
    let (unsealed, since) = unsealed.first::<(i64, Option<At>)>(&mut db).await?;
    let unsealed_since = since.map(|At(at)| at);
    Ok(AuditState { head: head_on(db).await?, unsealed: unsealed.cast_unsigned(), unsealed_since })
}

async fn sealed_on(mut db: &Db, after: Option<i64>, limit: u32) -> Result<Vec<SealedEntry>, Fault> {
    let rows = audit::table
        .filter(audit::number.is_not_null())
        .filter(audit::number.gt(after.unwrap_or(i64::MIN)))
        .order(audit::number)
        .limit(i64::from(limit))
        .select((AuditRow::as_select(), audit::number.assume_not_null(), audit::digest))
        .load::<(AuditRow, i64, Option<Vec<u8>>)>(&mut db)
        .await?;
    let sealed = |(row, number, digest): (AuditRow, i64, Option<Vec<u8>>)| SealedEntry {
        seal: ChainLink { number, digest: digest_of(digest.unwrap_or_default()) },
        entry: row.into_stored(),
    };
    Ok(rows.into_iter().map(sealed).collect())
}
