//! Humans.

use super::handle::UserHandle;
use super::key::{KeyDigest, NewKey};
use crate::audit::Actor;
use crate::id::{OrganizationId, UserId};
use crate::login::PasswordHash;
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
    /// What follows it.
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
    /// What a human is to the installation.
    #[derive(Default)]
    UserRole {
        /// One of those who use it.
        #[default]
        User = "user",
        /// Looks after it; the first user is one.
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
    /// What they are there.
    pub organization_role: OrganizationRole,
    /// Unique in the installation.
    pub handle: UserHandle,
    /// Unique in the installation, compared without case.
    pub email: String,
    /// Shown to others.
    pub name: PersonName,
    /// What they are to the installation.
    pub role: UserRole,
    /// When the account was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Since when the operator keeps them out; `None` if they may come in.
    pub disabled_at: Option<Timestamp>,
}

/// Where a new user is to belong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Membership {
    /// To an organization of its own, named after the handle.
    Own,
    /// To the organization of this name, in this role; it is made if there is none.
    Named(OrganizationName, OrganizationRole),
    /// To where the invitation leads whose token has this digest, which is accepted with it.
    Invited(KeyDigest),
}

/// A user to be stored, with a first key or a password. `user.organization` is the id that a new organization gets, and
/// its first user is its admin; who joins one gets that one's id, and the role as the membership says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewUser {
    /// The account.
    pub user: User,
    /// Who makes it.
    pub by: Actor,
    /// Its first API key, if it gets one.
    pub key: Option<NewKey>,
    /// The hash of its password, if it gets one.
    pub password: Option<PasswordHash>,
    /// Where it is to belong.
    pub membership: Membership,
    /// The plan of a new organization; one that is there already keeps its own.
    pub plan: PlanName,
}
