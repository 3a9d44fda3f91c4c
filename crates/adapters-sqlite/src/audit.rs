//! The audit log.

#[path = "../../sql-rows/audit.rs"]
mod entry;

use std::collections::HashMap;

use async_trait::async_trait;
use diesel::dsl::{count_star, exists, min};
use diesel::prelude::*;
use diesel::query_builder::{BoxedSqlQuery, SqlQuery};
use diesel::sql_types::{BigInt, Binary, Nullable, Text};
use diesel::sqlite::{Sqlite, SqliteConnection};
use domain::audit::{
    AuditEntry, AuditFilter, AuditLead, AuditObject, AuditRecord, AuditRepository, AuditScope, AuditState,
    ChainDigest, ChainLink, SealedEntry,
};
use domain::id::{AuditEntryId, OrganizationId};
use domain::organization::NotAdmin;
use domain::page::{Page, PageRequest, Position};
use domain::store::StoreError;
use domain::webhook::EventEntry;
use uuid::Uuid;

use self::entry::AuditRow;
use crate::SqliteStore;
use crate::error::Fault;
use crate::organization::member;
use crate::row::{self, Id};
use crate::schema::{audit, audit_chain, chats};

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

/// The organization of an entry is that of `?2` to `?4`: its chat, its user or agent, or its
/// organization, whichever is found first.
const APPEND: &str = concat!(
    "INSERT INTO audit (at, organization_id, actor_kind, actor_id, action, subject_kind, subject_id, place_kind, \
         place_id, detail, actor_name, subject_name, place_name) \
     VALUES (?1, coalesce(\
         (SELECT organization_id FROM chats WHERE id = ?2), \
         (SELECT organization_id FROM users WHERE id = ?3), \
         (SELECT users.organization_id FROM agents JOIN users ON users.id = agents.owner_id WHERE agents.id = ?3), \
         ?4), ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ",
    name_of!("?5", "?6"),
    ", ",
    name_of!("?8", "?9"),
    ", ",
    name_of!("?10", "?11"),
    ")"
);

#[async_trait]
impl AuditRepository for SqliteStore {
    async fn list_audit(
        &self,
        filter: AuditFilter,
        page: PageRequest,
    ) -> Result<Result<Page<AuditRecord>, NotAdmin>, StoreError> {
        self.read(move |connection| list_on(connection, &filter, &page)).await
    }

    async fn append_audit(&self, entries: Vec<AuditEntry>) -> Result<(), StoreError> {
        self.alter(move |connection| append_on(connection, entries)).await
    }

    async fn seal_audit(&self, limit: u32) -> Result<u32, StoreError> {
        // There is mostly nothing to seal, and nothing is written then.
        if self.read(is_sealed_on).await? {
            return Ok(0);
        }
        self.alter(move |connection| seal_on(connection, limit)).await
    }

    async fn audit_state(&self) -> Result<AuditState, StoreError> {
        self.read(state_on).await
    }

    async fn sealed_audit(&self, after: Option<i64>, limit: u32) -> Result<Vec<SealedEntry>, StoreError> {
        self.read(move |connection| sealed_on(connection, after, limit)).await
    }
}

/// Writes entries as part of the change that they record.
pub(crate) fn append_on(
    connection: &mut SqliteConnection,
    entries: impl IntoIterator<Item = AuditEntry>,
) -> Result<(), Fault> {
    for entry in entries {
        let (chat, holder, organization) = entry.tenant.parts();
        let (actor_kind, actor) = entry.actor.parts();
        let (subject_kind, subject) = entry.subject.parts();
        let place = entry.place.map(AuditObject::parts);
        diesel::sql_query(APPEND)
            .bind::<BigInt, _>(entry.at.micros())
            .bind::<Nullable<Binary>, _>(chat.map(|id| row::bytes(id.uuid())))
            .bind::<Nullable<Binary>, _>(holder.map(|id| row::bytes(id.uuid())))
            .bind::<Nullable<Binary>, _>(organization.map(|id| row::bytes(id.uuid())))
            .bind::<Text, _>(actor_kind)
            .bind::<Nullable<Binary>, _>(actor.map(|id| row::bytes(id.uuid())))
            .bind::<Text, _>(entry.action.as_str())
            .bind::<Text, _>(subject_kind)
            .bind::<Binary, _>(row::bytes(subject.uuid()))
            .bind::<Nullable<Text>, _>(place.map(|(kind, _)| kind))
            .bind::<Nullable<Binary>, _>(place.map(|(_, id)| row::bytes(id.uuid())))
            .bind::<Nullable<Text>, _>(entry.detail)
            .execute(connection)?;
    }
    Ok(())
}

