//! The store of deliveries and attempts.

pub(crate) mod advance;
pub(crate) mod group_read;
mod mark_delivered;
mod next;
mod read;
mod receipts;
#[path = "../../../sql-rows/receipt.rs"]
mod row;
mod save;
pub(crate) mod steps;
mod unacknowledged;

use std::collections::HashMap;

use async_trait::async_trait;
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
use futures_util::FutureExt;

use crate::PostgresStore;
use next::Backlog;

#[async_trait]
impl DeliveryRepository for PostgresStore {
    async fn next(
        &self,
        agent: AgentId,
        chat: ChatId,
        now: Timestamp,
    ) -> Result<Option<NextMessage>, StoreError> {
        self.backlogs.next(Backlog { agent, chat, now }).await
    }

    async fn list(
        &self,
        agent: AgentId,
        chat: ChatId,
        filter: DeliveryFilter,
        order: Order,
        page: PageRequest,
    ) -> Result<Option<Page<Message>>, StoreError> {
        let given = (agent, chat, filter, order, page);
        self.query(given, |db, (agent, chat, filter, order, page)| {
            read::list_on(db, *agent, *chat, *filter, *order, page).boxed()
        })
        .await
    }

    async fn receipts(
        &self,
        viewer: ParticipantId,
        chat: ChatId,
        message: MessageId,
    ) -> Result<Result<Vec<DeliveryReceipt>, ReceiptsRefused>, StoreError> {
        self.read((viewer, chat, message), |db, (viewer, chat, message)| {
            receipts::receipts_on(db, *viewer, *chat, *message).boxed()
        })
        .await
    }

    async fn advance(
        &self,
        command: AdvanceDelivery,
        on_commit: OnCommit<Advanced>,
    ) -> Result<Result<Advanced, AdvanceRefused>, StoreError> {
        self.advancer.write(command, on_commit).await
    }

    async fn renew_claims(&self, command: RenewClaims) -> Result<(), StoreError> {
        self.alter_quietly(command, |db, command| advance::renew_on(db, command).boxed()).await
    }

    async fn mark_delivered(
        &self,
        taken: Vec<DeliveryKey>,
        now: Timestamp,
        selected: HasHumanSubscribers,
        on_commit: OnCommit<Vec<Message>>,
    ) -> Result<(), StoreError> {
        let announcing = |messages: &Vec<Message>| announce(messages, on_commit);
        let given = (taken, now, selected);
        let marked = self.change(
            given,
            |db, (taken, now, selected)| {
                // Without changes there is nothing to commit.
                let marked = mark_delivered::mark_delivered_on(db, taken, *now, selected);
                marked.map(|messages| messages.map(|messages| messages.ok_or(()))).boxed()
            },
            announcing,
        );
        marked.await.map(|_| ())
    }

    async fn announce_delivered(
        &self,
        messages: Vec<MessageId>,
        selected: HasHumanSubscribers,
        on_commit: OnCommit<Vec<Message>>,
    ) -> Result<(), StoreError> {
        let announcing = |messages: &Vec<Message>| announce(messages, on_commit);
        // The read takes a commit slot, so that no later change is announced before it.
        let read = self.alter_announced(
            (messages, selected),
            |db, (messages, selected)| mark_delivered::announce_on(db, messages, selected).boxed(),
            announcing,
        );
        read.await.map(drop)
    }

    async fn last_sequences(&self, chats: Vec<ChatId>) -> Result<HashMap<ChatId, Sequence>, StoreError> {
        self.query(chats, |db, chats| unacknowledged::last_sequences_on(db, chats).boxed()).await
    }

    async fn unacknowledged(
        &self,
        listening: Vec<Listening>,
        limit: u32,
    ) -> Result<Vec<Searched>, StoreError> {
        let given = (listening, limit);
        self.query(given, |db, (listening, limit)| {
            unacknowledged::unacknowledged_on(db, listening, *limit).boxed()
        })
        .await
    }

    async fn backlog_work(
        &self,
        agent: AgentId,
        chat: ChatId,
        until: Sequence,
    ) -> Result<BacklogWork, StoreError> {
        self.query((agent, chat, until), |db, (agent, chat, until)| {
            unacknowledged::backlog_work_on(db, *agent, *chat, *until).boxed()
        })
        .await
    }

    async fn new_messages(
        &self,
        agent: AgentId,
        chat: ChatId,
        sequences: Vec<Sequence>,
        on_commit: OnCommit<Vec<Message>>,
    ) -> Result<(), StoreError> {
        let announcing = |new: &Vec<Message>| announce(new, on_commit);
        // The read takes a commit slot, as in `announce_delivered`.
        let read = self.alter_announced(
            (agent, chat, sequences),
            |db, (agent, chat, sequences)| {
                unacknowledged::new_messages_on(db, *agent, *chat, sequences).boxed()
            },
            announcing,
        );
        read.await.map(drop)
    }
}

/// An empty list is not announced.
fn announce(messages: &Vec<Message>, on_commit: OnCommit<Vec<Message>>) {
    if !messages.is_empty() {
        on_commit.run(messages);
    }
}
