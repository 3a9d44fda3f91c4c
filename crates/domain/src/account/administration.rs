//! Accounts for operators, of any owner, and disabling them.
//!
//! A disabled user or agent, and an agent of a disabled user, cannot authenticate: keys and tokens
//! are refused from that moment on, and the sessions and sockets opened with them end on every
//! server. Disabled accounts are not listed as peers and cannot be added to chats. Everything else
//! stays: their chats, contacts, and messages, and messages to them wait until they are enabled.

use std::sync::Arc;

use async_trait::async_trait;

use super::agent::Agent;
use super::delete_user::{DeleteUser, DeleteUserRefused, DeletedUser};
use super::disconnect::AgentConnection;
use super::handle::{AgentHandle, UserHandle};
use super::user::User;
use crate::audit::Actor;
use crate::id::{AgentId, ParticipantId, UserId};
use crate::page::Position;
use crate::ports::{Clock, EventPublisher};
use crate::store::{OnCommit, StoreError};
use crate::time::Timestamp;

/// An account to be disabled or enabled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SetDisabled {
    /// The user or agent.
    pub who: ParticipantId,
    /// The operator: a command, or a user.
    pub by: Actor,
    /// Set to disable the account.
    pub disabled: bool,
    /// The current time.
    pub now: Timestamp,
}

/// The result of [`SetDisabled`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetDisabledOutcome {
    /// The account was changed.
    Done,
    /// The account already had that state.
    AlreadySo,
    /// There is no such user, or the agent was deleted.
    NotFound,
}

/// All users and agents of a store.
#[async_trait]
pub trait AdministrationRepository: Send + Sync {
    /// The first `limit` users after a handle, in the order of their handles.
    async fn users_after(&self, after: Option<UserHandle>, limit: u32) -> Result<Vec<User>, StoreError>;

    /// The first `limit` agents after a handle, in the order of their handles, without deleted
    /// ones: of all owners, or of one.
    async fn agents_after(
        &self,
        owner: Option<UserId>,
        after: Option<AgentHandle>,
        limit: u32,
    ) -> Result<Vec<Agent>, StoreError>;

    /// The users with these ids that are not deleted, in no order.
    async fn users_of(&self, ids: Vec<UserId>) -> Result<Vec<User>, StoreError>;

    /// The agents with these ids that are not deleted, in no order.
    async fn agents_of(&self, ids: Vec<AgentId>) -> Result<Vec<Agent>, StoreError>;

    /// The first `limit` connections of all agents that have ended before a position, newest first; the position is
    /// (time, agent).
    async fn disconnects_before(
        &self,
        before: Option<Position>,
        limit: u32,
    ) -> Result<Vec<AgentConnection>, StoreError>;

    /// Disables or enables an account, with an entry in the change log.
    async fn set_disabled(&self, command: SetDisabled) -> Result<SetDisabledOutcome, StoreError>;

    /// Deletes a user who has no agents: keys, sessions, and password are removed, contacts,
    /// requests and open invitations end, the user leaves all chats, and [`User::deleted`] remains.
    /// Chats that only the user owned get another owner by the rule of
    /// [`delete_agent`](super::AgentRepository::delete_agent); empty ones are closed. The change
    /// log gets the revoked keys, the ended sessions, and the user as disabled and renamed.
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

    /// Disables or enables an account by a command.
    pub async fn set_disabled(
        &self,
        who: ParticipantId,
        disabled: bool,
    ) -> Result<SetDisabledOutcome, StoreError> {
        let command = SetDisabled { who, by: Actor::Operator, disabled, now: self.clock.now() };
        self.accounts.set_disabled(command).await
    }
}
