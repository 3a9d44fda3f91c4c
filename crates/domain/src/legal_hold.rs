//! Legal holds: nothing can be deleted from a room that is under one.
//!
//! The operator places a hold on a room, or on an organization for all its rooms, later ones included. Until the hold is
//! released, no message in these rooms is edited, deleted, or erased by retention. Neither are the rooms deleted, nor users
//! and agents who are or were in one, since the record of their work would be deleted as well.
//!
//! Invariant: the store decides in the transaction of the change. Once a hold is acknowledged, nothing under it is removed.

use std::sync::Arc;

use async_trait::async_trait;

use crate::audit::AuditObject;
use crate::id::{ChatId, OrganizationId, SubjectId};
use crate::ports::Clock;
use crate::store::StoreError;
use crate::text::{TextFault, bounded};
use crate::time::Timestamp;

/// What a hold is on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum HoldSubject {
    /// A room, also a deleted one of which messages are left.
    Chat(ChatId),
    /// All rooms of an organization.
    Organization(OrganizationId),
}

impl HoldSubject {
    /// The word that the stores use, and the id.
    pub fn parts(self) -> (&'static str, SubjectId) {
        AuditObject::from(self).parts()
    }

    /// Reads [`Self::parts`] back.
    pub fn from_parts(kind: &str, id: SubjectId) -> Option<Self> {
        match AuditObject::from_parts(kind, id)? {
            AuditObject::Chat(id) => Some(Self::Chat(id)),
            AuditObject::Organization(id) => Some(Self::Organization(id)),
            _ => None,
        }
    }
}

impl From<HoldSubject> for AuditObject {
    fn from(subject: HoldSubject) -> Self {
        match subject {
            HoldSubject::Chat(id) => Self::Chat(id),
            HoldSubject::Organization(id) => Self::Organization(id),
        }
    }
}

/// The reason for a hold: not blank, at most 500 characters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HoldReason(String);

impl HoldReason {
    /// The maximum number of characters.
    pub const MAX_CHARS: usize = 500;

    /// Checks the text, which is kept unchanged.
    pub fn new(text: String) -> Result<Self, TextFault> {
        bounded(text, Self::MAX_CHARS).map(Self)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LegalHold {
    /// What it is on.
    pub subject: HoldSubject,
    /// The title of the room, or the name of the organization.
    pub name: Option<String>,
    /// The reason.
    pub reason: String,
    /// The time at which it was placed.
    pub placed_at: Timestamp,
}

/// A hold to be placed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlaceHold {
    /// What it is on.
    pub subject: HoldSubject,
    /// The reason.
    pub reason: HoldReason,
    /// The current time.
    pub now: Timestamp,
}

/// A hold to be released.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReleaseHold {
    /// What it is on.
    pub subject: HoldSubject,
    /// The current time.
    pub now: Timestamp,
}

/// The reason why a hold was not placed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PlaceHoldRefused {
    /// There is no such room or organization.
    #[error("there is no such room or organization")]
    NotFound,
    /// It is under a hold already.
    #[error("it is under a legal hold already")]
    IsHeld,
}

/// There is no hold on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("it is not under a legal hold")]
pub struct NotHeld;

/// The reason why a hold was neither placed nor released.
#[derive(Debug, thiserror::Error)]
pub enum HoldError {
    /// It was not placed.
    #[error(transparent)]
    Place(#[from] PlaceHoldRefused),
    /// It was not released.
    #[error(transparent)]
    Release(#[from] NotHeld),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A change was refused, since it would remove something that a hold keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a legal hold keeps it")]
pub struct UnderHold;

/// The store of holds.
#[async_trait]
pub trait LegalHoldRepository: Send + Sync {
    /// Stores a hold. Once it returns, every change that it forbids is refused, also one that began before.
    async fn place_hold(&self, command: PlaceHold) -> Result<Result<(), PlaceHoldRefused>, StoreError>;

    /// Removes a hold.
    async fn release_hold(&self, command: ReleaseHold) -> Result<Result<(), NotHeld>, StoreError>;

    /// The holds in the order in which they were placed, after the one on `after`, at most `limit`.
    async fn holds_after(
        &self,
        after: Option<(Timestamp, HoldSubject)>,
        limit: u32,
    ) -> Result<Vec<LegalHold>, StoreError>;
}

/// Use cases on holds, for the operator.
pub struct LegalHoldService {
    holds: Arc<dyn LegalHoldRepository>,
    clock: Arc<dyn Clock>,
}

impl LegalHoldService {
    /// Wires the area to its ports.
    pub fn new(holds: Arc<dyn LegalHoldRepository>, clock: Arc<dyn Clock>) -> Self {
        Self { holds, clock }
    }

    /// Places a hold.
    pub async fn place(&self, subject: HoldSubject, reason: HoldReason) -> Result<(), HoldError> {
        Ok(self.holds.place_hold(PlaceHold { subject, reason, now: self.clock.now() }).await??)
    }

    /// Releases a hold. What retention would have erased meanwhile is erased within a day.
    pub async fn release(&self, subject: HoldSubject) -> Result<(), HoldError> {
        Ok(self.holds.release_hold(ReleaseHold { subject, now: self.clock.now() }).await??)
    }

    /// The holds in the order in which they were placed, after this one, at most `limit`.
    pub async fn list(&self, after: Option<&LegalHold>, limit: u32) -> Result<Vec<LegalHold>, StoreError> {
        self.holds.holds_after(after.map(|hold| (hold.placed_at, hold.subject)), limit).await
    }
}
