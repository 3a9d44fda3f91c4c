//! The effect of a new message on items. Pure; the stores call it in the transaction that stores the message.

use std::time::Duration;

use serde_json::{Map, Value};

use super::approval::{self, Adapter, Said};
use super::item::{AttentionKind, AttentionOutcome};
use crate::budget::{Budget, BudgetScope};
use crate::delivery::HeldBy;
use crate::id::{MessageId, ParticipantId, SubjectId, UserId};
use crate::message::{AnsweredItem, MentionKind, Message, MessageKind, NewMessage};
use crate::text::without_nul;
use crate::time::Timestamp;
use crate::usage::Day;

/// The maximum number of characters of a default.
const MAX_DEFAULT_CHARS: usize = 16_384;

/// The longest time that an item can wait.
const MAX_WAIT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// An item that a message makes; the rest of it is in the message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewItem {
    /// Its kind.
    pub kind: AttentionKind,
    /// Set if the asker cannot go on without an answer.
    pub is_blocking: bool,
    /// The adapter of an approval request.
    pub adapter: Option<Adapter>,
    /// The token of an approval request. That of a notice about a hold is set later ([`hold_token`]).
    pub token: Option<String>,
    /// What the asker does if nobody answers in time.
    pub default: Option<String>,
    /// The time after which the asker does not wait any more.
    pub expires_at: Option<Timestamp>,
}

/// The selection of items that a message ends, all of its chat. Notices of the server are never among them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WhichItem {
    /// That of this message.
    Of {
        /// The message.
        message: MessageId,
        /// Only if one of these has asked.
        askers: Vec<ParticipantId>,
        /// Set if it can be an approval request, which only a decision ends.
        can_be_approval: bool,
    },
    /// The open approval requests with this token, of these agents.
    Approval {
        /// The token.
        token: String,
        /// The adapters that understand what was said.
        adapters: Vec<Adapter>,
        /// The agents.
        askers: Vec<ParticipantId>,
    },
}

impl WhichItem {
    const fn askers_mut(&mut self) -> &mut Vec<ParticipantId> {
        match self {
            Self::Of { askers, .. } | Self::Approval { askers, .. } => askers,
        }
    }
}

/// Items that a message ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClosedItem {
    /// Which.
    pub which: WhichItem,
    /// How.
    pub outcome: AttentionOutcome,
    /// The user who answers.
    pub by: Option<UserId>,
    /// Set if a command answers: the change log tells the servers of its text.
    pub is_of_command: bool,
}

impl ClosedItem {
    const fn by_asker(which: WhichItem, outcome: AttentionOutcome) -> Self {
        Self { which, outcome, by: None, is_of_command: false }
    }

    /// Without the askers who do not receive the stored answer because it is held: they still wait.
    #[must_use]
    pub fn told_by(mut self, message: &Message) -> Self {
        if self.by.is_some() {
            let is_told = |asker: &ParticipantId| {
                let mut deliveries = message.deliveries.iter();
                deliveries.any(|one| {
                    Some(one.agent()) == asker.agent() && one.is_addressed() && one.held_by().is_none()
                })
            };
            self.which.askers_mut().retain(is_told);
        }
        self
    }
}

/// The effect of a message: it makes an item, or ends some.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AttentionEffect {
    /// It makes one.
    Opens(NewItem),
    /// It ends those that match.
    Closes(ClosedItem),
}

impl AttentionEffect {
    /// The effect of `new`. Most texts have none, which costs no more than a look at their beginning.
    pub fn of(new: &NewMessage) -> Option<Self> {
        match (new.kind, new.sender) {
            (MessageKind::Attention, _) => Some(Self::of_event(new)),
            // One adapter tells by an error that a request has timed out.
            (MessageKind::Text | MessageKind::Error, ParticipantId::Agent(_)) => Self::of_agent(new),
            (MessageKind::Text, ParticipantId::User(user)) => Self::of_human(new, user),
            _ => None,
        }
    }

    /// The one item that it ends, unless it ends those with a token.
    pub const fn ended_item(&self) -> Option<MessageId> {
        match self {
            Self::Closes(ClosedItem { which: WhichItem::Of { message, .. }, .. }) => Some(*message),
            _ => None,
        }
    }

