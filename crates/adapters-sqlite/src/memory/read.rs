//! Reading memories: one of them, and lists.
//!
//! A list runs along the index of what narrows it most: a subject, a source, or the organization.
//! What its text is searched for is looked at memory by memory on that way.

use diesel::prelude::*;
use diesel::query_builder::BoxedSqlQuery;
use diesel::sql_types::{BigInt, Binary, Bool, Nullable, Text};
use diesel::sqlite::{Sqlite, SqliteConnection};
use domain::caller::{AgentCaller, Caller, UserCaller};
use domain::id::{MemoryId, ParticipantId};
use domain::memory::{
    AgentListing, HumanListing, HumanScope, Memory, MemoryFilter, MemoryOwners, Reader, StatusFilter, Viewed,
};
use domain::page::{Page, PageRequest, Position};
use uuid::Uuid;

use super::row::{COLUMNS, MemoryRow, NAMES};
use crate::chat::row::standing_on;
use crate::error::Fault;
use crate::row;

/// Whether the caller `?1` shares a room with the memory's subject or source.
const SHARES_ROOM: &str = "EXISTS (SELECT 1 FROM participants AS mine \
    JOIN participants AS theirs ON theirs.chat_id = mine.chat_id AND theirs.left_at IS NULL \
    WHERE mine.participant_id = ?1 AND mine.left_at IS NULL \
    AND theirs.participant_id IN (memory.subject_id, memory.source_id))";

/// Whether `?1` owns the memory's source.
const OWNS_SOURCE: &str =
    "EXISTS (SELECT 1 FROM agents WHERE id = memory.source_id AND owner_id = ?1 AND deleted_at IS NULL)";

#[derive(QueryableByName)]
struct StandingRow {
    #[diesel(sql_type = Bool)]
    same_organization: bool,
    #[diesel(sql_type = Bool)]
    is_source: bool,
    #[diesel(sql_type = Bool)]
    is_subject: bool,
    #[diesel(sql_type = Bool)]
    shares_room: bool,
}

#[derive(QueryableByName)]
struct Counted {
    #[diesel(sql_type = BigInt)]
    number: i64,
}

/// A memory that is not deleted.
pub(super) fn memory_on(connection: &mut SqliteConnection, id: MemoryId) -> Result<Option<Memory>, Fault> {
    let found = diesel::sql_query(format!(
        "SELECT {COLUMNS} FROM memories AS memory {NAMES} WHERE memory.id = ?1 AND memory.status <> 'deleted'"
    ));
    let found =
        found.bind::<Binary, _>(row::bytes(id.uuid())).get_result::<MemoryRow>(connection).optional()?;
    found.map(MemoryRow::into_memory).transpose()
}

pub(super) fn viewed_on(
    connection: &mut SqliteConnection,
    caller: Caller,
    id: MemoryId,
) -> Result<Option<Viewed>, Fault> {
    let Some(memory) = memory_on(connection, id)? else { return Ok(None) };
    let is_source = match caller {
        Caller::Agent(_) => "coalesce(memory.source_id = ?1, FALSE)",
        Caller::User(_) => OWNS_SOURCE,
    };
    let standing = diesel::sql_query(format!(
        "SELECT memory.organization_id = ?2 AS same_organization, {is_source} AS is_source, \
         coalesce(memory.subject_id = ?1, FALSE) AS is_subject, {SHARES_ROOM} AS shares_room \
         FROM memories AS memory WHERE memory.id = ?3"
    ));
    let standing = standing
        .bind::<Binary, _>(row::bytes(caller.participant().uuid()))
        .bind::<Binary, _>(row::bytes(caller.organization().uuid()))
        .bind::<Binary, _>(row::bytes(id.uuid()))
        .get_result::<StandingRow>(connection)?;
    let reader = Reader {
        caller,
        same_organization: standing.same_organization,
        is_source: standing.is_source,
        is_subject: standing.is_subject,
        shares_room: standing.shares_room,
    };
    Ok(Some(Viewed { memory, reader }))
}

