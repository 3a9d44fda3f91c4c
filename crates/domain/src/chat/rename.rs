//! Renaming a chat, and setting its default deadline and its limit of hops.

use super::port::{ChatChanges, RenameChat, RenameChatRefused, ShownChat};
use super::service::ChatService;
use crate::caller::Caller;
use crate::event::DomainEvent;
use crate::id::ChatId;
use crate::ports::EventPublisher;
use crate::store::{OnCommit, StoreError};

/// The reason why a chat was not renamed.
#[derive(Debug, thiserror::Error)]
pub enum RenameChatError {
    /// A rule forbids it.
    #[error(transparent)]
    Refused(#[from] RenameChatRefused),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ChatService {
    /// Sets the title of the chat, which stays from then on: no message ever replaces it; its default
    /// deadline, or its limit of hops, which count for texts from then on. The time of the last message does not change.
    pub async fn rename(
        &self,
        caller: impl Into<Caller>,
        chat: ChatId,
        changes: impl Into<ChatChanges>,
    ) -> Result<ShownChat, RenameChatError> {
        let command = RenameChat { chat, by: caller.into(), changes: changes.into(), now: self.clock.now() };
        let events = self.events.clone();
        let is_renamed = command.changes.title.is_some();
        let on_commit = OnCommit::new(move |changed: &ShownChat| {
            if is_renamed {
                changed.on_commit(&*events);
            } else {
                changed.announce(&*events);
            }
        });
        Ok(self.chats.rename(command, on_commit).await??)
    }
}

impl ShownChat {
    /// Notifies the participants of the title, and the humans of the new entry in their lists.
    pub(crate) fn on_commit(&self, events: &dyn EventPublisher) {
        let title = self.chat.display_title().to_owned();
        events.publish(DomainEvent::RoomTitleChanged { chat_id: self.chat.id, title });
        self.announce(events);
    }

    /// Notifies the humans of the new entry in their lists.
    fn announce(&self, events: &dyn EventPublisher) {
        let (to, chat, details) = (self.users.clone(), self.chat.clone(), self.details.clone());
        events.publish(DomainEvent::RoomUpdated { to, chat, details });
    }
}
