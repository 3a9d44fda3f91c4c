//! The store of accounts.

use async_trait::async_trait;

use super::agent::{Agent, NewAgent};
use super::disconnect::{Connection, Disconnect};
use super::door::DoorUse;
use super::handle::UserHandle;
use super::key_port::{KeyClaimRefused, MadeKey};
use super::mark_agent::AgentMarks;
use super::profile::ProfileChanges;
use super::update_agent::AgentChanges;
use super::user::{NewUser, User};
use crate::audit::Actor;
use crate::board::Task;
use crate::chat::{Chat, Participant};
use crate::contact::Parted;
use crate::id::{AgentId, OrganizationId, SessionId, UserId};
use crate::organization::InvitationRefused;
use crate::page::{Order, Page, PageRequest};
use crate::plan::{LimitReached, Permits};
use crate::store::{OnCommit, StoreError};
use crate::text::NamePart;
use crate::time::Timestamp;

/// The organization of a user, and the state that tokens depend on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccountStatus {
    /// The organization.
    pub organization: OrganizationId,
    /// The permissions of its plan.
    pub permits: Permits,
    /// The time at which the password was set; tokens issued under another one are invalid.
    pub password_set_at: Option<Timestamp>,
    /// Set if the user is disabled.
    pub is_disabled: bool,
}

/// A session that has not ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpenSession {
    /// The user.
    pub user: UserId,
    /// The time of the log-in.
    pub began_at: Timestamp,
}

/// The reason why a user was not created.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CreateUserRefused {
    /// Another user has the handle.
    HandleTaken,
    /// Another user has the e-mail address (compared without case).
    EmailTaken,
    /// The identity is linked to another user.
    IdentityTaken,
    /// There is no such plan.
    NoSuchPlan,
    /// The invitation does not let the user in.
    Invitation(InvitationRefused),
}

/// The reason why an agent was not registered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RegisterRefused {
    /// The organization has as many agents as its plan allows.
    Limit(LimitReached),
    /// Another agent of the same owner has the name (compared exactly).
    NameTaken,
    /// The owner was deleted.
    OwnerGone,
    /// The idempotency key cannot be claimed.
    Claim(KeyClaimRefused),
}

/// An agent that a request registered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredAgent {
    /// The agent.
    pub agent: Agent,
    /// The new key of the agent, if the same request has registered it before.
    pub renewed: Option<MadeKey>,
}

/// An agent to be changed by its owner.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UpdateAgent {
    /// The agent.
    pub agent: AgentId,
    /// The caller.
    pub owner: UserId,
    /// The changes.
    pub changes: AgentChanges,
    /// The current time.
    pub now: Timestamp,
}

/// The reason why an agent was not changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UpdateAgentRefused {
    /// The agent does not belong to the owner.
    NotFound,
    /// Another agent of the owner has the name.
    NameTaken,
}

/// An agent to be marked by the operator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MarkAgent {
    /// Its handle, in the stored form.
    pub handle: String,
    /// The settings.
    pub marks: AgentMarks,
    /// The current time.
    pub now: Timestamp,
}

/// An agent to be deleted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeleteAgent {
    /// The agent.
    pub agent: AgentId,
    /// The required owner.
    pub owner: UserId,
    /// The caller.
    pub by: Actor,
    /// Set to delete an agent that has worked.
    pub force: bool,
    /// The current time.
    pub now: Timestamp,
}

/// An agent was deleted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeletedAgent {
    /// The agent in its last state.
    pub agent: Agent,
    /// The number of chats in which it had sent or received messages.
    pub executions: u64,
    /// The chats that it left, the newest first, each with the agent as a participant.
    pub left: Vec<(Chat, Participant)>,
    /// The tasks there that lost an assignment, after the change.
    pub dropped: Vec<Task>,
    /// Its contacts and pending requests, which ended.
    pub parted: Parted,
}

/// The reason why an agent was not deleted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeleteAgentRefused {
    /// The agent does not belong to the owner.
    NotFound,
    /// It is or was in a chat that is under a legal hold.
    UnderHold,
    /// It has worked, and `force` was not set.
    HasWorked {
        /// The number of chats.
        executions: u64,
    },
}

/// A human's record to be changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UpdateUser {
    /// The user.
    pub user: UserId,
    /// The changes.
    pub changes: ProfileChanges,
    /// The current time.
    pub now: Timestamp,
}

/// The sort key of a list of agents; ties are broken by id.
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

/// The filters and order of a list of an owner's agents.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AgentListing {
    /// Only those with this in their name.
    pub name: Option<NamePart>,
    /// Only external ones, or only the others.
    pub is_external: Option<bool>,
    /// Only those in the directory, or only the others.
    pub listed_in_directory: Option<bool>,
    /// The sort key.
    pub sort: AgentSort,
    /// The direction.
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

