//! Passwords, and the port that hashes them.

use std::fmt;

use async_trait::async_trait;

use super::common::is_common;
use crate::text::TextFault;

/// A password as somebody has typed it: 10 to 256 characters, none of them changed. Never stored, never shown.
#[derive(Clone)]
pub struct Password(String);

impl Password {
    /// The least characters of a new password.
    pub const MIN_CHARS: usize = 10;

    /// The most characters of any.
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

    /// A password that somebody says is theirs; only what is too long to be one is refused.
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

/// What a store keeps of a password: a slow hash with its salt and parameters, as one text.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash(String);

impl PasswordHash {
    /// Wraps what the hasher made or a store holds.
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

/// What came of looking at a password.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It is another one, or there was nothing to compare it with.
    Wrong,
    /// It is the one.
    Right,
    /// It is the one, and its hash was made with other parameters than are used now.
    RightButOutdated,
}

/// More passwords wait to be looked at than may.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("too many passwords are being checked")]
pub struct HasherBusy;

/// Hashes passwords: slow on purpose, a few at a time, and away from everything else.
#[async_trait]
pub trait PasswordHasher: Send + Sync {
    /// The hash of a password, with a fresh salt.
    async fn hash(&self, password: Password) -> Result<PasswordHash, HasherBusy>;

    /// Whether `password` is the one that was hashed. Without a hash the same work is done for nothing, so that
    /// nobody can tell by the time it takes.
    async fn verify(&self, password: Password, hash: Option<PasswordHash>) -> Result<Verdict, HasherBusy>;
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
