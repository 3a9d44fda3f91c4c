//! Metrics of log-ins at identity providers.

use std::sync::LazyLock;

use metrics::{Counter, counter};

use crate::{PROVIDER_LOGINS, PROVIDER_LOGOUTS};

/// The result of a log-in, or of a logout, at a provider.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProviderResult {
    /// It succeeded.
    Succeeded,
    /// The answer was forged, expired, or not acceptable, or the person gets no account.
    Refused,
    /// The provider or the store was unavailable.
    Unavailable,
}

static LOGINS: LazyLock<[Counter; 3]> = LazyLock::new(|| {
    ["succeeded", "refused", "unavailable"].map(|result| counter!(PROVIDER_LOGINS, "result" => result))
});
static LOGOUTS: LazyLock<[Counter; 3]> = LazyLock::new(|| {
    ["succeeded", "refused", "unavailable"].map(|result| counter!(PROVIDER_LOGOUTS, "result" => result))
});

fn index(result: ProviderResult) -> usize {
    match result {
        ProviderResult::Succeeded => 0,
        ProviderResult::Refused => 1,
        ProviderResult::Unavailable => 2,
    }
}

/// Counts a log-in that came back from a provider, or could not begin.
pub fn provider_login(result: ProviderResult) {
    LOGINS[index(result)].increment(1);
}

/// Counts a logout that a provider has told.
pub fn provider_logout(result: ProviderResult) {
    LOGOUTS[index(result)].increment(1);
}

pub(crate) fn begin() {
    LazyLock::force(&LOGINS);
    LazyLock::force(&LOGOUTS);
}
