//! Accounts: the humans and the agents, their handles, and the API keys by which they are known.
//!
//! A *user* is a human. A user *owns* agents; an agent's key identifies the agent and implies
//! its owner. *Handles* are how people and agents name each other: a user's is one word
//! (`ann`), an agent's is its owner's and a slug made from its name (`ann/weather-bot`).
//!
//! Invariants: a handle names one user or agent for good and survives a rename; an agent's name
//! is unique among its owner's agents; of a key only the SHA-256 digest is kept.

mod agent;
mod authenticate;
mod create_user;
mod handle;
mod key;
mod list_agents;
mod port;
mod register;
mod service;
mod token;
mod user;

pub use agent::{Agent, AgentDescription, AgentKind, AgentName, NewAgent};
pub use authenticate::AuthenticateError;
pub use create_user::{CreateUser, CreateUserError, CreatedUser, parse_email, parse_person_name};
pub use handle::{AgentHandle, Slug, UserHandle, normalize_handle};
pub use key::{ApiKey, KeyDigest, KeyKind, NewKey, StoredKey};
pub use port::{AccountRepository, CreateUserRefused, RegisterRefused};
pub use register::{RegisterAgent, RegisterError, RegisteredAgent};
pub use service::AccountService;
pub use token::{IssueToken, IssueTokenError, IssuedToken, MAX_TOKEN_LIFETIME, TokenClaims, TokenService};
pub use user::{NewUser, PersonName, User};
