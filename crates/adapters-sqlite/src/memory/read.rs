//! Reading memories: one of them, and lists.
//!
//! A list runs along the index of its most selective condition (a subject, a source, or the
//! organization), and within it along each requested state. The indexes hold all columns that the
//! conditions need, so skipped and counted memories cost one index step. Only a search reads texts,
//! of the memories that all other conditions leave, one by one.

use diesel::connection::DefaultLoadingMode;
use diesel::prelude::*;
use diesel::query_builder::{BoxedSqlQuery, SqlQuery};
use diesel::sql_types::{BigInt, Binary, Bool, Text};
use diesel::sqlite::{Sqlite, SqliteConnection};
use domain::caller::{AgentCaller, Caller, UserCaller};
use domain::id::{MemoryId, ParticipantId, RecordId};
use domain::memory::{
    HumanScope, MemoriesOfAgent, MemoriesOfHuman, Memory, MemoryFilter, MemoryOwners, MemoryReader,
    MemoryStatus, StatusFilter, Viewed,
};
use domain::page::{Page, PageRequest, Position, fitting};
use uuid::Uuid;

use super::row::{COLUMNS, MemoryRow, NAMES};
use crate::chat::load::standing_on;
use crate::error::Fault;
use crate::row;

/// The condition that the caller `?1` shares a chat with the memory's subject or source; for a
/// single memory.
const SHARES_CHAT: &str = "EXISTS (SELECT 1 FROM participants AS mine \
    JOIN participants AS theirs ON theirs.chat_id = mine.chat_id AND theirs.left_at IS NULL \
    WHERE mine.participant_id = ?1 AND mine.left_at IS NULL \
    AND theirs.participant_id IN (memory.subject_id, memory.source_id))";

/// The same for lists: the participants of the chats of `?1` are found once, not per memory.
const IS_OF_CO_PARTICIPANTS: &str = "(memory.subject_id IN (SELECT theirs.participant_id \
    FROM participants AS mine CROSS JOIN participants AS theirs ON theirs.chat_id = mine.chat_id \
    WHERE mine.participant_id = ?1 AND mine.left_at IS NULL AND theirs.left_at IS NULL) \
    OR memory.source_id IN (SELECT theirs.participant_id \
    FROM participants AS mine CROSS JOIN participants AS theirs ON theirs.chat_id = mine.chat_id \
    WHERE mine.participant_id = ?1 AND mine.left_at IS NULL AND theirs.left_at IS NULL))";

/// The condition that an agent of `?1` stored it; for lists.
const IS_OF_OWN_AGENT: &str =
    "memory.source_id IN (SELECT id FROM agents WHERE owner_id = ?1 AND deleted_at IS NULL)";

/// The condition that `?1` owns the memory's source.
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
    shares_chat: bool,
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
         coalesce(memory.subject_id = ?1, FALSE) AS is_subject, {SHARES_CHAT} AS shares_chat \
         FROM memories AS memory WHERE memory.id = ?3"
    ));
    let standing = standing
        .bind::<Binary, _>(row::bytes(caller.participant().uuid()))
        .bind::<Binary, _>(row::bytes(caller.organization().uuid()))
        .bind::<Binary, _>(row::bytes(id.uuid()))
        .get_result::<StandingRow>(connection)?;
    let reader = MemoryReader {
        caller,
        same_organization: standing.same_organization,
        is_source: standing.is_source,
        is_subject: standing.is_subject,
        shares_chat: standing.shares_chat,
    };
    Ok(Some(Viewed { memory, reader }))
}

