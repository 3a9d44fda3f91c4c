//! Reading memories: one of them, and lists.
//!
//! A list runs along the index of its most selective condition (a subject, a source, or the
//! organization), and within it along each requested state. The indexes hold all columns that the
//! conditions need, so skipped and counted memories cost one index step. Only a search reads texts,
//! of the memories that all other conditions leave.

use std::pin::pin;

use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Bool, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::caller::{AgentCaller, Caller, UserCaller};
use domain::id::{MemoryId, ParticipantId, RecordId};
use domain::memory::{
    HumanScope, MemoriesOfAgent, MemoriesOfHuman, Memory, MemoryFilter, MemoryKind, MemoryOwners,
    MemoryReader, MemoryScope, MemorySegment, MemoryStatus, MemorySystem, StatusFilter, Viewed,
};
use domain::page::{Page, PageRequest, Position, fitting};
use domain::time::Timestamp;
use futures_util::TryStreamExt;
use futures_util::future::try_join;
use uuid::Uuid;

use super::row::{COLUMNS, MemoryRow, MemoryTypes, NAMES};
use crate::chat::load::standing_on;
use crate::error::Fault;
use crate::row::At;
use crate::run::Db;
use crate::statement::{Statement, statement};

/// The condition that the caller shares a chat with the memory's subject or source; for a single
/// memory.
const SHARES_CHAT: &str = "EXISTS (SELECT 1 FROM participants AS mine \
    JOIN participants AS theirs ON theirs.chat_id = mine.chat_id AND theirs.left_at IS NULL \
    WHERE mine.participant_id = ? AND mine.left_at IS NULL \
    AND theirs.participant_id IN (memory.subject_id, memory.source_id))";

/// The same for lists: the participants of the caller's chats are found once, not per memory. The
/// caller is its value twice.
const IS_OF_CO_PARTICIPANTS: &str = "(memory.subject_id IN (SELECT theirs.participant_id \
    FROM participants AS mine JOIN participants AS theirs ON theirs.chat_id = mine.chat_id \
    WHERE mine.participant_id = ? AND mine.left_at IS NULL AND theirs.left_at IS NULL) \
    OR memory.source_id IN (SELECT theirs.participant_id \
    FROM participants AS mine JOIN participants AS theirs ON theirs.chat_id = mine.chat_id \
    WHERE mine.participant_id = ? AND mine.left_at IS NULL AND theirs.left_at IS NULL))";

/// The condition that an agent of the caller stored it; for lists.
const IS_OF_OWN_AGENT: &str =
    "memory.source_id IN (SELECT id FROM agents WHERE owner_id = ? AND deleted_at IS NULL)";

/// The condition that its subject or source is in a chat; the chat is its value twice.
const IS_OF_PARTICIPANTS: &str = "(memory.subject_id IN (SELECT participant_id FROM participants WHERE chat_id = ? AND left_at IS NULL) \
    OR memory.source_id IN (SELECT participant_id FROM participants WHERE chat_id = ? AND left_at IS NULL))";

/// The condition that the caller owns the memory's source.
const OWNS_SOURCE: &str =
    "EXISTS (SELECT 1 FROM agents WHERE id = memory.source_id AND owner_id = ? AND deleted_at IS NULL)";

/// A memory that is not deleted.
pub(super) async fn memory_on(mut db: &Db, id: MemoryId) -> Result<Option<Memory>, Fault> {
    let found = statement::<MemoryTypes>(format!(
        "SELECT {COLUMNS} FROM memories AS memory {NAMES} WHERE memory.id = ? AND memory.status <> 'deleted'"
    ));
    let found = found.bind::<SqlUuid, _>(id.uuid()).get_result::<MemoryRow>(&mut db).await.optional()?;
    found.map(MemoryRow::into_memory).transpose()
}

pub(super) async fn viewed_on(db: &Db, caller: Caller, id: MemoryId) -> Result<Option<Viewed>, Fault> {
    let (memory, reader) = try_join(memory_on(db, id), reader_on(db, caller, id)).await?;
    Ok(memory.zip(reader).map(|(memory, reader)| Viewed { memory, reader }))
}

