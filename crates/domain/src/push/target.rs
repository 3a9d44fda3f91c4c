//! Where notifications go, and what they bring to be recognized.

use std::fmt;

use crate::webhook::WebhookUrl;

/// The maximum number of characters of a token, and of credentials.
const MAX_CHARS: usize = 4_096;

/// The maximum number of characters of the name of a scheme.
const MAX_SCHEME_CHARS: usize = 50;

/// The maximum number of characters of the id of a configuration.
pub(super) const MAX_NAME_CHARS: usize = 200;

/// The reason why a part of a configuration was not accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PushFault {
    /// A token or credentials that no header can have.
    #[error("must be 1 to {MAX_CHARS} printable ASCII characters, without spaces around them")]
    Value,
    /// A scheme that no header can have.
    #[error("must be the name of an authentication scheme, such as Bearer")]
    Scheme,
    /// An id that could not be part of a path.
    #[error("must be 1 to {MAX_NAME_CHARS} ASCII letters, digits, and characters of -._~:@")]
    Name,
}

/// A token or credentials that the receiver recognizes a notification by. Shown to the caller who made the configuration.
#[derive(Clone, PartialEq, Eq)]
pub struct PushSecret(String);

impl PushSecret {
    /// Checks that it can be the value of a header.
    ///
    /// # Errors
    /// [`PushFault::Value`].
    pub fn new(text: String) -> Result<Self, PushFault> {
        let is_printable = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        if text.is_empty() || text.len() > MAX_CHARS || !is_printable || text.trim() != text {
            return Err(PushFault::Value);
        }
        Ok(Self(text))
    }

    /// One that a store has kept.
    pub const fn checked(text: String) -> Self {
        Self(text)
    }

    /// The text.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for PushSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PushSecret")
    }
}

/// The header `Authorization` of notifications.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PushAuthentication {
    /// The scheme.
    pub scheme: String,
    /// The credentials; without any, there is no header.
    pub credentials: Option<PushSecret>,
}

impl PushAuthentication {
    /// Checks the scheme.
    ///
    /// # Errors
    /// [`PushFault::Scheme`].
    pub fn new(scheme: String, credentials: Option<PushSecret>) -> Result<Self, PushFault> {
        let is_of_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if scheme.is_empty() || scheme.len() > MAX_SCHEME_CHARS || !scheme.bytes().all(is_of_token) {
            return Err(PushFault::Scheme);
        }
        Ok(Self { scheme, credentials })
    }
}

/// Where notifications go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PushTarget {
    /// The URL.
    pub url: WebhookUrl,
    /// The value of `X-A2A-Notification-Token`.
    pub token: Option<PushSecret>,
    /// The value of `Authorization`.
    pub authentication: Option<PushAuthentication>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_values_of_headers_are_accepted() {
        for text in ["a", "a b", "~!", &"x".repeat(MAX_CHARS)] {
            assert_eq!(PushSecret::new(text.to_owned()).map(|secret| secret.0), Ok(text.to_owned()));
        }
        for text in ["", " ", " a", "a ", "a\r\nb", "a\tb", "\u{e4}", "a\u{7f}", &"x".repeat(MAX_CHARS + 1)] {
            assert_eq!(PushSecret::new(text.to_owned()), Err(PushFault::Value), "{text:?}");
        }
        for scheme in ["Bearer", "x-own_1"] {
            assert!(PushAuthentication::new(scheme.to_owned(), None).is_ok(), "{scheme}");
        }
        for scheme in ["", "Bearer x", "a:b", "a\nb", "\u{e4}", &"x".repeat(MAX_SCHEME_CHARS + 1)] {
            let refused = PushAuthentication::new(scheme.to_owned(), None);
            assert_eq!(refused, Err(PushFault::Scheme), "{scheme:?}");
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let secret = PushSecret::new("hidden".to_owned()).unwrap();
        assert!(
            !format!("{:?}", PushAuthentication::new("Bearer".to_owned(), Some(secret))).contains("hidden")
        );
    }
}
