//! The store of accounts.

use async_trait::async_trait;

use super::agent::{Agent, NewAgent};
use super::handle::UserHandle;
use super::mark_agent::AgentMarks;
use super::profile::ProfileChanges;
use super::update_agent::AgentChanges;
use super::user::{NewUser, User};
use crate::audit::Actor;
use crate::chat::{Chat, Participant};
use crate::contact::Parted;
use crate::id::{AgentId, OrganizationId, SessionId, UserId};
use crate::organization::InvitationRefused;
use crate::page::{Order, Page, PageRequest};
use crate::plan::{LimitReached, Permits};
use crate::store::{OnCommit, StoreError};
use crate::time::Timestamp;

/// Where a user belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UserStanding {
    /// The organization.
    pub organization: OrganizationId,
    /// What its plan allows.
    pub permits: Permits,
    /// When the password was set; tokens that were made under another one are good for nothing.
    pub password_set_at: Option<Timestamp>,
    /// Whether the operator keeps the user out.
    pub is_disabled: bool,
}

/// A session that has not ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpenSession {
    /// Whose.
    pub user: UserId,
    /// When the user logged in.
    pub began_at: Timestamp,
}

/// Why a user was not created.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CreateUserRefused {
    /// Another user has the handle.
    HandleTaken,
    /// Another user has the e-mail address (compared without case).
    EmailTaken,
    /// There is no such plan.
    NoSuchPlan,
    /// The invitation does not let the user in.
    Invitation(InvitationRefused),
}

/// Why an agent was not registered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RegisterRefused {
    /// The organization has as many agents as its plan allows.
    Limit(LimitReached),
    /// Another agent of the same owner has the name (compared exactly).
    NameTaken,
    /// The owner's account is gone.
    OwnerGone,
}

/// An agent to be changed by its owner.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UpdateAgent {
    /// Which.
    pub agent: AgentId,
    /// Who asks.
    pub owner: UserId,
    /// What.
    pub changes: AgentChanges,
    /// When.
    pub now: Timestamp,
}

/// Why an agent was not changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UpdateAgentRefused {
    /// The owner has no such agent.
    NotFound,
    /// Another agent of the owner has the name.
    NameTaken,
}

/// An agent to be marked by the operator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MarkAgent {
    /// Its handle, in the stored form.
    pub handle: String,
    /// What.
    pub marks: AgentMarks,
    /// When.
    pub now: Timestamp,
}

/// An agent to be deleted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeleteAgent {
    /// Which.
    pub agent: AgentId,
    /// Whose it must be.
    pub owner: UserId,
    /// Who asks.
    pub by: Actor,
    /// Whether also if it has worked.
    pub force: bool,
    /// When.
    pub now: Timestamp,
}

/// An agent was deleted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeletedAgent {
    /// As it was.
    pub agent: Agent,
    /// In how many rooms it had sent or received messages.
    pub executions: u64,
    /// The rooms that it left, the newest first, and as what it was in them.
    pub left: Vec<(Chat, Participant)>,
    /// Its contacts and pending requests, which ended.
    pub parted: Parted,
}

/// Why an agent was not deleted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeleteAgentRefused {
    /// The owner has no such agent.
    NotFound,
    /// It has worked, and `force` was not said.
    HasWorked {
        /// In how many rooms.
        executions: u64,
    },
}

/// A human's record to be changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UpdateUser {
    /// Whose.
    pub user: UserId,
    /// What.
    pub changes: ProfileChanges,
    /// When.
    pub now: Timestamp,
}

/// By what a list of agents is sorted; equals by id.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum AgentSort {
    /// By name, without regard to the case of ASCII letters.
    Name,
    /// By registration.
    #[default]
    Created,
    /// By the last change of the record.
    Updated,
}