    fn of_event(new: &NewMessage) -> Self {
        let none = Map::new();
        let metadata = new.metadata.as_ref().unwrap_or(&none);
        let text = |name: &str| metadata.get(name).and_then(Value::as_str);
        if new.is_notice {
            return Self::Opens(notice(metadata, new.now));
        }
        if let Some(message) = text("resolves").and_then(MessageId::parse) {
            let which = WhichItem::Of { message, askers: vec![new.sender], can_be_approval: false };
            return Self::Closes(ClosedItem::by_asker(which, AttentionOutcome::Resolved));
        }
        // What agents of other versions write there is not refused, so it is ignored if it means nothing.
        let expires_at = text("expires_at").and_then(Timestamp::parse);
        let expires_at = expires_at.filter(|at| *at > new.now && *at <= new.now.plus(MAX_WAIT));
        let default = text("default").filter(|text| text.chars().count() <= MAX_DEFAULT_CHARS);
        let default = default.filter(|text| without_nul(text).is_ok());
        Self::Opens(NewItem {
            kind: text("kind").and_then(AttentionKind::parse).unwrap_or(AttentionKind::Question),
            is_blocking: is_blocking(metadata),
            adapter: None,
            token: None,
            default: default.filter(|text| !text.trim().is_empty()).map(str::to_owned),
            expires_at,
        })
    }

    fn of_agent(new: &NewMessage) -> Option<Self> {
        match approval::said(&new.content)? {
            Said::Requested { .. } if new.kind != MessageKind::Text => None,
            Said::Requested { adapter, token } => Some(Self::Opens(NewItem {
                kind: AttentionKind::Approval,
                is_blocking: true,
                adapter: Some(adapter),
                token: Some(token),
                default: None,
                expires_at: Some(new.now.plus(approval::WAIT)),
            })),
            Said::Settled { token, has_timed_out } => {
                let (adapters, askers) = (Adapter::ALL.to_vec(), vec![new.sender]);
                let which = WhichItem::Approval { token, adapters, askers };
                let outcome =
                    if has_timed_out { AttentionOutcome::Expired } else { AttentionOutcome::Resolved };
                Some(Self::Closes(ClosedItem::by_asker(which, outcome)))
            }
        }
    }

    /// An answer that names its item, or a reply that was typed in the room.
    fn of_human(new: &NewMessage, user: UserId) -> Option<Self> {
        let mentioned = new.mentions.iter().filter(|mention| mention.kind == MentionKind::Mention);
        let askers = mentioned.map(|mention| mention.id).filter(|id| id.agent().is_some()).collect();
        let replied = approval::replied(&new.content).filter(|_| new.must_answer().is_none());
        let which = if let Some((token, adapters)) = replied {
            WhichItem::Approval { token: token.to_owned(), adapters, askers }
        } else {
            let AnsweredItem { item, is_reply, .. } = new.answers?;
            WhichItem::Of { message: item, askers, can_be_approval: !is_reply }
        };
        let is_of_command = new.answers.is_some_and(|answered| answered.is_of_command);
        let (outcome, by) = (AttentionOutcome::Answered, Some(user));
        Some(Self::Closes(ClosedItem { which, outcome, by, is_of_command }))
    }
}

/// The item of an event that the server posts.
fn notice(metadata: &Map<String, Value>, now: Timestamp) -> NewItem {
    let text = |name: &str| metadata.get(name).and_then(Value::as_str);
    let budget = text("budget").and_then(Budget::parse);
    let held_by = text("held_by").and_then(HeldBy::parse);
    let kind = match (budget, held_by) {
        (Some(_), _) => AttentionKind::Budget,
        (None, Some(_)) => AttentionKind::Held,
        (None, None) => AttentionKind::Deadline,
    };
    NewItem {
        kind,
        is_blocking: is_blocking(metadata),
        adapter: None,
        token: None,
        default: None,
        // The budget of a tree is not one of a day.
        expires_at: budget.filter(|budget| budget.scope() != BudgetScope::Tree).map(|_| Day::of(now).end()),
    }
}

/// The token of a notice about a hold.
pub fn hold_token(subject: SubjectId, by: HeldBy) -> String {
    format!("{}:{subject}", by.as_str())
}

/// The tokens of the notices about what ends when a delivery of `message` that is held by `by` is changed. Notices about
/// budgets are not among them.
pub fn ended_tokens(message: &Message, by: HeldBy) -> Vec<String> {
    let subjects = match by {
        HeldBy::MaxHops | HeldBy::MaxTreeMessages => vec![message.hold_subject()],
        HeldBy::MaxPairMessages => message.pairs().map(|pair| pair.subject()).collect(),
        HeldBy::Foreign => vec![message.origin_subject()],
        _ => Vec::new(),
    };
    subjects.into_iter().map(|subject| hold_token(subject, by)).collect()
}

fn is_blocking(metadata: &Map<String, Value>) -> bool {
    metadata.get("blocking").and_then(Value::as_bool).unwrap_or(false)
}
