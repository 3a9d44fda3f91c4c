//! Removing a participant from a chat, and leaving it.

use super::membership::RemoveRefused;
use super::participant::Participant;
use super::port::{RemoveParticipant, RemovedParticipant};
use super::service::ChatService;
use crate::board::publish_dropped;
use crate::caller::Caller;
use crate::event::DomainEvent;
use crate::id::{AccountId, ChatId};
use crate::store::{OnCommit, StoreError};

/// The reason why a participant was not removed.
#[derive(Debug, thiserror::Error)]
pub enum RemoveParticipantError {
    /// A rule forbids it.
    #[error(transparent)]
    Refused(#[from] RemoveRefused),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ChatService {
    /// Removes `target` from the chat; the caller itself to leave. Returns the participant in its
    /// last state.
    pub async fn remove_participant(
        &self,
        caller: impl Into<Caller>,
        chat: ChatId,
        target: impl Into<AccountId>,
    ) -> Result<Participant, RemoveParticipantError> {
        let now = self.clock.now();
        let command = RemoveParticipant { chat, by: caller.into(), target: target.into(), now };
        let events = self.events.clone();
        let on_commit = OnCommit::new(move |removed: &RemovedParticipant| {
            events.publish(DomainEvent::ParticipantRemoved {
                chat_id: removed.chat.id,
                participant: removed.participant.clone(),
            });
            events.publish(DomainEvent::RoomRemoved {
                from: removed.participant.id,
                chat: removed.chat.clone(),
                removed_at: now,
            });
            publish_dropped(&*events, &removed.dropped);
        });
        Ok(self.chats.remove_participant(command, on_commit).await??.participant)
    }
}
