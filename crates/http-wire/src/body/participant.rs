//! `POST …/participants`.

use domain::chat::{AddParticipantCommand, Role};
use domain::id::AccountId;

use crate::openapi::schema::{uuid, word};
use crate::strict_json::{FromBody, ObjectReader, Optionality, Rejected, UNKNOWN_WORD, id};

/// The user or agent to add to a chat.
#[derive(Clone, Debug)]
pub struct AddParticipantBody {
    candidate: AccountId,
    role: Role,
}

impl AddParticipantBody {
    /// Turns the body into a command.
    pub fn into_command(self) -> AddParticipantCommand {
        AddParticipantCommand { candidate: self.candidate, role: self.role }
    }
}

impl FromBody for AddParticipantBody {
    const WRAPPER: Option<&'static str> = Some("participant");

    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let candidate = body.text("participant_id", uuid(), id(AccountId::parse));
        body.describe("role", Optionality::Optional, word(Role::WORDS));
        let role = match body.any("role") {
            None => Ok(Role::default()),
            Some(value) => {
                value.as_str().and_then(Role::parse).ok_or_else(|| body.fault("role", UNKNOWN_WORD))
            }
        };
        Ok(Self { candidate: candidate?, role: role? })
    }
}
