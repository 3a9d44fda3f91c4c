//! Reading messages: all of a room for humans, its own part for an agent.

use super::filter::{Anchor, HistoryFilter, Kinds};
use super::model::Message;
use super::port::{Surroundings, SurroundingsRefused};
use super::service::MessageService;
use crate::caller::{AgentCaller, UserCaller};
use crate::id::{ChatId, ParticipantId};
use crate::page::{Page, PageRequest};
use crate::store::StoreError;

/// Why messages were not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadMessagesError {
    /// The caller may not see the room, or there is no such room.
    #[error("there is no such chat for the caller")]
    ChatNotFound,
    /// The store gave no answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why what lies around a message was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadSurroundingsError {
    /// The caller may not see the room, or there is no such room.
    #[error("there is no such chat for the caller")]
    ChatNotFound,
    /// The anchor is no message of this room.
    #[error("there is no such message in the chat")]
    MessageNotFound,
    /// The store gave no answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl MessageService {
    /// Everything in the room, newest first.
    pub async fn history(
        &self,
        caller: UserCaller,
        chat: ChatId,
        filter: HistoryFilter,
        page: PageRequest,
    ) -> Result<Page<Message>, ReadMessagesError> {
        let viewer = ParticipantId::User(caller.user);
        self.messages.history(viewer, chat, filter, page).await?.ok_or(ReadMessagesError::ChatNotFound)
    }

    /// What was said and done before, after or around a message.
    pub async fn surroundings(
        &self,
        caller: UserCaller,
        chat: ChatId,
        anchor: Anchor,
        kinds: Kinds,
        limit: u32,
    ) -> Result<Surroundings, ReadSurroundingsError> {
        let viewer = ParticipantId::User(caller.user);
        let found = self.messages.surroundings(viewer, chat, anchor, kinds, limit).await?;
        found.map_err(|refused| match refused {
            SurroundingsRefused::ChatNotFound => ReadSurroundingsError::ChatNotFound,
            SurroundingsRefused::MessageNotFound => ReadSurroundingsError::MessageNotFound,
        })
    }

    /// What the agent needs to pick up its thread: what it sent and what was said to it,
    /// oldest first.
    pub async fn context(
        &self,
        caller: AgentCaller,
        chat: ChatId,
        page: PageRequest,
    ) -> Result<Page<Message>, ReadMessagesError> {
        self.messages.context(caller.agent, chat, page).await?.ok_or(ReadMessagesError::ChatNotFound)
    }
}
