//! Participants as clients see them.

use domain::chat::Participant;
use domain::id::ParticipantId;
use serde::Serialize;

use super::Shown;

/// Somebody in a room. `name` and `handle` are never null (`rest` 13 #15).
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ParticipantView<'a> {
    /// Id of the user or agent, not of the membership.
    #[schema(value_type = super::Id)]
    id: Shown<ParticipantId>,
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'a str,
    handle: &'a str,
    role: &'static str,
    /// State of the membership, not of a connection.
    status: &'static str,
    /// Null for users.
    description: Option<&'a str>,
    /// Null for users.
    is_external: Option<bool>,
    #[serde(flatten)]
    presence: Option<PresenceView>,
}

/// Whether somebody is connected, where that is known.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct PresenceView {
    online: bool,
    /// Null for users, and for agents that run here.
    connection_status: Option<&'static str>,
}

impl PresenceView {
    /// Shows whether somebody is there; `is_external` is `None` for users.
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
            presence: None,
        }
    }

    /// Shows `participant` together with whether any of its sockets is open.
    pub fn with_presence(participant: &'a Participant, online: bool) -> Self {
        let presence = Some(PresenceView::new(participant.is_external, online));
        Self { presence, ..Self::new(participant) }
    }
}