/// The caller's relation to a memory.
async fn reader_on(mut db: &Db, caller: Caller, id: MemoryId) -> Result<Option<MemoryReader>, Fault> {
    let is_source = match caller {
        Caller::Agent(_) => "coalesce(memory.source_id = ?, FALSE)",
        Caller::User(_) => OWNS_SOURCE,
    };
    let standing = statement::<(Bool, Bool, Bool, Bool)>(format!(
        "SELECT memory.organization_id = ?, {is_source}, coalesce(memory.subject_id = ?, FALSE), {SHARES_CHAT} \
         FROM memories AS memory WHERE memory.id = ?"
    ));
    let who = caller.participant().uuid();
    let standing = standing
        .bind::<SqlUuid, _>(caller.organization().uuid())
        .bind::<SqlUuid, _>(who)
        .bind::<SqlUuid, _>(who)
        .bind::<SqlUuid, _>(who)
        .bind::<SqlUuid, _>(id.uuid())
        .get_result(&mut db)
        .await
        .optional()?;
    Ok(standing.map(|(same_organization, is_source, is_subject, shares_chat)| MemoryReader {
        caller,
        same_organization,
        is_source,
        is_subject,
        shares_chat,
    }))
}

pub(super) async fn for_agent_on(
    db: &Db,
    caller: AgentCaller,
    listing: &MemoriesOfAgent,
    page: &PageRequest,
) -> Result<Page<Memory>, Fault> {
    let own = || vec![Value::Id(caller.agent.uuid())];
    let mut wanted = Wanted::new(caller.into(), &listing.filter);
    wanted.must("(memory.scope <> 'agent' OR memory.source_id = ?)", own());
    match listing.owners {
        MemoryOwners::Anybody => {}
        MemoryOwners::Own => wanted.must("memory.source_id = ?", own()),
        MemoryOwners::Organization => wanted.must("memory.scope = 'organization'", vec![]),
    }
    if let Some(subject) = listing.subject {
        wanted.must("memory.subject_id = ?", vec![Value::Id(subject.uuid())]);
    }
    wanted.may_be("scope", listing.scope.map(MemoryScope::as_str));
    wanted.page_on(db, page).await
}

pub(super) async fn for_human_on(
    db: &Db,
    caller: UserCaller,
    listing: &MemoriesOfHuman,
    page: &PageRequest,
) -> Result<Option<Page<Memory>>, Fault> {
    if let Some(chat) = listing.chat
        && standing_on(db, ParticipantId::User(caller.user), chat).await?.own.is_none()
    {
        return Ok(None);
    }
    let me = |times: usize| (0..times).map(|_| Value::Id(caller.user.uuid())).collect::<Vec<_>>();
    let mut wanted = Wanted::new(caller.into(), &listing.filter);
    // The memories that a human may read according to [`MemoryReader::may_read`], or a part of them.
    match listing.scope {
        HumanScope::AboutMe => wanted.must("memory.subject_id = ?", me(1)),
        HumanScope::Organization => wanted.must("memory.scope = 'organization'", vec![]),
        HumanScope::Chat => {
            wanted.must("memory.scope <> 'agent'", vec![]);
            wanted.must(IS_OF_CO_PARTICIPANTS, me(2));
        }
        HumanScope::All => {
            let any = format!(
                "(memory.scope = 'organization' OR memory.subject_id = ? OR {IS_OF_OWN_AGENT} \
                 OR (memory.scope <> 'agent' AND {IS_OF_CO_PARTICIPANTS}))"
            );
            wanted.must(&any, me(4));
        }
    }
    if let Some(chat) = listing.chat {
        wanted.must(IS_OF_PARTICIPANTS, vec![Value::Id(chat.uuid()), Value::Id(chat.uuid())]);
    }
    if let Some(source) = listing.source {
        wanted.must("memory.source_id = ?", vec![Value::Id(source.uuid())]);
    }
    wanted.page_on(db, page).await.map(Some)
}

/// A value of a condition.
enum Value {
    Id(Uuid),
    Word(Option<&'static str>),
    Text(String),
}

/// A list: its states, its other conditions, and their values in order.
struct Wanted {
    states: Vec<&'static str>,
    conditions: Vec<String>,
    values: Vec<Value>,
}

impl Wanted {
    fn new(caller: Caller, filter: &MemoryFilter) -> Self {
        let MemoryFilter { system, kind, segment, query, status } = filter;
        let states = match status {
            StatusFilter::Only(status) => vec![status.as_str()],
            StatusFilter::All => MemoryStatus::ALL.map(MemoryStatus::as_str).to_vec(),
        };
        let mut wanted = Self { states, conditions: Vec::new(), values: Vec::new() };
        // The exact condition of the partial indexes, or they could not be used.
        wanted.must("memory.status <> 'deleted'", vec![]);
        wanted.must("memory.organization_id = ?", vec![Value::Id(caller.organization().uuid())]);
        wanted.may_be("system", system.map(MemorySystem::as_str));
        wanted.may_be("kind", kind.map(MemoryKind::as_str));
        wanted.may_be("segment", segment.map(MemorySegment::as_str));
        match query.as_ref().map(|query| query.as_str().to_owned()) {
            // No text contains it, and PostgreSQL has no such value.
            Some(query) if query.contains('\0') => wanted.must("FALSE", vec![]),
            Some(query) => wanted.must("strpos(memory.folded, ?) > 0", vec![Value::Text(query)]),
            None => {}
        }
        wanted
    }

