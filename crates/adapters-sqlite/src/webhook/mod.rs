//! The store of webhooks and their deliveries.

pub(crate) mod events;
mod manage;
#[path = "../../../sql-rows/webhook.rs"]
mod row;
mod send;

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::id::{AgentId, UserId, WebhookDeliveryId};
use domain::page::{Page, PageRequest};
use domain::store::StoreError;
use domain::time::Timestamp;
use domain::webhook::{
    Backlog, ChangeWebhook, ChangedWebhook, FailingWebhook, Lease, Resend, ResendRefused, RoomSearch,
    SettleDelivery, Settled, TakeDelivery, Taken, Webhook, WebhookDelivery, WebhookOwner, WebhookRefused,
    WebhookRepository, WebhookRoom,
};

use crate::SqliteStore;
use crate::error::Fault;
use crate::row::Id;
use crate::schema::{webhook_deliveries, webhooks};
use row::{WebhookDeliveryRow, WebhookRow};

#[async_trait]
impl WebhookRepository for SqliteStore {
    async fn webhook(&self, agent: AgentId) -> Result<Option<Webhook>, StoreError> {
        self.read(move |connection| webhook_on(connection, agent)).await
    }

    async fn change_webhook(
        &self,
        command: ChangeWebhook,
    ) -> Result<Result<ChangedWebhook, WebhookRefused>, StoreError> {
        self.change(move |connection| manage::change_on(connection, &command), |_| ()).await
    }

    async fn agents_with_webhooks(&self) -> Result<Vec<(AgentId, WebhookOwner)>, StoreError> {
        self.read(manage::agents_on).await
    }

    async fn failing_webhooks(&self, owner: UserId, limit: u32) -> Result<Vec<FailingWebhook>, StoreError> {
        self.read(move |connection| manage::failing_on(connection, owner, limit)).await
    }

    async fn webhook_deliveries(
        &self,
        agent: AgentId,
        page: PageRequest,
    ) -> Result<Page<WebhookDelivery>, StoreError> {
        self.read(move |connection| manage::list_on(connection, agent, &page)).await
    }

    async fn resend_delivery(
        &self,
        command: Resend,
    ) -> Result<Result<WebhookDelivery, ResendRefused>, StoreError> {
        self.change(move |connection| manage::resend_on(connection, command), |_| ()).await
    }

    async fn webhook_rooms(
        &self,
        search: RoomSearch,
        after: AgentId,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<WebhookRoom>, StoreError> {
        self.read(move |connection| send::rooms_on(connection, search, after, now, limit)).await
    }

    async fn take_delivery(&self, command: TakeDelivery) -> Result<Taken, StoreError> {
        self.alter(move |connection| send::take_on(connection, &command)).await
    }

    async fn renew_leases(&self, leases: Vec<Lease>, until: Timestamp) -> Result<(), StoreError> {
        self.alter(move |connection| send::renew_on(connection, &leases, until)).await
    }

    async fn settle_delivery(&self, command: SettleDelivery) -> Result<Option<Settled>, StoreError> {
        self.alter(move |connection| send::settle_on(connection, &command)).await
    }

    async fn webhook_backlog(&self) -> Result<Backlog, StoreError> {
        self.read(send::backlog_on).await
    }

    async fn old_webhook_deliveries(
        &self,
        before: Timestamp,
        kept: u32,
        limit: u32,
    ) -> Result<Vec<WebhookDeliveryId>, StoreError> {
        self.read(move |connection| send::old_on(connection, before, kept, limit)).await
    }

    async fn forget_webhook_deliveries(&self, ids: Vec<WebhookDeliveryId>) -> Result<(), StoreError> {
        self.alter(move |connection| send::forget_on(connection, &ids)).await
    }
}

fn webhook_on(connection: &mut SqliteConnection, agent: AgentId) -> Result<Option<Webhook>, Fault> {
    let found = webhooks::table.find(Id(agent.uuid())).select(WebhookRow::as_select());
    found.get_result(connection).optional()?.map(WebhookRow::into_webhook).transpose()
}

fn save_webhook_on(
    connection: &mut SqliteConnection,
    agent: AgentId,
    webhook: &Webhook,
) -> Result<(), Fault> {
    let row = WebhookRow::of(agent, webhook);
    diesel::update(webhooks::table.find(row.agent_id)).set(&row).execute(connection)?;
    Ok(())
}

fn save_delivery_on(connection: &mut SqliteConnection, sent: &WebhookDelivery) -> Result<(), Fault> {
    let row = WebhookDeliveryRow::of(sent);
    diesel::update(webhook_deliveries::table.find(row.id)).set(&row).execute(connection)?;
    Ok(())
}

/// Removes the webhook of an agent, and the record of its deliveries.
pub(crate) fn remove_on(connection: &mut SqliteConnection, agent: AgentId) -> Result<(), Fault> {
    let agent = Id(agent.uuid());
    diesel::delete(webhooks::table.find(agent)).execute(connection)?;
    diesel::delete(webhook_deliveries::table.filter(webhook_deliveries::agent_id.eq(agent)))
        .execute(connection)?;
    Ok(())
}
