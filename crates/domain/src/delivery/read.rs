//! Reading deliveries: the next message to work on, and listings by state.

use super::port::DeliveryFilter;
use super::service::DeliveryService;
use crate::caller::AgentCaller;
use crate::chat::ParticipantStatus;
use crate::id::ChatId;
use crate::message::Message;
use crate::page::{Order, Page, PageRequest};
use crate::store::StoreError;

/// The reason why deliveries were not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadDeliveriesError {
    /// The caller is not in the chat, or it does not exist.
    #[error("there is no such chat for the caller")]
    ChatNotFound,
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl DeliveryService {
    /// The oldest message of the chat that the agent has not processed and no worker of it claims; none while the agent is
    /// stopped. The first visit to a chat makes the membership active; nothing else changes.
    pub async fn next(
        &self,
        caller: AgentCaller,
        chat: ChatId,
    ) -> Result<Option<Message>, ReadDeliveriesError> {
        let next = self.deliveries.next(caller.agent, chat, self.clock.now()).await?;
        let next = next.ok_or(ReadDeliveriesError::ChatNotFound)?;
        if next.status == ParticipantStatus::Inactive {
            // A store that cannot write still answers reads; the next visit retries.
            let _ = self.chats.activate(caller.agent, chat).await;
        }
        Ok(next.message)
    }

    /// The agent's messages in the chat, by state.
    pub async fn list(
        &self,
        caller: AgentCaller,
        chat: ChatId,
        filter: DeliveryFilter,
        order: Order,
        page: PageRequest,
    ) -> Result<Page<Message>, ReadDeliveriesError> {
        let page = self.deliveries.list(caller.agent, chat, filter, order, page).await?;
        page.ok_or(ReadDeliveriesError::ChatNotFound)
    }
}
