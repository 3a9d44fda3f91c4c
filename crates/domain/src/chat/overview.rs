//! Chats as the operator sees them, whoever takes part.

use super::room::Chat;
use crate::id::{ChatId, OrganizationId, ParticipantId};

/// Which chats the operator asks for; deleted ones are never among them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChatFilter {
    /// All of the store.
    All,
    /// Those that count towards the plan of an organization.
    Organization(OrganizationId),
    /// Those in which somebody takes part.
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
    /// How many users and agents take part.
    pub participants: u64,
    /// How many texts and events it holds.
    pub messages: u64,
    /// Bytes of their content, as plans count them.
    pub bytes: u64,
}
