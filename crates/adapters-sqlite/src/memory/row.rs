//! Memories as rows, with the names of their sources and subjects.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Nullable, Text};
use domain::account::PersonName;
use domain::id::{MemoryId, OrganizationId};
use domain::memory::{Memory, MemoryKind, MemoryScope, MemorySegment, MemoryStatus, MemorySystem};
use domain::page::weight;

use crate::error::Fault;
use crate::row;

/// The columns of a row; `memory` is the memory.
pub(super) const COLUMNS: &str = "memory.id AS id, memory.organization_id, memory.source_id, \
    source.name AS source_name, memory.subject_id, memory.subject_kind, \
    subject_agent.name AS agent_name, subject_user.first_name, subject_user.last_name, \
    memory.system, memory.kind, memory.segment, memory.scope, memory.status, memory.content, memory.thought, \
    memory.metadata, memory.created_at AS created_at, memory.updated_at";

/// The approximate size of a memory in an answer, without names and content.
const MEMORY_BYTES: usize = 700;

/// Joins the names to show.
pub(super) const NAMES: &str = "LEFT JOIN agents AS source ON source.id = memory.source_id \
    LEFT JOIN agents AS subject_agent ON subject_agent.id = memory.subject_id \
    LEFT JOIN users AS subject_user ON subject_user.id = memory.subject_id";

#[derive(QueryableByName)]
pub(super) struct MemoryRow {
    #[diesel(sql_type = Binary)]
    id: Vec<u8>,
    #[diesel(sql_type = Binary)]
    organization_id: Vec<u8>,
    #[diesel(sql_type = Nullable<Binary>)]
    source_id: Option<Vec<u8>>,
    #[diesel(sql_type = Nullable<Text>)]
    source_name: Option<String>,
    #[diesel(sql_type = Nullable<Binary>)]
    subject_id: Option<Vec<u8>>,
    #[diesel(sql_type = Nullable<Text>)]
    subject_kind: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    agent_name: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    first_name: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    last_name: Option<String>,
    #[diesel(sql_type = Text)]
    system: String,
    #[diesel(sql_type = Text)]
    kind: String,
    #[diesel(sql_type = Text)]
    segment: String,
    #[diesel(sql_type = Text)]
    scope: String,
    #[diesel(sql_type = Text)]
    status: String,
    #[diesel(sql_type = Text)]
    content: String,
    #[diesel(sql_type = Text)]
    thought: String,
    #[diesel(sql_type = Text)]
    metadata: String,
    #[diesel(sql_type = BigInt)]
    created_at: i64,
    #[diesel(sql_type = BigInt)]
    updated_at: i64,
}

impl MemoryRow {
    /// The approximate size in an answer. The metadata are JSON already.
    pub(super) fn weight(&self) -> usize {
        let names = [&self.source_name, &self.agent_name, &self.first_name, &self.last_name];
        let names = names.into_iter().flatten().map(|name| weight::of_text(name)).sum::<usize>();
        let texts = weight::of_text(&self.content) + weight::of_text(&self.thought);
        MEMORY_BYTES + names + texts + self.metadata.len()
    }

    pub(super) fn into_memory(self) -> Result<Memory, Fault> {
        let subject = match (&self.subject_kind, &self.subject_id) {
            (Some(kind), Some(id)) => Some(row::participant_id(kind, row::uuid(id)?)?),
            _ => None,
        };
        let person = match (self.first_name, self.last_name) {
            (Some(first), Some(last)) => Some(PersonName { first, last }.full()),
            _ => None,
        };
        Ok(Memory {
            id: MemoryId::new(row::uuid(&self.id)?),
            organization: OrganizationId::new(row::uuid(&self.organization_id)?),
            source: self.source_id.as_deref().map(row::agent_id).transpose()?,
            source_name: self.source_name,
            subject,
            subject_name: self.agent_name.or(person),
            system: row::word(&self.system, MemorySystem::parse)?,
            kind: row::word(&self.kind, MemoryKind::parse)?,
            segment: row::word(&self.segment, MemorySegment::parse)?,
            scope: row::word(&self.scope, MemoryScope::parse)?,
            status: row::word(&self.status, MemoryStatus::parse)?,
            content: self.content,
            thought: self.thought,
            metadata: row::json(&self.metadata)?,
            created_at: row::time(self.created_at),
            updated_at: row::time(self.updated_at),
        })
    }
}
