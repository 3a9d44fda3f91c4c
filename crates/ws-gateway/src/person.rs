//! Participants, as far as their presence is concerned.

use domain::chat::Participant;
use domain::id::ParticipantId;

/// A participant whose presence is watched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Person {
    /// The user or agent.
    pub id: ParticipantId,
    /// Whether the agent runs at its owner's; `None` for users. Other agents need no socket.
    pub is_external: Option<bool>,
}

impl Person {
    pub(crate) fn of(participant: &Participant) -> Self {
        Self { id: participant.id, is_external: participant.is_external }
    }

    /// Returns whether the participant connects with sockets; an internal agent does not.
    pub(crate) fn has_sockets(self) -> bool {
        self.is_external != Some(false)
    }
}
