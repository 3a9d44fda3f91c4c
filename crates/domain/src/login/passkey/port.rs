//! The ports of passkeys: what speaks with devices, and the store.

use async_trait::async_trait;
use serde_json::Value;

use super::{Passkey, PasskeyCredential, PasskeyName};
use crate::account::{KeyDigest, User};
use crate::audit::Actor;
use crate::id::{PasskeyId, UserId};
use crate::login::federation::PasswordsOff;
use crate::login::second_factor::SecondProof;
use crate::store::StoreError;
use crate::time::Timestamp;

/// The reason why nobody can use passkeys.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PasskeysOff {
    /// Browsers do not reach the server by an address for which devices have keys.
    #[error("the server has no public URL with a host name and TLS")]
    NoAddress,
    /// People log in at an identity provider only.
    #[error(transparent)]
    Passwords(#[from] PasswordsOff),
}

/// The reason why an answer of a device was refused, for the log.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the answer of the device was refused: {0}")]
pub struct CeremonyFault(pub String);

/// A ceremony that begins.
pub struct BegunCeremony {
    /// What the browser's interface to devices gets, as JSON.
    pub options: Value,
    /// What completes the ceremony: a single line of text. It is unlike that of every other ceremony.
    pub state: String,
}

/// What a browser keeps of a ceremony.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeptCeremony {
    /// What completes it.
    pub state: String,
    /// The time until which it can be completed.
    pub expires_at: Timestamp,
}

/// What gives challenges, and verifies the answers of devices, which are JSON.
pub trait PasskeyCeremonies: Send + Sync {
    /// Begins to add a passkey of a user who has these already.
    fn begin_adding(&self, user: &User, known: &[Passkey]) -> Result<BegunCeremony, CeremonyFault>;

    /// Verifies a new key, and returns whose it is.
    fn finish_adding(
        &self,
        state: &str,
        response: &str,
    ) -> Result<(UserId, PasskeyCredential), CeremonyFault>;

    /// Begins a log-in of anybody.
    fn begin_log_in(&self) -> Result<BegunCeremony, CeremonyFault>;

    /// The id of the key that an answer names, which is not verified.
    fn credential_of(&self, response: &str) -> Result<Vec<u8>, CeremonyFault>;

    /// Verifies an answer of this passkey, except for its signature counter, which is returned.
    fn finish_log_in(&self, state: &str, response: &str, passkey: &Passkey) -> Result<u32, CeremonyFault>;
}

/// A challenge that is being used up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UsedChallenge {
    /// Its digest.
    pub digest: KeyDigest,
    /// The time until which it could be used.
    pub expires_at: Timestamp,
}

/// The use of a passkey for a log-in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PasskeyUse {
    /// The passkey.
    pub passkey: PasskeyId,
    /// The challenge.
    pub challenge: UsedChallenge,
    /// The signature counter of the answer.
    pub sign_count: u32,
}

/// A passkey to be stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewPasskey {
    /// The passkey.
    pub passkey: Passkey,
    /// The challenge.
    pub challenge: UsedChallenge,
}

/// The result of storing a passkey.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AddPasskeyOutcome {
    /// It is stored.
    Added,
    /// The challenge was used already.
    Used,
    /// The key was added already, by the same user or another one.
    Taken,
    /// The user has as many as possible.
    TooMany,
    /// There is no such user.
    UserGone,
}

/// Passkeys to be removed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RemovePasskeys {
    /// The user.
    pub user: UserId,
    /// The passkey; `None` for all of the user.
    pub passkey: Option<PasskeyId>,
    /// What the user has proved besides the password. A code is used up.
    pub proof: SecondProof,
    /// Who removes them.
    pub by: Actor,
    /// The current time.
    pub now: Timestamp,
}

/// The result of removing passkeys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RemovePasskeyOutcome {
    /// They are removed, and the sessions that they have opened have ended.
    Removed,
    /// There is none.
    NotFound,
    /// What the user has proved is not enough, or was used meanwhile.
    Refused,
}

/// The store of passkeys.
#[async_trait]
pub trait PasskeyRepository: Send + Sync {
    /// The passkeys of a user, the first that was added first.
    async fn list_passkeys(&self, user: UserId) -> Result<Vec<Passkey>, StoreError>;

    /// The passkey with this id of its device.
    async fn find_passkey(&self, credential: Vec<u8>) -> Result<Option<Passkey>, StoreError>;

    /// Uses up what a user has proved besides the password, before a passkey is added; returns whether it is enough.
    async fn use_second_proof(
        &self,
        user: UserId,
        proof: SecondProof,
        now: Timestamp,
    ) -> Result<bool, StoreError>;

    /// Stores a passkey, unless the user has [`super::MAX_PASSKEYS`], with its entry in the audit log. The challenge is used
    /// up with it.
    async fn add_passkey(&self, new: NewPasskey) -> Result<AddPasskeyOutcome, StoreError>;

    /// Gives a passkey of a user another name; returns it, or `None` if there is none.
    async fn rename_passkey(
        &self,
        user: UserId,
        passkey: PasskeyId,
        name: PasskeyName,
    ) -> Result<Option<Passkey>, StoreError>;

    /// Removes passkeys, and ends the sessions that they have opened, with entries in the audit and change logs.
    async fn remove_passkeys(&self, command: RemovePasskeys) -> Result<RemovePasskeyOutcome, StoreError>;
}
