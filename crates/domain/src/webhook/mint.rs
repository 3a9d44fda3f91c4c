//! The port to what checks URLs and makes secrets.

use super::model::{WebhookSecret, WebhookUrl};

/// The reason why a URL was not accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WebhookUrlFault {
    /// It is longer than [`WebhookUrl::MAX_CHARS`].
    #[error("should be at most {} character(s)", WebhookUrl::MAX_CHARS)]
    TooLong,
    /// It is not a URL with `https://` or `http://` and a host.
    #[error("must be a URL that begins with https://")]
    Malformed,
    /// It contains a user or a password.
    #[error("must not contain a user or a password")]
    Credentials,
    /// It contains a fragment.
    #[error("must not contain a fragment (#)")]
    Fragment,
    /// It is not encrypted, and its host is not known to be private.
    #[error("must begin with https://; the server accepts http:// only with webhooks_allow_private")]
    NotEncrypted,
    /// Its host is an address that the server sends nothing to.
    #[error("must not name a private, local, or reserved address, except those in webhooks_allow_private")]
    Private,
}

/// Checks URLs and makes secrets.
pub trait WebhookMint: Send + Sync {
    /// Checks the text of a URL. The addresses of its host are checked with each request.
    ///
    /// # Errors
    /// [`WebhookUrlFault`].
    fn url(&self, text: &str) -> Result<WebhookUrl, WebhookUrlFault>;

    /// A new secret.
    fn secret(&self) -> WebhookSecret;
}
