//! Messages for unit tests.

use uuid::Uuid;

use super::model::{Message, MessageKind};
use super::port::NewMessage;
use crate::chat::Named;
use crate::id::{ChatId, MessageId, ParticipantId, Sequence, UserId};
use crate::time::Timestamp;

/// User 1.
pub(crate) fn ann() -> Named {
    let id = ParticipantId::User(UserId::new(Uuid::from_u128(1)));
    Named { id, handle: "ann".to_owned(), name: "Ann".to_owned(), is_external: None }
}

/// A text of [`ann`] that mentions nobody, written at 10 µs: message 2, the first one of chat 3.
pub(crate) fn text(content: &str) -> Message {
    let (id, chat) = (MessageId::new(Uuid::from_u128(2)), ChatId::new(Uuid::from_u128(3)));
    let at = Timestamp::from_micros(10);
    NewMessage::new(id, chat, ann(), MessageKind::Text, content.to_owned(), at)
        .into_message(Sequence::new(1), at)
}
