//! Passkeys, and the ceremonies in which browsers add them.

use domain::id::PasskeyId;
use domain::login::Passkey;
use domain::time::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::Shown;

/// A passkey of the caller.
#[derive(Serialize, utoipa::ToSchema)]
pub struct PasskeyView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<PasskeyId>,
    name: &'a str,
    /// Whether the device may copy it to other devices of its user.
    is_synced: bool,
    /// When it was added.
    #[schema(value_type = super::Instant)]
    inserted_at: Shown<Timestamp>,
    /// When the caller last logged in with it.
    #[schema(value_type = Option<super::Instant>)]
    last_used_at: Option<Shown<Timestamp>>,
}

impl<'a> PasskeyView<'a> {
    /// Shows `passkey`, without its key.
    pub fn new(passkey: &'a Passkey) -> Self {
        Self {
            id: Shown(passkey.id),
            name: passkey.name.as_str(),
            is_synced: passkey.credential.is_synced,
            inserted_at: Shown(passkey.created_at),
            last_used_at: passkey.used_at.map(Shown),
        }
    }
}

/// A passkey that is being added.
#[derive(Serialize, utoipa::ToSchema)]
pub struct PasskeyChallengeView {
    /// The options for `navigator.credentials.create`, as `PublicKeyCredential.parseCreationOptionsFromJSON` reads them.
    #[schema(value_type = Object)]
    options: Value,
    /// Comes back with the answer, within five minutes.
    ceremony: String,
}

impl PasskeyChallengeView {
    /// Shows the options, and the sealed ceremony.
    pub const fn new(options: Value, ceremony: String) -> Self {
        Self { options, ceremony }
    }
}
