//! Giving a room another title.

use super::port::{RenameChat, RenameRefused, RenamedChat};
use super::service::ChatService;
use super::title::ChatTitle;
use crate::caller::Caller;
use crate::event::DomainEvent;
use crate::id::ChatId;
use crate::store::{Announce, StoreError};

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
        let announce = Announce::new(move |renamed: &RenamedChat| {
            events.publish(DomainEvent::RoomTitleChanged {
                chat_id: renamed.chat.id,
                title: renamed.chat.display_title().to_owned(),
            });
            events.publish(DomainEvent::RoomUpdated {
                to: renamed.users.clone(),
                chat: renamed.chat.clone(),
                details: renamed.details.clone(),
            });
        });
        Ok(self.chats.rename(command, announce).await??)
    }
}
