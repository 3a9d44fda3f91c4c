//! Memories as rows, with the names of their sources and subjects.

use diesel::prelude::*;
use diesel::sql_types::{Nullable, Text, Timestamptz, Uuid as SqlUuid};
use domain::account::PersonName;
use domain::id::{AgentId, MemoryId, OrganizationId};
use domain::memory::{Memory, MemoryKind, MemoryScope, MemorySegment, MemoryStatus, MemorySystem};
use domain::page::weight;
use uuid::Uuid;

use crate::error::Fault;
use crate::row::{self, At};

/// The columns of a row; `memory` is the memory.
pub(super) const COLUMNS: &str = "memory.id, memory.organization_id, memory.source_id, \
    source.name, memory.subject_id, memory.subject_kind, \
    subject_agent.name, subject_user.first_name, subject_user.last_name, \
    memory.system, memory.kind, memory.segment, memory.scope, memory.status, memory.content, memory.thought, \
    memory.metadata, memory.created_at, memory.updated_at";

/// The approximate size of a memory in an answer, without names and content.
const MEMORY_BYTES: usize = 700;

/// Joins the names to show.
pub(super) const NAMES: &str = "LEFT JOIN agents AS source ON source.id = memory.source_id \
    LEFT JOIN agents AS subject_agent ON subject_agent.id = memory.subject_id \
    LEFT JOIN users AS subject_user ON subject_user.id = memory.subject_id";

/// The types of [`COLUMNS`].
pub(super) type MemoryTypes = (
    SqlUuid,
    SqlUuid,
    (Nullable<SqlUuid>, Nullable<Text>),
    (Nullable<SqlUuid>, Nullable<Text>),
    (Nullable<Text>, Nullable<Text>, Nullable<Text>),
    Text,
    Text,
    Text,
    Text,
    Text,
    Text,
    Text,
    Text,
    Timestamptz,
    Timestamptz,
);

#[derive(Queryable)]
pub(super) struct MemoryRow {
    id: Uuid,
    organization_id: Uuid,
    /// Id and name.
    source: (Option<Uuid>, Option<String>),
    /// Id and kind.
    subject: (Option<Uuid>, Option<String>),
    /// An agent's name, or a user's first and last name.
    subject_names: (Option<String>, Option<String>, Option<String>),
    system: String,
    kind: String,
    segment: String,
    scope: String,
    status: String,
    content: String,
    thought: String,
    metadata: String,
    created_at: At,
    updated_at: At,
}

impl MemoryRow {
    /// The approximate size in an answer. The metadata are JSON already.
    pub(super) fn weight(&self) -> usize {
        let (agent, first, last) = &self.subject_names;
        let names = [&self.source.1, agent, first, last]
            .into_iter()
            .flatten()
            .map(|name| weight::of_text(name))
            .sum::<usize>();
        let texts = weight::of_text(&self.content) + weight::of_text(&self.thought);
        MEMORY_BYTES + names + texts + self.metadata.len()
    }

    pub(super) fn into_memory(self) -> Result<Memory, Fault> {
        let subject = match &self.subject {
            (Some(id), Some(kind)) => Some(row::participant_id(kind, *id)?),
            _ => None,
        };
        let subject_name = match self.subject_names {
            (Some(agent), ..) => Some(agent),
            (None, Some(first), Some(last)) => Some(PersonName { first, last }.full()),
            _ => None,
        };
        Ok(Memory {
            id: MemoryId::new(self.id),
            organization: OrganizationId::new(self.organization_id),
            source: self.source.0.map(AgentId::new),
            source_name: self.source.1,
            subject,
            subject_name,
            system: row::word(&self.system, MemorySystem::parse)?,
            kind: row::word(&self.kind, MemoryKind::parse)?,
            segment: row::word(&self.segment, MemorySegment::parse)?,
            scope: row::word(&self.scope, MemoryScope::parse)?,
            status: row::word(&self.status, MemoryStatus::parse)?,
            content: self.content,
            thought: self.thought,
            metadata: row::json(&self.metadata)?,
            created_at: self.created_at.0,
            updated_at: self.updated_at.0,
        })
    }
}
