//! Changes of a second factor, and the port that stores them.

use async_trait::async_trait;

use super::{Admission, SecondFactor, SecondProof, Step, TotpSecret};
use crate::account::KeyDigest;
use crate::audit::Actor;
use crate::id::UserId;
use crate::store::StoreError;
use crate::time::Timestamp;

/// A change of a user's second factor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FactorChange {
    /// A new secret, in place of another that is pending.
    Begin(TotpSecret),
    /// The confirmation of a pending secret.
    Enable {
        /// The secret.
        secret: TotpSecret,
        /// The step of the code that confirms it, which is used up.
        step: Step,
        /// The recovery codes.
        recovery_codes: Vec<KeyDigest>,
    },
    /// Other recovery codes, in place of all that are left.
    RenewRecoveryCodes {
        /// What the user has proved.
        proof: SecondProof,
        /// The recovery codes.
        recovery_codes: Vec<KeyDigest>,
    },
    /// The removal, also of a pending one.
    Remove(SecondProof),
}

/// A change to be stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChangeSecondFactor {
    /// The user.
    pub user: UserId,
    /// The change.
    pub change: FactorChange,
    /// Who makes it.
    pub by: Actor,
    /// The current time.
    pub now: Timestamp,
}

/// The change does not fit the second factor, which may have changed meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FactorUnchanged;

impl ChangeSecondFactor {
    /// The second factor after the change; `None` for none.
    pub fn apply(&self, stored: Option<&SecondFactor>) -> Result<Option<SecondFactor>, FactorUnchanged> {
        let enabled = stored.filter(|factor| factor.enabled_at.is_some());
        match &self.change {
            FactorChange::Begin(_) if enabled.is_some() => Err(FactorUnchanged),
            FactorChange::Begin(secret) => Ok(Some(SecondFactor {
                secret: secret.clone(),
                begun_at: self.now,
                enabled_at: None,
                used_step: None,
                recovery_codes: Vec::new(),
            })),
            FactorChange::Enable { secret, step, recovery_codes } => {
                let pending = stored.filter(|factor| factor.enabled_at.is_none() && factor.secret == *secret);
                let pending = pending.ok_or(FactorUnchanged)?.clone();
                Ok(Some(SecondFactor {
                    enabled_at: Some(self.now),
                    used_step: Some(*step),
                    recovery_codes: recovery_codes.clone(),
                    ..pending
                }))
            }
            FactorChange::RenewRecoveryCodes { proof, recovery_codes } => {
                let factor = enabled.ok_or(FactorUnchanged)?.clone();
                let factor = match proof.admit(Some(factor.clone())) {
                    Admission::Refused => return Err(FactorUnchanged),
                    Admission::Admitted => factor,
                    Admission::Used(after) => after,
                };
                Ok(Some(SecondFactor { recovery_codes: recovery_codes.clone(), ..factor }))
            }
            FactorChange::Remove(proof) => {
                let factor = stored.ok_or(FactorUnchanged)?.clone();
                if proof.admit(Some(factor)) == Admission::Refused { Err(FactorUnchanged) } else { Ok(None) }
            }
        }
    }
}

/// The store of second factors.
#[async_trait]
pub trait SecondFactorRepository: Send + Sync {
    /// The second factor of a user, which may be pending.
    async fn find_second_factor(&self, user: UserId) -> Result<Option<SecondFactor>, StoreError>;

    /// Changes the second factor of a user by [`ChangeSecondFactor::apply`], with its entries in the audit log. Returns
    /// false if nothing has changed: the change does not fit, or there is no such user.
    async fn change_second_factor(&self, command: ChangeSecondFactor) -> Result<bool, StoreError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: TotpSecret = TotpSecret::new([1; TotpSecret::BYTES]);
    const OTHER: TotpSecret = TotpSecret::new([2; TotpSecret::BYTES]);
    const CODE: KeyDigest = KeyDigest::new([1; 32]);
    const NEW_CODE: KeyDigest = KeyDigest::new([2; 32]);

