//! The audit log. Entries become visible when their transactions commit, so one may appear behind a reader who has
//! passed its time; nobody's work depends on that.

use std::collections::HashMap;

use async_trait::async_trait;
use diesel::dsl::count_star;
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sql_types::{Array, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::audit::{
    AuditAction, AuditEntry, AuditFilter, AuditObject, AuditRecord, AuditRepository, AuditScope, NamedObject,
};
use domain::id::OrganizationId;
use domain::organization::NotAdmin;
use domain::page::{Page, PageRequest, Position};
use domain::store::StoreError;
use domain::time::Timestamp;
use futures_util::FutureExt;
use uuid::Uuid;

use crate::PostgresStore;
use crate::error::Fault;
use crate::organization::member;
use crate::row::{self, At};
use crate::run::Db;
use crate::schema::audit;
use crate::statement::statement;

/// The second to the fifth value say where the organization is found: a room, a user or an agent twice, or it.
const APPEND: &str = "INSERT INTO audit \
     (at, organization_id, actor_kind, actor_id, action, subject_kind, subject_id, place_kind, place_id, detail) \
     VALUES (?, coalesce(\
         (SELECT organization_id FROM chats WHERE id = ?), \
         (SELECT organization_id FROM users WHERE id = ?), \
         (SELECT users.organization_id FROM agents JOIN users ON users.id = agents.owner_id WHERE agents.id = ?), \
         ?), ?, ?, ?, ?, ?, ?, ?, ?)";

/// The names of whatever has one; ids are unique over all tables. The values are the ids, five times.
const NAMES: &str = "SELECT id, handle FROM users WHERE id = ANY(?) \
     UNION ALL SELECT id, handle FROM agents WHERE id = ANY(?) \
     UNION ALL SELECT id, name FROM organizations WHERE id = ANY(?) \
     UNION ALL SELECT id, title FROM chats WHERE id = ANY(?) AND title IS NOT NULL \
     UNION ALL SELECT id, prefix FROM api_keys WHERE id = ANY(?) AND prefix IS NOT NULL";

#[async_trait]
impl AuditRepository for PostgresStore {
    async fn list_audit(
        &self,
        filter: AuditFilter,
        page: PageRequest,
    ) -> Result<Result<Page<AuditRecord>, NotAdmin>, StoreError> {
        self.read((filter, page), |db, (filter, page)| list_on(db, filter, page).boxed()).await
    }
}

/// Writes entries; part of the change that they tell of.
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
            .bind::<Nullable<SqlUuid>, _>(chat)
            .bind::<Nullable<SqlUuid>, _>(holder)
            .bind::<Nullable<SqlUuid>, _>(holder)
            .bind::<Nullable<SqlUuid>, _>(organization)
            .bind::<Text, _>(actor_kind)
            .bind::<Nullable<SqlUuid>, _>(actor)
            .bind::<Text, _>(entry.action.as_str())
            .bind::<Text, _>(subject_kind)
            .bind::<SqlUuid, _>(subject)
            .bind::<Nullable<Text>, _>(place.map(|(kind, _)| kind))
            .bind::<Nullable<SqlUuid>, _>(place.map(|(_, id)| id))
            .bind::<Nullable<Text>, _>(entry.detail)
            .execute(&mut db)
            .await?;
    }
    Ok(())
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = audit)]
struct AuditRow {
    id: Uuid,
    at: At,
    organization_id: Option<Uuid>,
    actor_kind: String,
    actor_id: Option<Uuid>,
    action: String,
    subject_kind: String,
    subject_id: Uuid,
    place_kind: Option<String>,
    place_id: Option<Uuid>,
    detail: Option<String>,
}

impl AuditRow {
    fn ids(&self) -> impl Iterator<Item = Uuid> {
        [self.actor_id, Some(self.subject_id), self.place_id].into_iter().flatten()
    }

    fn into_record(self, names: &HashMap<Uuid, String>) -> Result<AuditRecord, Fault> {
        let object = |kind: &str, id: Uuid| {
            let found = row::word(kind, |kind| AuditObject::from_parts(kind, id))?;
            Ok::<_, Fault>(NamedObject { object: found, name: names.get(&id).cloned() })
        };
        let or_nothing = |kind: Option<&String>, id: Option<Uuid>| {
            kind.zip(id).map(|(kind, id)| object(kind, id)).transpose()
        };
        Ok(AuditRecord {
            id: self.id,
            at: self.at.0,
            actor: or_nothing(Some(&self.actor_kind), self.actor_id)?,
            action: row::word(&self.action, AuditAction::parse)?,
            subject: object(&self.subject_kind, self.subject_id)?,
            place: or_nothing(self.place_kind.as_ref(), self.place_id)?,
            detail: self.detail,
            organization: self.organization_id.map(OrganizationId::new),
        })
    }
}

fn wanted(filter: &AuditFilter) -> audit::BoxedQuery<'static, Pg> {
    let mut rows = audit::table.into_boxed();
    if let AuditScope::Of(by) = filter.scope {
        rows = rows.filter(audit::organization_id.eq(by.organization().uuid()));
    }
    if let Some(since) = filter.since {
        rows = rows.filter(audit::at.ge(At(since)));
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
        // The first condition says nothing new; it lets the index begin at the right place.
        let as_old = audit::at.eq(key).and(audit::id.lt(id));
        rows = rows.filter(audit::at.le(key)).filter(audit::at.lt(key).or(as_old));
    }
    let rows = rows
        .order((audit::at.desc(), audit::id.desc()))
        .limit(i64::from(page.slice.limit()) + 1)
        .offset(page.slice.offset())
        .select(AuditRow::as_select())
        .load(&mut db)
        .await?;
    let names = names_on(db, rows.iter().flat_map(AuditRow::ids).collect()).await?;
    let records = rows.into_iter().map(|row| row.into_record(&names)).collect::<Result<Vec<_>, _>>()?;
    let position = |record: &AuditRecord| Position::at(record.at.micros(), record.id);
    Ok(Ok(Page::from_overfetch(records, page, total, position)))
}

async fn names_on(mut db: &Db, ids: Vec<Uuid>) -> Result<HashMap<Uuid, String>, Fault> {
    let named = statement::<(SqlUuid, Text)>(NAMES)
        .bind::<Array<SqlUuid>, _>(ids.clone())
        .bind::<Array<SqlUuid>, _>(ids.clone())
        .bind::<Array<SqlUuid>, _>(ids.clone())
        .bind::<Array<SqlUuid>, _>(ids.clone())
        .bind::<Array<SqlUuid>, _>(ids);
    Ok(named.load::<(Uuid, String)>(&mut db).await?.into_iter().collect())
}
