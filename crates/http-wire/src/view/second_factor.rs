//! Second factors: their state, and the secrets that are shown once.

use domain::login::{NewSecondFactor, RecoveryCode, SecondFactor};
use domain::time::Timestamp;
use serde::Serialize;

use super::Shown;

/// The caller's second factor.
#[derive(Serialize, utoipa::ToSchema)]
pub struct SecondFactorView {
    /// `off`, `pending` until a code confirms it, or `on`. Only if it is `on`, a log-in with the password needs a code.
    status: &'static str,
    /// When it was turned on.
    #[schema(value_type = Option<super::Instant>)]
    enabled_at: Option<Shown<Timestamp>>,
    /// How many recovery codes are left, of ten.
    recovery_codes_left: usize,
}

impl SecondFactorView {
    /// Shows `factor`, without its secret.
    pub fn new(factor: Option<&SecondFactor>) -> Self {
        let enabled_at = factor.and_then(|factor| factor.enabled_at);
        let status = match factor {
            None => "off",
            Some(_) if enabled_at.is_none() => "pending",
            Some(_) => "on",
        };
        let recovery_codes_left = factor.map_or(0, |factor| factor.recovery_codes.len());
        Self { status, enabled_at: enabled_at.map(Shown), recovery_codes_left }
    }
}

/// A second factor that is pending. The secret is shown only in this response.
#[derive(Serialize, utoipa::ToSchema)]
pub struct NewSecondFactorView {
    /// The secret in base32, as it is typed into an authenticator app.
    secret: String,
    /// The same for the app to read from a QR code.
    otpauth_url: String,
}

impl NewSecondFactorView {
    /// Shows `new` with its secret.
    pub fn new(new: &NewSecondFactor) -> Self {
        Self { secret: new.secret.base32(), otpauth_url: new.url() }
    }
}

/// Recovery codes, each of which replaces a code of the authenticator app once. They are shown only in this response.
#[derive(Serialize, utoipa::ToSchema)]
pub struct RecoveryCodesView {
    recovery_codes: Vec<String>,
}

impl RecoveryCodesView {
    /// Shows `codes`.
    pub fn new(codes: &[RecoveryCode]) -> Self {
        Self { recovery_codes: codes.iter().map(RecoveryCode::reveal).collect() }
    }
}
