//! Erasing what a user has written.
//!
//! Each text of the user keeps its place, its mentions, and its deliveries, so that the room stays readable and no agent
//! loses track; its content is replaced by [`ERASED`], and it shows no files any more. A title that derives from it goes.
//! Texts under a [legal hold](crate::legal_hold) stay as they are. The walk goes through the rooms in which the user
//! ever was, and may be repeated: what was erased is passed over.

use super::content::{MessageContent, stored_text};
use super::model::Message;
use super::service::MessageService;
use crate::id::{ChatId, Sequence, UserId};
use crate::store::StoreError;
use crate::time::Timestamp;

/// The content of an erased text.
pub const ERASED: &str = "(erased)";

/// The number of messages that a step reads.
const STEP: u32 = 500;

/// A step of the walk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EraseTexts {
    /// The user.
    pub user: UserId,
    /// The position of the walk: only messages after this one of this room, and of later rooms.
    pub after: Option<(ChatId, Sequence)>,
    /// The current time.
    pub now: Timestamp,
    /// The number of messages to read, of anybody.
    pub limit: u32,
}

/// The result of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErasedTexts {
    /// There are no further rooms.
    End,
    /// The walk goes on after this message.
    Next {
        /// The position.
        after: (ChatId, Sequence),
        /// The number of texts that were erased.
        erased: u64,
    },
    /// The room is under a legal hold, and was passed over.
    Held(ChatId),
}

/// What was erased.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TextsErasure {
    /// The number of texts.
    pub erased: u64,
    /// The rooms that are under a legal hold, of which nothing was erased.
    pub held: Vec<ChatId>,
}

impl Message {
    /// The text without what its sender wrote; `None` if that was done already. `sender_name` is the name that the
    /// sender has now.
    #[must_use]
    pub fn erased(&self, sender_name: &str, now: Timestamp) -> Option<Self> {
        let content = stored_text(&MessageContent::erased(), &self.mentions);
        let is_erased = self.content == content
            && self.metadata.is_none()
            && self.attachments.is_empty()
            && self.sender_name == sender_name;
        (!is_erased).then(|| Self {
            content,
            metadata: None,
            attachments: Vec::new(),
            sender_name: sender_name.to_owned(),
            updated_at: self.updated_at.max(now),
            ..self.clone()
        })
    }
}

impl MessageService {
    /// Erases every text of a user, for the operator. The humans in the rooms are not notified: they see it when they read
    /// the room again.
    pub async fn erase_texts(&self, user: UserId) -> Result<TextsErasure, StoreError> {
        let (mut done, mut after) = (TextsErasure::default(), None);
        loop {
            let step = EraseTexts { user, after, now: self.clock.now(), limit: STEP };
            match self.messages.erase_texts(step).await? {
                ErasedTexts::End => return Ok(done),
                ErasedTexts::Held(chat) => {
                    done.held.push(chat);
                    after = Some((chat, Sequence::new(i64::MAX)));
                }
                ErasedTexts::Next { after: position, erased } => {
                    done.erased += erased;
                    after = Some(position);
                }
            }
        }
    }
}
