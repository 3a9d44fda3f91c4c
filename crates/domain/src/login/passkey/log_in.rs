//! Logging in with a passkey, without a name and without a password.

use std::net::IpAddr;

use serde_json::Value;

use super::{CeremonyFault, KeptCeremony, PasskeyUse, PasskeysOff};
use crate::id::{PasskeyId, UserId};
use crate::login::failures::{FailedLogin, Refused};
use crate::login::log_in::LoggedIn;
use crate::login::port::{SessionKind, SessionProof};
use crate::login::service::LoginService;
use crate::store::StoreError;

/// The answer of a device, in the browser that began the log-in.
pub struct PasskeyLogIn<'a> {
    /// What the browser has kept; `None` if it has nothing that this server has given to it.
    pub kept: Option<KeptCeremony>,
    /// The answer of the device.
    pub response: &'a str,
    /// The address of the client, for the audit log.
    pub address: Option<IpAddr>,
}

/// The reason why a passkey opened no session.
#[derive(Debug, thiserror::Error)]
pub enum PasskeyLogInError {
    /// Nobody can use passkeys.
    #[error(transparent)]
    Off(#[from] PasskeysOff),
    /// This browser has not begun the log-in, or it took too long.
    #[error("this browser has not begun the log-in")]
    NotBegun,
    /// No user has the passkey.
    #[error("no user has the passkey")]
    Unknown,
    /// The answer of the device is not acceptable.
    #[error(transparent)]
    Refused(#[from] CeremonyFault),
    /// The signature counter went back: there is a copy of the key.
    #[error(
        "the signature counter of passkey {passkey} of user {user} went back: there may be a copy of its key"
    )]
    Copied {
        /// The user.
        user: UserId,
        /// The passkey.
        passkey: PasskeyId,
    },
    /// The user is disabled, the passkey was removed, or the challenge was used already.
    #[error("the user is disabled, the passkey was removed, or the challenge was used already")]
    Ended,
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl PasskeyLogInError {
    /// Returns whether the passkey was refused, and not merely late or impossible at the moment.
    pub const fn is_refusal(&self) -> bool {
        match self {
            Self::Unknown | Self::Refused(_) | Self::Copied { .. } | Self::Ended => true,
            Self::Off(_) | Self::NotBegun | Self::Store(_) => false,
        }
    }
}

impl LoginService {
    /// Begins a log-in with a passkey. Returns what the browser's interface to devices gets, and what the browser keeps.
    pub fn begin_passkey_log_in(&self) -> Result<(Value, KeptCeremony), PasskeyLogInError> {
        Ok(self.kept(self.ceremonies()?.begin_log_in()?))
    }

    /// Opens a session of a browser with a passkey. Refusals count as failed log-ins.
    pub async fn log_in_with_passkey(
        &self,
        command: PasskeyLogIn<'_>,
    ) -> Result<LoggedIn, PasskeyLogInError> {
        let mut user = None;
        let done = self.complete_passkey_log_in(&command, &mut user).await;
        if done.as_ref().is_err_and(PasskeyLogInError::is_refusal) {
            self.note_failure(FailedLogin {
                refused: Refused::Passkey,
                ..FailedLogin::of(user, command.address)
            });
        }
        done
    }

    /// `claimed` becomes the user whose passkey it is.
    async fn complete_passkey_log_in(
        &self,
        command: &PasskeyLogIn<'_>,
        claimed: &mut Option<UserId>,
    ) -> Result<LoggedIn, PasskeyLogInError> {
        let ceremonies = self.ceremonies()?;
        let kept = command.kept.as_ref().filter(|kept| kept.expires_at > self.clock.now());
        let kept = kept.ok_or(PasskeyLogInError::NotBegun)?;
        let credential = ceremonies.credential_of(command.response)?;
        let found = self.logins.find_passkey(credential).await?;
        let passkey = found.ok_or(PasskeyLogInError::Unknown)?;
        *claimed = Some(passkey.user);
        let sign_count = ceremonies.finish_log_in(&kept.state, command.response, &passkey)?;
        if !passkey.admits(sign_count) {
            return Err(PasskeyLogInError::Copied { user: passkey.user, passkey: passkey.id });
        }
        let used = PasskeyUse { passkey: passkey.id, challenge: self.challenge_of(kept), sign_count };
        let proof = SessionProof::Passkey(used);
        let open = self.begin(passkey.user, proof, SessionKind::Browser, command.address).await?;
        open.ok_or(PasskeyLogInError::Ended)
    }
}