    fn pending() -> SecondFactor {
        SecondFactor {
            secret: SECRET,
            begun_at: Timestamp::from_micros(1),
            enabled_at: None,
            used_step: None,
            recovery_codes: Vec::new(),
        }
    }

    fn enabled() -> SecondFactor {
        SecondFactor {
            enabled_at: Some(Timestamp::from_micros(2)),
            used_step: Some(Step::new(5)),
            recovery_codes: vec![CODE],
            ..pending()
        }
    }

    fn apply(
        change: FactorChange,
        stored: Option<&SecondFactor>,
    ) -> Result<Option<SecondFactor>, FactorUnchanged> {
        let user = UserId::new(uuid::Uuid::from_u128(1));
        let command = ChangeSecondFactor { user, change, by: user.into(), now: Timestamp::from_micros(2) };
        command.apply(stored)
    }

    #[test]
    fn a_new_secret_replaces_a_pending_one_only() {
        let begun = SecondFactor { secret: OTHER, begun_at: Timestamp::from_micros(2), ..pending() };
        for stored in [None, Some(&pending())] {
            assert_eq!(apply(FactorChange::Begin(OTHER), stored), Ok(Some(begun.clone())));
        }
        assert_eq!(apply(FactorChange::Begin(OTHER), Some(&enabled())), Err(FactorUnchanged));
    }

    #[test]
    fn only_the_pending_secret_is_confirmed() {
        let confirm =
            |secret| FactorChange::Enable { secret, step: Step::new(5), recovery_codes: vec![CODE] };
        assert_eq!(apply(confirm(SECRET), Some(&pending())), Ok(Some(enabled())));
        for (secret, stored) in [(SECRET, None), (OTHER, Some(&pending())), (SECRET, Some(&enabled()))] {
            assert_eq!(apply(confirm(secret), stored), Err(FactorUnchanged));
        }
    }

    #[test]
    fn recovery_codes_are_renewed_with_a_code_which_is_used_up() {
        let renew = |proof| FactorChange::RenewRecoveryCodes { proof, recovery_codes: vec![NEW_CODE] };
        let renewed = |step| SecondFactor {
            used_step: Some(Step::new(step)),
            recovery_codes: vec![NEW_CODE],
            ..enabled()
        };
        let totp = |step| SecondProof::Totp(SECRET, Step::new(step));
        assert_eq!(apply(renew(totp(6)), Some(&enabled())), Ok(Some(renewed(6))));
        assert_eq!(apply(renew(SecondProof::RecoveryCode(CODE)), Some(&enabled())), Ok(Some(renewed(5))));
        for (proof, stored) in [
            (totp(5), Some(enabled())),
            (SecondProof::None, Some(enabled())),
            (SecondProof::RecoveryCode(NEW_CODE), Some(enabled())),
            (totp(6), Some(pending())),
            (SecondProof::Exempt, None),
        ] {
            assert_eq!(apply(renew(proof.clone()), stored.as_ref()), Err(FactorUnchanged), "{proof:?}");
        }
    }

    #[test]
    fn an_enabled_second_factor_is_removed_with_a_code_and_a_pending_one_without() {
        let totp = |step| SecondProof::Totp(SECRET, Step::new(step));
        for (proof, stored, removed) in [
            (totp(6), Some(enabled()), Ok(None)),
            (SecondProof::RecoveryCode(CODE), Some(enabled()), Ok(None)),
            (SecondProof::Exempt, Some(enabled()), Ok(None)),
            (SecondProof::None, Some(pending()), Ok(None)),
            (SecondProof::None, Some(enabled()), Err(FactorUnchanged)),
            (totp(5), Some(enabled()), Err(FactorUnchanged)),
            (SecondProof::Exempt, None, Err(FactorUnchanged)),
        ] {
            assert_eq!(apply(FactorChange::Remove(proof.clone()), stored.as_ref()), removed, "{proof:?}");
        }
    }
}
