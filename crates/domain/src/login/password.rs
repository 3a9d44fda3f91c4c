//! Passwords, and the port that hashes them.

use std::fmt;

use async_trait::async_trait;

use super::common::is_common;
use crate::text::TextFault;

/// A typed password: 10 to 256 characters, unchanged. Never stored, never shown.
#[derive(Clone)]
pub struct Password(String);

impl Password {
    /// The minimum length of a new password, in characters.
    pub const MIN_CHARS: usize = 10;

    /// The maximum length of a password, in characters.
    pub const MAX_CHARS: usize = 256;

    /// A password to be set, which must not be a common one.
    pub fn new(text: String) -> Result<Self, TextFault> {
        if text.trim().is_empty() {
            return Err(TextFault::Blank);
        }
        if text.chars().count() < Self::MIN_CHARS {
            return Err(TextFault::Malformed { expected: "should be at least 10 character(s)" });
        }
        let password = Self::typed(text)?;
        if is_common(password.reveal()) {
            let expected =
                "is too common: choose one that others are unlikely to use, such as four random words";
            return Err(TextFault::Malformed { expected });
        }
        Ok(password)
    }

    /// A password for a log-in; only one that is too long is refused.
    pub fn typed(text: String) -> Result<Self, TextFault> {
        if text.chars().count() > Self::MAX_CHARS {
            return Err(TextFault::TooManyChars { max: Self::MAX_CHARS });
        }
        Ok(Self(text))
    }

    /// The text, for the hasher.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}

/// A stored password: a slow hash with its salt and parameters, as one text.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash(String);

impl PasswordHash {
    /// Wraps the result of the hasher, or a value of a store.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The text, for the hasher and the stores.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash(…)")
    }
}

/// The result of checking a password.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PasswordCheck {
    /// It is a different one, or there is none.
    Wrong,
    /// It is correct.
    Right,
    /// It is correct, and its hash has outdated parameters.
    RightButOutdated,
}

/// Too many passwords are being checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("too many passwords are being checked")]
pub struct HasherBusy;

/// Hashes passwords: slow on purpose, a few at a time, and off the async threads.
#[async_trait]
pub trait PasswordHasher: Send + Sync {
    /// The hash of a password, with a fresh salt.
    async fn hash(&self, password: Password) -> Result<PasswordHash, HasherBusy>;

    /// Checks `password` against a hash. Without a hash the same work is done, so that the time
    /// reveals nothing.
    async fn verify(
        &self,
        password: Password,
        hash: Option<PasswordHash>,
    ) -> Result<PasswordCheck, HasherBusy>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_passwords_cannot_be_set_but_still_be_typed() {
        let text = "Password123!".to_owned();
        let refused = Password::new(text.clone()).unwrap_err().to_string();
        assert!(refused.starts_with("is too common: choose"), "{refused}");
        assert_eq!(Password::typed(text).unwrap().reveal(), "Password123!");
        assert_eq!(Password::new("correct horse".to_owned()).unwrap().reveal(), "correct horse");
    }
}
