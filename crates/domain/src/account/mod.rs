//! Accounts: humans and agents, their handles, and the API keys that authenticate them.
//!
//! A *user* is a human. A user *owns* agents; an agent's key identifies the agent and implies its
//! owner. *Handles* address users and agents: a user's is one word (`ann`), an agent's consists of
//! its owner's and a slug made from its name (`ann/weather-bot`).
//!
//! Invariants: a handle is permanent, belongs to one user or agent, and survives a rename; an
//! agent's name is unique among its owner's agents; of a key only the SHA-256 digest is stored.

mod administration;
mod agent;
mod authenticate;
pub mod cache;
mod create_key;
mod create_user;
mod delete_agent;
mod delete_user;
mod disconnect;
mod door;
mod handle;
mod key;
mod key_port;
mod key_uses;
mod list_agents;
mod list_keys;
mod mark_agent;
mod operator;
mod port;
mod profile;
mod register;
mod revoke_key;
mod rotate_key;
mod scope;
mod service;
mod token;
mod update_agent;
mod user;

pub use administration::{AdministrationRepository, AdministrationService, SetDisabled, SetDisabledOutcome};
pub use agent::{
    Agent, AgentBio, AgentDescription, AgentKind, AgentName, AgentTag, ModelType, NewAgent, NewRun,
};
pub use authenticate::{
    ActAsError, AuthenticateError, Authenticated, Presented, PresentedKey, PresentedSession, PresentedToken,
    Standing,
};
pub use create_key::{CreateKey, CreateKeyError, CreatedKey};
pub use create_user::{CreateUser, CreateUserError, CreatedUser, parse_email, parse_person_name};
pub(crate) use delete_agent::publish_deleted_agent;
pub use delete_agent::{AgentDeletion, DeleteAgentError};
pub use delete_user::{
    Belongings, DeleteUser, DeleteUserError, DeleteUserRefused, DeletedUser, UserDeletion,
};
pub use disconnect::{AgentConnection, Connection, Disconnect, EndReason, LastDisconnect};
pub use door::{Door, DoorFailure, DoorUse, KEY_EXPIRED, KEY_REVOKED};
pub use handle::{AgentHandle, Slug, UserHandle, normalize_handle};
pub use key::{ApiKey, KeyDigest, KeyKind, KeyName, KeyRecord, NewKey, StoredKey};
pub use key_port::{
    CreateKeyRefused, KeyClaimRefused, KeyRepository, KeyUse, MAX_KEYS, MadeKey, NewUserKey, RevokeKeys,
    RotateKey, RotateKeyRefused, RotatedKey, WhichKeys,
};
pub use key_uses::USE_RESOLUTION;
pub use mark_agent::AgentMarks;
pub use operator::{Operator, OperatorError, RevokeAnyKeyError, SetDisabledError};
pub use port::{
    AccountRepository, AccountStatus, AccountStatusRepository, AgentListing, AgentRepository, AgentSort,
    CreateUserRefused, DeleteAgent, DeleteAgentRefused, DeletedAgent, MarkAgent, OpenSession,
    RegisterRefused, StoredAgent, UpdateAgent, UpdateAgentRefused, UpdateUser, UserRepository,
};
pub use profile::ProfileChanges;
pub use register::{CreatePlatformAgent, RegisterAgent, RegisterError, RegisteredAgent};
pub use revoke_key::RevokeKeyError;
pub use rotate_key::RotateKeyError;
pub use scope::{KeyScope, OutOfScope, Reach};
pub use service::{AccountPorts, AccountService};
pub use token::{IssueToken, IssueTokenError, IssuedToken, MAX_TOKEN_LIFETIME, TokenClaims, TokenService};
pub use update_agent::{AgentChanges, UpdateAgentError};
pub use user::{InitialOrganization, NewUser, PersonName, PersonNamePart, User, UserRole};