/// A value of a statement.
enum Value {
    Bytes(Vec<u8>),
    Word(&'static str),
    Number(i64),
}

/// FROM and WHERE with the values: the entries of the filter, read along the index of its lead. The index is named,
/// because SQLite may choose that of the time, and read the log of a whole organization for a few entries.
fn wanted(filter: &AuditFilter) -> (String, Vec<Value>) {
    let mut values = Vec::new();
    let mut text = "FROM audit INDEXED BY ".to_owned();
    let AuditFilter { scope, since, until, action, actor, subject } = filter;
    match scope {
        AuditScope::Everything => text.push_str("audit_by_age WHERE TRUE"),
        AuditScope::Of(by) => {
            text.push_str(match filter.lead() {
                AuditLead::Subject => "audit_of_organization_subject",
                AuditLead::Actor => "audit_of_organization_actor",
                AuditLead::Action => "audit_of_organization_action",
                AuditLead::Time => "audit_of_organization",
            });
            text.push_str(" WHERE organization_id = ?");
            values.push(Value::Bytes(row::bytes(by.organization().uuid())));
        }
    }
    let conditions = [
        ("subject_id =", subject.map(|subject| Value::Bytes(row::bytes(subject.uuid())))),
        ("actor_id =", actor.map(|actor| Value::Bytes(row::bytes(actor.uuid())))),
        ("action =", action.map(|action| Value::Word(action.as_str()))),
        ("at >=", since.map(|since| Value::Number(since.micros()))),
        ("at <=", until.map(|until| Value::Number(until.micros()))),
    ];
    for (condition, value) in conditions {
        if let Some(value) = value {
            text.extend([" AND ", condition, " ?"]);
            values.push(value);
        }
    }
    (text, values)
}

fn bound(text: String, values: Vec<Value>) -> BoxedSqlQuery<'static, Sqlite, SqlQuery> {
    let statement = diesel::sql_query(text).into_boxed::<Sqlite>();
    values.into_iter().fold(statement, |statement, value| match value {
        Value::Bytes(bytes) => statement.bind::<Binary, _>(bytes),
        Value::Word(word) => statement.bind::<Text, _>(word),
        Value::Number(number) => statement.bind::<BigInt, _>(number),
    })
}

#[derive(QueryableByName)]
struct Number {
    #[diesel(sql_type = BigInt)]
    number: i64,
}

#[derive(QueryableByName)]
struct EntryId {
    #[diesel(sql_type = Binary)]
    id: Id,
}

fn list_on(
    connection: &mut SqliteConnection,
    filter: &AuditFilter,
    page: &PageRequest,
) -> Result<Result<Page<AuditRecord>, NotAdmin>, Fault> {
    if let AuditScope::Of(by) = filter.scope
        && let Err(refused) = member::check_on(connection, by)?
    {
        return Ok(Err(refused));
    }
    let total = if page.count {
        let (text, values) = wanted(filter);
        let counted = bound(format!("SELECT count(*) AS number {text}"), values);
        Some(counted.get_result::<Number>(connection)?.number.cast_unsigned())
    } else {
        None
    };
    let (mut text, mut values) = wanted(filter);
    if let Some(Position { key, id, .. }) = page.slice.after() {
        // The first condition is redundant; it lets the index scan start at the right row.
        text.push_str(" AND at <= ? AND (at < ? OR id < ?)");
        values.extend([Value::Number(key), Value::Number(key), Value::Bytes(row::bytes(id.uuid()))]);
    }
    values.extend([i64::from(page.slice.limit()) + 1, page.slice.offset()].map(Value::Number));
    let ids = format!("SELECT id {text} ORDER BY at DESC, id DESC LIMIT ? OFFSET ?");
    let ids = bound(ids, values).load::<EntryId>(connection)?;
    // An empty list would be looked for in the whole table.
    let rows = if ids.is_empty() {
        Vec::new()
    } else {
        audit::table
            .filter(audit::id.eq_any(ids.into_iter().map(|entry| entry.id)))
            .order((audit::at.desc(), audit::id.desc()))
            .select(AuditRow::as_select())
            .load(connection)?
    };
    let titles = titles_on(connection, rows.iter().flat_map(AuditRow::chats).collect())?;
    let records = rows.into_iter().map(|row| row.titled(&titles).into_record());
    let records = records.collect::<Result<Vec<_>, _>>()?;
    let position = |record: &AuditRecord| Position::at(record.at.micros(), record.id);
    Ok(Ok(Page::from_overfetch(records, page, total, position)))
}