/// A list: which index it runs along, its conditions, and what they are about.
struct Wanted<'l> {
    index: &'static str,
    conditions: Vec<&'static str>,
    filter: &'l MemoryFilter,
    /// `?1`: the caller.
    caller: Uuid,
    /// `?2`: the organization.
    organization: Uuid,
    /// `?3`: a subject.
    subject: Option<Uuid>,
    /// `?4`: a source.
    source: Option<Uuid>,
    /// `?5`: a scope.
    scope: Option<&'static str>,
    /// `?6`: a room.
    room: Option<Uuid>,
}

pub(super) fn for_agent_on(
    connection: &mut SqliteConnection,
    caller: AgentCaller,
    listing: &AgentListing,
    page: PageRequest,
) -> Result<Page<Memory>, Fault> {
    let mut conditions = vec!["(memory.scope <> 'agent' OR memory.source_id = ?1)"];
    match listing.owners {
        MemoryOwners::Anybody => {}
        MemoryOwners::Own => conditions.push("memory.source_id = ?1"),
        MemoryOwners::Organization => conditions.push("memory.scope = 'organization'"),
    }
    if listing.subject.is_some() {
        conditions.push("memory.subject_id = ?3");
    }
    if listing.scope.is_some() {
        conditions.push("memory.scope = ?5");
    }
    let index = match (listing.subject, listing.owners) {
        (Some(_), _) => "memories_about",
        (None, MemoryOwners::Own) => "memories_of_source",
        (None, _) => "memories_of_organization",
    };
    let wanted = Wanted {
        index,
        conditions,
        filter: &listing.filter,
        caller: caller.agent.uuid(),
        organization: caller.organization.uuid(),
        subject: listing.subject,
        source: None,
        scope: listing.scope.map(domain::memory::MemoryScope::as_str),
        room: None,
    };
    wanted.page_on(connection, page)
}

pub(super) fn for_human_on(
    connection: &mut SqliteConnection,
    caller: UserCaller,
    listing: &HumanListing,
    page: PageRequest,
) -> Result<Option<Page<Memory>>, Fault> {
    if let Some(room) = listing.room
        && standing_on(connection, ParticipantId::User(caller.user), room)?.own.is_none()
    {
        return Ok(None);
    }
    let mut conditions = vec![READABLE];
    let index = match listing.scope {
        HumanScope::AboutMe => {
            conditions.push("memory.subject_id = ?1");
            "memories_about"
        }
        HumanScope::Organization => {
            conditions.push("memory.scope = 'organization'");
            "memories_of_organization"
        }
        HumanScope::Room => {
            conditions.push("memory.scope <> 'agent'");
            conditions.push(SHARES_ROOM);
            "memories_of_organization"
        }
        HumanScope::All => "memories_of_organization",
    };
    if listing.room.is_some() {
        conditions.push(
            "EXISTS (SELECT 1 FROM participants WHERE chat_id = ?6 AND left_at IS NULL \
             AND participant_id IN (memory.subject_id, memory.source_id))",
        );
    }
    if listing.source.is_some() {
        conditions.push("memory.source_id = ?4");
    }
    let index = if listing.source.is_some() { "memories_of_source" } else { index };
    let wanted = Wanted {
        index,
        conditions,
        filter: &listing.filter,
        caller: caller.user.uuid(),
        organization: caller.organization.uuid(),
        subject: None,
        source: listing.source.map(domain::id::AgentId::uuid),
        scope: None,
        room: listing.room.map(domain::id::ChatId::uuid),
    };
    wanted.page_on(connection, page).map(Some)
}

/// What a human `?1` may read, as [`Reader::may_read`] has it.
const READABLE: &str = "(memory.scope = 'organization' OR memory.subject_id = ?1 \
      OR EXISTS (SELECT 1 FROM agents WHERE id = memory.source_id AND owner_id = ?1 AND deleted_at IS NULL) \
      OR (memory.scope <> 'agent' AND EXISTS (SELECT 1 FROM participants AS mine \
          JOIN participants AS theirs ON theirs.chat_id = mine.chat_id AND theirs.left_at IS NULL \
          WHERE mine.participant_id = ?1 AND mine.left_at IS NULL \
          AND theirs.participant_id IN (memory.subject_id, memory.source_id))))";

