//! Participants as clients see them.

use domain::chat::Participant;
use domain::id::ParticipantId;
use domain::time::Timestamp;
use serde::Serialize;

use super::Shown;

/// A participant of a room. `name` and `handle` are never null.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ParticipantView<'a> {
    /// ID of the user or agent, not of the membership.
    #[schema(value_type = super::Id)]
    id: Shown<ParticipantId>,
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'a str,
    handle: &'a str,
    role: &'static str,
    /// Status of the membership, not of a connection.
    status: &'static str,
    /// Null for users.
    description: Option<&'a str>,
    /// Null for users.
    is_external: Option<bool>,
    /// When the participant joined the room.
    #[schema(value_type = super::Instant)]
    joined_at: Shown<Timestamp>,
    #[serde(flatten)]
    presence: Option<PresenceView>,
}

/// Whether the participant is connected.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct PresenceView {
    online: bool,
    /// `online` as a word, for external agents. Null for users and platform agents.
    connection_status: Option<&'static str>,
}

impl PresenceView {
    /// A participant with its presence; `is_external` is `None` for users.
    pub fn new(is_external: Option<bool>, online: bool) -> Self {
        let word = if online { "connected" } else { "disconnected" };
        Self { online, connection_status: (is_external == Some(true)).then_some(word) }
    }
}

impl<'a> ParticipantView<'a> {
    /// Shows `participant`.
    pub fn new(participant: &'a Participant) -> Self {
        Self {
            id: Shown(participant.id),
            kind: participant.id.kind().as_str(),
            name: &participant.name,
            handle: &participant.handle,
            role: participant.role.as_str(),
            status: participant.status.as_str(),
            description: participant.description.as_deref(),
            is_external: participant.is_external,
            joined_at: Shown(participant.joined_at),
            presence: None,
        }
    }

    /// Shows `participant` together with whether any of its sockets is open.
    pub fn with_presence(participant: &'a Participant, online: bool) -> Self {
        let presence = Some(PresenceView::new(participant.is_external, online));
        Self { presence, ..Self::new(participant) }
    }
}
