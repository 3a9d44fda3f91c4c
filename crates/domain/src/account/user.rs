//! Humans.

use super::handle::UserHandle;
use super::key::NewKey;
use crate::id::{OrganizationId, UserId};
use crate::time::Timestamp;

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

/// A human account.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct User {
    /// Identifier.
    pub id: UserId,
    /// The organization the user belongs to.
    pub organization: OrganizationId,
    /// Unique in the installation.
    pub handle: UserHandle,
    /// Unique in the installation, compared without case.
    pub email: String,
    /// Shown to others.
    pub name: PersonName,
    /// When the account was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// A user to be stored, with a one-person organization and a first key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewUser {
    /// The account.
    pub user: User,
    /// Its first API key.
    pub key: NewKey,
}