pub(super) fn for_agent_on(
    connection: &mut SqliteConnection,
    caller: AgentCaller,
    listing: &MemoriesOfAgent,
    page: PageRequest,
) -> Result<Page<Memory>, Fault> {
    let index = match (listing.subject, listing.owners) {
        (Some(_), _) => "memories_about",
        (None, MemoryOwners::Own) => "memories_of_source",
        (None, _) => "memories_of_organization",
    };
    let mut wanted = Wanted::new(index, caller.into(), &listing.filter);
    wanted.must("(memory.scope <> 'agent' OR memory.source_id = ?1)");
    match listing.owners {
        MemoryOwners::Anybody => {}
        MemoryOwners::Own => wanted.must("memory.source_id = ?1"),
        MemoryOwners::Organization => wanted.must("memory.scope = 'organization'"),
    }
    if let Some(subject) = listing.subject {
        wanted.must_be("subject_id", Value::Id(subject.uuid()));
    }
    if let Some(scope) = listing.scope {
        wanted.must_be("scope", Value::Word(scope.as_str()));
    }
    wanted.page_on(connection, page)
}

pub(super) fn for_human_on(
    connection: &mut SqliteConnection,
    caller: UserCaller,
    listing: &MemoriesOfHuman,
    page: PageRequest,
) -> Result<Option<Page<Memory>>, Fault> {
    if let Some(chat) = listing.chat
        && standing_on(connection, ParticipantId::User(caller.user), chat)?.own.is_none()
    {
        return Ok(None);
    }
    let index = match (listing.source, listing.scope) {
        (Some(_), _) => "memories_of_source",
        (None, HumanScope::AboutMe) => "memories_about",
        (None, _) => "memories_of_organization",
    };
    let mut wanted = Wanted::new(index, caller.into(), &listing.filter);
    // The memories that a human may read according to [`MemoryReader::may_read`], or a part of them.
    match listing.scope {
        HumanScope::AboutMe => wanted.must("memory.subject_id = ?1"),
        HumanScope::Organization => wanted.must("memory.scope = 'organization'"),
        HumanScope::Chat => {
            wanted.must("memory.scope <> 'agent'");
            wanted.must(IS_OF_CO_PARTICIPANTS);
        }
        HumanScope::All => wanted.must(&format!(
            "(memory.scope = 'organization' OR memory.subject_id = ?1 OR {IS_OF_OWN_AGENT} \
             OR (memory.scope <> 'agent' AND {IS_OF_CO_PARTICIPANTS}))"
        )),
    }
    if let Some(chat) = listing.chat {
        let chat = wanted.given(Value::Id(chat.uuid()));
        let there =
            format!("(SELECT participant_id FROM participants WHERE chat_id = {chat} AND left_at IS NULL)");
        wanted.must(&format!("(memory.subject_id IN {there} OR memory.source_id IN {there})"));
    }
    if let Some(source) = listing.source {
        wanted.must_be("source_id", Value::Id(source.uuid()));
    }
    wanted.page_on(connection, page).map(Some)
}

/// A value of a condition.
enum Value {
    Id(Uuid),
    Word(&'static str),
    Text(String),
    Number(i64),
}

/// A list: its index, its states, its other conditions, and the values that these reference by
/// number; `?1` is the caller, `?2` the organization.
struct Wanted {
    index: &'static str,
    states: Vec<MemoryStatus>,
    conditions: Vec<String>,
    values: Vec<Value>,
}

impl Wanted {
    fn new(index: &'static str, caller: Caller, filter: &MemoryFilter) -> Self {
        let MemoryFilter { system, kind, segment, query, status } = filter;
        let states = match status {
            StatusFilter::Only(status) => vec![*status],
            StatusFilter::All => MemoryStatus::ALL.to_vec(),
        };
        let values = vec![Value::Id(caller.participant().uuid()), Value::Id(caller.organization().uuid())];
        // The exact condition of the partial index comes first, or it could not be used.
        let conditions = ["memory.status <> 'deleted'", "memory.organization_id = ?2"].map(str::to_owned);
        let mut wanted = Self { index, states, conditions: conditions.to_vec(), values };
        let words = [
            ("system", system.map(domain::memory::MemorySystem::as_str)),
            ("kind", kind.map(domain::memory::MemoryKind::as_str)),
            ("segment", segment.map(domain::memory::MemorySegment::as_str)),
        ];
        for (column, word) in words {
            if let Some(word) = word {
                wanted.must_be(column, Value::Word(word));
            }
        }
        if let Some(query) = query {
            let text = wanted.given(Value::Text(query.as_str().to_owned()));
            wanted.must(&format!("instr(memory.folded, {text}) > 0"));
        }
        wanted
    }

