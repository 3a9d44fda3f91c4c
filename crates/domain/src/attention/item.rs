//! A stored item.

use std::fmt;

use super::approval::{Adapter, Decision};
use crate::id::{AgentId, ChatId, ContactRequestId, MessageId, ParticipantId, UserId};
use crate::message::Mention;
use crate::time::Timestamp;
use crate::words::words;

/// The maximum number of characters of a shown text.
pub const SHOWN_CHARS: usize = 500;

/// The same of an approval request: it is decided by what is shown.
pub const SHOWN_APPROVAL_CHARS: usize = 4_000;

/// The end of a text that is not shown whole.
const CUT: char = '…';

words! {
    /// The kind of an item.
    AttentionKind {
        /// An agent asks something.
        Question = "question",
        /// An agent has assumed something.
        Assumption = "assumption",
        /// An agent has failed.
        Failure = "failure",
        /// An agent asks for a review.
        Review = "review",
        /// An adapter asks whether a tool may run.
        Approval = "approval",
        /// The server tells of a missed deadline.
        Deadline = "deadline",
        /// The server tells that messages are held.
        Held = "held",
        /// The server tells that a budget is used up, or nearly so.
        Budget = "budget",
    }

    /// How an item ended.
    AttentionOutcome {
        /// A human answered it.
        Answered = "answered",
        /// A human dismissed it.
        Dismissed = "dismissed",
        /// Its asker, or the server, has settled it.
        Resolved = "resolved",
        /// Its time has passed.
        Expired = "expired",
    }

    /// The state of an item.
    #[derive(Default)]
    AttentionState {
        /// It waits for a human.
        #[default]
        Open = "open",
        /// It was answered, dismissed, or resolved.
        Answered = "answered",
        /// Its time has passed.
        Expired = "expired",
    }
}

impl AttentionKind {
    /// Returns whether the server has posted it: nobody waits for an answer.
    pub const fn is_notice(self) -> bool {
        matches!(self, Self::Deadline | Self::Held | Self::Budget)
    }

    /// The maximum number of characters that are shown of its text.
    pub const fn shown_chars(self) -> usize {
        if matches!(self, Self::Approval) { SHOWN_APPROVAL_CHARS } else { SHOWN_CHARS }
    }
}

/// Who asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asker {
    /// The user or agent.
    pub id: ParticipantId,
    /// The handle, without `@`; `None` if the account is gone.
    pub handle: Option<String>,
    /// The name.
    pub name: String,
}

/// The user who ended an item.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AnsweredBy {
    /// The user.
    pub id: UserId,
    /// The handle, without `@`.
    pub handle: String,
    /// The name.
    pub name: String,
}

/// A stored item, as a participant of its room sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AttentionItem {
    /// The event or text that asks, which identifies the item.
    pub message: MessageId,
    /// Its kind.
    pub kind: AttentionKind,
    /// Set if the asker cannot go on without an answer.
    pub is_blocking: bool,
    /// The chat.
    pub chat: ChatId,
    /// Its title.
    pub title: Option<String>,
    /// The sender of the message. A notice of the server is in somebody's name.
    pub sender: Asker,
    /// The beginning of the text, with handles.
    pub summary: String,
    /// What the asker does if nobody answers in time.
    pub default: Option<String>,
    /// The adapter and the token of an approval request.
    pub approval: Option<(Adapter, String)>,
    /// The time of the message.
    pub created_at: Timestamp,
    /// The time after which the asker does not wait any more.
    pub expires_at: Option<Timestamp>,
    /// How it ended, and when.
    pub ended: Option<(AttentionOutcome, Timestamp)>,
    /// Who ended it.
    pub answered_by: Option<AnsweredBy>,
    /// The text that answered it.
    pub answer: Option<MessageId>,
}

impl AttentionItem {
    /// Its state at `now`.
    pub fn state(&self, now: Timestamp) -> AttentionState {
        match self.ended {
            Some((AttentionOutcome::Expired, _)) => AttentionState::Expired,
            Some(_) => AttentionState::Answered,
            None if self.expires_at.is_some_and(|at| at <= now) => AttentionState::Expired,
            None => AttentionState::Open,
        }
    }

    /// Returns whether it can be answered or dismissed: it is open, or has expired.
    pub fn is_unanswered(&self) -> bool {
        !self.ended.is_some_and(|(outcome, _)| outcome != AttentionOutcome::Expired)
    }

    /// Who asked; `None` for a notice of the server.
    pub fn asker(&self) -> Option<&Asker> {
        (!self.kind.is_notice()).then_some(&self.sender)
    }

    /// The part of a text that is shown, with handles for its mentions.
    pub fn summary_of(beginning: &str, mentions: &[Mention], most_chars: usize) -> String {
        let shown = mentions.iter().fold(beginning.to_owned(), |text, mention| {
            text.replace(&mention.marker(), &format!("@{}", mention.handle))
        });
        match shown.char_indices().nth(most_chars) {
            Some((end, _)) => format!("{}{CUT}", shown[..end].trim_end()),
            None => shown,
        }
    }

    /// The decisions that its asker understands. A request that is not shown in full cannot be approved here.
    pub fn decisions(&self) -> Vec<Decision> {
        let Some((adapter, _)) = &self.approval else { return Vec::new() };
        // No adapter ends its request like this.
        let is_whole = !self.summary.ends_with(CUT);
        adapter.decisions().filter(|decision| is_whole || *decision == Decision::Decline).collect()
    }
}

/// Identifies a line of the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AttentionId {
    /// A stored item.
    Item(MessageId),
    /// A contact request.
    Contact(ContactRequestId),
    /// The flagged work of an agent in a chat.
    Work(AgentId, ChatId),
    /// The webhook of an agent.
    Webhook(AgentId),
}

/// The prefix of the id of a contact request.
const CONTACT: &str = "contact-";

/// The prefix of the id of work.
const WORK: &str = "work-";

/// The prefix of the id of a webhook.
const WEBHOOK: &str = "webhook-";

impl AttentionId {
    /// Reads what [`fmt::Display`] writes.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(request) = text.strip_prefix(CONTACT) {
            return ContactRequestId::parse(request).map(Self::Contact);
        }
        if let Some(agent) = text.strip_prefix(WEBHOOK) {
            return AgentId::parse(agent).map(Self::Webhook);
        }
        let Some(work) = text.strip_prefix(WORK) else { return MessageId::parse(text).map(Self::Item) };
        let (agent, chat) = work.split_once('.')?;
        Some(Self::Work(AgentId::parse(agent)?, ChatId::parse(chat)?))
    }
}

impl fmt::Display for AttentionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Item(message) => message.fmt(f),
            Self::Contact(request) => write!(f, "{CONTACT}{request}"),
            Self::Work(agent, chat) => write!(f, "{WORK}{agent}.{chat}"),
            Self::Webhook(agent) => write!(f, "{WEBHOOK}{agent}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn ids_are_read_as_they_were_written() {
        let id = Uuid::from_u128;
        for one in [
            AttentionId::Item(MessageId::new(id(1))),
            AttentionId::Contact(ContactRequestId::new(id(2))),
            AttentionId::Work(AgentId::new(id(3)), ChatId::new(id(4))),
            AttentionId::Webhook(AgentId::new(id(5))),
        ] {
            assert_eq!(AttentionId::parse(&one.to_string()), Some(one));
        }
        for wrong in ["", "contact-", "work-", "webhook-", "work-x.y", "contact-6f1c9f0e"] {
            assert_eq!(AttentionId::parse(wrong), None, "{wrong}");
        }
    }
}
