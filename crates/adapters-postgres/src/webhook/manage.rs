//! What owners do with webhooks.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::audit::AuditEntry;
use domain::change::Change;
use domain::id::{AgentId, ChatId, Sequence, UserId};
use domain::message::Message;
use domain::page::{Order, PAGE_BYTES, Page, PageRequest, Position};
use domain::time::Timestamp;
use domain::webhook::{
    ChangeWebhook, ChangedWebhook, FailingWebhook, Resend, ResendRefused, Webhook, WebhookDelivery,
    WebhookOwner, WebhookRefused, WebhookStep,
};
use uuid::Uuid;

use super::row::{self, AGENTS, FAILING, FailingRow, MAKE_DUE, WebhookDeliveryRow, WebhookRow};
use super::{remove_on, save_delivery_on, save_webhook_on};
use crate::error::Fault;
use crate::message::load::{Records, part_on};
use crate::row::At;
use crate::run::Db;
use crate::schema::{agents, webhook_deliveries, webhooks};
use crate::statement::statement;
use crate::{audit, change};

pub(super) async fn webhook_on(mut db: &Db, agent: AgentId) -> Result<Option<Webhook>, Fault> {
    let found = webhooks::table.find(agent.uuid()).select(WebhookRow::as_select());
    found.first(&mut db).await.optional()?.map(WebhookRow::into_webhook).transpose()
}

/// The webhook, which is locked.
pub(super) async fn locked_webhook_on(mut db: &Db, agent: AgentId) -> Result<Option<Webhook>, Fault> {
    let found = webhooks::table.find(agent.uuid()).select(WebhookRow::as_select()).for_update();
    found.first(&mut db).await.optional()?.map(WebhookRow::into_webhook).transpose()
}

pub(super) async fn change_on(
    mut db: &Db,
    command: &ChangeWebhook,
) -> Result<Result<ChangedWebhook, WebhookRefused>, Fault> {
    if !owns_on(db, command.owner, command.agent).await? {
        return Ok(Err(WebhookRefused::AgentNotFound));
    }
    let applied = match command.apply(locked_webhook_on(db, command.agent).await?) {
        Ok(applied) => applied,
        Err(refused) => return Ok(Err(refused)),
    };
    if applied.is_due {
        statement::<()>(MAKE_DUE)
            .bind::<Timestamptz, _>(At(command.now))
            .bind::<SqlUuid, _>(command.agent.uuid())
            .bind::<Timestamptz, _>(At(command.now))
            .execute(&mut db)
            .await?;
    }
    if applied.has_changed {
        if command.step == WebhookStep::Remove {
            remove_on(db, command.agent).await?;
        } else if applied.is_new {
            let row = WebhookRow::of(command.agent, &applied.webhook);
            diesel::insert_into(webhooks::table).values(row).execute(&mut db).await?;
        } else {
            save_webhook_on(db, command.agent, &applied.webhook).await?;
        }
        audit::append_on(db, [AuditEntry::webhook_changed(command)]).await?;
        change::append_on(db, [Change::WebhookChanged(command.agent)], command.now).await?;
    }
    Ok(Ok(ChangedWebhook { webhook: applied.webhook, is_new: applied.is_new }))
}

/// Locks the agent, so that it is not deleted meanwhile, and of two changes one comes first.
async fn owns_on(mut db: &Db, owner: UserId, agent: AgentId) -> Result<bool, Fault> {
    let own = agents::table
        .find(agent.uuid())
        .filter(agents::owner_id.eq(owner.uuid()))
        .filter(agents::deleted_at.is_null())
        .select(agents::id)
        .for_no_key_update()
        .first::<Uuid>(&mut db)
        .await
        .optional()?;
    Ok(own.is_some())
}

pub(super) async fn agents_on(mut db: &Db) -> Result<Vec<(AgentId, WebhookOwner)>, Fault> {
    let found = statement::<(SqlUuid, SqlUuid, SqlUuid)>(AGENTS).load::<(Uuid, Uuid, Uuid)>(&mut db).await?;
    Ok(found.into_iter().map(row::agent).collect())
}

