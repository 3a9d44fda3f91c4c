//! `POST …/participants`.

use std::convert::Infallible;

use domain::chat::{AddParticipantCommand, Role};
use domain::id::AccountId;

use crate::error::{ApiError, peer_not_found};
use crate::openapi::schema::{uuid, word};
use crate::strict_json::{FromBody, ObjectReader, Optionality, Rejected, UNKNOWN_WORD};

/// The user or agent to add to a chat.
#[derive(Clone, Debug)]
pub struct AddParticipantBody {
    participant_id: String,
    role: Role,
}

impl AddParticipantBody {
    /// Turns the body into a command; a malformed id is 404, like an unknown one.
    pub fn into_command(self) -> Result<AddParticipantCommand, ApiError> {
        let candidate = AccountId::parse(&self.participant_id).ok_or_else(peer_not_found)?;
        Ok(AddParticipantCommand { candidate, role: self.role })
    }
}

impl FromBody for AddParticipantBody {
    const WRAPPER: Option<&'static str> = Some("participant");

    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let participant_id = body.text("participant_id", uuid(), Ok::<_, Infallible>);
        body.describe("role", Optionality::Optional, word(Role::WORDS));
        let role = match body.any("role") {
            None => Ok(Role::default()),
            Some(value) => {
                value.as_str().and_then(Role::parse).ok_or_else(|| body.fault("role", UNKNOWN_WORD))
            }
        };
        Ok(Self { participant_id: participant_id?, role: role? })
    }
}
