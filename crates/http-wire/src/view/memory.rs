//! Memories as clients see them.

use domain::id::{AgentId, MemoryId, OrganizationId, ParticipantId, ParticipantKind};
use domain::memory::Memory;
use domain::page::weight::of_members;
use domain::time::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::Shown;

/// The size of a memory in an answer, without content.
const MEMORY_BYTES: usize = 730;

/// A memory, in both APIs.
#[derive(Debug, Serialize, ToSchema)]
pub struct MemoryView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<MemoryId>,
    content: &'a str,
    system: &'static str,
    #[serde(rename = "type")]
    kind: &'static str,
    segment: &'static str,
    scope: &'static str,
    status: &'static str,
    thought: &'a str,
    #[schema(value_type = Option<super::Id>)]
    subject_id: Option<Shown<ParticipantId>>,
    /// `user` or `agent`.
    subject_type: Option<&'static str>,
    subject_name: Option<&'a str>,
    /// Agent that stored the memory. Null if that agent was deleted.
    #[schema(value_type = Option<super::Id>)]
    source_agent_id: Option<Shown<AgentId>>,
    source_agent_name: Option<&'a str>,
    #[schema(value_type = super::Id)]
    organization_id: Shown<OrganizationId>,
    /// Always null, as is all of the room: a memory belongs to no chat.
    #[schema(value_type = Option<String>)]
    chat_room_id: (),
    #[schema(value_type = Option<String>)]
    chat_room_title: (),
    #[schema(value_type = Option<String>)]
    chat_room_status: (),
    #[schema(value_type = Option<String>)]
    chat_room_type: (),
    #[schema(value_type = Object)]
    metadata: &'a Map<String, Value>,
    #[schema(value_type = super::Instant)]
    inserted_at: Shown<Timestamp>,
    #[schema(value_type = super::Instant)]
    updated_at: Shown<Timestamp>,
}

impl<'a> MemoryView<'a> {
    /// The approximate size of these memories as JSON, in bytes.
    pub fn bytes(memories: &[Memory]) -> usize {
        let of_one =
            |memory: &Memory| memory.content.len() + memory.thought.len() + of_members(&memory.metadata);
        memories.iter().map(|memory| MEMORY_BYTES + of_one(memory)).sum()
    }

    /// Shows `memory`.
    pub fn new(memory: &'a Memory) -> Self {
        Self {
            id: Shown(memory.id),
            content: &memory.content,
            system: memory.system.as_str(),
            kind: memory.kind.as_str(),
            segment: memory.segment.as_str(),
            scope: memory.scope.as_str(),
            status: memory.status.as_str(),
            thought: &memory.thought,
            subject_id: memory.subject.map(Shown),
            subject_type: memory.subject.map(|subject| match subject.kind() {
                ParticipantKind::User => "user",
                ParticipantKind::Agent => "agent",
            }),
            subject_name: memory.subject_name.as_deref(),
            source_agent_id: memory.source.map(Shown),
            source_agent_name: memory.source_name.as_deref(),
            organization_id: Shown(memory.organization),
            chat_room_id: (),
            chat_room_title: (),
            chat_room_status: (),
            chat_room_type: (),
            metadata: &memory.metadata,
            inserted_at: Shown(memory.created_at),
            updated_at: Shown(memory.updated_at),
        }
    }
}
