//! Adding a participant to a chat.

use super::membership::AddRefused;
use super::participant::{Participant, Role};
use super::port::{AddParticipant, AddedParticipant};
use super::service::ChatService;
use crate::caller::Caller;
use crate::event::DomainEvent;
use crate::foreign::{self, ForeignCause};
use crate::id::{AccountId, ChatId};
use crate::store::{OnCommit, StoreError};

/// The user or agent to add, with the role.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AddParticipantCommand {
    /// The user or the agent.
    pub candidate: AccountId,
    /// The role they get.
    pub role: Role,
}

/// The reason why a participant was not added.
#[derive(Debug, thiserror::Error)]
pub enum AddParticipantError {
    /// A rule forbids it.
    #[error(transparent)]
    Refused(#[from] AddRefused),
    /// The agent works for another organization.
    #[error(transparent)]
    Foreign(#[from] ForeignCause),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ChatService {
    /// Adds a peer of the caller to the chat.
    pub async fn add_participant(
        &self,
        caller: impl Into<Caller>,
        chat: ChatId,
        command: AddParticipantCommand,
    ) -> Result<Participant, AddParticipantError> {
        let by = caller.into();
        foreign::check::<AddParticipantError>(&*self.work, by).await?;
        let command = AddParticipant {
            chat,
            by,
            candidate: command.candidate,
            role: command.role,
            now: self.clock.now(),
        };
        let events = self.events.clone();
        let on_commit = OnCommit::new(move |added: &AddedParticipant| {
            // Before the new participant receives any event.
            if let Some(retitled) = &added.retitled {
                retitled.on_commit(&*events);
            }
            events.publish(DomainEvent::ParticipantAdded {
                chat_id: added.chat.id,
                participant: added.participant.clone(),
            });
            events.publish(DomainEvent::RoomAdded {
                to: added.participant.id,
                owner: added.participant.owner,
                chat: added.chat.clone(),
                role: added.participant.role,
            });
        });
        Ok(self.chats.add_participant(command, on_commit).await??.participant)
    }
}
