//! Pausing an organization: no agent works in any of its chats. Agents are paused alike ([`crate::control`]).

use serde::{Deserialize, Serialize};

use super::authority::Authority;
use super::port::SetPaused;
use super::role::NotAdmin;
use super::service::OrganizationService;
use crate::plan::Organization;
use crate::store::StoreError;
use crate::text::{TextFault, bounded};
use crate::time::Timestamp;

/// A pause of an organization or an agent.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Pause {
    /// Its beginning.
    pub since: Timestamp,
    /// The reason, which the members of the organization or the owner of the agent see.
    pub reason: String,
}

/// The reason for a pause: not blank, at most 500 characters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PauseReason(String);

impl PauseReason {
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

/// The reason why an organization was neither paused nor resumed.
#[derive(Debug, thiserror::Error)]
pub enum PauseError {
    /// Only an admin may do this.
    #[error(transparent)]
    NotAdmin(#[from] NotAdmin),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl OrganizationService {
    /// Stops every agent in every chat of the organization until it is resumed. A pause that goes on gets the new
    /// reason. Stops of single chats are not affected.
    pub async fn pause(&self, by: Authority, reason: PauseReason) -> Result<Organization, PauseError> {
        self.set_paused(by, Some(reason)).await
    }

    /// Ends a pause, if there is one.
    pub async fn resume(&self, by: Authority) -> Result<Organization, PauseError> {
        self.set_paused(by, None).await
    }

    async fn set_paused(
        &self,
        by: Authority,
        reason: Option<PauseReason>,
    ) -> Result<Organization, PauseError> {
        Ok(self.organizations.set_paused(SetPaused { by, reason, now: self.clock.now() }).await??)
    }
}