    /// Adds a condition, with a value for each `?`.
    fn must(&mut self, condition: &str, values: Vec<Value>) {
        self.conditions.push(condition.to_owned());
        self.values.extend(values);
    }

    /// Adds a condition on a column, if there is a word. One condition for both cases keeps the
    /// number of prepared statements low.
    fn may_be(&mut self, column: &str, word: Option<&'static str>) {
        self.must(&format!("coalesce(memory.{column} = ?, TRUE)"), vec![Value::Word(word)]);
    }

    async fn page_on(self, db: &Db, page: &PageRequest) -> Result<Page<Memory>, Fault> {
        let total = async { if page.count { self.count_on(db).await.map(Some) } else { Ok(None) } };
        let (total, mut rows) = try_join(total, self.rows_on(db, page)).await?;
        let found = rows.len();
        rows.truncate(page.slice.limit() as usize);
        rows.truncate(fitting(page.max_bytes(), rows.iter().map(MemoryRow::weight)));
        let more = rows.len() < found;
        let rows = rows.into_iter().map(MemoryRow::into_memory).collect::<Result<Vec<_>, _>>()?;
        Ok(Page::part(rows, more, total, |memory| Position::at(memory.created_at.micros(), memory.id)))
    }

    async fn count_on(&self, mut db: &Db) -> Result<u64, Fault> {
        let counted = statement::<BigInt>(format!(
            "SELECT count(*) FROM memories AS memory WHERE memory.status = ANY(?) AND {}",
            self.conditions.join(" AND "),
        ));
        Ok(self.bound(counted).get_result::<i64>(&mut db).await?.cast_unsigned())
    }

    /// The rows of a page and one more: those of each state in the order of the index, merged. The
    /// ids are found first, and each row is read by its id; a plan for any number of rows would
    /// scan all of them.
    async fn rows_on(&self, mut db: &Db, page: &PageRequest) -> Result<Vec<MemoryRow>, Fault> {
        let listed = statement::<MemoryTypes>(format!(
            "SELECT shown.* FROM (SELECT listed.id, listed.created_at \
               FROM unnest(?) AS wanted (status) CROSS JOIN LATERAL \
               (SELECT memory.id, memory.created_at FROM memories AS memory \
                WHERE memory.status = wanted.status AND {} AND (memory.created_at, memory.id) < (?, ?) \
                ORDER BY memory.created_at DESC, memory.id DESC LIMIT ?) AS listed \
               ORDER BY listed.created_at DESC, listed.id DESC LIMIT ? OFFSET ?) AS listed \
             CROSS JOIN LATERAL (SELECT {COLUMNS} FROM memories AS memory {NAMES} \
               WHERE memory.id = listed.id OFFSET 0) AS shown \
             ORDER BY listed.created_at DESC, listed.id DESC",
            self.conditions.join(" AND "),
        ));
        let after = page.slice.after().unwrap_or(Position::at(i64::MAX, RecordId::MAX));
        let (limit, offset) = (i64::from(page.slice.limit()) + 1, page.slice.offset());
        let listed = self
            .bound(listed)
            .bind::<Timestamptz, _>(At(Timestamp::from_micros(after.key)))
            .bind::<SqlUuid, _>(after.id.uuid())
            .bind::<BigInt, _>(limit.saturating_add(offset))
            .bind::<BigInt, _>(limit)
            .bind::<BigInt, _>(offset);
        let mut listed = pin!(listed.load_stream::<MemoryRow>(&mut db).await?);
        let mut rows = Vec::new();
        // One by one, so that no more than a page and one memory is in memory.
        let mut bytes = 0;
        while let Some(row) = listed.try_next().await? {
            bytes += row.weight();
            rows.push(row);
            if bytes > page.max_bytes() && rows.len() > 1 {
                break;
            }
        }
        Ok(rows)
    }

    /// Binds the states and the values of the conditions.
    fn bound<'s, Row>(&'s self, statement: Statement<'s, Row>) -> Statement<'s, Row> {
        let statement = statement.bind::<Array<Text>, _>(self.states.as_slice());
        self.values.iter().fold(statement, |statement, value| match value {
            Value::Id(id) => statement.bind::<SqlUuid, _>(*id),
            Value::Word(word) => statement.bind::<Nullable<Text>, _>(*word),
            Value::Text(text) => statement.bind::<Text, _>(text.as_str()),
        })
    }
}
