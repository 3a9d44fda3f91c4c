//! Humans.

use super::handle::UserHandle;
use super::key::{KeyDigest, NewKey};
use crate::audit::Actor;
use crate::id::{OrganizationId, UserId};
use crate::login::{Identity, PasswordHash};
use crate::organization::OrganizationRole;
use crate::plan::{OrganizationName, PlanName};
use crate::text::{TextFault, sender_name};
use crate::time::Timestamp;
use crate::words::words;

/// A human's name in two parts; the last may be empty.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PersonName {
    /// The first word of the name.
    pub first: String,
    /// The rest of the name.
    pub last: String,
}

impl PersonName {
    /// Splits a full name after its first word.
    pub fn split(full: &str) -> Self {
        match full.trim().split_once(char::is_whitespace) {
            Some((first, last)) => Self { first: first.to_owned(), last: last.trim().to_owned() },
            None => Self { first: full.trim().to_owned(), last: String::new() },
        }
    }

    /// Both parts, as others see them.
    pub fn full(&self) -> String {
        if self.last.is_empty() { self.first.clone() } else { format!("{} {}", self.first, self.last) }
    }
}

/// A part of a human's name: 1 to 100 characters on one line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PersonNamePart(String);

impl PersonNamePart {
    /// Trims and checks.
    pub fn new(text: &str) -> Result<Self, TextFault> {
        sender_name(text, 100).map(Self)
    }

    /// The part, owned.
    pub fn into_string(self) -> String {
        self.0
    }
}

words! {
    /// The role of a human in the installation.
    #[derive(Default)]
    UserRole {
        /// A regular user.
        #[default]
        User = "user",
        /// An administrator; the first user is one.
        Admin = "admin",
    }
}

/// A human account.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct User {
    /// Identifier.
    pub id: UserId,
    /// The organization the user belongs to.
    pub organization: OrganizationId,
    /// The role there.
    pub organization_role: OrganizationRole,
    /// Unique in the installation.
    pub handle: UserHandle,
    /// Unique in the installation, compared without case.
    pub email: String,
    /// The name that others see.
    pub name: PersonName,
    /// The role in the installation.
    pub role: UserRole,
    /// The time of creation.
    pub created_at: Timestamp,
    /// The time of the last change.
    pub updated_at: Timestamp,
    /// The time at which the operator disabled the user; `None` if the user is enabled.
    pub disabled_at: Option<Timestamp>,
}

impl User {
    /// Whether the user can use the operator interface: an administrator of the installation who is not disabled.
    pub fn is_operator(&self) -> bool {
        self.role == UserRole::Admin && self.disabled_at.is_none()
    }
}

/// The organization of a new user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum InitialOrganization {
    /// To an organization of its own, named after the handle.
    Own,
    /// The organization of this name, in this role; it is created if there is none.
    Named(OrganizationName, OrganizationRole),
    /// The organization of the invitation whose token has this digest, which is accepted.
    Invited(KeyDigest),
}

/// A user to be stored, with a first key, a password, or an identity at a provider. `user.organization` is the id of a new
/// organization, whose first user is its admin; a user who joins an existing one gets its id, and
/// the role that `initial_organization` names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewUser {
    /// The account.
    pub user: User,
    /// The creator.
    pub by: Actor,
    /// Its first API key, if it gets one.
    pub key: Option<NewKey>,
    /// The hash of its password, if it gets one.
    pub password: Option<PasswordHash>,
    /// Its identity at a provider, if it is of one.
    pub identity: Option<Identity>,
    /// The organization that the user joins or begins.
    pub initial_organization: InitialOrganization,
    /// The plan of a new organization; an existing one keeps its own.
    pub plan: PlanName,
}
