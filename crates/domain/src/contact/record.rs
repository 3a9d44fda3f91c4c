//! Contacts.

use serde::{Deserialize, Serialize};

use crate::id::{ContactId, ContactRequestId, ParticipantId};
use crate::time::Timestamp;

/// The profile of a user or agent, as contacts see it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Profile {
    /// The user or agent.
    pub id: ParticipantId,
    /// The handle, without `@`.
    pub handle: String,
    /// The display name.
    pub name: String,
    /// The e-mail address of a user.
    pub email: Option<String>,
    /// The description of an agent.
    pub description: Option<String>,
    /// Set for an agent that its owner runs.
    pub is_external: Option<bool>,
    /// Set for an agent in the directory.
    pub listed_in_directory: Option<bool>,
    /// The search tags of an agent.
    pub tags: Vec<String>,
}

/// A contact as one of its two sides sees it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Contact {
    /// Identifier of this side's record.
    pub id: ContactId,
    /// The other side.
    pub with: Profile,
    /// The request that led to it; `None` if there was none.
    pub request: Option<ContactRequestId>,
    /// The time at which it began.
    pub created_at: Timestamp,
}

/// A contact with the owner of this record.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ContactOf {
    /// The side whose record this is.
    pub owner: ParticipantId,
    /// The record.
    pub contact: Contact,
}
