//! API keys. The secret is shown once; a store keeps its SHA-256 digest only.

use std::fmt;
use std::hash::{Hash, Hasher};

use super::key_port::KeyClaimRefused;
use super::scope::KeyScope;
use crate::caller::Caller;
use crate::id::{ApiKeyId, ParticipantId};
use crate::plan::Permits;
use crate::text::{TextFault, single_line};
use crate::time::Timestamp;

/// The purpose of a key, which decides the prefix.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum KeyKind {
    /// A human's: `thnv_u_…`.
    User,
    /// An agent's: `thnv_a_…`.
    Agent,
    /// The token of an invitation, which authenticates nothing else: `thnv_i_…`.
    Invitation,
    /// Part of a refresh token: `thnv_s_…`.
    Session,
    /// A token for setting a password: `thnv_p_…`.
    Reset,
    /// A code for logging in once: `thnv_l_…`.
    LogIn,
    /// The token of a link in a notification: `thnv_n_…`.
    Link,
}

impl KeyKind {
    /// The beginning of the key.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::User => "thnv_u_",
            Self::Agent => "thnv_a_",
            Self::Invitation => "thnv_i_",
            Self::Session => "thnv_s_",
            Self::Reset => "thnv_p_",
            Self::LogIn => "thnv_l_",
            Self::Link => "thnv_n_",
        }
    }
}

/// A new key: the only time at which the server has its text.
#[derive(Clone)]
pub struct ApiKey {
    text: String,
    digest: KeyDigest,
}

impl ApiKey {
    /// For [`crate::ports::KeyMint`].
    pub fn new(text: String, digest: KeyDigest) -> Self {
        Self { text, digest }
    }

    /// The secret text, to be shown to its owner once.
    pub fn reveal(&self) -> &str {
        &self.text
    }

    /// The stored digest.
    pub fn digest(&self) -> KeyDigest {
        self.digest
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(…)")
    }
}

/// The SHA-256 digest of a key's text.
#[derive(Clone, Copy, Eq)]
pub struct KeyDigest([u8; 32]);

impl KeyDigest {
    /// Wraps the 32 bytes.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes, for stores.
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl PartialEq for KeyDigest {
    /// The time does not depend on the position of the first difference.
    fn eq(&self, other: &Self) -> bool {
        let difference = self.0.iter().zip(&other.0).fold(0_u8, |acc, (a, b)| acc | (a ^ b));
        std::hint::black_box(difference) == 0
    }
}

impl Hash for KeyDigest {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl fmt::Debug for KeyDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyDigest(…)")
    }
}

/// The name of a key: 1 to 100 characters on one line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyName(String);

impl KeyName {
    /// Trims and checks.
    pub fn new(text: &str) -> Result<Self, TextFault> {
        single_line(text, 100).map(Self)
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A key to be stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewKey {
    /// Identifier of the record.
    pub id: ApiKeyId,
    /// Digest of the secret.
    pub digest: KeyDigest,
    /// The beginning of its text, see [`crate::ports::KeyMint::prefix`].
    pub prefix: String,
    /// The name.
    pub name: Option<KeyName>,
    /// The expiry; `None` for never.
    pub expires_at: Option<Timestamp>,
    /// The scope.
    pub scope: KeyScope,
}

/// A key as its holder and the operator see it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyRecord {
    /// Identifier of the record.
    pub id: ApiKeyId,
    /// Whose key it is.
    pub holder: ParticipantId,
    /// The name.
    pub name: Option<String>,
    /// The beginning of its text; unknown for keys that were made before it was stored.
    pub prefix: Option<String>,
    /// The time of its creation.
    pub created_at: Timestamp,
    /// The expiry; `None` for never.
    pub expires_at: Option<Timestamp>,
    /// The scope.
    pub scope: KeyScope,
    /// The last use, or a time up to [`super::USE_RESOLUTION`] before.
    pub last_used_at: Option<Timestamp>,
    /// The time of its revocation.
    pub revoked_at: Option<Timestamp>,
}

impl KeyRecord {
    /// Decides whether a repetition of the request that made this key may replace it, whose secret may be lost: only if
    /// nobody has used it. Gives `new` with the name, expiry, and scope of this one.
    pub fn decide_replace(&self, new: &NewKey) -> Result<NewKey, KeyClaimRefused> {
        if self.last_used_at.is_some() {
            return Err(KeyClaimRefused::KeySpent);
        }
        let name = self.name.clone().map(KeyName);
        Ok(NewKey { name, expires_at: self.expires_at, scope: self.scope, ..new.clone() })
    }
}

/// A stored key that is not revoked, and whose holder is not deleted. It may have expired.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StoredKey {
    /// Identifier of the record.
    pub id: ApiKeyId,
    /// Digest of the secret.
    pub digest: KeyDigest,
    /// The holder.
    pub holder: Caller,
    /// The permissions of the organization's plan.
    pub permits: Permits,
    /// Set if the holder is disabled, or the owner of that agent.
    pub is_disabled: bool,
    /// The expiry; `None` for never.
    pub expires_at: Option<Timestamp>,
    /// The scope.
    pub scope: KeyScope,
    /// The last use that was written.
    pub last_used_at: Option<Timestamp>,
}

impl StoredKey {
    /// Returns whether it has not expired at `now`.
    pub fn is_current(&self, now: Timestamp) -> bool {
        self.expires_at.is_none_or(|until| now < until)
    }
}
