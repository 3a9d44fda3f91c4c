//! Passkeys: keys on a user's devices, with which the user logs in without a password.
//!
//! A *ceremony* is one use of a device: the server gives the browser a *challenge*, and the device answers it after it has
//! verified its user by a PIN, a fingerprint, or the like. Therefore a passkey counts as both factors. A user who knows the
//! password, and has a code if there is a second factor, *adds* passkeys, each with a name. Ceremonies are kept by the
//! browser that has begun them, so any server can complete them.
//!
//! Invariants: a challenge is used up in the same transaction as the action that it allows. The *signature counter* of a
//! passkey never goes back, since only a copy of its key would answer with an old one. Sessions end with the passkey that
//! has opened them.

mod log_in;
mod manage;
mod port;

use crate::id::{PasskeyId, UserId};
use crate::text::{TextFault, display_name};
use crate::time::Timestamp;

pub use log_in::{PasskeyLogIn, PasskeyLogInError};
pub use manage::{AddPasskey, CEREMONY_LIFETIME, PasskeyError};
pub use port::{
    AddPasskeyOutcome, BegunCeremony, CeremonyFault, KeptCeremony, NewPasskey, PasskeyCeremonies,
    PasskeyRepository, PasskeyUse, PasskeysOff, RemovePasskeyOutcome, RemovePasskeys, UsedChallenge,
};

/// The maximum number of passkeys of one user.
pub const MAX_PASSKEYS: usize = 20;

/// The name of a passkey, by which its user knows the device: up to 100 characters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PasskeyName(String);

impl PasskeyName {
    /// The maximum length.
    pub const MAX_CHARS: usize = 100;

    /// Checks a name that a user has typed.
    pub fn new(text: &str) -> Result<Self, TextFault> {
        display_name(text, Self::MAX_CHARS).map(Self)
    }

    /// A name that was checked when it was stored.
    pub fn from_stored(text: String) -> Self {
        Self(text)
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What a server knows of a key on a device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PasskeyCredential {
    /// The id that the device has given it, unlike every other.
    pub id: Vec<u8>,
    /// The public key, in the form of [`PasskeyCeremonies`].
    pub public_key: Vec<u8>,
    /// Whether its device may copy it to other devices of the user.
    pub is_synced: bool,
    /// The signature counter of the newest answer; always 0 if the device does not count.
    pub sign_count: u32,
}

/// A passkey of a user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Passkey {
    /// Identifier.
    pub id: PasskeyId,
    /// The user.
    pub user: UserId,
    /// The name.
    pub name: PasskeyName,
    /// The key.
    pub credential: PasskeyCredential,
    /// The time at which it was added.
    pub created_at: Timestamp,
    /// The time of the last log-in.
    pub used_at: Option<Timestamp>,
}

impl Passkey {
    /// Returns whether an answer with this signature counter is new. A device without a counter always answers with 0.
    pub const fn admits(&self, sign_count: u32) -> bool {
        let known = self.credential.sign_count;
        sign_count > known || (sign_count == 0 && known == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signature_counters_never_go_back() {
        for (known, sign_count, admitted) in [
            (0, 0, true),
            (0, 1, true),
            (1, 2, true),
            (1, u32::MAX, true),
            (1, 1, false),
            (2, 1, false),
            (1, 0, false),
            (u32::MAX, u32::MAX, false),
        ] {
            let credential =
                PasskeyCredential { id: vec![1], public_key: vec![2], is_synced: false, sign_count: known };
            let passkey = Passkey {
                id: PasskeyId::NIL,
                user: UserId::NIL,
                name: PasskeyName::new("key").unwrap(),
                credential,
                created_at: Timestamp::from_micros(1),
                used_at: None,
            };
            assert_eq!(passkey.admits(sign_count), admitted, "{known} {sign_count}");
        }
    }
}
