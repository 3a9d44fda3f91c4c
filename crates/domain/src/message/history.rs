//! Reading messages: the history of a chat for humans, its context for an agent.

use super::filter::{Anchor, HistoryFilter, Kinds};
use super::model::Message;
use super::port::{Surroundings, SurroundingsRefused};
use super::service::MessageService;
use crate::caller::{AgentCaller, Caller, UserCaller};
use crate::id::{ChatId, MessageId, ParticipantId};
use crate::page::{Page, PageRequest};
use crate::store::StoreError;

/// The reason why messages were not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadMessagesError {
    /// The caller may not see the chat, or there is no such chat.
    #[error("there is no such chat for the caller")]
    ChatNotFound,
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The reason why the messages around an anchor were not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadSurroundingsError {
    /// The caller may not see the chat, or there is no such chat.
    #[error("there is no such chat for the caller")]
    ChatNotFound,
    /// The anchor is not a message of this chat.
    #[error("there is no such message in the chat")]
    MessageNotFound,
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl MessageService {
    /// The history of the chat, newest first.
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

    /// The messages before, after, or around an anchor.
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

    /// A message of the chat, if the caller may read it.
    pub async fn find(
        &self,
        caller: impl Into<Caller>,
        chat: ChatId,
        message: MessageId,
    ) -> Result<Option<Message>, StoreError> {
        self.messages.find_readable(caller.into().participant(), chat, message).await
    }

    /// The agent's context, to resume its work: messages that it sent and those addressed to it,
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
