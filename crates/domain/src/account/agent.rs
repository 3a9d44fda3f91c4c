//! Agents.

use super::handle::{AgentHandle, Slug};
use super::key::NewKey;
use crate::id::{AgentId, UserId};
use crate::text::{TextFault, bounded, single_line};
use crate::time::Timestamp;

/// An agent's name: 1 to 100 characters on one line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AgentName(String);

impl AgentName {
    /// Trims and checks.
    pub fn new(text: &str) -> Result<Self, TextFault> {
        single_line(text, 100).map(Self)
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
        let description = bounded(text.trim().to_owned(), Self::MAX_CHARS)?;
        if description.contains('\0') { Err(TextFault::ControlCharacter) } else { Ok(Self(description)) }
    }

    /// The description.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Who runs an agent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AgentKind {
    /// It runs at its owner's and comes in with a key of its own.
    External,
}

/// An agent as stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Agent {
    /// Identifier.
    pub id: AgentId,
    /// The user who registered it; never changes.
    pub owner: UserId,
    /// Unique among the owner's agents.
    pub name: String,
    /// `owner/slug`, fixed at creation.
    pub handle: AgentHandle,
    /// What it is for.
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
    /// When it was registered.
    pub created_at: Timestamp,
    /// When its record last changed.
    pub updated_at: Timestamp,
}

/// An external agent to be registered, with its key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewAgent {
    /// Identifier.
    pub id: AgentId,
    /// The registering user.
    pub owner: UserId,
    /// Its name.
    pub name: AgentName,
    /// Where its slug starts from; the store appends a number if it is taken.
    pub slug: Slug,
    /// What it is for.
    pub description: AgentDescription,
    /// Its API key.
    pub key: NewKey,
    /// When.
    pub now: Timestamp,
}
