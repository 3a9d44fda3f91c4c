//! Up to where a human has read a chat, and what is unread.
//!
//! A chat counts its texts, and a membership remembers that number and the sequence at its mark, so counting unread texts
//! costs the same however many there are. Texts of the human do not count, nor do events.

use serde::{Deserialize, Serialize};

use super::service::ChatService;
use super::standing::Standing;
use crate::caller::UserCaller;
use crate::event::DomainEvent;
use crate::id::{ChatId, MessageId, Sequence, UserId};
use crate::store::{OnCommit, StoreError};

/// The number of sequences up to that of a chat's newest message whose messages are examined for [`Unread`].
pub const EXAMINED_SEQUENCES: u32 = 100;

/// The number of sequences, from the newest, whose texts are counted for a new mark. Earlier texts count as read.
pub const COUNTED_SEQUENCES: u32 = 10_000;

/// What a human has not read in a chat.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Unread {
    /// The number of texts of others after the mark.
    pub count: u64,
    /// Those of them that mention the human, among the newest [`EXAMINED_SEQUENCES`] messages.
    pub mentions: u64,
    /// The mark: the sequence of the last message that counts as read; 0 if there is none.
    pub read_sequence: Sequence,
}

/// The texts after a mark, of the newest [`EXAMINED_SEQUENCES`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Examined {
    /// The human's texts.
    pub own: u64,
    /// Texts of others.
    pub others: u64,
    /// Texts of others that mention the human.
    pub mentions: u64,
}

impl Unread {
    /// What is unread after the mark at `read` in a chat whose newest sequence is `last`, and which has counted `counted`
    /// texts since the mark. If all messages after the mark were examined, these decide, since deleted texts were counted
    /// too.
    pub fn of(read: Sequence, last: Sequence, counted: i64, examined: Examined) -> Self {
        let counted = u64::try_from(counted).unwrap_or(0).saturating_sub(examined.own);
        let all = last.get() - read.get() <= i64::from(EXAMINED_SEQUENCES);
        let count = if all { examined.others } else { counted.max(examined.others) };
        Self { count, mentions: examined.mentions, read_sequence: read }
    }
}

/// The new mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ReadMark {
    /// At the newest message.
    #[default]
    Newest,
    /// At this message, unless the mark is at a later one.
    At(MessageId),
    /// Before this message, unless the mark is at an earlier one.
    Before(MessageId),
}

impl ReadMark {
    /// The message, and whether the mark moves backwards.
    pub const fn message(self) -> Option<(MessageId, bool)> {
        match self {
            Self::Newest => None,
            Self::At(message) => Some((message, false)),
            Self::Before(message) => Some((message, true)),
        }
    }
}

/// A chat to be marked as read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MarkRead {
    /// The chat.
    pub chat: ChatId,
    /// The human.
    pub by: UserId,
    /// The new mark.
    pub mark: ReadMark,
}

/// A chat after a request to mark it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MarkedRead {
    /// What is unread now.
    pub unread: Unread,
    /// Set if the mark has moved.
    pub moved: bool,
}

/// The reason why a chat was not marked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MarkReadRefused {
    /// The caller cannot see the chat, or it does not exist.
    #[error("there is no such chat for the caller")]
    ChatNotFound,
    /// The caller sees it through own agents only.
    #[error("only a participant marks the chat as read")]
    NotParticipant,
    /// The chat has no such message.
    #[error("there is no such message in the chat")]
    MessageNotFound,
}

/// The reason why a chat was not marked.
#[derive(Debug, thiserror::Error)]
pub enum MarkReadError {
    /// A rule forbids it.
    #[error(transparent)]
    Refused(#[from] MarkReadRefused),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Standing {
    /// Decides on marking the chat as read: its participants do.
    pub fn decide_mark_read(&self) -> Result<(), MarkReadRefused> {
        match self.own {
            Some(_) => Ok(()),
            None if self.may_read() => Err(MarkReadRefused::NotParticipant),
            None => Err(MarkReadRefused::ChatNotFound),
        }
    }
}

impl ChatService {
    /// Moves the caller's mark in the chat, and returns what is unread. The caller's other sockets are notified.
    pub async fn mark_read(
        &self,
        caller: UserCaller,
        chat: ChatId,
        mark: ReadMark,
    ) -> Result<Unread, MarkReadError> {
        let command = MarkRead { chat, by: caller.user, mark };
        let events = self.events.clone();
        let on_commit = OnCommit::new(move |marked: &MarkedRead| {
            if marked.moved {
                let unread = marked.unread;
                events.publish(DomainEvent::RoomRead { by: command.by, chat_id: chat, unread });
            }
        });
        Ok(self.chats.mark_read(command, on_commit).await??.unread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_messages_decide_unless_there_are_too_many() {
        let read = Sequence::new(7);
        let examined = |own, others| Examined { own, others, mentions: 1 };
        for (last, counted, examined, count) in [
            (7, 0, Examined::default(), 0),
            (10, 9, examined(1, 2), 2),
            (107, -4, examined(0, 5), 5),
            (400, 300, examined(10, 20), 290),
            (108, 15, examined(10, 20), 20),
            (108, -1, examined(10, 20), 20),
        ] {
            let expected = Unread { count, mentions: examined.mentions, read_sequence: read };
            assert_eq!(
                Unread::of(read, Sequence::new(last), counted, examined),
                expected,
                "{last} {counted}"
            );
        }
    }
}
