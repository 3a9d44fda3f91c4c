//! Adding, naming, and removing passkeys.

use std::time::Duration;

use serde_json::Value;

use super::{
    AddPasskeyOutcome, BegunCeremony, CeremonyFault, KeptCeremony, NewPasskey, Passkey, PasskeyCeremonies,
    PasskeyName, PasskeysOff, RemovePasskeyOutcome, RemovePasskeys, UsedChallenge,
};
use crate::account::User;
use crate::audit::Actor;
use crate::caller::UserCaller;
use crate::id::{PasskeyId, UserId};
use crate::login::password::Password;
use crate::login::second_factor::{CodeError, SecondFactorError, SecondProof, TypedCode};
use crate::login::service::LoginService;
use crate::store::StoreError;
use crate::time::Timestamp;

/// How long a ceremony may take.
pub const CEREMONY_LIFETIME: Duration = Duration::from_secs(5 * 60);

/// The reason why a passkey was not added, renamed, or removed.
#[derive(Debug, thiserror::Error)]
pub enum PasskeyError {
    /// Nobody can use passkeys.
    #[error(transparent)]
    Off(#[from] PasskeysOff),
    /// The ceremony was not begun by the caller, took too long, or was completed already.
    #[error("no passkey is being added")]
    NotBegun,
    /// The answer of the device is not acceptable.
    #[error(transparent)]
    Refused(#[from] CeremonyFault),
    /// The key was added already.
    #[error("the passkey was added already")]
    Taken,
    /// The caller has as many as possible.
    #[error("the caller has too many passkeys")]
    TooMany,
    /// The caller has no such passkey.
    #[error("the caller has no such passkey")]
    NotFound,
    /// The password or the code was not accepted.
    #[error(transparent)]
    Proof(#[from] SecondFactorError),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<CodeError> for PasskeyError {
    fn from(error: CodeError) -> Self {
        SecondFactorError::from(error).into()
    }
}

/// A passkey to be added.
pub struct AddPasskey<'a> {
    /// What the browser has kept; `None` if it has nothing that this server has given to it.
    pub kept: Option<KeptCeremony>,
    /// The name.
    pub name: PasskeyName,
    /// The answer of the device.
    pub response: &'a str,
}

impl LoginService {
    /// Whether passkeys are on.
    pub fn has_passkeys(&self) -> bool {
        self.ceremonies().is_ok()
    }

    pub(super) fn ceremonies(&self) -> Result<&dyn PasskeyCeremonies, PasskeysOff> {
        self.check_passwords()?;
        self.passkeys.as_deref().ok_or(PasskeysOff::NoAddress)
    }

    /// What a browser gets of a ceremony, and what it keeps.
    pub(super) fn kept(&self, begun: BegunCeremony) -> (Value, KeptCeremony) {
        let expires_at = self.clock.now().plus(CEREMONY_LIFETIME);
        (begun.options, KeptCeremony { state: begun.state, expires_at })
    }

    pub(super) fn challenge_of(&self, kept: &KeptCeremony) -> UsedChallenge {
        UsedChallenge { digest: self.mint.digest(&kept.state), expires_at: kept.expires_at }
    }

    /// The caller's passkeys.
    pub async fn passkeys(&self, caller: UserCaller) -> Result<Vec<Passkey>, StoreError> {
        self.logins.list_passkeys(caller.user).await
    }

    /// Begins to add a passkey for a caller who knows the current password, and has a code if there is a second factor. The
    /// code is used up. Returns what the browser's interface to devices gets, and what the browser keeps.
    pub async fn begin_passkey(
        &self,
        caller: UserCaller,
        current: Password,
        code: Option<&TypedCode>,
        may_try_code: impl FnOnce(UserId) -> bool,
    ) -> Result<(Value, KeptCeremony), PasskeyError> {
        let ceremonies = self.ceremonies()?;
        let (user, proof) = self.prove_both(caller, current, code, may_try_code).await?;
        let known = self.logins.list_passkeys(caller.user).await?;
        if known.len() >= super::MAX_PASSKEYS {
            return Err(PasskeyError::TooMany);
        }
        if !self.logins.use_second_proof(caller.user, proof, self.clock.now()).await? {
            return Err(CodeError::Wrong.into());
        }
        Ok(self.kept(ceremonies.begin_adding(&user, &known)?))
    }

    /// Adds a passkey for a caller who has begun to.
    pub async fn add_passkey(
        &self,
        caller: UserCaller,
        command: AddPasskey<'_>,
    ) -> Result<Passkey, PasskeyError> {
        let ceremonies = self.ceremonies()?;
        let now = self.clock.now();
        let kept = command.kept.filter(|kept| kept.expires_at > now).ok_or(PasskeyError::NotBegun)?;
        let (user, credential) = ceremonies.finish_adding(&kept.state, command.response)?;
        if user != caller.user {
            return Err(PasskeyError::NotBegun);
        }
        let id = PasskeyId::new(self.ids.generate(now));
        let passkey = Passkey { id, user, name: command.name, credential, created_at: now, used_at: None };
        let new = NewPasskey { passkey: passkey.clone(), challenge: self.challenge_of(&kept) };
        match self.logins.add_passkey(new).await? {
            AddPasskeyOutcome::Added => Ok(passkey),
            AddPasskeyOutcome::Used | AddPasskeyOutcome::UserGone => Err(PasskeyError::NotBegun),
            AddPasskeyOutcome::Taken => Err(PasskeyError::Taken),
            AddPasskeyOutcome::TooMany => Err(PasskeyError::TooMany),
        }
    }

    /// Gives a passkey of the caller another name.
    pub async fn rename_passkey(
        &self,
        caller: UserCaller,
        passkey: PasskeyId,
        name: PasskeyName,
    ) -> Result<Passkey, PasskeyError> {
        let renamed = self.logins.rename_passkey(caller.user, passkey, name).await?;
        renamed.ok_or(PasskeyError::NotFound)
    }

    /// Removes a passkey of a caller who knows the current password, and has a code if there is a second factor. The sessions
    /// that it has opened end.
    pub async fn remove_passkey(
        &self,
        caller: UserCaller,
        passkey: PasskeyId,
        current: Password,
        code: Option<&TypedCode>,
        may_try_code: impl FnOnce(UserId) -> bool,
    ) -> Result<(), PasskeyError> {
        let (_, proof) = self.prove_both(caller, current, code, may_try_code).await?;
        let (by, now) = (caller.user.into(), self.clock.now());
        let command = RemovePasskeys { user: caller.user, passkey: Some(passkey), proof, by, now };
        match self.logins.remove_passkeys(command).await? {
            RemovePasskeyOutcome::Removed => Ok(()),
            RemovePasskeyOutcome::NotFound => Err(PasskeyError::NotFound),
            RemovePasskeyOutcome::Refused => Err(CodeError::Wrong.into()),
        }
    }

    /// Removes all passkeys of a user, for the operator. Returns whether there was one.
    pub(in crate::login) async fn remove_passkeys_of(
        &self,
        user: &User,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let (proof, by) = (SecondProof::Exempt, Actor::Operator);
        let command = RemovePasskeys { user: user.id, passkey: None, proof, by, now };
        Ok(self.logins.remove_passkeys(command).await? == RemovePasskeyOutcome::Removed)
    }
}