    /// Adds a value; returns its placeholder.
    fn given(&mut self, value: Value) -> String {
        self.values.push(value);
        format!("?{}", self.values.len())
    }

    fn must(&mut self, condition: &str) {
        self.conditions.push(condition.to_owned());
    }

    fn must_be(&mut self, column: &str, value: Value) {
        let value = self.given(value);
        self.must(&format!("memory.{column} = {value}"));
    }

    fn page_on(
        mut self,
        connection: &mut SqliteConnection,
        page: PageRequest,
    ) -> Result<Page<Memory>, Fault> {
        let total = if page.count { Some(self.count_on(connection)?) } else { None };
        let listed = self.listed(&page);
        let mut rows = Vec::new();
        // One by one, so that no more than a page and one memory is in memory.
        let mut bytes = 0;
        for row in self.bound(&listed).load_iter::<MemoryRow, DefaultLoadingMode>(connection)? {
            let row = row?;
            bytes += row.weight();
            rows.push(row);
            if bytes > page.max_bytes() && rows.len() > 1 {
                break;
            }
        }
        let found = rows.len();
        rows.truncate(page.slice.limit() as usize);
        rows.truncate(fitting(page.max_bytes(), rows.iter().map(MemoryRow::weight)));
        let more = rows.len() < found;
        let rows = rows.into_iter().map(MemoryRow::into_memory).collect::<Result<Vec<_>, _>>()?;
        Ok(Page::part(rows, more, total, |memory| Position::at(memory.created_at.micros(), memory.id)))
    }

    fn count_on(&self, connection: &mut SqliteConnection) -> Result<u64, Fault> {
        let states = self.states.iter().map(|status| format!("'{}'", status.as_str())).collect::<Vec<_>>();
        let counted = format!(
            "SELECT count(*) AS number FROM memories AS memory INDEXED BY {} WHERE {} AND memory.status IN ({})",
            self.index,
            self.conditions.join(" AND "),
            states.join(", "),
        );
        let counted = self.bound(&counted).get_result::<Counted>(connection)?;
        Ok(counted.number.cast_unsigned())
    }

    /// The rows of a page and one more: those of each state in the order of the index, merged.
    fn listed(&mut self, page: &PageRequest) -> String {
        // The first condition on the position lets the index scan start there.
        let after = page.slice.after().unwrap_or(Position::at(i64::MAX, RecordId::MAX));
        let (key, id) = (self.given(Value::Number(after.key)), self.given(Value::Id(after.id.uuid())));
        self.must(&format!("memory.created_at <= {key} AND (memory.created_at < {key} OR memory.id < {id})"));
        let limit = self.given(Value::Number(i64::from(page.slice.limit()) + 1));
        let offset = self.given(Value::Number(page.slice.offset()));
        let (index, conditions) = (self.index, self.conditions.join(" AND "));
        let of_state = |status: &MemoryStatus| {
            format!(
                "SELECT {COLUMNS} FROM memories AS memory INDEXED BY {index} {NAMES} \
                 WHERE {conditions} AND memory.status = '{}'",
                status.as_str()
            )
        };
        let arms = self.states.iter().map(of_state).collect::<Vec<_>>().join(" UNION ALL ");
        format!("{arms} ORDER BY created_at DESC, id DESC LIMIT {limit} OFFSET {offset}")
    }

    fn bound(&self, statement: &str) -> BoxedSqlQuery<'static, Sqlite, SqlQuery> {
        let statement = diesel::sql_query(statement).into_boxed();
        self.values.iter().fold(statement, |statement, value| match value {
            Value::Id(id) => statement.bind::<Binary, _>(row::bytes(*id)),
            Value::Word(word) => statement.bind::<Text, _>(*word),
            Value::Text(text) => statement.bind::<Text, _>(text.clone()),
            Value::Number(number) => statement.bind::<BigInt, _>(*number),
        })
    }
}
