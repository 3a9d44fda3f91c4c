//! Chats for operators, of any participants.

use super::model::Chat;
use crate::id::{ChatId, OrganizationId, ParticipantId, Sequence};

/// The chats that the operator requests; deleted ones are never included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChatFilter {
    /// All chats of the store.
    All,
    /// Those that count towards the plan of an organization.
    Organization(OrganizationId),
    /// Those of a participant.
    Participant(ParticipantId),
    /// This one.
    One(ChatId),
}

/// A chat with its figures.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChatOverview {
    /// The chat.
    pub chat: Chat,
    /// Name of the organization whose plan it counts towards.
    pub organization: Option<String>,
    /// The number of participants.
    pub participants: u64,
    /// The number of texts and events.
    pub messages: u64,
    /// The sequence of its newest message, deleted ones included; 0 if there was none.
    pub last_sequence: Sequence,
    /// The bytes of their content, as plans count them.
    pub bytes: u64,
}
