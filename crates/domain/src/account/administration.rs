//! Accounts as the operator sees them, whoever they belong to, and keeping somebody out.
//!
//! Nobody comes in as a user or an agent that is disabled, nor as an agent of such a user: keys and tokens are
//! refused from that moment on, and what was opened with them ends on every server. Others are not offered them as
//! peers any more and cannot bring them into rooms. All else stays: their rooms, contacts and messages, and what is
//! sent to them waits until they are enabled.

use std::sync::Arc;

use async_trait::async_trait;

use super::agent::Agent;
use super::delete_user::{DeleteUser, DeleteUserRefused, DeletedUser};
use super::handle::{AgentHandle, UserHandle};
use super::user::User;
use crate::id::{ParticipantId, UserId};
use crate::ports::{Clock, EventPublisher};
use crate::store::{OnCommit, StoreError};
use crate::time::Timestamp;

/// Somebody to be kept out, or to be let in again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SetDisabled {
    /// Who.
    pub who: ParticipantId,
    /// Whether they are to be kept out.
    pub disabled: bool,
    /// When.
    pub now: Timestamp,
}

/// What became of [`SetDisabled`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetDisabledOutcome {
    /// It is so from now on.
    Done,
    /// It was so already, and since then.
    AlreadySo,
    /// There is no such user, or the agent was deleted.
    NotFound,
}

/// All users and agents of a store.
#[async_trait]
pub trait AdministrationRepository: Send + Sync {
    /// The first `limit` users behind a handle, in the order of their handles.
    async fn users_after(&self, after: Option<UserHandle>, limit: u32) -> Result<Vec<User>, StoreError>;

    /// The first `limit` agents behind a handle, in the order of their handles, without the deleted ones: of all
    /// owners, or of one.
    async fn agents_after(
        &self,
        owner: Option<UserId>,
        after: Option<AgentHandle>,
        limit: u32,
    ) -> Result<Vec<Agent>, StoreError>;

    /// Keeps somebody out or lets them in again, and writes that into the log of changes.
    async fn set_disabled(&self, command: SetDisabled) -> Result<SetDisabledOutcome, StoreError>;

    /// Deletes a user who has no agents: keys, sessions and password go, contacts, requests and open invitations end,
    /// the user leaves all chats, and [`User::deleted`] is what stays. Chats that only the user owned get another owner
    /// as [`crate::chat::succession::heir`] says; those that are left empty are closed. The log of changes gets the
    /// revoked keys, the ended sessions, and the user as disabled and renamed.
    async fn delete_user(
        &self,
        command: DeleteUser,
        on_commit: OnCommit<DeletedUser>,
    ) -> Result<Result<DeletedUser, DeleteUserRefused>, StoreError>;
}

/// Use cases of the operator.
pub struct AdministrationService {
    pub(super) accounts: Arc<dyn AdministrationRepository>,
    pub(super) events: Arc<dyn EventPublisher>,
    pub(super) clock: Arc<dyn Clock>,
}

impl AdministrationService {
    /// Wires the operator's use cases to their ports.
    pub fn new(
        accounts: Arc<dyn AdministrationRepository>,
        events: Arc<dyn EventPublisher>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { accounts, events, clock }
    }

    /// See [`AdministrationRepository::users_after`].
    pub async fn users_after(&self, after: Option<UserHandle>, limit: u32) -> Result<Vec<User>, StoreError> {
        self.accounts.users_after(after, limit).await
    }

    /// See [`AdministrationRepository::agents_after`].
    pub async fn agents_after(
        &self,
        owner: Option<UserId>,
        after: Option<AgentHandle>,
        limit: u32,
    ) -> Result<Vec<Agent>, StoreError> {
        self.accounts.agents_after(owner, after, limit).await
    }

    /// Keeps somebody out, or lets them in again.
    pub async fn set_disabled(
        &self,
        who: ParticipantId,
        disabled: bool,
    ) -> Result<SetDisabledOutcome, StoreError> {
        self.accounts.set_disabled(SetDisabled { who, disabled, now: self.clock.now() }).await
    }
}
