//! Secrets that every server on the same store shares, and that outlive each of them.

use std::fmt;

use async_trait::async_trait;

use crate::store::StoreError;

/// 256 random bits. Never printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Secret(pub [u8; 32]);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// The store of secrets.
#[async_trait]
pub trait SecretRepository: Send + Sync {
    /// The secret with this name. If there is none yet, `fresh` is stored; concurrent calls all get
    /// the same.
    async fn secret(&self, name: &'static str, fresh: Secret) -> Result<Secret, StoreError>;
}
