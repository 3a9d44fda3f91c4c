//! A message, as far as it is searched. Pure.

use std::collections::BTreeSet;

use super::key::{SearchKey, SearchPlace};
use super::token::tokens;
use crate::foreign::Origin;
use crate::id::{AgentId, ChatId, MessageId, ParticipantId, ParticipantKind, Sequence};
use crate::message::{Mention, Message, MessageKind, with_handles};
use crate::time::Timestamp;

/// The number of characters of a content that are searched.
pub const SEARCHED_CHARS: usize = 65_536;

/// The searched text of a content, or of its first [`SEARCHED_CHARS`] characters: as humans read it, with `@handle` for
/// markers.
pub fn searched_text(content: &str, mentions: &[Mention]) -> String {
    let end = content.char_indices().nth(SEARCHED_CHARS).map_or(content.len(), |(end, _)| end);
    with_handles(&content[..end], mentions)
}

/// A message, as far as it is searched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SearchedMessage {
    /// Identifier.
    pub id: MessageId,
    /// The chat.
    pub chat: ChatId,
    /// Its sequence in the chat.
    pub sequence: Sequence,
    /// Text, or the kind of event.
    pub kind: MessageKind,
    /// The sender.
    pub sender: ParticipantId,
    /// The sender's name at that time.
    pub sender_name: String,
    /// The sender's handle, without `@`; `None` if it is unknown.
    pub sender_handle: Option<String>,
    /// The agents to which it is addressed.
    pub addressed: Vec<AgentId>,
    /// The [searched text](searched_text).
    pub text: String,
    /// Whether it is foreign to the chat.
    pub origin: Origin,
    /// The kind of its originator.
    pub originator: ParticipantKind,
    /// The time at which it was accepted.
    pub created_at: Timestamp,
}

impl SearchedMessage {
    /// A message that was read whole.
    pub fn of(message: &Message) -> Self {
        Self {
            id: message.id,
            chat: message.chat_id,
            sequence: message.sequence,
            kind: message.kind,
            sender: message.sender,
            sender_name: message.sender_name.clone(),
            sender_handle: message.sender_handle.clone(),
            addressed: message.addressed_agents(),
            text: searched_text(&message.content, &message.mentions),
            origin: message.origin,
            originator: message.place().originator.kind(),
            created_at: message.created_at,
        }
    }

    /// Returns whether somebody who may read its chat may read it, as [`Message::is_visible_to`] decides.
    pub fn is_readable_by(&self, viewer: ParticipantId) -> bool {
        viewer.agent().is_none_or(|agent| self.sender == viewer || self.addressed.contains(&agent))
    }

    /// Its place among results.
    pub fn place(&self) -> SearchPlace {
        SearchPlace::of(self.created_at, self.sequence)
    }

    /// Its keys in the index, each once.
    pub fn keys(&self) -> BTreeSet<SearchKey> {
        let mut keys =
            tokens(&self.text).iter().map(|token| SearchKey::token(&token.text)).collect::<BTreeSet<_>>();
        keys.extend([SearchKey::room(self.chat), SearchKey::kind(self.kind)]);
        keys.extend(self.sender_handle.as_deref().map(SearchKey::sender));
        keys.extend(
            self.sender.agent().into_iter().chain(self.addressed.iter().copied()).map(SearchKey::reader),
        );
        keys
    }
}