impl Wanted<'_> {
    fn page_on(&self, connection: &mut SqliteConnection, page: PageRequest) -> Result<Page<Memory>, Fault> {
        let found = self.found();
        let total = if page.count {
            let counted = format!("SELECT count(*) AS number {found}");
            Some(self.bind(&counted, page).get_result::<Counted>(connection)?.number.cast_unsigned())
        } else {
            None
        };
        let listed = format!(
            "SELECT {COLUMNS} {} {NAMES} WHERE {} \
             AND (?12 IS NULL OR (memory.created_at <= ?12 \
                  AND (memory.created_at < ?12 OR memory.id < ?13))) \
             ORDER BY memory.created_at DESC, memory.id DESC LIMIT ?14 OFFSET ?15",
            self.from(),
            self.conditions_text(),
        );
        let rows = self.bind(&listed, page).load::<MemoryRow>(connection)?;
        let rows = rows.into_iter().map(MemoryRow::into_memory).collect::<Result<Vec<_>, _>>()?;
        Ok(Page::from_overfetch(rows, page, total, |memory| Position {
            key: memory.created_at.micros(),
            id: memory.id.uuid(),
        }))
    }

    fn from(&self) -> String {
        format!("FROM memories AS memory INDEXED BY {}", self.index)
    }

    fn found(&self) -> String {
        format!("{} WHERE {}", self.from(), self.conditions_text())
    }

    /// The words of the index's own condition stand first, else it could not be used.
    fn conditions_text(&self) -> String {
        let mut text = "memory.status <> 'deleted' AND memory.organization_id = ?2 \
            AND (?7 IS NULL OR memory.system = ?7) AND (?8 IS NULL OR memory.kind = ?8) \
            AND (?9 IS NULL OR memory.segment = ?9) AND (?10 IS NULL OR memory.status = ?10) \
            AND (?11 IS NULL OR instr(memory.folded, ?11) > 0)"
            .to_owned();
        for condition in &self.conditions {
            text.push_str(" AND ");
            text.push_str(condition);
        }
        text
    }

    fn bind(
        &self,
        statement: &str,
        page: PageRequest,
    ) -> BoxedSqlQuery<'static, Sqlite, diesel::query_builder::SqlQuery> {
        let MemoryFilter { system, kind, segment, query, status } = self.filter;
        let status = match status {
            StatusFilter::Only(status) => Some(status.as_str()),
            StatusFilter::All => None,
        };
        let after = page.slice.after();
        let counts = !statement.contains("?12");
        let bound = diesel::sql_query(statement)
            .into_boxed()
            .bind::<Binary, _>(row::bytes(self.caller))
            .bind::<Binary, _>(row::bytes(self.organization))
            .bind::<Nullable<Binary>, _>(self.subject.map(row::bytes))
            .bind::<Nullable<Binary>, _>(self.source.map(row::bytes))
            .bind::<Nullable<Text>, _>(self.scope)
            .bind::<Nullable<Binary>, _>(self.room.map(row::bytes))
            .bind::<Nullable<Text>, _>(system.map(domain::memory::MemorySystem::as_str))
            .bind::<Nullable<Text>, _>(kind.map(domain::memory::MemoryKind::as_str))
            .bind::<Nullable<Text>, _>(segment.map(domain::memory::MemorySegment::as_str))
            .bind::<Nullable<Text>, _>(status)
            .bind::<Nullable<Text>, _>(query.as_ref().map(|query| query.as_str().to_owned()));
        if counts {
            return bound;
        }
        bound
            .bind::<Nullable<BigInt>, _>(after.map(|after| after.key))
            .bind::<Nullable<Binary>, _>(after.map(|after| row::bytes(after.id)))
            .bind::<BigInt, _>(i64::from(page.slice.limit()) + 1)
            .bind::<BigInt, _>(page.slice.offset())
    }
}
