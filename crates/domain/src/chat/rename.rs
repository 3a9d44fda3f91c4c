//! Giving a room another title.

use super::port::{RenameChat, RenameRefused, RenamedChat};
use super::service::ChatService;
use super::title::ChatTitle;
use crate::caller::Caller;
use crate::event::DomainEvent;
use crate::id::ChatId;
use crate::ports::EventPublisher;
use crate::store::{OnCommit, StoreError};

/// Why a room was not renamed.
#[derive(Debug, thiserror::Error)]
pub enum RenameChatError {
    /// A rule forbids it.
    #[error(transparent)]
    Refused(#[from] RenameRefused),
    /// The store gave no answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ChatService {
    /// Gives the room a title, which stays from then on: no message ever replaces it. When the
    /// room last spoke does not change.
    pub async fn rename(
        &self,
        caller: impl Into<Caller>,
        chat: ChatId,
        title: ChatTitle,
    ) -> Result<RenamedChat, RenameChatError> {
        let command = RenameChat { chat, by: caller.into(), title, now: self.clock.now() };
        let events = self.events.clone();
        let on_commit = OnCommit::new(move |renamed: &RenamedChat| renamed.on_commit(&*events));
        Ok(self.chats.rename(command, on_commit).await??)
    }
}

impl RenamedChat {
    /// Tells those in the room of its title, and its humans of the row in their lists.
    pub(crate) fn on_commit(&self, events: &dyn EventPublisher) {
        let title = self.chat.display_title().to_owned();
        events.publish(DomainEvent::RoomTitleChanged { chat_id: self.chat.id, title });
        let (to, chat, details) = (self.users.clone(), self.chat.clone(), self.details.clone());
        events.publish(DomainEvent::RoomUpdated { to, chat, details });
    }
}
