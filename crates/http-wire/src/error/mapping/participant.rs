//! Participants of chats.

use domain::chat::{
    AddParticipantError, AddRefused, RemoveParticipantError, RemoveRefused, SetParticipantRoleError,
    SetParticipantRoleRefused,
};

use super::{chat_not_found, peer_not_found};
use crate::error::{ApiError, ErrorCode};

impl From<AddParticipantError> for ApiError {
    fn from(error: AddParticipantError) -> Self {
        match error {
            AddParticipantError::Refused(AddRefused::Limit(reached)) => reached.into(),
            AddParticipantError::Refused(AddRefused::ChatNotFound) => chat_not_found(),
            AddParticipantError::Refused(AddRefused::PeerNotFound) => peer_not_found(),
            AddParticipantError::Refused(AddRefused::AlreadyParticipant) => Self::new(
                ErrorCode::Conflict,
                "The participant is already in the chat. There is nothing to add.",
            ),
            AddParticipantError::Refused(AddRefused::RoleTooLow) => Self::new(
                ErrorCode::Forbidden,
                "Your role in the chat does not allow you to assign this role. Assign a lower one, or ask an owner.",
            ),
            AddParticipantError::Foreign(cause) => cause.into(),
            AddParticipantError::Store(error) => error.into(),
        }
    }
}

impl From<RemoveParticipantError> for ApiError {
    fn from(error: RemoveParticipantError) -> Self {
        let refused = match error {
            RemoveParticipantError::Refused(refused) => refused,
            RemoveParticipantError::Store(error) => return error.into(),
        };
        match refused {
            RemoveRefused::ChatNotFound => chat_not_found(),
            RemoveRefused::ParticipantNotFound => participant_not_found(),
            RemoveRefused::RoleTooLow => Self::new(
                ErrorCode::Forbidden,
                "Your role in the chat does not allow you to remove this participant. Ask an owner.",
            ),
            RemoveRefused::AgentRemovesUser => Self::new(
                ErrorCode::Forbidden,
                "An agent may not remove a user from a chat. Ask a human who owns it.",
            ),
            RemoveRefused::SoleOwner => Self::new(
                ErrorCode::CannotRemoveSoleOwner,
                "The only owner cannot leave the chat. Add another owner first, or delete the chat.",
            ),
        }
    }
}

impl From<SetParticipantRoleError> for ApiError {
    fn from(error: SetParticipantRoleError) -> Self {
        let refused = match error {
            SetParticipantRoleError::Refused(refused) => refused,
            SetParticipantRoleError::Store(error) => return error.into(),
        };
        match refused {
            SetParticipantRoleRefused::ChatNotFound => chat_not_found(),
            SetParticipantRoleRefused::ParticipantNotFound => participant_not_found(),
            SetParticipantRoleRefused::RoleTooLow => Self::new(
                ErrorCode::Forbidden,
                "Your role in the chat does not allow you to give this participant this role. Ask an owner.",
            ),
            SetParticipantRoleRefused::SoleOwner => Self::new(
                ErrorCode::Conflict,
                "The participant is the only owner of the chat. Make another participant an owner first.",
            ),
        }
    }
}

/// The error for a participant who is not in the chat.
fn participant_not_found() -> ApiError {
    ApiError::new(
        ErrorCode::NotFound,
        "This participant is not in the chat. List its participants to find the id.",
    )
}
