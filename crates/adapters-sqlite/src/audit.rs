//! The audit log.

use std::collections::HashMap;

use async_trait::async_trait;
use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Nullable, Text};
use diesel::sqlite::{Sqlite, SqliteConnection};
use domain::audit::{
    AuditAction, AuditEntry, AuditFilter, AuditObject, AuditRecord, AuditRepository, AuditScope, NamedObject,
};
use domain::id::OrganizationId;
use domain::organization::NotAdmin;
use domain::page::{Page, PageRequest, Position};
use domain::store::StoreError;

use crate::SqliteStore;
use crate::error::Fault;
use crate::organization::member;
use crate::row;
use crate::schema::{agents, api_keys, audit, chats, organizations, users};

/// `?2` to `?4` say where the organization is found.
const APPEND: &str = "INSERT INTO audit \
     (at, organization_id, actor_kind, actor_id, action, subject_kind, subject_id, place_kind, place_id, detail) \
     VALUES (?1, coalesce(\
         (SELECT organization_id FROM chats WHERE id = ?2), \
         (SELECT organization_id FROM users WHERE id = ?3), \
         (SELECT users.organization_id FROM agents JOIN users ON users.id = agents.owner_id WHERE agents.id = ?3), \
         ?4), ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";

#[async_trait]
impl AuditRepository for SqliteStore {
    async fn list_audit(
        &self,
        filter: AuditFilter,
        page: PageRequest,
    ) -> Result<Result<Page<AuditRecord>, NotAdmin>, StoreError> {
        self.read(move |connection| list_on(connection, &filter, &page)).await
    }
}

/// Writes entries; part of the change that they tell of.
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
            .bind::<Nullable<Binary>, _>(chat.map(row::bytes))
            .bind::<Nullable<Binary>, _>(holder.map(row::bytes))
            .bind::<Nullable<Binary>, _>(organization.map(row::bytes))
            .bind::<Text, _>(actor_kind)
            .bind::<Nullable<Binary>, _>(actor.map(row::bytes))
            .bind::<Text, _>(entry.action.as_str())
            .bind::<Text, _>(subject_kind)
            .bind::<Binary, _>(row::bytes(subject))
            .bind::<Nullable<Text>, _>(place.map(|(kind, _)| kind))
            .bind::<Nullable<Binary>, _>(place.map(|(_, id)| row::bytes(id)))
            .bind::<Nullable<Text>, _>(entry.detail)
            .execute(connection)?;
    }
    Ok(())
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = audit)]
struct AuditRow {
    id: Vec<u8>,
    at: i64,
    organization_id: Option<Vec<u8>>,
    actor_kind: String,
    actor_id: Option<Vec<u8>>,
    action: String,
    subject_kind: String,
    subject_id: Vec<u8>,
    place_kind: Option<String>,
    place_id: Option<Vec<u8>>,
    detail: Option<String>,
}

impl AuditRow {
    fn ids(&self) -> impl Iterator<Item = &Vec<u8>> {
        [self.actor_id.as_ref(), Some(&self.subject_id), self.place_id.as_ref()].into_iter().flatten()
    }

    fn into_record(self, names: &HashMap<Vec<u8>, String>) -> Result<AuditRecord, Fault> {
        let object = |kind: &str, id: &Vec<u8>| {
            let uuid = row::uuid(id)?;
            let found = row::word(kind, |kind| AuditObject::from_parts(kind, uuid))?;
            Ok::<_, Fault>(NamedObject { object: found, name: names.get(id).cloned() })
        };
        let or_nothing = |kind: Option<&String>, id: Option<&Vec<u8>>| {
            kind.zip(id).map(|(kind, id)| object(kind, id)).transpose()
        };
        Ok(AuditRecord {
            id: row::uuid(&self.id)?,
            at: row::time(self.at),
            actor: or_nothing(Some(&self.actor_kind), self.actor_id.as_ref())?,
            action: row::word(&self.action, AuditAction::parse)?,
            subject: object(&self.subject_kind, &self.subject_id)?,
            place: or_nothing(self.place_kind.as_ref(), self.place_id.as_ref())?,
            detail: self.detail,
            organization: self
                .organization_id
                .as_deref()
                .map(row::uuid)
                .transpose()?
                .map(OrganizationId::new),
        })
    }
}

fn wanted(filter: &AuditFilter) -> audit::BoxedQuery<'static, Sqlite> {
    let mut rows = audit::table.into_boxed();
    if let AuditScope::Of(by) = filter.scope {
        rows = rows.filter(audit::organization_id.eq(row::bytes(by.organization().uuid())));
    }
    if let Some(since) = filter.since {
        rows = rows.filter(audit::at.ge(since.micros()));
    }
    rows
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
        Some(wanted(filter).select(count_star()).get_result::<i64>(connection)?.cast_unsigned())
    } else {
        None
    };
    let mut rows = wanted(filter);
    if let Some(Position { key, id, .. }) = page.slice.after() {
        // The first condition says nothing new; it lets the index begin at the right place.
        let as_old = audit::at.eq(key).and(audit::id.lt(row::bytes(id)));
        rows = rows.filter(audit::at.le(key)).filter(audit::at.lt(key).or(as_old));
    }
    let rows = rows
        .order((audit::at.desc(), audit::id.desc()))
        .limit(i64::from(page.slice.limit()) + 1)
        .offset(page.slice.offset())
        .select(AuditRow::as_select())
        .load(connection)?;
    let names = names_on(connection, rows.iter().flat_map(AuditRow::ids).cloned().collect())?;
    let records = rows.into_iter().map(|row| row.into_record(&names)).collect::<Result<Vec<_>, _>>()?;
    let position = |record: &AuditRecord| Position::at(record.at.micros(), record.id);
    Ok(Ok(Page::from_overfetch(records, page, total, position)))
}

/// The names of whatever has one; ids are unique over all tables.
fn names_on(connection: &mut SqliteConnection, ids: Vec<Vec<u8>>) -> Result<HashMap<Vec<u8>, String>, Fault> {
    let mut names = HashMap::new();
    names.extend(
        users::table.filter(users::id.eq_any(&ids)).select((users::id, users::handle)).load(connection)?,
    );
    names.extend(
        agents::table
            .filter(agents::id.eq_any(&ids))
            .select((agents::id, agents::handle))
            .load(connection)?,
    );
    let tenants = organizations::table.filter(organizations::id.eq_any(&ids));
    names.extend(tenants.select((organizations::id, organizations::name)).load(connection)?);
    let titled = chats::table.filter(chats::id.eq_any(&ids)).filter(chats::title.is_not_null());
    names.extend(titled.select((chats::id, chats::title.assume_not_null())).load(connection)?);
    let known = api_keys::table.filter(api_keys::id.eq_any(&ids)).filter(api_keys::prefix.is_not_null());
    names.extend(known.select((api_keys::id, api_keys::prefix.assume_not_null())).load(connection)?);
    Ok(names)
}