/// The store of users.
#[async_trait]
pub trait UserRepository: Send + Sync {
    /// Stores a user, its organization if that is new, and its first key, or nothing. The
    /// invitation of the user, if any, is accepted in the same write; of many concurrent uses of
    /// one, one succeeds.
    async fn create_user(&self, new: NewUser) -> Result<Result<User, CreateUserRefused>, StoreError>;

    /// Like [`Self::create_user`], but only if the store has no user; `None` if it has. Two
    /// processes that start at once on an empty store create one user.
    async fn create_first_user(&self, new: NewUser) -> Result<Option<User>, StoreError>;

    /// Changes a human's record and returns it; `None` if there is none.
    async fn update_user(&self, command: UpdateUser) -> Result<Option<User>, StoreError>;

    /// A user by id, unless the user was deleted.
    async fn find_user(&self, id: UserId) -> Result<Option<User>, StoreError>;

    /// A user by handle, unless the user was deleted.
    async fn find_user_by_handle(&self, handle: &UserHandle) -> Result<Option<User>, StoreError>;
}

/// The store of agents.
#[async_trait]
pub trait AgentRepository: Send + Sync {
    /// Stores an agent, and its key if it has one. The slug is [`super::handle::Slug::find_free`]
    /// among the handles that the owner's agents have or ever had. A repetition replaces the key that the request made,
    /// like [`super::KeyRepository::create_key`].
    async fn register_agent(
        &self,
        new: NewAgent,
        on_commit: OnCommit<StoredAgent>,
    ) -> Result<Result<StoredAgent, RegisterRefused>, StoreError>;

    /// Stores why the last sockets of agents ended, unless a later end is stored
    /// ([`LastDisconnect::replaces_reason_before`](super::LastDisconnect::replaces_reason_before)). An end with a reason
    /// that is stored adds a [`Connection`], of which the newest [`Connection::KEPT`] of each agent stay. An agent may be
    /// gone.
    async fn note_disconnects(&self, ended: Vec<Disconnect>) -> Result<(), StoreError>;

    /// The connections of an agent, the newest first.
    async fn list_connections(&self, agent: AgentId) -> Result<Vec<Connection>, StoreError>;

    /// Records the last uses of doors, each at most once; what is recorded for a later time stays ([`DoorUse::add`]), and an
    /// agent may be gone.
    async fn note_doors(&self, uses: Vec<DoorUse>) -> Result<(), StoreError>;

    /// The recorded uses of the doors of these agents, in any order; and for each agent the last connection whose end was
    /// a failure ([`DoorUse::of_connection`]), as another use of its socket.
    async fn list_doors(&self, agents: Vec<AgentId>) -> Result<Vec<DoorUse>, StoreError>;

    /// Changes an agent of `command.owner`, with an entry in the audit log and one in the change log.
    /// Keeping its own name is allowed.
    async fn update_agent(
        &self,
        command: UpdateAgent,
        on_commit: OnCommit<Agent>,
    ) -> Result<Result<Agent, UpdateAgentRefused>, StoreError>;

    /// Changes the operator's settings of an agent; `None` if no agent has the handle.
    async fn mark_agent(
        &self,
        command: MarkAgent,
        on_commit: OnCommit<Agent>,
    ) -> Result<Option<Agent>, StoreError>;

    /// Deletes an agent: its key is invalid, it has left every chat, its connections are erased, and its name is free
    /// (its handle is not). A chat that it alone owned gets another owner: of the remaining participants
    /// the oldest admin, else the oldest human, else the oldest member. An empty chat is closed. The
    /// rule is in the statements of the stores, so that one handles all chats.
    async fn delete_agent(
        &self,
        command: DeleteAgent,
        on_commit: OnCommit<DeletedAgent>,
    ) -> Result<Result<DeletedAgent, DeleteAgentRefused>, StoreError>;

    /// Erases up to `limit` deliveries, with their attempts, of deleted agents. Returns whether
    /// more may be left.
    async fn erase_work(&self, limit: u32) -> Result<bool, StoreError>;

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

/// What decides whether a token is accepted.
#[async_trait]
pub trait AccountStatusRepository: Send + Sync {
    /// The status of a user's account; `None` if there is no such user.
    async fn find_account_status(&self, user: UserId) -> Result<Option<AccountStatus>, StoreError>;

    /// A session; `None` if it has ended.
    async fn find_session(&self, session: SessionId) -> Result<Option<OpenSession>, StoreError>;
}

/// Users and agents together, for services that need both.
pub trait AccountRepository: UserRepository + AgentRepository + AccountStatusRepository {}

impl<T: UserRepository + AgentRepository + AccountStatusRepository + ?Sized> AccountRepository for T {}
