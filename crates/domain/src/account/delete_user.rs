//! Deleting a user, which only the operator does.
//!
//! The user's agents are deleted one after the other ([`super::delete_agent`]), and the user last,
//! in one write: keys, sessions and password go, contacts and open invitations end, and the user
//! leaves all chats; a chat that only the user owned gets another owner. The row of the user stays,
//! since messages and chats refer to it, without the name and the e-mail address. It keeps the
//! handle, which nobody else may get: clients identify senders by it. Messages keep the name under
//! which they were sent.
//!
//! The user is disabled before the first agent goes, so that nothing is added meanwhile. If the
//! process ends in the middle, the user stays disabled, and the same command does the rest.

use super::administration::AdministrationService;
use super::delete_agent::publish_departure;
use super::service::AccountService;
use super::user::{PersonName, User};
use crate::audit::Actor;
use crate::board::Task;
use crate::chat::{Chat, Participant};
use crate::contact::Parted;
use crate::id::{ParticipantId, UserId};
use crate::legal_hold::UnderHold;
use crate::organization::LastAdmin;
use crate::store::{OnCommit, StoreError};
use crate::time::Timestamp;

/// The number of agents that are read at a time.
const AT_ONCE: u32 = 100;

/// A user to be deleted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeleteUser {
    /// The user.
    pub user: UserId,
    /// Set to delete a user who is in chats.
    pub force: bool,
    /// The current time.
    pub now: Timestamp,
}

/// A user was deleted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeletedUser {
    /// The user in the last state.
    pub user: User,
    /// The chats that the user left, the newest first, each with the user as a participant.
    pub left: Vec<(Chat, Participant)>,
    /// The tasks there that lost an assignment, after the change.
    pub dropped: Vec<Task>,
    /// The contacts and pending requests that ended.
    pub parted: Parted,
}

/// The reason why a user was not deleted; the first that applies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeleteUserRefused {
    /// There is no such user.
    NotFound,
    /// Other members of the organization would be left without an admin.
    LastAdmin,
    /// The user or an agent of the user is or was in a chat that is under a legal hold.
    UnderHold,
    /// The user has agents, or is in chats and `force` was not set.
    InUse(Belongings),
}

/// The agents and chats of a user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Belongings {
    /// Number of agents.
    pub agents: u64,
    /// Number of chats that the user is in.
    pub chats: u64,
}

/// The result of deleting a user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UserDeletion {
    /// The user in the last state.
    pub user: User,
    /// The number of agents that were deleted with the user, and of chats that the user left.
    pub with: Belongings,
}

/// The reason why a user was not deleted.
#[derive(Debug, thiserror::Error)]
pub enum DeleteUserError {
    /// There is no such user.
    #[error("there is no such user")]
    NotFound,
    /// Other members of the organization would be left without an admin.
    #[error("the user is the last admin of the organization; make another member an admin first")]
    LastAdmin(#[source] LastAdmin),
    /// The user or an agent of the user is or was in a chat that is under a legal hold.
    #[error(transparent)]
    UnderHold(#[from] UnderHold),
    /// The user has agents or is in chats, and `force` was not set.
    #[error("the user has {} agent(s) and is in {} chat(s)", .0.agents, .0.chats)]
    InUse(Belongings),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl User {
    /// The rest of a deleted user. The e-mail address can be used again; its replacement is not a
    /// valid address, so it cannot be chosen.
    #[must_use]
    pub fn deleted(&self, now: Timestamp) -> Self {
        Self {
            email: format!("deleted {}", self.id.uuid().simple()),
            name: PersonName { first: "Deleted".to_owned(), last: "user".to_owned() },
            updated_at: now,
            disabled_at: Some(self.disabled_at.unwrap_or(now)),
            ..self.clone()
        }
    }
}

impl AdministrationService {
    /// Deletes a user and the user's agents, which `accounts` deletes; one with agents or in chats
    /// only with `force`.
    pub async fn delete_user(
        &self,
        accounts: &AccountService,
        user: UserId,
        force: bool,
    ) -> Result<UserDeletion, DeleteUserError> {
        let mut agents = 0;
        loop {
            let command = DeleteUser { user, force, now: self.clock.now() };
            match self.accounts.delete_user(command, self.announce_deletion(command.now)).await? {
                Ok(deleted) => {
                    let chats = u64::try_from(deleted.left.len()).unwrap_or(u64::MAX);
                    return Ok(UserDeletion { user: deleted.user, with: Belongings { agents, chats } });
                }
                Err(DeleteUserRefused::NotFound) => return Err(DeleteUserError::NotFound),
                Err(DeleteUserRefused::LastAdmin) => return Err(DeleteUserError::LastAdmin(LastAdmin)),
                Err(DeleteUserRefused::UnderHold) => return Err(UnderHold.into()),
                Err(DeleteUserRefused::InUse(belongings)) if !force => {
                    return Err(DeleteUserError::InUse(belongings));
                }
                Err(DeleteUserRefused::InUse(_)) => {
                    self.set_disabled(ParticipantId::User(user), true).await?;
                    agents += self.delete_agents(accounts, user).await?;
                }
            }
        }
    }

    async fn delete_agents(&self, accounts: &AccountService, owner: UserId) -> Result<u64, DeleteUserError> {
        let (mut number, mut after) = (0, None);
        loop {
            let part = self.accounts.agents_after(Some(owner), after, AT_ONCE).await?;
            let Some(last) = part.last() else { return Ok(number) };
            after = Some(last.handle.clone());
            for agent in &part {
                match accounts.delete_agent_by(Actor::Operator, owner, agent.id, true).await {
                    Ok(_) => number += 1,
                    Err(super::DeleteAgentError::Store(error)) => return Err(error.into()),
                    Err(super::DeleteAgentError::UnderHold(held)) => return Err(held.into()),
                    // Another command deleted it.
                    Err(_) => {}
                }
            }
        }
    }

    fn announce_deletion(&self, now: Timestamp) -> OnCommit<DeletedUser> {
        let events = self.events.clone();
        OnCommit::new(move |deleted: &DeletedUser| {
            publish_departure(&*events, &deleted.left, &deleted.dropped, &deleted.parted, now);
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::{UserHandle, UserRole, parse_email};
    use crate::id::OrganizationId;
    use crate::organization::OrganizationRole;
    use uuid::Uuid;

    #[test]
    fn a_deleted_user_keeps_the_handle_only() {
        let now = Timestamp::from_micros(7);
        let user = User {
            id: UserId::new(Uuid::from_u128(1)),
            organization: OrganizationId::new(Uuid::from_u128(2)),
            organization_role: OrganizationRole::Admin,
            handle: UserHandle::from_stored("ann".to_owned()),
            email: "ann@example.org".to_owned(),
            name: PersonName::split("Ann Lee"),
            role: UserRole::User,
            created_at: Timestamp::from_micros(1),
            updated_at: Timestamp::from_micros(2),
            disabled_at: None,
        };
        let deleted = user.deleted(now);
        assert_eq!((deleted.id, deleted.disabled_at), (user.id, Some(now)));
        assert_eq!((&deleted.handle, deleted.name.full().as_str()), (&user.handle, "Deleted user"));
        assert!(!deleted.email.contains("ann"), "{}", deleted.email);
        assert!(parse_email(&deleted.email).is_err(), "nobody can take {}", deleted.email);
        let since = Timestamp::from_micros(5);
        assert_eq!(User { disabled_at: Some(since), ..user }.deleted(now).disabled_at, Some(since));
    }
}
