//! Contact requests: the state machine and the permissions. Pure; the stores call these inside the
//! write, on locked rows.

use serde::{Deserialize, Serialize};

use crate::caller::Caller;
use crate::id::{ContactRequestId, ParticipantId, UserId};
use crate::text::{TextFault, bounded};
use crate::time::Timestamp;
use crate::words::words;

words! {
    /// The status of a request.
    RequestStatus {
        /// Not answered yet.
        Pending = "pending",
        /// The two are contacts, or were.
        Approved = "approved",
        /// The recipient rejected it.
        Rejected = "rejected",
        /// The requester cancelled it.
        Cancelled = "cancelled",
        /// Not answered in time.
        Expired = "expired",
    }
}

impl RequestStatus {
    /// The effective status of a request from `created_at`, if those sent at or before
    /// `expired_until` have expired.
    pub fn at(self, created_at: Timestamp, expired_until: Timestamp) -> Self {
        match self {
            Self::Pending if created_at <= expired_until => Self::Expired,
            other => other,
        }
    }
}

words! {
    /// An action on a pending request.
    RequestAction {
        /// Approve it; the two become contacts.
        Approve = "approve",
        /// Reject it.
        Reject = "reject",
        /// Cancel it.
        Cancel = "cancel",
    }
}

impl RequestAction {
    /// The resulting status.
    pub const fn outcome(self) -> RequestStatus {
        match self {
            Self::Approve => RequestStatus::Approved,
            Self::Reject => RequestStatus::Rejected,
            Self::Cancel => RequestStatus::Cancelled,
        }
    }
}

/// The message of a request: up to 500 characters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestMessage(String);

impl RequestMessage {
    /// The maximum number of characters.
    const MAX_CHARS: usize = 500;

    /// Checks a text; a blank one counts as none.
    pub fn given(text: Option<String>) -> Result<Option<Self>, TextFault> {
        match text {
            Some(text) if !text.trim().is_empty() => {
                bounded(text, Self::MAX_CHARS).map(|text| Some(Self(text)))
            }
            Some(text) if text.chars().count() > Self::MAX_CHARS => {
                Err(TextFault::TooManyChars { max: Self::MAX_CHARS })
            }
            _ => Ok(None),
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// One side of a request.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Party {
    /// The user or agent.
    pub id: ParticipantId,
    /// The handle, without `@`.
    pub handle: String,
    /// The display name.
    pub name: String,
}

/// A request to become contacts.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ContactRequest {
    /// Identifier.
    pub id: ContactRequestId,
    /// The requester.
    pub requester: Party,
    /// The recipient.
    pub recipient: Party,
    /// The message.
    pub message: Option<String>,
    /// The status; never pending after its expiry.
    pub status: RequestStatus,
    /// The time at which it was sent.
    pub created_at: Timestamp,
    /// The time of the answer; `None` while pending and if expired.
    pub responded_at: Option<Timestamp>,
}

/// The reason why a request was not sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SendRefused {
    /// The requesting agent was deleted.
    #[error("the agent is gone")]
    RequesterGone,
    /// No account has the handle.
    #[error("nobody has the handle")]
    Unknown,
    /// It is the requester's own handle.
    #[error("nobody is a contact of themselves")]
    Oneself,
    /// The two are already contacts.
    #[error("the two are contacts already")]
    AlreadyContact,
    /// The same request is already pending.
    #[error("a request is pending already")]
    AlreadyAsked,
}

/// The state between a requester and a recipient.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Relationship {
    /// Set if they are the same.
    pub same: bool,
    /// Set if they are contacts.
    pub contacts: bool,
    /// Set if a request in the same direction is pending.
    pub asked: bool,
    /// Set if a request in the other direction is pending.
    pub asked_back: bool,
}

/// The effect of sending.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sending {
    /// A pending request.
    Ask,
    /// The other side has a pending request already: both are approved.
    Approve,
}

/// Decides on sending to an existing account.
pub fn decide_send(relationship: Relationship) -> Result<Sending, SendRefused> {
    if relationship.same {
        Err(SendRefused::Oneself)
    } else if relationship.contacts {
        Err(SendRefused::AlreadyContact)
    } else if relationship.asked {
        Err(SendRefused::AlreadyAsked)
    } else if relationship.asked_back {
        Ok(Sending::Approve)
    } else {
        Ok(Sending::Ask)
    }
}

/// The two sides of a request, each with the accountable user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sides {
    /// The requester.
    pub requester: ParticipantId,
    /// The requester itself, or the owner of a requesting agent.
    pub requester_user: UserId,
    /// The recipient.
    pub recipient: ParticipantId,
    /// The recipient itself, or the owner of a recipient agent.
    pub recipient_user: UserId,
}

/// The effect of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answering {
    /// The request gets this status.
    Settle(RequestStatus),
    /// It is too old: it is marked as expired, and the answer is refused.
    Expire,
}

/// The reason why an answer is refused, and nothing is changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AnswerForbidden {
    /// The caller is on neither side.
    #[error("there is no such request for the caller")]
    NotFound,
    /// Only the other side may do this.
    #[error("this is for the other side to do")]
    OtherSide,
    /// It was answered before.
    #[error("the request is settled already")]
    Settled(RequestStatus),
}

/// Decides on an answer to a request with the status `stored` that was sent at `created_at`.
///
/// The sides are checked first, so that a stranger learns nothing; then the permission; then the
/// status.
pub fn decide_answer(
    caller: Caller,
    sides: Sides,
    action: RequestAction,
    stored: RequestStatus,
    over_age: bool,
) -> Result<Answering, AnswerForbidden> {
    let acts_for = |who: ParticipantId, user: UserId| match caller {
        Caller::User(caller) => caller.user == user,
        Caller::Agent(caller) => ParticipantId::Agent(caller.agent) == who,
    };
    let asks = acts_for(sides.requester, sides.requester_user);
    let is_asked = acts_for(sides.recipient, sides.recipient_user);
    if !asks && !is_asked {
        return Err(AnswerForbidden::NotFound);
    }
    let may = match action {
        RequestAction::Approve | RequestAction::Reject => is_asked,
        RequestAction::Cancel => asks,
    };
    if !may {
        return Err(AnswerForbidden::OtherSide);
    }
    match stored {
        RequestStatus::Pending if over_age => Ok(Answering::Expire),
        RequestStatus::Pending => Ok(Answering::Settle(action.outcome())),
        settled => Err(AnswerForbidden::Settled(settled)),
    }
}

#[cfg(test)]
mod tests;