/// Which agents of an owner are wanted, and in which order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AgentListing {
    /// Only those whose name holds this text, in any case.
    pub name: Option<String>,
    /// Only those that run at their owner's, or only the others.
    pub is_external: Option<bool>,
    /// Only those that stand in the directory, or only the others.
    pub listed_in_directory: Option<bool>,
    /// By what.
    pub sort: AgentSort,
    /// In which direction.
    pub order: Order,
}

impl Default for AgentListing {
    /// All, newest first.
    fn default() -> Self {
        Self {
            name: None,
            is_external: None,
            listed_in_directory: None,
            sort: AgentSort::default(),
            order: Order::Descending,
        }
    }
}

/// Users, agents and their keys.
#[async_trait]
pub trait AccountRepository: Send + Sync {
    /// Stores a user, its organization if that is new, and its first key, or nothing. The invitation by which
    /// it comes, if any, is accepted in the same moment; of many who come by one at once, one does.
    async fn create_user(&self, new: NewUser) -> Result<Result<User, CreateUserRefused>, StoreError>;

    /// Like [`Self::create_user`], but only if the store holds no user at all; `None` if it does.
    /// Two processes that start at once on an empty store make one user.
    async fn create_first_user(&self, new: NewUser) -> Result<Option<User>, StoreError>;

    /// Stores an agent and its key, if it has one. The slug is
    /// [`super::handle::Slug::find_free`] among the handles that the owner's agents have or ever
    /// had.
    async fn register_agent(
        &self,
        new: NewAgent,
        on_commit: OnCommit<Agent>,
    ) -> Result<Result<Agent, RegisterRefused>, StoreError>;

    /// Changes an agent of `command.owner`. A name that it has already is no conflict.
    async fn update_agent(
        &self,
        command: UpdateAgent,
        on_commit: OnCommit<Agent>,
    ) -> Result<Result<Agent, UpdateAgentRefused>, StoreError>;

    /// Changes what the operator says of an agent; `None` if no agent has the handle.
    async fn mark_agent(
        &self,
        command: MarkAgent,
        on_commit: OnCommit<Agent>,
    ) -> Result<Option<Agent>, StoreError>;

    /// Deletes an agent: its key is dead, it has left every room, its name is free (its handle is
    /// not). A room that it alone owned passes on as [`crate::chat::succession::heir`] says; one
    /// that is left empty is closed.
    async fn delete_agent(
        &self,
        command: DeleteAgent,
        on_commit: OnCommit<DeletedAgent>,
    ) -> Result<Result<DeletedAgent, DeleteAgentRefused>, StoreError>;

    /// Erases up to `limit` deliveries, with their attempts, of agents that were deleted. Tells
    /// whether more may be left.
    async fn erase_work(&self, limit: u32) -> Result<bool, StoreError>;

    /// Changes a human's record and gives it; `None` if there is none.
    async fn update_user(&self, command: UpdateUser) -> Result<Option<User>, StoreError>;

    /// Where a user belongs to, and what the plan there allows; `None` if there is no such user.
    async fn find_standing(&self, user: UserId) -> Result<Option<UserStanding>, StoreError>;

    /// A session; `None` if it has ended.
    async fn find_session(&self, session: SessionId) -> Result<Option<OpenSession>, StoreError>;

    /// A user by id.
    async fn find_user(&self, id: UserId) -> Result<Option<User>, StoreError>;

    /// A user by handle.
    async fn find_user_by_handle(&self, handle: &UserHandle) -> Result<Option<User>, StoreError>;

    /// An agent by id, unless it was deleted.
    async fn find_agent(&self, id: AgentId) -> Result<Option<Agent>, StoreError>;

    /// An agent by its handle in the stored form, unless it was deleted.
    async fn find_agent_by_handle(&self, handle: &str) -> Result<Option<Agent>, StoreError>;

    /// The agents of `owner`; the position is (time, id), or (0, id) by name.
    async fn list_agents(
        &self,
        owner: UserId,
        listing: AgentListing,
        page: PageRequest,
    ) -> Result<Page<Agent>, StoreError>;
}
