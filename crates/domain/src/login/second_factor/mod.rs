//! The second factor of a user who logs in with a password: codes of an authenticator app, and recovery codes.
//!
//! A user *begins* with a new secret, which the app gets as a QR code. It is *pending* until the user confirms it with a
//! code: until then no log-in asks for one. From then on a password opens a session, and a reset token sets a password,
//! only with a code. Each code works once: the store keeps the newest *step* whose code was used, and the digests of the
//! recovery codes that are left.
//!
//! Invariant: a code is used up in the same transaction as the action that it allows, so only one of two uses succeeds.

mod change;
mod check;
mod manage;
mod totp;
mod typed_code;

use crate::account::KeyDigest;
use crate::time::Timestamp;

pub use change::{ChangeSecondFactor, FactorChange, FactorUnchanged, SecondFactorRepository};
pub use check::CodeError;
pub use manage::{NewSecondFactor, RemoveFactorError, SecondFactorError};
pub use totp::{Step, TotpCode, TotpSecret};
pub use typed_code::{RECOVERY_CODES, RecoveryCode, TypedCode};

/// The second factor of a user, as it is stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SecondFactor {
    /// The secret.
    pub secret: TotpSecret,
    /// The time at which the user began.
    pub begun_at: Timestamp,
    /// The time at which the user confirmed it; `None` while it is pending.
    pub enabled_at: Option<Timestamp>,
    /// The newest step whose code was used.
    pub used_step: Option<Step>,
    /// The recovery codes that are left.
    pub recovery_codes: Vec<KeyDigest>,
}

/// What a user has proved besides the password.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SecondProof {
    /// Nothing: enough for a user without a second factor.
    None,
    /// Nothing, and nothing is required: the user is logged in, or has just proved it.
    Exempt,
    /// The code of this step, by this secret.
    Totp(TotpSecret, Step),
    /// The recovery code with this digest.
    RecoveryCode(KeyDigest),
}

/// What a proof is worth to a store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Admission {
    /// Too little, or it was used already.
    Refused,
    /// Enough; nothing changes.
    Admitted,
    /// Enough, and used up: the second factor afterwards.
    Used(SecondFactor),
}

impl SecondProof {
    /// Decides whether the proof is enough for a user with this second factor. Stores call it in the same transaction as the
    /// action that the proof allows.
    pub fn admit(&self, stored: Option<SecondFactor>) -> Admission {
        let enabled = stored.filter(|factor| factor.enabled_at.is_some());
        let Some(mut factor) = enabled else { return Admission::Admitted };
        match self {
            Self::Exempt => Admission::Admitted,
            Self::Totp(secret, step)
                if factor.secret == *secret && factor.used_step.is_none_or(|used| *step > used) =>
            {
                factor.used_step = Some(*step);
                Admission::Used(factor)
            }
            Self::RecoveryCode(digest) if factor.recovery_codes.contains(digest) => {
                factor.recovery_codes.retain(|left| left != digest);
                Admission::Used(factor)
            }
            Self::None | Self::Totp(..) | Self::RecoveryCode(_) => Admission::Refused,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: TotpSecret = TotpSecret::new([1; TotpSecret::BYTES]);
    const CODES: [KeyDigest; 2] = [KeyDigest::new([1; 32]), KeyDigest::new([2; 32])];

    fn enabled(used: Option<u32>) -> SecondFactor {
        let at = Timestamp::from_micros(7);
        SecondFactor {
            secret: SECRET,
            begun_at: at,
            enabled_at: Some(at),
            used_step: used.map(Step::new),
            recovery_codes: CODES.to_vec(),
        }
    }

    fn totp(step: u32) -> SecondProof {
        SecondProof::Totp(SECRET, Step::new(step))
    }

    #[test]
    fn without_a_second_factor_nothing_more_is_required() {
        let pending = SecondFactor { enabled_at: None, ..enabled(None) };
        for stored in [None, Some(pending)] {
            for proof in
                [SecondProof::None, SecondProof::Exempt, totp(5), SecondProof::RecoveryCode(CODES[0])]
            {
                assert_eq!(proof.admit(stored.clone()), Admission::Admitted, "{proof:?}");
            }
        }
    }

    #[test]
    fn with_a_second_factor_nothing_is_too_little() {
        assert_eq!(SecondProof::None.admit(Some(enabled(None))), Admission::Refused);
        assert_eq!(SecondProof::Exempt.admit(Some(enabled(None))), Admission::Admitted);
    }

    #[test]
    fn a_step_is_used_once_and_ends_the_earlier_ones() {
        let Admission::Used(after) = totp(5).admit(Some(enabled(None))) else { panic!() };
        assert_eq!(after, enabled(Some(5)));
        for (step, admission) in
            [(4, Admission::Refused), (5, Admission::Refused), (6, Admission::Used(enabled(Some(6))))]
        {
            assert_eq!(totp(step).admit(Some(after.clone())), admission, "{step}");
        }
    }

    /// After the code was checked, the second factor was removed and set up again.
    #[test]
    fn a_code_of_another_secret_proves_nothing() {
        let other = SecondProof::Totp(TotpSecret::new([2; TotpSecret::BYTES]), Step::new(5));
        assert_eq!(other.admit(Some(enabled(None))), Admission::Refused);
    }

    #[test]
    fn a_recovery_code_works_once() {
        let first = SecondProof::RecoveryCode(CODES[0]);
        let Admission::Used(after) = first.admit(Some(enabled(Some(5)))) else { panic!() };
        assert_eq!(after, SecondFactor { recovery_codes: vec![CODES[1]], ..enabled(Some(5)) });
        assert_eq!(first.admit(Some(after.clone())), Admission::Refused);
        let Admission::Used(last) = SecondProof::RecoveryCode(CODES[1]).admit(Some(after)) else { panic!() };
        assert_eq!(last.recovery_codes, []);
    }
}
