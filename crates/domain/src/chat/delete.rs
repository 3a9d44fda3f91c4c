//! Deleting a chat.

use super::model::Chat;
use super::port::{DeleteChat, DeleteRefused, DeletedChat};
use super::service::ChatService;
use crate::caller::Caller;
use crate::event::DomainEvent;
use crate::id::ChatId;
use crate::legal_hold::UnderHold;
use crate::ports::EventPublisher;
use crate::store::{OnCommit, StoreError};

/// The reason why a chat was not deleted.
#[derive(Debug, thiserror::Error)]
pub enum DeleteChatError {
    /// The caller cannot see the chat, or it does not exist.
    #[error("there is no such chat for the caller")]
    ChatNotFound,
    /// Neither the caller nor an own agent is an owner of it.
    #[error("only an owner may delete the chat")]
    NotOwner,
    /// It is under a legal hold.
    #[error(transparent)]
    UnderHold(#[from] UnderHold),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Publishes the effects of a deletion.
pub(crate) fn publish_deleted_chat(events: &dyn EventPublisher, deleted: &DeletedChat) {
    events.publish(DomainEvent::RoomDeleted { chat_id: deleted.chat.id });
    for participant in &deleted.participants {
        events.publish(DomainEvent::RoomRemoved {
            from: *participant,
            chat: deleted.chat.clone(),
            removed_at: deleted.deleted_at,
        });
    }
}

impl ChatService {
    /// Deletes the chat for all, at once; the store hides it.
    pub async fn delete(&self, caller: impl Into<Caller>, chat: ChatId) -> Result<Chat, DeleteChatError> {
        self.delete_by(Some(caller.into()), chat).await
    }

    /// Deletes any chat, for the operator.
    pub async fn delete_any(&self, chat: ChatId) -> Result<Chat, DeleteChatError> {
        self.delete_by(None, chat).await
    }

    async fn delete_by(&self, by: Option<Caller>, chat: ChatId) -> Result<Chat, DeleteChatError> {
        let command = DeleteChat { chat, by, now: self.clock.now() };
        let events = self.events.clone();
        let on_commit = OnCommit::new(move |deleted: &DeletedChat| publish_deleted_chat(&*events, deleted));
        match self.chats.delete(command, on_commit).await? {
            Ok(deleted) => Ok(deleted.chat),
            Err(DeleteRefused::ChatNotFound) => Err(DeleteChatError::ChatNotFound),
            Err(DeleteRefused::NotOwner) => Err(DeleteChatError::NotOwner),
            Err(DeleteRefused::UnderHold) => Err(UnderHold.into()),
        }
    }
}
