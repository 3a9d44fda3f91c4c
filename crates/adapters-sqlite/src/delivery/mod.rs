//! The store of deliveries and attempts.

pub(crate) mod advance;
mod mark_delivered;
mod read;
mod receipts;
#[path = "../../../sql-rows/receipt.rs"]
mod row;
mod unacknowledged;

use std::collections::HashMap;

use async_trait::async_trait;
use diesel::sqlite::SqliteConnection;
use domain::delivery::{
    AdvanceDelivery, AdvanceRefused, Advanced, BacklogWork, DeliveryFilter, DeliveryKey, DeliveryReceipt,
    DeliveryRepository, HasHumanSubscribers, Listening, NextMessage, Order, ReceiptsRefused, RenewClaims,
    Searched,
};
use domain::id::{AgentId, ChatId, MessageId, ParticipantId, Sequence};
use domain::message::Message;
use domain::page::{Page, PageRequest};
use domain::store::{OnCommit, StoreError};
use domain::time::Timestamp;

use crate::SqliteStore;

#[async_trait]
impl DeliveryRepository for SqliteStore {
    async fn next(
        &self,
        agent: AgentId,
        chat: ChatId,
        now: Timestamp,
    ) -> Result<Option<NextMessage>, StoreError> {
        self.read(move |connection| read::next_on(connection, agent, chat, now)).await
    }

    async fn list(
        &self,
        agent: AgentId,
        chat: ChatId,
        filter: DeliveryFilter,
        order: Order,
        page: PageRequest,
    ) -> Result<Option<Page<Message>>, StoreError> {
        self.read(move |connection| read::list_on(connection, agent, chat, filter, order, page)).await
    }

    async fn receipts(
        &self,
        viewer: ParticipantId,
        chat: ChatId,
        message: MessageId,
    ) -> Result<Result<Vec<DeliveryReceipt>, ReceiptsRefused>, StoreError> {
        self.read(move |connection| receipts::receipts_on(connection, viewer, chat, message)).await
    }

    async fn advance(
        &self,
        command: AdvanceDelivery,
        on_commit: OnCommit<Advanced>,
    ) -> Result<Result<Advanced, AdvanceRefused>, StoreError> {
        let work = move |connection: &mut SqliteConnection| advance::advance_on(connection, &command);
        self.change(work, |advanced| on_commit.run(advanced)).await
    }

    async fn renew_claims(&self, command: RenewClaims) -> Result<(), StoreError> {
        self.alter(move |connection| advance::renew_on(connection, &command)).await
    }

    async fn mark_delivered(
        &self,
        taken: Vec<DeliveryKey>,
        now: Timestamp,
        selected: HasHumanSubscribers,
        on_commit: OnCommit<Vec<Message>>,
    ) -> Result<(), StoreError> {
        let work = move |connection: &mut SqliteConnection| {
            // Without changes there is nothing to commit.
            Ok(mark_delivered::mark_delivered_on(connection, taken, now, selected)?.ok_or(()))
        };
        let _ = self.change(work, |messages| announce(messages, on_commit)).await?;
        Ok(())
    }

    async fn announce_delivered(
        &self,
        messages: Vec<MessageId>,
        selected: HasHumanSubscribers,
        on_commit: OnCommit<Vec<Message>>,
    ) -> Result<(), StoreError> {
        // The read takes a commit slot, so that no later change is announced before it.
        let work = move |connection: &mut SqliteConnection| {
            Ok(Ok::<_, ()>(mark_delivered::announce_on(connection, &messages, selected)?))
        };
        let _ = self.change(work, |messages| announce(messages, on_commit)).await?;
        Ok(())
    }

    async fn last_sequences(&self, chats: Vec<ChatId>) -> Result<HashMap<ChatId, Sequence>, StoreError> {
        self.read(move |connection| unacknowledged::last_sequences_on(connection, &chats)).await
    }

    async fn unacknowledged(
        &self,
        listening: Vec<Listening>,
        limit: u32,
    ) -> Result<Vec<Searched>, StoreError> {
        self.read(move |connection| unacknowledged::unacknowledged_on(connection, &listening, limit)).await
    }

    async fn backlog_work(
        &self,
        agent: AgentId,
        chat: ChatId,
        until: Sequence,
    ) -> Result<BacklogWork, StoreError> {
        self.read(move |connection| unacknowledged::backlog_work_on(connection, agent, chat, until)).await
    }

    async fn new_messages(
        &self,
        agent: AgentId,
        chat: ChatId,
        sequences: Vec<Sequence>,
        on_commit: OnCommit<Vec<Message>>,
    ) -> Result<(), StoreError> {
        // The read takes a commit slot, as in `announce_delivered`.
        let work = move |connection: &mut SqliteConnection| {
            Ok(Ok::<_, ()>(unacknowledged::new_messages_on(connection, agent, chat, &sequences)?))
        };
        let _ = self.change(work, |new| announce(new, on_commit)).await?;
        Ok(())
    }
}

/// An empty list is not announced.
fn announce(messages: &Vec<Message>, on_commit: OnCommit<Vec<Message>>) {
    if !messages.is_empty() {
        on_commit.run(messages);
    }
}
