//! Creating a room.

use uuid::Uuid;

use super::participant::Role;
use super::port::NewChat;
use super::room::{Chat, ChatKind};
use super::service::ChatService;
use super::title::ChatTitle;
use crate::caller::Caller;
use crate::event::DomainEvent;
use crate::id::ChatId;
use crate::store::{Announce, StoreError};

/// What the creator says about the room.
#[derive(Clone, Debug, Default)]
pub struct CreateChat {
    /// A title that stays; `None` for one made from the first message.
    pub title: Option<ChatTitle>,
    /// A task elsewhere that the room is about.
    pub task_id: Option<Uuid>,
    /// What it is meant for.
    pub kind: ChatKind,
}

impl ChatService {
    /// Creates a room with the caller as its owner. The creator hears of it like anybody added.
    pub async fn create(&self, caller: impl Into<Caller>, command: CreateChat) -> Result<Chat, StoreError> {
        let now = self.clock.now();
        let creator = caller.into().participant();
        let new = NewChat {
            id: ChatId::new(self.ids.generate(now)),
            title: command.title,
            task_id: command.task_id,
            kind: command.kind,
            creator,
            now,
        };
        let events = self.events.clone();
        let announce = Announce::new(move |chat: &Chat| {
            events.publish(DomainEvent::RoomAdded { to: creator, chat: chat.clone(), role: Role::Owner });
        });
        self.chats.create(new, announce).await
    }
}
