//! Identity providers, and the port to them.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::identity::{ProvidedIdentity, ProviderPolicy};
use super::return_path::ReturnPath;
use crate::time::Timestamp;

/// How long a log-in at a provider may take.
pub const LOG_IN_LIFETIME: Duration = Duration::from_secs(10 * 60);

/// The name of a provider in the configuration and in paths: 1 to 32 of `a-z 0-9 -`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ProviderName(Arc<str>);

impl ProviderName {
    /// Checks the name.
    pub fn new(text: &str) -> Option<Self> {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let is_name = (1..=32).contains(&text.len()) && text.bytes().all(is_plain);
        is_name.then(|| Self(text.into()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ProviderName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What one browser needs to complete a log-in that it began; secret, and valid once.
#[derive(Clone, PartialEq, Eq)]
pub struct PendingLogIn {
    /// Comes back with the answer of the provider.
    pub state: String,
    /// Comes back in the ID token.
    pub nonce: String,
    /// Proves to the provider who began (PKCE).
    pub verifier: String,
}

/// What a browser keeps while a log-in at a provider is under way.
#[derive(Clone, PartialEq, Eq)]
pub struct KeptLogIn {
    /// What completes it.
    pub pending: PendingLogIn,
    /// Where the browser goes afterwards.
    pub return_to: ReturnPath,
    /// The time until which it can be completed.
    pub expires_at: Timestamp,
}

/// A log-in that begins.
pub struct BegunLogIn {
    /// The page of the provider.
    pub url: String,
    /// What the browser keeps.
    pub pending: PendingLogIn,
}

/// The reason why a provider could not be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ProviderFault {
    /// It does not answer, or too many answers are awaited.
    #[error("the provider is unavailable: {0}")]
    Unavailable(String),
    /// Its answer is not acceptable.
    #[error("the answer of the provider was refused: {0}")]
    Refused(String),
}

/// What a provider says has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EndedAtProvider {
    /// The provider.
    pub issuer: String,
    /// The person; at least this or the session is given.
    pub subject: Option<String>,
    /// Its session.
    pub session: Option<String>,
    /// The time at which it said so. What began later did not end.
    pub issued_at: Timestamp,
}

/// An identity provider (OpenID Connect).
#[async_trait]
pub trait IdentityProvider: Send + Sync {
    /// Begins a log-in.
    async fn begin(&self) -> Result<BegunLogIn, ProviderFault>;

    /// Exchanges the code of an answer for the person, and verifies it.
    async fn finish(&self, pending: &PendingLogIn, code: &str) -> Result<ProvidedIdentity, ProviderFault>;

    /// Verifies a logout token.
    async fn ended(&self, token: &str) -> Result<EndedAtProvider, ProviderFault>;
}

/// A configured provider.
#[derive(Clone)]
pub struct Provider {
    /// Its name in paths.
    pub name: ProviderName,
    /// The text of its button.
    pub label: String,
    /// What its people may do.
    pub policy: ProviderPolicy,
    /// How long a session lasts, even if it is in use. People who lose their account at the provider are logged out then.
    pub session_lifetime: Duration,
    /// The provider.
    pub client: Arc<dyn IdentityProvider>,
}

/// How users log in, as the operator decides.
#[derive(Clone, Default)]
pub struct Federation {
    /// The providers, in the order of their buttons.
    pub providers: Vec<Provider>,
    /// Whether passwords are off.
    pub is_only: bool,
}

impl Federation {
    /// The provider with this name.
    pub fn find(&self, name: &str) -> Option<&Provider> {
        self.providers.iter().find(|provider| provider.name.as_str() == name)
    }
}

/// Passwords are off.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("passwords are turned off")]
pub struct PasswordsOff;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_providers_fit_into_paths() {
        assert!(ProviderName::new("my-company-2").is_some());
        for bad in ["", "A", "a/b", "a.b", "a b", "ä", &"x".repeat(33)] {
            assert_eq!(ProviderName::new(bad), None, "{bad}");
        }
    }
}
