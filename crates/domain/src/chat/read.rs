//! Reading rooms and rosters.

use super::participant::{ParticipantStatus, Roster};
use super::room::Chat;
use super::service::ChatService;
use crate::caller::Caller;
use crate::id::ChatId;
use crate::page::{Page, PageRequest};
use crate::store::StoreError;

/// Why a room was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadChatError {
    /// The caller is not in the room, or there is no such room.
    #[error("there is no such chat for the caller")]
    ChatNotFound,
    /// The store gave no answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ChatService {
    /// One room.
    pub async fn find(&self, caller: impl Into<Caller>, chat: ChatId) -> Result<Chat, ReadChatError> {
        let viewer = caller.into().participant();
        self.chats.find(viewer, chat).await?.ok_or(ReadChatError::ChatNotFound)
    }

    /// The rooms that the caller takes part in, newest first.
    pub async fn list(&self, caller: impl Into<Caller>, page: PageRequest) -> Result<Page<Chat>, StoreError> {
        self.chats.list(caller.into().participant(), page).await
    }

    /// Everybody in a room, oldest participant first.
    pub async fn roster(&self, caller: impl Into<Caller>, chat: ChatId) -> Result<Roster, ReadChatError> {
        let viewer = caller.into().participant();
        self.chats.roster(viewer, chat).await?.ok_or(ReadChatError::ChatNotFound)
    }

    /// Lets the caller listen to a room: fails unless it takes part, and makes an agent's
    /// membership active, since it has shown itself.
    pub async fn enter(&self, caller: Caller, chat: ChatId) -> Result<(), ReadChatError> {
        let viewer = caller.participant();
        let status = self.chats.membership(viewer, chat).await?.ok_or(ReadChatError::ChatNotFound)?;
        if let (ParticipantStatus::Inactive, Some(agent)) = (status, viewer.agent()) {
            // A store that cannot write now still lets listen; the next visit tries again.
            let _ = self.chats.activate(agent, chat).await;
        }
        Ok(())
    }
}
