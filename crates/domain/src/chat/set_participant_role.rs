//! Changing the role of a participant.

use super::membership::SetParticipantRoleRefused;
use super::participant::{Participant, Role};
use super::port::{ChangedParticipant, SetParticipantRole};
use super::service::ChatService;
use crate::caller::UserCaller;
use crate::event::DomainEvent;
use crate::id::{AccountId, ChatId};
use crate::store::{OnCommit, StoreError};

/// The reason why a role was not changed.
#[derive(Debug, thiserror::Error)]
pub enum SetParticipantRoleError {
    /// A rule forbids it.
    #[error(transparent)]
    Refused(#[from] SetParticipantRoleRefused),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ChatService {
    /// Gives a participant of the chat another role, and returns the participant.
    pub async fn set_participant_role(
        &self,
        caller: UserCaller,
        chat: ChatId,
        target: impl Into<AccountId>,
        role: Role,
    ) -> Result<Participant, SetParticipantRoleError> {
        let now = self.clock.now();
        let command = SetParticipantRole { chat, by: caller, target: target.into(), role, now };
        let events = self.events.clone();
        let on_commit = OnCommit::new(move |changed: &ChangedParticipant| {
            if changed.has_changed {
                let participant = changed.participant.clone();
                events.publish(DomainEvent::ParticipantUpdated { chat_id: chat, participant });
            }
        });
        Ok(self.chats.set_participant_role(command, on_commit).await??.participant)
    }
}
