//! Turning a second factor on and off, and renewing its recovery codes.

use std::time::Duration;

use super::typed_code::RECOVERY_CODES;
use super::{
    ChangeSecondFactor, CodeError, FactorChange, RecoveryCode, SecondFactor, SecondProof, TotpSecret,
    TypedCode,
};
use crate::account::{KeyDigest, KeyKind, User};
use crate::audit::Actor;
use crate::caller::UserCaller;
use crate::id::UserId;
use crate::login::confirm::ConfirmError;
use crate::login::failures::FailedLogin;
use crate::login::password::{HasherBusy, Password};
use crate::login::port::SetPassword;
use crate::login::reset_password::{IssueResetError, IssuedReset};
use crate::login::service::LoginService;
use crate::store::StoreError;

/// How long a secret waits for its confirmation: later, somebody else may have seen it.
const SET_UP_LIFETIME: Duration = Duration::from_secs(60 * 60);

/// The reason why a second factor was not changed.
#[derive(Debug, thiserror::Error)]
pub enum SecondFactorError {
    /// The caller has one already.
    #[error("the second factor is on already")]
    AlreadyOn,
    /// The caller has none.
    #[error("the second factor is off")]
    Off,
    /// There is none to be confirmed, or it was replaced meanwhile.
    #[error("no second factor is being set up")]
    NotPending,
    /// The password did not confirm the caller.
    #[error(transparent)]
    Confirm(#[from] ConfirmError),
    /// The code was not accepted.
    #[error(transparent)]
    Code(#[from] CodeError),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The reason why the operator did not remove a second factor.
#[derive(Debug, thiserror::Error)]
pub enum RemoveFactorError {
    /// No reset token can be issued.
    #[error(transparent)]
    Reset(#[from] IssueResetError),
    /// Too many passwords are being checked.
    #[error(transparent)]
    Busy(#[from] HasherBusy),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A second factor that is pending. The secret is shown only here.
pub struct NewSecondFactor {
    /// The secret.
    pub secret: TotpSecret,
    /// The name of the account, for the app: the handle, and the host of the server if it is known.
    pub account: String,
}

impl NewSecondFactor {
    /// The URL that an authenticator app reads from a QR code.
    pub fn url(&self) -> String {
        // Handles and hosts need no encoding, except for the colon in front of a port and the brackets around an address.
        let account = self.account.replace(':', "%3A").replace('[', "%5B").replace(']', "%5D");
        let secret = self.secret.base32();
        format!(
            "otpauth://totp/Parlance:{account}?secret={secret}&issuer=Parlance&algorithm=SHA1&digits=6&period=30"
        )
    }
}

impl LoginService {
    /// The caller's second factor, which may be pending.
    pub async fn second_factor(&self, caller: UserCaller) -> Result<Option<SecondFactor>, StoreError> {
        self.logins.find_second_factor(caller.user).await
    }

    /// Begins to set up a second factor for a caller who knows the current password.
    pub async fn begin_second_factor(
        &self,
        caller: UserCaller,
        current: Password,
    ) -> Result<NewSecondFactor, SecondFactorError> {
        self.check_passwords().map_err(ConfirmError::from)?;
        let (user, _) = self.prove(caller, current).await?;
        let secret = TotpSecret::new(self.mint.random_bytes());
        if self.change_own(caller, FactorChange::Begin(secret.clone())).await? {
            Ok(NewSecondFactor { secret, account: self.account_name(&user) })
        } else {
            Err(SecondFactorError::AlreadyOn)
        }
    }

    fn account_name(&self, user: &User) -> String {
        let host = self.public_url.as_deref().and_then(|url| url.split_once("://"));
        let host = host.map(|(_, rest)| rest.split('/').next().unwrap_or(rest));
        host.map_or_else(|| user.handle.to_string(), |host| format!("{}@{host}", user.handle))
    }

    /// Turns the pending second factor on with one of its codes, and returns the recovery codes.
    pub async fn confirm_second_factor(
        &self,
        caller: UserCaller,
        code: &TypedCode,
        may_try_code: impl FnOnce(UserId) -> bool,
    ) -> Result<Vec<RecoveryCode>, SecondFactorError> {
        let pending = self.logins.find_second_factor(caller.user).await?;
        let oldest = self.clock.now().minus(SET_UP_LIFETIME);
        let pending = pending.filter(|factor| factor.enabled_at.is_none() && factor.begun_at > oldest);
        let pending = pending.ok_or(SecondFactorError::NotPending)?;
        if !may_try_code(caller.user) {
            return Err(CodeError::TooMany.into());
        }
        let Some(SecondProof::Totp(secret, step)) = self.proof_of(&pending, code) else {
            return Err(CodeError::Wrong.into());
        };
        let (codes, recovery_codes) = self.mint_recovery_codes();
        let enable = FactorChange::Enable { secret, step, recovery_codes };
        let done = self.change_own(caller, enable).await?;
        if done { Ok(codes) } else { Err(SecondFactorError::NotPending) }
    }

    /// Replaces the recovery codes of a caller who knows the current password and has a code. Without the code, somebody
    /// with an open session and the password could remove the second factor with a new recovery code.
    pub async fn renew_recovery_codes(
        &self,
        caller: UserCaller,
        current: Password,
        code: &TypedCode,
        may_try_code: impl FnOnce(UserId) -> bool,
    ) -> Result<Vec<RecoveryCode>, SecondFactorError> {
        let (_, proof) = self.prove_both(caller, current, Some(code), may_try_code).await?;
        if proof == SecondProof::None {
            return Err(SecondFactorError::Off);
        }
        let (codes, recovery_codes) = self.mint_recovery_codes();
        let renew = FactorChange::RenewRecoveryCodes { proof, recovery_codes };
        let done = self.change_own(caller, renew).await?;
        if done { Ok(codes) } else { Err(CodeError::Wrong.into()) }
    }

    /// Removes the second factor of a caller who knows the current password and has a code. A pending one is removed
    /// without a code.
    pub async fn remove_second_factor(
        &self,
        caller: UserCaller,
        current: Password,
        code: Option<&TypedCode>,
        may_try_code: impl FnOnce(UserId) -> bool,
    ) -> Result<(), SecondFactorError> {
        let (_, proof) = self.prove_both(caller, current, code, may_try_code).await?;
        let is_code = proof.is_code();
        let done = self.change_own(caller, FactorChange::Remove(proof)).await?;
        if done {
            return Ok(());
        }
        Err(if is_code { CodeError::Wrong.into() } else { SecondFactorError::Off })
    }

    /// Removes the second factor and all passkeys of a user who has lost the device and the recovery codes, for the operator.
    /// Returns `None` if there is neither, not even a pending second factor. Before that, the password and all sessions end,
    /// because somebody else who knows the password could turn on another second factor. The user sets a new password with
    /// the reset token.
    pub async fn remove_second_factor_of(
        &self,
        user: &User,
    ) -> Result<Option<IssuedReset>, RemoveFactorError> {
        self.check_passwords().map_err(IssueResetError::from)?;
        let has_none = self.logins.find_second_factor(user.id).await?.is_none();
        if has_none && self.logins.list_passkeys(user.id).await?.is_empty() {
            return Ok(None);
        }
        let now = self.clock.now();
        let unknown = self.mint.mint(KeyKind::Reset, now).reveal().to_owned();
        let unknown =
            Password::typed(unknown).map_err(|_| StoreError::Broken("a token that is too long".into()))?;
        let password = self.hasher.hash(unknown).await?;
        let ended = SetPassword { user: user.id, password, replaces: None, by: Actor::Operator, now };
        self.logins.set_password(ended, self.announce_end()).await?;
        let change = FactorChange::Remove(SecondProof::Exempt);
        let command = ChangeSecondFactor { user: user.id, change, by: Actor::Operator, now };
        let is_removed = self.logins.change_second_factor(command).await?;
        if !self.remove_passkeys_of(user, now).await? && !is_removed {
            return Ok(None);
        }
        Ok(Some(self.issue_reset(&user.handle).await?))
    }

    /// Checks the caller's password, and the code if there is a second factor.
    pub(in crate::login) async fn prove_both(
        &self,
        caller: UserCaller,
        current: Password,
        code: Option<&TypedCode>,
        may_try_code: impl FnOnce(UserId) -> bool,
    ) -> Result<(User, SecondProof), SecondFactorError> {
        let (user, _) = self.prove(caller, current).await?;
        let failed = FailedLogin::of(Some(caller.user), None);
        Ok((user, self.second_proof(caller.user, code, failed, may_try_code).await??))
    }

    async fn change_own(&self, caller: UserCaller, change: FactorChange) -> Result<bool, StoreError> {
        let (user, by, now) = (caller.user, caller.user.into(), self.clock.now());
        self.logins.change_second_factor(ChangeSecondFactor { user, change, by, now }).await
    }

    fn mint_recovery_codes(&self) -> (Vec<RecoveryCode>, Vec<KeyDigest>) {
        let minted = (0..RECOVERY_CODES).map(|_| {
            let code = RecoveryCode::mint(&*self.mint);
            let digest = code.digest(&*self.mint);
            (code, digest)
        });
        minted.unzip()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_is_what_apps_read() {
        let secret = TotpSecret::new(*b"12345678901234567890");
        for (account, label) in [
            ("ann", "ann"),
            ("ann@chat.example", "ann@chat.example"),
            ("ann@chat.example:8443", "ann@chat.example%3A8443"),
            ("ann@[2001:db8::1]", "ann@%5B2001%3Adb8%3A%3A1%5D"),
        ] {
            let new = NewSecondFactor { secret: secret.clone(), account: account.to_owned() };
            assert_eq!(
                new.url(),
                format!(
                    "otpauth://totp/Parlance:{label}?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Parlance\
                     &algorithm=SHA1&digits=6&period=30"
                )
            );
        }
    }
}
