//! Checking the code that comes with a password.

use super::typed_code::Spelling;
use super::{SecondFactor, SecondProof, TypedCode};
use crate::id::UserId;
use crate::login::failures::{FailedLogin, Refused};
use crate::login::service::LoginService;
use crate::store::StoreError;

/// The reason why a code was not accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CodeError {
    /// The account has a second factor, and no code was given.
    #[error("a code of the second factor is required")]
    Required,
    /// The code is wrong, too old, or was used already.
    #[error("the code is wrong or was used already")]
    Wrong,
    /// Too many codes for the account were wrong.
    #[error("too many codes were wrong")]
    TooMany,
}

impl SecondProof {
    /// Returns whether it is a code, which another use may be faster to use up.
    pub(in crate::login) const fn is_code(&self) -> bool {
        matches!(self, Self::Totp(..) | Self::RecoveryCode(_))
    }
}

impl LoginService {
    /// What `user`, whose password was right, proves with `code`. It is used up only with what it allows. A wrong code
    /// counts as `failed`; a code of a user without a second factor is ignored.
    pub(in crate::login) async fn second_proof(
        &self,
        user: UserId,
        code: Option<&TypedCode>,
        failed: FailedLogin,
        may_try_code: impl FnOnce(UserId) -> bool,
    ) -> Result<Result<SecondProof, CodeError>, StoreError> {
        let stored = self.logins.find_second_factor(user).await?;
        let Some(factor) = stored.filter(|factor| factor.enabled_at.is_some()) else {
            return Ok(Ok(SecondProof::None));
        };
        let Some(code) = code else { return Ok(Err(CodeError::Required)) };
        // A recovery code is too long to guess, so it takes no try: an attacker who has used up all of them must not lock the
        // owner out.
        if matches!(code.spelling(), Spelling::Totp(_)) && !may_try_code(user) {
            self.note_failure(FailedLogin { refused: Refused::Code, ..failed });
            return Ok(Err(CodeError::TooMany));
        }
        let proof = self.proof_of(&factor, code);
        if proof.is_none() {
            self.note_failure(FailedLogin { refused: Refused::Code, ..failed });
        }
        Ok(proof.ok_or(CodeError::Wrong))
    }

    /// What a code proves for this second factor now.
    pub(super) fn proof_of(&self, factor: &SecondFactor, code: &TypedCode) -> Option<SecondProof> {
        match code.spelling() {
            Spelling::Totp(code) => {
                let step = factor.secret.step_of(*code, self.clock.now(), factor.used_step)?;
                Some(SecondProof::Totp(factor.secret.clone(), step))
            }
            Spelling::Recovery(text) => {
                let digest = self.mint.digest(text);
                factor.recovery_codes.contains(&digest).then_some(SecondProof::RecoveryCode(digest))
            }
            Spelling::Neither => None,
        }
    }
}
