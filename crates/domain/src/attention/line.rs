//! A line of the list, and its place in it.

use std::cmp::Ordering;

use super::item::{AttentionId, AttentionItem};
use crate::contact::ContactRequest;
use crate::id::{AgentId, ChatId, MessageId, RecordId};
use crate::page::Position;
use crate::time::Timestamp;
use crate::webhook::FailingWebhook;
use crate::work::{WorkAgent, WorkFlag, WorkItem};

/// The flagged work of an agent in a chat.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WorkLine {
    /// The agent.
    pub agent: WorkAgent,
    /// The chat.
    pub chat: ChatId,
    /// Its title, if the user may see it.
    pub title: Option<String>,
    /// The flags of its items.
    pub flags: Vec<WorkFlag>,
    /// The number of examined items.
    pub count: usize,
    /// The oldest one.
    pub message: MessageId,
    /// Its time.
    pub written_at: Timestamp,
    /// The items that were counted.
    seen: Vec<MessageId>,
}

impl WorkLine {
    /// The lines of items with flags.
    pub(super) fn of(items: impl IntoIterator<Item = (WorkItem, WorkFlag)>) -> Vec<Self> {
        let mut lines = Vec::<Self>::new();
        for (item, flag) in items {
            let at = lines.iter_mut().find(|line| (line.agent.id, line.chat) == (item.agent.id, item.chat));
            match at {
                Some(line) => line.add(&item, flag),
                None => lines.push(Self {
                    flags: vec![flag],
                    count: 1,
                    seen: vec![item.message],
                    message: item.message,
                    written_at: item.written_at,
                    chat: item.chat,
                    title: item.title,
                    agent: item.agent,
                }),
            }
        }
        lines
    }

    fn add(&mut self, item: &WorkItem, flag: WorkFlag) {
        if !self.flags.contains(&flag) {
            self.flags.push(flag);
        }
        if !self.seen.contains(&item.message) {
            self.seen.push(item.message);
            self.count += 1;
        }
        if (item.written_at, item.message) < (self.written_at, self.message) {
            (self.written_at, self.message) = (item.written_at, item.message);
        }
    }

    /// Returns whether all of it is out of the queue already.
    pub fn is_dead(&self) -> bool {
        self.flags == [WorkFlag::Dead]
    }

    /// What it is about, in a sentence.
    pub fn summary(&self) -> String {
        let flags = self.flags.iter().map(|flag| flag.as_str()).collect::<Vec<_>>().join(", ");
        let (count, handle) = (self.count, &self.agent.handle);
        let (messages, need) = if count == 1 { ("message", "needs") } else { ("messages", "need") };
        format!("{count} {messages} of @{handle} {need} attention: {flags}.")
    }
}

/// A line of the list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AttentionLine {
    /// A stored item.
    Item(AttentionItem),
    /// Flagged work.
    Work(WorkLine),
    /// A contact request.
    Contact(ContactRequest),
    /// A webhook that fails, or was disabled.
    Webhook(FailingWebhook),
}

impl AttentionLine {
    /// Its id.
    pub fn id(&self) -> AttentionId {
        match self {
            Self::Item(item) => AttentionId::Item(item.message),
            Self::Work(line) => AttentionId::Work(line.agent.id, line.chat),
            Self::Contact(request) => AttentionId::Contact(request.id),
            Self::Webhook(webhook) => AttentionId::Webhook(webhook.agent),
        }
    }

    /// Its place in the list.
    pub fn place(&self) -> Place {
        let place = |at, id: RecordId| Place { is_blocking: false, at, id, agent: AgentId::NIL };
        match self {
            Self::Item(item) => {
                Place { is_blocking: item.is_blocking, ..place(item.created_at, item.message.into()) }
            }
            Self::Work(line) => Place { agent: line.agent.id, ..place(line.written_at, line.message.into()) },
            Self::Contact(request) => place(request.created_at, request.id.into()),
            Self::Webhook(webhook) => place(webhook.since, webhook.agent.into()),
        }
    }
}

/// The place of a line among those that are open: what blocks comes first, then what is older.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Set if the asker cannot go on without an answer.
    pub is_blocking: bool,
    /// The time.
    pub at: Timestamp,
    /// The message, the contact request, or the agent of a webhook.
    pub id: RecordId,
    /// The agent of work; nil for others, which come before it.
    pub agent: AgentId,
}

impl Ord for Place {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |place: &Self| (!place.is_blocking, place.at, place.id, place.agent);
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Place {
    /// Precedes every other.
    pub fn first() -> Self {
        let at = Timestamp::from_micros(i64::MIN);
        Self { is_blocking: true, at, id: RecordId::NIL, agent: AgentId::NIL }
    }

    /// As a position in a list.
    pub fn position(self) -> Position {
        let blocking = if self.is_blocking { "b" } else { "" };
        Position { key: self.at.micros(), text: format!("{}{blocking}", self.agent), id: self.id }
    }

    /// The place of a position; `None` if it is none of this list.
    pub fn of(position: &Position) -> Option<Self> {
        let (agent, blocking) = position.text.split_at_checked(36)?;
        let (agent, is_blocking) = (AgentId::parse(agent)?, blocking == "b");
        Some(Self { is_blocking, at: Timestamp::from_micros(position.key), id: position.id, agent })
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn what_blocks_comes_first_and_then_what_is_older() {
        let place = |is_blocking, at, id, agent| Place {
            is_blocking,
            at: Timestamp::from_micros(at),
            id: RecordId::new(Uuid::from_u128(id)),
            agent: AgentId::new(Uuid::from_u128(agent)),
        };
        let sorted = [
            Place::first(),
            place(true, 5, 1, 0),
            place(true, 9, 1, 0),
            place(false, 1, 1, 0),
            place(false, 1, 2, 0),
            place(false, 1, 2, 7),
            place(false, 2, 1, 0),
        ];
        assert!(sorted.windows(2).all(|pair| pair[0] < pair[1]));
        for one in &sorted[1..] {
            assert_eq!(Place::of(&one.position()), Some(*one));
        }
        assert_eq!(Place::of(&Position::at(1, RecordId::NIL)), None);
    }
}
