//! The store of accounts.

use async_trait::async_trait;

use super::agent::{Agent, NewAgent};
use super::handle::UserHandle;
use super::key::{KeyDigest, StoredKey};
use super::user::{NewUser, User};
use crate::id::{AgentId, UserId};
use crate::page::{Page, PageRequest};
use crate::store::StoreError;

/// Why a user was not created.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CreateUserRefused {
    /// Another user has the handle.
    HandleTaken,
    /// Another user has the e-mail address (compared without case).
    EmailTaken,
}

/// Why an agent was not registered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RegisterRefused {
    /// Another agent of the same owner has the name (compared exactly).
    NameTaken,
    /// The owner's account is gone.
    OwnerGone,
}

/// Users, agents and their keys.
#[async_trait]
pub trait AccountRepository: Send + Sync {
    /// Stores a user, its organization (named after the handle) and its first key, or nothing.
    async fn create_user(&self, new: NewUser) -> Result<Result<User, CreateUserRefused>, StoreError>;

    /// Like [`Self::create_user`], but only if the store holds no user at all; `None` if it does.
    /// Two processes that start at once on an empty store make one user.
    async fn create_first_user(&self, new: NewUser) -> Result<Option<User>, StoreError>;

    /// Stores an agent and its key. The slug is `new.slug.first_free(..)` among the handles that
    /// the owner's agents have or ever had.
    async fn register_agent(&self, new: NewAgent) -> Result<Result<Agent, RegisterRefused>, StoreError>;

    /// The valid key with this digest, and whom it stands for.
    async fn find_key(&self, digest: KeyDigest) -> Result<Option<StoredKey>, StoreError>;

    /// A user by id.
    async fn find_user(&self, id: UserId) -> Result<Option<User>, StoreError>;

    /// A user by handle.
    async fn find_user_by_handle(&self, handle: &UserHandle) -> Result<Option<User>, StoreError>;

    /// An agent by id, unless it was deleted.
    async fn find_agent(&self, id: AgentId) -> Result<Option<Agent>, StoreError>;

    /// The agents of `owner`, newest first; the position is (`created_at`, id).
    async fn list_agents(&self, owner: UserId, page: PageRequest) -> Result<Page<Agent>, StoreError>;
}