/// The first `limit` sealed entries of an organization with higher numbers than `seen`, by number.
pub(crate) fn entries_after_on(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
    seen: i64,
    limit: u32,
) -> Result<Vec<EventEntry>, Fault> {
    let rows = audit::table
        .filter(audit::organization_id.eq(Id(organization.uuid())))
        .filter(audit::number.gt(seen))
        .order(audit::number)
        .limit(i64::from(limit))
        .select((audit::number.assume_not_null(), audit::id, audit::action))
        .load::<(i64, Id, String)>(connection)?;
    let entry = |(number, Id(id), action)| EventEntry { number, id: AuditEntryId::new(id), action };
    Ok(rows.into_iter().map(entry).collect())
}

/// An entry; none is ever erased.
pub(crate) fn record_on(connection: &mut SqliteConnection, entry: Uuid) -> Result<AuditRecord, Fault> {
    let row = audit::table.find(Id(entry)).select(AuditRow::as_select()).get_result(connection)?;
    let titles = titles_on(connection, row.chats().collect())?;
    row.titled(&titles).into_record()
}

fn titles_on(connection: &mut SqliteConnection, chats: Vec<Uuid>) -> Result<HashMap<Uuid, String>, Fault> {
    if chats.is_empty() {
        return Ok(HashMap::new());
    }
    let titled =
        chats::table.filter(chats::id.eq_any(chats.into_iter().map(Id))).filter(chats::title.is_not_null());
    let named = titled.select((chats::id, chats::title.assume_not_null()));
    let named = named.load::<(Id, String)>(connection)?;
    Ok(named.into_iter().map(|(id, title)| (id.0, title)).collect())
}

fn is_sealed_on(connection: &mut SqliteConnection) -> Result<bool, Fault> {
    let unsealed = audit::table.filter(audit::number.is_null());
    Ok(!diesel::select(exists(unsealed)).get_result::<bool>(connection)?)
}

/// Assigns the next numbers to entries without one. One process writes at a time.
fn seal_on(connection: &mut SqliteConnection, limit: u32) -> Result<u32, Fault> {
    let mut seal = head_on(connection)?.unwrap_or(ChainLink::START);
    let rows = audit::table
        .filter(audit::number.is_null())
        .order((audit::at, audit::id))
        .limit(i64::from(limit))
        .select(AuditRow::as_select())
        .load(connection)?;
    let count = u32::try_from(rows.len()).unwrap_or(u32::MAX);
    for row in rows {
        let entry = row.into_stored();
        seal = seal.next(&entry);
        diesel::update(audit::table.find(row::bytes(entry.id.uuid())))
            .set((audit::number.eq(seal.number), audit::digest.eq(seal.digest.0.as_slice())))
            .execute(connection)?;
    }
    if count > 0 {
        let head = (audit_chain::number.eq(seal.number), audit_chain::digest.eq(seal.digest.0.as_slice()));
        diesel::insert_into(audit_chain::table)
            .values((audit_chain::id.eq(1), head))
            .on_conflict(audit_chain::id)
            .do_update()
            .set(head)
            .execute(connection)?;
    }
    Ok(count)
}

