//! Established contacts.

use serde::{Deserialize, Serialize};

use crate::id::{ContactId, ContactRequestId, ParticipantId};
use crate::time::Timestamp;

/// What is shown of somebody to those who know them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Profile {
    /// Who it is.
    pub id: ParticipantId,
    /// Without `@`.
    pub handle: String,
    /// The display name.
    pub name: String,
    /// The address, of a user.
    pub email: Option<String>,
    /// What it is for, of an agent.
    pub description: Option<String>,
    /// Whether it runs at its owner's, of an agent.
    pub is_external: Option<bool>,
    /// Whether it stands in the directory, of an agent.
    pub listed_in_directory: Option<bool>,
    /// Words by which it may be found, of an agent.
    pub tags: Vec<String>,
}

/// A contact as one of its two sides has it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Contact {
    /// Identifier of this side's record.
    pub id: ContactId,
    /// The other side.
    pub with: Profile,
    /// The request that led to it; `None` for one that arose without.
    pub request: Option<ContactRequestId>,
    /// Since when.
    pub created_at: Timestamp,
}

/// A contact, and whose record of it this is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ContactOf {
    /// The side that has the record.
    pub owner: ParticipantId,
    /// The record.
    pub contact: Contact,
}
