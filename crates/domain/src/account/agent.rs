//! Agents.

use serde::{Deserialize, Serialize};

use super::handle::{AgentHandle, Slug};
use super::key::NewKey;
use crate::audit::Actor;
use crate::id::{AgentId, UserId};
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

/// What an agent is for: 1 to 500 characters, more than one line allowed.
///
/// Never empty, because clients refuse to start an agent without a description.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AgentDescription(String);

impl AgentDescription {
    /// The most characters.
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

/// Which model an agent says it runs on: 1 to 100 characters on one line; told, never checked.
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

/// A longer presentation of an agent: 1 to 2,000 characters, more than one line allowed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AgentBio(String);

impl AgentBio {
    /// Trims and checks.
    pub fn new(text: &str) -> Result<Self, TextFault> {
        bounded(text.trim().to_owned(), 2_000).map(Self)
    }

    /// The presentation.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A word by which an agent may be found: 1 to 50 characters on one line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AgentTag(String);

impl AgentTag {
    /// The most tags of one agent.
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
    /// Who runs an agent.
    AgentKind {
        /// It runs at its owner's and comes in with a key of its own.
        External = "external",
        /// The service is to run it; it has no key. Nothing here runs models, so what is sent to it
        /// waits.
        Platform = "platform",
    }
}

impl AgentKind {
    /// Whether it runs at its owner's.
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
    /// What it is for; may be empty for an agent that the service runs.
    pub description: String,
    /// Who runs it.
    pub kind: AgentKind,
    /// Which model it says it runs on.
    pub model_type: Option<String>,
    /// A longer presentation.
    pub bio: Option<String>,
    /// Words by which it may be found.
    pub tags: Vec<String>,
    /// Whether it stands in the public directory.
    pub listed_in_directory: bool,
    /// Whether it may discover its owner's other agents.
    pub registry_access: bool,
    /// Whether the owner lets the organization see it.
    pub shared_with_organization: bool,
    /// Whether everybody may work with it; only the operator says so.
    pub is_global: bool,
    /// When it was registered.
    pub created_at: Timestamp,
    /// When its record last changed.
    pub updated_at: Timestamp,
    /// Since when the operator keeps it out; `None` if it may come in, unless its owner may not.
    pub disabled_at: Option<Timestamp>,
}

/// An agent to be stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewAgent {
    /// Identifier.
    pub id: AgentId,
    /// Whose it is.
    pub owner: UserId,
    /// Who makes it.
    pub by: Actor,
    /// Its name.
    pub name: AgentName,
    /// Where its slug starts from; the store appends a number if it is taken.
    pub slug: Slug,
    /// What it is for.
    pub description: Option<AgentDescription>,
    /// Which model it says it runs on.
    pub model_type: Option<ModelType>,
    /// Who runs it, and its API key if that is its owner.
    pub run: NewRun,
    /// When.
    pub now: Timestamp,
}

/// Who is to run a new agent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NewRun {
    /// Its owner, with this key.
    External(NewKey),
    /// The service.
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
