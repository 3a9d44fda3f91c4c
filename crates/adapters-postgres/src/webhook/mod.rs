//! The store of webhooks and their deliveries.
//!
//! A change locks the webhook first, and then its deliveries.

pub(crate) mod events;
mod manage;
#[path = "../../../sql-rows/webhook.rs"]
mod row;
mod send;

use async_trait::async_trait;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use domain::id::{AgentId, UserId, WebhookDeliveryId};
use domain::page::{Page, PageRequest};
use domain::store::StoreError;
use domain::time::Timestamp;
use domain::webhook::{
    Backlog, ChangeWebhook, ChangedWebhook, FailingWebhook, Lease, Resend, ResendRefused, RoomSearch,
    SettleDelivery, Settled, TakeDelivery, Taken, Webhook, WebhookDelivery, WebhookOwner, WebhookRefused,
    WebhookRepository, WebhookRoom,
};
use futures_util::FutureExt;

use crate::PostgresStore;
use crate::error::Fault;
use crate::run::Db;
use crate::schema::{webhook_deliveries, webhooks};
use row::{WebhookDeliveryRow, WebhookRow};

#[async_trait]
impl WebhookRepository for PostgresStore {
    async fn webhook(&self, agent: AgentId) -> Result<Option<Webhook>, StoreError> {
        self.query(agent, |db, agent| manage::webhook_on(db, *agent).boxed()).await
    }

    async fn change_webhook(
        &self,
        command: ChangeWebhook,
    ) -> Result<Result<ChangedWebhook, WebhookRefused>, StoreError> {
        self.change_quietly(command, |db, command| manage::change_on(db, command).boxed()).await
    }

    async fn agents_with_webhooks(&self) -> Result<Vec<(AgentId, WebhookOwner)>, StoreError> {
        self.query((), |db, ()| manage::agents_on(db).boxed()).await
    }

    async fn failing_webhooks(&self, owner: UserId, limit: u32) -> Result<Vec<FailingWebhook>, StoreError> {
        self.query((owner, limit), |db, (owner, limit)| manage::failing_on(db, *owner, *limit).boxed()).await
    }

    async fn webhook_deliveries(
        &self,
        agent: AgentId,
        page: PageRequest,
    ) -> Result<Page<WebhookDelivery>, StoreError> {
        self.read((agent, page), |db, (agent, page)| manage::list_on(db, *agent, page).boxed()).await
    }

    async fn resend_delivery(
        &self,
        command: Resend,
    ) -> Result<Result<WebhookDelivery, ResendRefused>, StoreError> {
        self.change_quietly(command, |db, command| manage::resend_on(db, *command).boxed()).await
    }

    async fn webhook_rooms(
        &self,
        search: RoomSearch,
        after: AgentId,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<WebhookRoom>, StoreError> {
        let asked = (search, after, now, limit);
        self.query(asked, |db, (search, after, now, limit)| {
            send::rooms_on(db, *search, *after, *now, *limit).boxed()
        })
        .await
    }

    async fn take_delivery(&self, command: TakeDelivery) -> Result<Taken, StoreError> {
        self.alter_quietly(command, |db, command| send::take_on(db, command).boxed()).await
    }

    async fn renew_leases(&self, leases: Vec<Lease>, until: Timestamp) -> Result<(), StoreError> {
        self.query((leases, until), |db, (leases, until)| send::renew_on(db, leases, *until).boxed()).await
    }

    async fn settle_delivery(&self, command: SettleDelivery) -> Result<Option<Settled>, StoreError> {
        self.alter_quietly(command, |db, command| send::settle_on(db, command).boxed()).await
    }

    async fn webhook_backlog(&self) -> Result<Backlog, StoreError> {
        self.query((), |db, ()| send::backlog_on(db).boxed()).await
    }

    async fn old_webhook_deliveries(
        &self,
        before: Timestamp,
        kept: u32,
        limit: u32,
    ) -> Result<Vec<WebhookDeliveryId>, StoreError> {
        let asked = (before, kept, limit);
        self.query(asked, |db, (before, kept, limit)| send::old_on(db, *before, *kept, *limit).boxed()).await
    }

    async fn forget_webhook_deliveries(&self, ids: Vec<WebhookDeliveryId>) -> Result<(), StoreError> {
        self.query(ids, |db, ids| send::forget_on(db, ids).boxed()).await
    }
}

async fn save_webhook_on(mut db: &Db, agent: AgentId, webhook: &Webhook) -> Result<(), Fault> {
    let row = WebhookRow::of(agent, webhook);
    diesel::update(webhooks::table.find(row.agent_id)).set(&row).execute(&mut db).await?;
    Ok(())
}

async fn save_delivery_on(mut db: &Db, sent: &WebhookDelivery) -> Result<(), Fault> {
    let row = WebhookDeliveryRow::of(sent);
    diesel::update(webhook_deliveries::table.find(row.id)).set(&row).execute(&mut db).await?;
    Ok(())
}

/// Removes the webhook of an agent, and the record of its deliveries.
pub(crate) async fn remove_on(mut db: &Db, agent: AgentId) -> Result<(), Fault> {
    diesel::delete(webhooks::table.find(agent.uuid())).execute(&mut db).await?;
    diesel::delete(webhook_deliveries::table.filter(webhook_deliveries::agent_id.eq(agent.uuid())))
        .execute(&mut db)
        .await?;
    Ok(())
}
