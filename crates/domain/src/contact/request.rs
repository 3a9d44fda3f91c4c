//! Contact requests: the state machine and who may do what. Pure; the
//! stores call these inside the write, on the rows they have locked.

use serde::{Deserialize, Serialize};

use crate::caller::Caller;
use crate::id::{ContactRequestId, ParticipantId, UserId};
use crate::text::{TextFault, bounded};
use crate::time::Timestamp;
use crate::words::words;

words! {
    /// Where a request stands.
    RequestStatus {
        /// Nobody has answered.
        Pending = "pending",
        /// The two are contacts, or were.
        Approved = "approved",
        /// The recipient did not want to.
        Rejected = "rejected",
        /// The requester took it back.
        Cancelled = "cancelled",
        /// Nobody answered in time.
        Expired = "expired",
    }
}

impl RequestStatus {
    /// What a stored status means for a request of `created_at`, when those sent at or before
    /// `expired_until` are over age.
    pub fn at(self, created_at: Timestamp, expired_until: Timestamp) -> Self {
        match self {
            Self::Pending if created_at <= expired_until => Self::Expired,
            other => other,
        }
    }
}

words! {
    /// What can be done with a pending request.
    RequestAction {
        /// Become contacts.
        Approve = "approve",
        /// Do not.
        Reject = "reject",
        /// Take it back.
        Cancel = "cancel",
    }
}

impl RequestAction {
    /// Where it leads.
    pub const fn outcome(self) -> RequestStatus {
        match self {
            Self::Approve => RequestStatus::Approved,
            Self::Reject => RequestStatus::Rejected,
            Self::Cancel => RequestStatus::Cancelled,
        }
    }
}

/// A few words that go with a request: up to 500 characters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestMessage(String);

impl RequestMessage {
    /// The most characters.
    const MAX_CHARS: usize = 500;

    /// Checks a text; a blank one says nothing and is none.
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

    /// The words.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// One side of a request.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Party {
    /// Who it is.
    pub id: ParticipantId,
    /// Without `@`.
    pub handle: String,
    /// The display name.
    pub name: String,
}

/// A question whether to be contacts.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ContactRequest {
    /// Identifier.
    pub id: ContactRequestId,
    /// Who asks.
    pub requester: Party,
    /// Who is asked.
    pub recipient: Party,
    /// What was said with it.
    pub message: Option<String>,
    /// Where it stands; never pending when it is over age.
    pub status: RequestStatus,
    /// When it was sent.
    pub created_at: Timestamp,
    /// When it was answered; `None` while pending and when expired.
    pub responded_at: Option<Timestamp>,
}

/// Why a request was not sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SendRefused {
    /// The agent that asks is gone.
    #[error("the agent is gone")]
    RequesterGone,
    /// Nobody has the handle.
    #[error("nobody has the handle")]
    Unknown,
    /// The requester has it.
    #[error("nobody is a contact of themselves")]
    Oneself,
    /// The two are contacts.
    #[error("the two are contacts already")]
    AlreadyContact,
    /// A request of the same requester to the same recipient waits for its answer.
    #[error("a request is pending already")]
    AlreadyAsked,
}

/// What the store knows of the one who asks and the one who is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Between {
    /// Whether they are one and the same.
    pub same: bool,
    /// Whether they are contacts.
    pub contacts: bool,
    /// Whether a request in the same direction is pending.
    pub asked: bool,
    /// Whether a request in the other direction is pending.
    pub asked_back: bool,
}

/// What sending leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sending {
    /// A pending request.
    Ask,
    /// The other has asked already: both are approved.
    Approve,
}

/// Decides on sending to somebody who was found.
pub fn decide_send(between: Between) -> Result<Sending, SendRefused> {
    if between.same {
        Err(SendRefused::Oneself)
    } else if between.contacts {
        Err(SendRefused::AlreadyContact)
    } else if between.asked {
        Err(SendRefused::AlreadyAsked)
    } else if between.asked_back {
        Ok(Sending::Approve)
    } else {
        Ok(Sending::Ask)
    }
}

/// The two sides of a request, each with the human who answers for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sides {
    /// Who asks.
    pub requester: ParticipantId,
    /// The requester itself, or the owner of a requesting agent.
    pub requester_user: UserId,
    /// Who is asked.
    pub recipient: ParticipantId,
    /// The recipient itself, or the owner of a recipient agent.
    pub recipient_user: UserId,
}

/// What an answer to a request leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answering {
    /// The request gets this status.
    Settle(RequestStatus),
    /// It is over age: that is written down, and the answer is refused.
    Expire,
}

/// Why an answer is refused, and nothing is changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AnswerForbidden {
    /// The caller has to do with neither side.
    #[error("there is no such request for the caller")]
    NotFound,
    /// This is for the other side to do.
    #[error("this is for the other side to do")]
    OtherSide,
    /// It was answered before.
    #[error("the request is settled already")]
    Settled(RequestStatus),
}

/// Decides on an answer to a request that stands at `stored` and was sent at `created_at`.
///
/// Whose it is comes first, so that a stranger learns nothing; then who may do it; then whether
/// there is anything left to do.
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