/// The newest seal.
pub(crate) fn head_on(connection: &mut SqliteConnection) -> Result<Option<ChainLink>, Fault> {
    let head = audit_chain::table.select((audit_chain::number, audit_chain::digest));
    let head = head.get_result::<(i64, Vec<u8>)>(connection).optional()?;
    Ok(head.map(|(number, digest)| ChainLink { number, digest: digest_of(digest) }))
}

/// A digest of the wrong length counts as a wrong digest, so that the check reports its place.
fn digest_of(bytes: Vec<u8>) -> ChainDigest {
    ChainDigest(bytes.try_into().unwrap_or([0; 32]))
}

fn state_on(connection: &mut SqliteConnection) -> Result<AuditState, Fault> {
    let unsealed = audit::table.filter(audit::number.is_null()).select((count_star(), min(audit::at)));
    let (unsealed, since) = unsealed.get_result::<(i64, Option<i64>)>(connection)?;
    let unsealed_since = since.map(row::time);
    Ok(AuditState { head: head_on(connection)?, unsealed: unsealed.cast_unsigned(), unsealed_since })
}

fn sealed_on(
    connection: &mut SqliteConnection,
    after: Option<i64>,
    limit: u32,
) -> Result<Vec<SealedEntry>, Fault> {
    let rows = audit::table
        .filter(audit::number.is_not_null())
        .filter(audit::number.gt(after.unwrap_or(i64::MIN)))
        .order(audit::number)
        .limit(i64::from(limit))
        .select((AuditRow::as_select(), audit::number.assume_not_null(), audit::digest))
        .load::<(AuditRow, i64, Option<Vec<u8>>)>(connection)?;
    let sealed = |(row, number, digest): (AuditRow, i64, Option<Vec<u8>>)| {
        let seal = ChainLink { number, digest: digest_of(digest.unwrap_or_default()) };
        SealedEntry { seal, entry: row.into_stored() }
    };
    Ok(rows.into_iter().map(sealed).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use diesel::connection::SimpleConnection;
    use domain::audit::{AuditService, ChainFault};
    use domain::time::Timestamp;

    use super::*;
    use crate::Location;

    async fn sql(store: &SqliteStore, text: &'static str) -> Result<(), StoreError> {
        store.alter(move |connection| Ok(connection.batch_execute(text)?)).await
    }

    /// The store refuses changes of sealed entries; the chain detects them if that protection is
    /// removed.
    #[tokio::test]
    async fn tampering_is_refused_and_found() {
        let store = Arc::new(SqliteStore::open(&Location::Memory).unwrap());
        let entries =
            (0..9).map(|second| AuditEntry::store_exported(Timestamp::from_micros(second))).collect();
        store.append_audit(entries).await.unwrap();
        assert_eq!(store.seal_audit(100).await.unwrap(), 9);
        for text in [
            "UPDATE audit SET detail = 'x' WHERE number = 3",
            "UPDATE audit SET digest = NULL WHERE number = 3",
            "UPDATE audit SET number = 99 WHERE number = 3",
            "DELETE FROM audit WHERE number = 3",
            "UPDATE audit_chain SET digest = zeroblob(32)",
            "DELETE FROM audit_chain",
        ] {
            sql(&store, text).await.unwrap_err();
        }
        let service = AuditService::new(store.clone());
        assert_eq!(service.verify(None).await.unwrap().faults, []);
        for text in [
            "DROP TRIGGER audit_is_not_changed",
            "DROP TRIGGER audit_is_not_deleted",
            "UPDATE audit SET detail = 'x' WHERE number = 3",
            "DELETE FROM audit WHERE number IN (6, 7, 9)",
        ] {
            sql(&store, text).await.unwrap();
        }
        let faults = service.verify(None).await.unwrap().faults;
        let missing = |from, to| ChainFault::Missing { from, to };
        assert!(matches!(faults[0], ChainFault::Altered { number: 3, .. }), "{faults:?}");
        assert_eq!(faults[1..], [missing(6, 7), missing(9, 9)]);
    }
}
