//! The routes of the second factor.

use http_wire::openapi::{Endpoint, get, post};
use http_wire::view::{NewSecondFactorView, RecoveryCodesView, SecondFactorView};

use crate::second_factor;

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        get("/second-factor", second_factor::show)
            .named("showSecondFactor", "Show whether the caller has a second factor")
            .answers::<SecondFactorView>(200),
        post("/second-factor", second_factor::begin)
            .named(
                "beginSecondFactor",
                "Begin to set up a second factor, and show its secret once; it is pending until a code confirms it",
            )
            .body::<second_factor::BeginBody>()
            .answers::<NewSecondFactorView>(201)
            .refuses(&[403, 409]),
        post("/second-factor/confirm", second_factor::confirm)
            .named(
                "confirmSecondFactor",
                "Turn the pending second factor on with one of its codes, and show the recovery codes once",
            )
            .body::<second_factor::ConfirmBody>()
            .answers::<RecoveryCodesView>(200)
            .refuses(&[409]),
        post("/second-factor/recovery-codes", second_factor::renew_recovery_codes)
            .named("renewRecoveryCodes", "Replace the recovery codes, and show the new ones once")
            .body::<second_factor::RenewBody>()
            .answers::<RecoveryCodesView>(200)
            .refuses(&[409]),
        post("/second-factor/remove", second_factor::remove)
            .named("removeSecondFactor", "Turn the second factor off; a pending one is removed without a code")
            .body::<second_factor::ProofBody>()
            .answers_nothing()
            .refuses(&[409]),
    ]
}
