//! Up to where a human has read a chat, what is unread, and whether the human has muted the chat.
//!
//! A chat counts its texts, and a membership remembers that number and the sequence at its mark, so counting unread texts
//! costs the same however many there are. Texts of the human do not count, nor do events.

use serde::{Deserialize, Serialize};

use super::service::ChatService;
use crate::caller::UserCaller;
use crate::event::DomainEvent;
use crate::id::{ChatId, MessageId, Sequence, UserId};
use crate::store::{OnCommit, StoreError};

/// The number of sequences up to that of a chat's newest message whose messages are examined for [`Unread`].
pub const EXAMINED_SEQUENCES: u32 = 50;

/// The number of sequences, from the newest, whose texts are counted for a new mark. Earlier texts count as read.
pub const COUNTED_SEQUENCES: u32 = 1000;

/// The maximum number of chats that are marked at once.
pub const MAX_MARKED: usize = 1000;

/// What a human has not read in a chat.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Unread {
    /// The number of texts of others after the mark.
    pub count: u64,
    /// Those of them that mention the human, among the newest [`EXAMINED_SEQUENCES`] messages.
    pub mentions: u64,
    /// The mark: the sequence of the last message that counts as read; 0 if there is none.
    pub read_sequence: Sequence,
    /// Set if the human has muted the chat: clients show its mentions only.
    #[serde(default)]
    pub muted: bool,
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
    pub fn of(read: Sequence, last: Sequence, counted: i64, examined: Examined, muted: bool) -> Self {
        let counted = u64::try_from(counted).unwrap_or(0).saturating_sub(examined.own);
        let all = last.get() - read.get() <= i64::from(EXAMINED_SEQUENCES);
        let count = if all { examined.others } else { counted.max(examined.others) };
        Self { count, mentions: examined.mentions, read_sequence: read, muted }
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
    /// The message.
    pub const fn message(self) -> Option<MessageId> {
        match self {
            Self::Newest => None,
            Self::At(message) | Self::Before(message) => Some(message),
        }
    }

    /// Where the mark at `read` moves in a chat whose newest sequence is `last`; `found` is the sequence of
    /// [the message](Self::message). `None` if it stays.
    pub fn moved(self, read: Sequence, last: Sequence, found: Option<Sequence>) -> Option<Sequence> {
        let found = found.unwrap_or(last);
        match self {
            Self::Newest | Self::At(_) => Some(found).filter(|to| *to > read),
            Self::Before(_) => Some(Sequence::new(found.get() - 1)).filter(|to| *to < read),
        }
    }
}

/// Changes of a human's state in a chat; what is `None` stays as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReadingChange {
    /// The new mark.
    pub mark: Option<ReadMark>,
    /// Whether the human mutes the chat.
    pub muted: Option<bool>,
}

impl From<ReadMark> for ReadingChange {
    fn from(mark: ReadMark) -> Self {
        Self { mark: Some(mark), muted: None }
    }
}

/// A chat to be marked as read, or muted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MarkRead {
    /// The chat.
    pub chat: ChatId,
    /// The human.
    pub by: UserId,
    /// The changes.
    pub change: ReadingChange,
}

/// A chat after a request to mark it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MarkedRead {
    /// What is unread now.
    pub unread: Unread,
    /// Set if the mark has moved, or the chat was muted or unmuted.
    pub changed: bool,
}

/// The chats that were marked at once.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MarkedRooms {
    /// The chats by their ids, with what is unread now.
    pub rooms: Vec<(ChatId, Unread)>,
    /// Set if there may be others.
    pub has_more: bool,
}

impl MarkedRooms {
    /// The chats whose marks have moved to these sequences, with a flag for muted ones.
    pub fn of(moved: impl IntoIterator<Item = (ChatId, Sequence, bool)>) -> Self {
        let unread =
            |(chat, read_sequence, muted)| (chat, Unread { read_sequence, muted, ..Unread::default() });
        let mut rooms = moved.into_iter().map(unread).collect::<Vec<_>>();
        rooms.sort_unstable_by_key(|(chat, _)| *chat);
        Self { has_more: rooms.len() == MAX_MARKED, rooms }
    }
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

impl ChatService {
    /// Moves the caller's mark in the chat or mutes it, and returns what is unread. The caller's sockets are notified.
    pub async fn mark_read(
        &self,
        caller: UserCaller,
        chat: ChatId,
        change: impl Into<ReadingChange>,
    ) -> Result<Unread, MarkReadError> {
        let command = MarkRead { chat, by: caller.user, change: change.into() };
        let events = self.events.clone();
        let on_commit = OnCommit::new(move |marked: &MarkedRead| {
            if marked.changed {
                let unread = marked.unread;
                events.publish(DomainEvent::RoomRead { by: command.by, chat_id: chat, unread });
            }
        });
        Ok(self.chats.mark_read(command, on_commit).await??.unread)
    }

    /// Marks all chats of the caller as read, or as many as are marked at once. The caller's sockets are notified of each,
    /// by the event that a single mark has.
    pub async fn mark_all_read(&self, caller: UserCaller) -> Result<MarkedRooms, StoreError> {
        let (by, events) = (caller.user, self.events.clone());
        let on_commit = OnCommit::new(move |marked: &MarkedRooms| {
            for (chat_id, unread) in marked.rooms.iter().copied() {
                events.publish(DomainEvent::RoomRead { by, chat_id, unread });
            }
        });
        self.chats.mark_all_read(by, on_commit).await
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
            (57, -4, examined(0, 5), 5),
            (400, 300, examined(10, 20), 290),
            (58, 15, examined(10, 20), 20),
            (58, -1, examined(10, 20), 20),
        ] {
            let expected = Unread { count, mentions: examined.mentions, read_sequence: read, muted: true };
            assert_eq!(
                Unread::of(read, Sequence::new(last), counted, examined, true),
                expected,
                "{last} {counted}"
            );
        }
    }

    #[test]
    fn a_mark_moves_forward_unless_it_is_set_before_a_message() {
        let message = MessageId::new(uuid::Uuid::from_u128(1));
        let at = |found| (ReadMark::At(message), Some(found));
        let before = |found| (ReadMark::Before(message), Some(found));
        for ((mark, found), read, moved) in [
            ((ReadMark::Newest, None), 4, Some(9)),
            ((ReadMark::Newest, None), 9, None),
            (at(5), 4, Some(5)),
            (at(5), 5, None),
            (at(5), 6, None),
            (before(5), 6, Some(4)),
            (before(5), 4, None),
            (before(5), 3, None),
            (before(1), 4, Some(0)),
        ] {
            let found = mark.moved(Sequence::new(read), Sequence::new(9), found.map(Sequence::new));
            assert_eq!(found.map(Sequence::get), moved, "{mark:?} from {read}");
        }
    }
}
