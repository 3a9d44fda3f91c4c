//! The operator interface: who may use it, and the lists of all accounts that it shows.

use super::administration::{AdministrationService, SetDisabled, SetDisabledOutcome};
use super::agent::Agent;
use super::disconnect::AgentConnection;
use super::handle::{AgentHandle, UserHandle};
use super::scope::KeyScope;
use super::service::AccountService;
use super::user::{User, UserRole};
use crate::caller::UserCaller;
use crate::id::ParticipantId;
use crate::page::{Page, PageRequest, Position};
use crate::store::StoreError;

/// The reason why a caller may not use the operator interface.
#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    /// The caller is not an administrator of the installation.
    #[error("the caller is not an administrator of the installation")]
    NotOperator,
    /// The key has limits.
    #[error("the key is limited")]
    LimitedKey,
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The reason why an operator did not disable or enable an account.
#[derive(Debug, thiserror::Error)]
pub enum SetDisabledError {
    /// There is no such user or agent.
    #[error("there is no such account")]
    NotFound(ParticipantId),
    /// The operator's own account: nobody might be left to enable it, and a disabled operator must not do so.
    #[error("operators cannot disable or enable themselves")]
    Own,
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl AccountService {
    /// Checks that the caller is an administrator of the installation who is not disabled, and that the credential has no
    /// limits. Reads the user from the store, so that a change counts at once: a disabled operator does nothing more.
    pub async fn check_operator(&self, caller: UserCaller, scope: KeyScope) -> Result<(), OperatorError> {
        let user = self.accounts.find_user(caller.user).await?;
        if user.is_none_or(|user| user.role != UserRole::Admin || user.disabled_at.is_some()) {
            return Err(OperatorError::NotOperator);
        }
        if scope.is_full() { Ok(()) } else { Err(OperatorError::LimitedKey) }
    }
}

impl AdministrationService {
    /// All users, by handle; the position is the handle. Pages are by cursor only.
    pub async fn users(&self, page: PageRequest) -> Result<Page<User>, StoreError> {
        let after = page.slice.after().map(|after| UserHandle::from_stored(after.text));
        let rows = self.accounts.users_after(after, page.slice.limit() + 1).await?;
        Ok(Page::from_overfetch(rows, &page, None, |user| Position::by_text(user.handle.to_string())))
    }

    /// All agents, by handle; the position is the handle. Pages are by cursor only.
    pub async fn agents(&self, page: PageRequest) -> Result<Page<Agent>, StoreError> {
        let after = page.slice.after().map(|after| AgentHandle::from_stored(after.text));
        let rows = self.accounts.agents_after(None, after, page.slice.limit() + 1).await?;
        Ok(Page::from_overfetch(rows, &page, None, |agent| Position::by_text(agent.handle.to_string())))
    }

    /// The users among these ids, and the agents, in no order; without deleted ones.
    pub async fn accounts_of(&self, of: &[ParticipantId]) -> Result<(Vec<User>, Vec<Agent>), StoreError> {
        let users = of.iter().filter_map(|who| who.user()).collect::<Vec<_>>();
        let agents = of.iter().filter_map(|who| who.agent()).collect::<Vec<_>>();
        let users = if users.is_empty() { Vec::new() } else { self.accounts.users_of(users).await? };
        let agents = if agents.is_empty() { Vec::new() } else { self.accounts.agents_of(agents).await? };
        Ok((users, agents))
    }

    /// The connections of all agents that have ended, as far as they are kept, newest first; the position is (time,
    /// agent). Pages are by cursor only.
    pub async fn disconnects(&self, page: PageRequest) -> Result<Page<AgentConnection>, StoreError> {
        let before = page.slice.after();
        let rows = self.accounts.disconnects_before(before, page.slice.limit() + 1).await?;
        let position = |row: &AgentConnection| Position::at(row.connection.end.at.micros(), row.agent);
        Ok(Page::from_overfetch(rows, &page, None, position))
    }

    /// Disables or enables an account for an operator. An account that has the state already keeps it.
    pub async fn set_disabled_by(
        &self,
        operator: UserCaller,
        who: ParticipantId,
        disabled: bool,
    ) -> Result<(), SetDisabledError> {
        if who == ParticipantId::User(operator.user) {
            return Err(SetDisabledError::Own);
        }
        let command = SetDisabled { who, by: operator.user.into(), disabled, now: self.clock.now() };
        match self.accounts.set_disabled(command).await? {
            SetDisabledOutcome::Done | SetDisabledOutcome::AlreadySo => Ok(()),
            SetDisabledOutcome::NotFound => Err(SetDisabledError::NotFound(who)),
        }
    }
}