pub(super) async fn failing_on(mut db: &Db, owner: UserId, limit: u32) -> Result<Vec<FailingWebhook>, Fault> {
    let found = statement::<(SqlUuid, Text, Text, Nullable<Text>, Timestamptz)>(FAILING)
        .bind::<SqlUuid, _>(owner.uuid())
        .bind::<BigInt, _>(i64::from(limit))
        .load::<FailingRow>(&mut db)
        .await?;
    found.into_iter().map(row::failing).collect()
}

pub(super) async fn list_on(
    mut db: &Db,
    agent: AgentId,
    page: &PageRequest,
) -> Result<Page<WebhookDelivery>, Fault> {
    let of_agent = || webhook_deliveries::table.filter(webhook_deliveries::agent_id.eq(agent.uuid()));
    let total = if page.count { Some(of_agent().count().get_result::<i64>(&mut db).await?) } else { None };
    let mut wanted = of_agent().into_boxed();
    if let Some(Position { key, id, .. }) = page.slice.after() {
        let at = At(Timestamp::from_micros(key));
        let same_time = webhook_deliveries::created_at.eq(at);
        wanted = wanted
            // The condition that the index needs.
            .filter(webhook_deliveries::created_at.le(at))
            .filter(
                webhook_deliveries::created_at.lt(at).or(same_time.and(webhook_deliveries::id.lt(id.uuid()))),
            );
    }
    let rows = wanted
        .order((webhook_deliveries::created_at.desc(), webhook_deliveries::id.desc()))
        .limit(i64::from(page.slice.limit()) + 1)
        .offset(page.slice.offset())
        .select(WebhookDeliveryRow::as_select())
        .load(&mut db)
        .await?;
    let rows = rows.into_iter().map(WebhookDeliveryRow::into_delivery).collect::<Result<Vec<_>, _>>()?;
    let total = total.map(i64::cast_unsigned);
    Ok(Page::from_overfetch(rows, page, total, WebhookDelivery::position))
}

pub(super) async fn resend_on(
    mut db: &Db,
    command: Resend,
) -> Result<Result<WebhookDelivery, ResendRefused>, Fault> {
    // From here on no other delivery of the agent is sent again.
    locked_webhook_on(db, command.agent).await?;
    let found = webhook_deliveries::table
        .find(command.delivery.uuid())
        .filter(webhook_deliveries::agent_id.eq(command.agent.uuid()))
        .select(WebhookDeliveryRow::as_select())
        .for_update()
        .first(&mut db)
        .await
        .optional()?;
    let Some(sent) = found.map(WebhookDeliveryRow::into_delivery).transpose()? else {
        return Ok(Err(ResendRefused::NotFound));
    };
    let is_busy = unfinished_on(db, sent.agent, sent.chat).await?.is_some_and(|begun| begun.id != sent.id);
    let message = message_on(db, sent.agent, sent.chat, sent.sequence).await?;
    let resent = command.apply(sent, message.as_ref(), is_busy);
    if let Ok(resent) = &resent {
        save_delivery_on(db, resent).await?;
        audit::append_on(db, [AuditEntry::webhook_resent(&command)]).await?;
    }
    Ok(resent)
}

/// The delivery of a room that has not ended, which is locked.
pub(super) async fn unfinished_on(
    mut db: &Db,
    agent: AgentId,
    chat: ChatId,
) -> Result<Option<WebhookDelivery>, Fault> {
    let found = webhook_deliveries::table
        .filter(webhook_deliveries::agent_id.eq(agent.uuid()))
        .filter(webhook_deliveries::chat_id.eq(chat.uuid()))
        .filter(webhook_deliveries::ended_at.is_null())
        .select(WebhookDeliveryRow::as_select())
        .for_update()
        .first(&mut db)
        .await
        .optional()?;
    found.map(WebhookDeliveryRow::into_delivery).transpose()
}

/// A message with the agent's own record.
pub(super) async fn message_on(
    db: &Db,
    agent: AgentId,
    chat: ChatId,
    sequence: Sequence,
) -> Result<Option<Message>, Fault> {
    let sequence = [sequence.get()];
    let (mut messages, _) =
        part_on(db, chat, &sequence, Order::Ascending, Records::Of(agent), PAGE_BYTES).await?;
    Ok(messages.pop())
}
