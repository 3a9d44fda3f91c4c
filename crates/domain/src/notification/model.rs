//! A notification, and what it is about.

use super::channel::{NotificationChannel, SendResult};
use crate::attention::{Asker, AttentionItem};
use crate::id::{ChatId, MessageId, NotificationChannelId, NotificationId};
use crate::page::Position;
use crate::time::Timestamp;
use crate::words::words;

/// The maximum number of notifications that are sent together.
pub const MAX_TOGETHER: usize = 50;

/// The maximum number of notifications that are due and sent one by one.
const MAX_ALONE: usize = 10;

words! {
    /// What a notification is about.
    NotificationKind {
        /// An item of the attention list.
        Attention = "attention",
        /// A text that mentions the user.
        Mention = "mention",
        /// Nothing: the user tests the channel.
        Test = "test",
    }

    /// How a notification ended.
    NotificationOutcome {
        /// The receiver took it.
        Delivered = "delivered",
        /// It was not sent: the user has read the text, the item has ended, the user has left the room, or the channel is off.
        Dropped = "dropped",
    }
}

/// The end of a notification.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotificationEnd {
    /// The time.
    pub at: Timestamp,
    /// The outcome.
    pub outcome: NotificationOutcome,
}

/// One message on one channel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Notification {
    /// Identifier, which the receiver sees with each try.
    pub id: NotificationId,
    /// The channel.
    pub channel: NotificationChannelId,
    /// What it is about.
    pub kind: NotificationKind,
    /// The chat; nil for a test.
    pub chat: ChatId,
    /// The message; nothing else of the channel is about it. A test has an id of its own.
    pub message: MessageId,
    /// The time at which it was made.
    pub created_at: Timestamp,
    /// It is not sent before.
    pub due_at: Timestamp,
    /// Set if it waits for quiet hours or a digest. All that have waited are sent together.
    pub is_gathered: bool,
    /// The number of tries.
    pub attempts: u32,
    /// The time of the last one.
    pub attempted_at: Option<Timestamp>,
    /// The status of the last answer.
    pub status: Option<u16>,
    /// Why the last try failed.
    pub error: Option<String>,
    /// Its end.
    pub ended: Option<NotificationEnd>,
}

impl Notification {
    /// A notification on a channel.
    pub fn new(
        id: NotificationId,
        channel: &NotificationChannel,
        kind: NotificationKind,
        (chat, message): (ChatId, MessageId),
        now: Timestamp,
    ) -> Self {
        let due_at = channel.due_at(kind, now);
        Self {
            id,
            channel: channel.id,
            kind,
            chat,
            message,
            created_at: now,
            due_at,
            is_gathered: due_at > now,
            attempts: 0,
            attempted_at: None,
            status: None,
            error: None,
            ended: None,
        }
    }

    /// Its position in the list of its user.
    pub fn position(&self) -> Position {
        Position::at(self.created_at.micros(), self.id)
    }

    /// Its state: `waiting`, or the outcome.
    pub fn state(&self) -> &'static str {
        self.ended.map_or("waiting", |ended| ended.outcome.as_str())
    }

    /// Begins a try.
    pub fn begin(&mut self, now: Timestamp) {
        self.attempts = self.attempts.saturating_add(1);
        self.attempted_at = Some(now);
        (self.status, self.error) = (None, None);
    }

    /// Records what came of it, as `channel` has recorded it before.
    pub fn settle(&mut self, result: &SendResult, channel: &NotificationChannel, now: Timestamp) {
        (self.status, self.error) = result.record();
        match result {
            SendResult::Delivered { .. } => self.end(NotificationOutcome::Delivered, now),
            _ if channel.off.is_some() => self.end(NotificationOutcome::Dropped, now),
            SendResult::Later(_) => self.attempts = self.attempts.saturating_sub(1),
            SendResult::Failed { .. } | SendResult::Refused { .. } => {}
        }
    }

    /// Ends it.
    pub fn end(&mut self, outcome: NotificationOutcome, now: Timestamp) {
        self.ended = Some(NotificationEnd { at: now, outcome });
    }
}

/// The notifications that are sent next. `due` has those that are due in their order, or the first [`MAX_TOGETHER`] of them.
/// The first one is sent, or, if it has waited to be gathered, all that have. If more than [`MAX_ALONE`] are due, all are sent
/// together: nobody reads a flood.
pub fn batch(due: Vec<Notification>) -> Vec<Notification> {
    if due.len() > MAX_ALONE {
        return due.into_iter().take(MAX_TOGETHER).collect();
    }
    let is_gathered = due.first().is_some_and(|first| first.is_gathered);
    let most = if is_gathered { MAX_TOGETHER } else { 1 };
    due.into_iter().filter(|one| one.is_gathered == is_gathered).take(most).collect()
}

/// What is known of the message of a notification.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SubjectContent {
    /// An open item.
    Item(Box<AttentionItem>),
    /// A text that the user has not read.
    Mention {
        /// The title of the chat.
        title: Option<String>,
        /// Who wrote.
        sender: Asker,
        /// The beginning of the text, with handles.
        summary: String,
    },
    /// Nothing.
    Test,
}

/// A notification with its message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Subject {
    /// The notification.
    pub notification: Notification,
    /// Its message.
    pub content: SubjectContent,
}
