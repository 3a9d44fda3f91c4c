//! Agents.

use serde::{Deserialize, Serialize};

use super::handle::{AgentHandle, Slug};
use super::key::NewKey;
use crate::audit::Actor;
use crate::delivery::{Claims, MaxAttempts};
use crate::id::{AgentId, UserId};
use crate::idempotency::KeyedRequest;
use crate::organization::Pause;
use crate::text::{TextFault, bounded, sender_name, single_line};
use crate::time::Timestamp;
use crate::words::words;

/// An agent's name: 1 to 100 characters on one line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AgentName(String);

impl AgentName {
    /// Trims and checks.
    pub fn new(text: &str) -> Result<Self, TextFault> {
        sender_name(text, 100).map(Self)
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// An agent's description: 1 to 500 characters, more than one line allowed.
///
/// Never empty, because clients refuse to start an agent without a description.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AgentDescription(String);

impl AgentDescription {
    /// The maximum number of characters.
    const MAX_CHARS: usize = 500;

    /// Trims and checks.
    pub fn new(text: &str) -> Result<Self, TextFault> {
        bounded(text.trim().to_owned(), Self::MAX_CHARS).map(Self)
    }

    /// The description.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The model that an agent states: 1 to 100 characters on one line; not checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModelType(String);

impl ModelType {
    /// Trims and checks.
    pub fn new(text: &str) -> Result<Self, TextFault> {
        single_line(text, 100).map(Self)
    }

    /// The model.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A longer description of an agent: 1 to 2,000 characters, more than one line allowed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AgentBio(String);

impl AgentBio {
    /// Trims and checks.
    pub fn new(text: &str) -> Result<Self, TextFault> {
        bounded(text.trim().to_owned(), 2_000).map(Self)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A search tag of an agent: 1 to 50 characters on one line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AgentTag(String);

impl AgentTag {
    /// The maximum number of tags per agent.
    pub const MAX_COUNT: usize = 20;

    /// Trims and checks.
    pub fn new(text: &str) -> Result<Self, TextFault> {
        single_line(text, 50).map(Self)
    }

    /// The tag.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

words! {
    /// Where an agent runs.
    AgentKind {
        /// Its owner runs it, and it authenticates with its own key.
        External = "external",
        /// The service is to run it; it has no key. Parlance runs no models, so messages to it stay
        /// in its backlog.
        Platform = "platform",
    }
}

impl AgentKind {
    /// Returns whether its owner runs it.
    pub const fn is_external(self) -> bool {
        matches!(self, Self::External)
    }
}

/// An agent as stored.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Agent {
    /// Identifier.
    pub id: AgentId,
    /// The user who registered it; never changes.
    pub owner: UserId,
    /// Unique among the owner's agents.
    pub name: String,
    /// `owner/slug`, fixed at creation.
    pub handle: AgentHandle,
    /// Its description; may be empty for a platform agent.
    pub description: String,
    /// Where it runs.
    pub kind: AgentKind,
    /// The model that it states.
    pub model_type: Option<String>,
    /// A longer description.
    pub bio: Option<String>,
    /// Its search tags.
    pub tags: Vec<String>,
    /// Set if it is listed in the public directory.
    pub listed_in_directory: bool,
    /// Set if it may discover its owner's other agents.
    pub registry_access: bool,
    /// Set if the owner shares it with the organization.
    pub shared_with_organization: bool,
    /// Set if its owner lets it use all of its rights while it works for another organization
    /// ([`crate::foreign`]).
    #[serde(default)]
    pub foreign_access: bool,
    /// Set if it is a global agent, which only the operator can decide.
    pub is_global: bool,
    /// The number of attempts after which a message is dead for it; `None` for no limit.
    pub max_attempts: Option<MaxAttempts>,
    /// Whether an attempt of it claims the message.
    #[serde(default)]
    pub claims: Claims,
    /// Set if its owner lists it for A2A, so that it has an agent card and takes tasks there.
    #[serde(default)]
    pub a2a: bool,
    /// The time of its registration.
    pub created_at: Timestamp,
    /// The time of its last change.
    pub updated_at: Timestamp,
    /// The time at which the operator disabled it; `None` if it is enabled, though its owner may
    /// not be.
    pub disabled_at: Option<Timestamp>,
    /// Set while it is paused: it is stopped in all of its chats ([`crate::control`]).
    pub pause: Option<Pause>,
}

/// An agent to be stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewAgent {
    /// Identifier.
    pub id: AgentId,
    /// Its owner.
    pub owner: UserId,
    /// The creator.
    pub by: Actor,
    /// Its name.
    pub name: AgentName,
    /// The preferred slug; the store appends a number if it is taken.
    pub slug: Slug,
    /// Its description.
    pub description: Option<AgentDescription>,
    /// The model that it states.
    pub model_type: Option<ModelType>,
    /// Where it runs, with its API key if it is external.
    pub run: NewRun,
    /// Set if the request may be repeated; its record is the key.
    pub keyed: Option<KeyedRequest>,
    /// The current time.
    pub now: Timestamp,
}

/// Where a new agent runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NewRun {
    /// At its owner's, with this key.
    External(NewKey),
    /// In the service.
    Platform,
}

impl NewRun {
    /// Without the key.
    pub const fn kind(&self) -> AgentKind {
        match self {
            Self::External(_) => AgentKind::External,
            Self::Platform => AgentKind::Platform,
        }
    }
}
