//! What owners do with webhooks.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Nullable, Text};
use diesel::sqlite::SqliteConnection;
use domain::audit::AuditEntry;
use domain::change::Change;
use domain::id::{AgentId, ChatId, Sequence, UserId};
use domain::message::Message;
use domain::page::{Order, PAGE_BYTES, Page, PageRequest, Position};
use domain::time::Timestamp;
use domain::webhook::{
    ChangeWebhook, ChangedWebhook, FailingWebhook, Resend, ResendRefused, WebhookDelivery, WebhookOwner,
    WebhookRefused, WebhookStep,
};

use super::row::{self, AGENTS, FAILING, FailingRow, MAKE_DUE, WebhookDeliveryRow, WebhookRow};
use super::{remove_on, save_delivery_on, save_webhook_on, webhook_on};
use crate::account::find::agent_on;
use crate::error::Fault;
use crate::message::load::{Records, part_on};
use crate::row::{At, Id};
use crate::schema::{webhook_deliveries, webhooks};
use crate::statement::statement;
use crate::{audit, change};

pub(super) fn change_on(
    connection: &mut SqliteConnection,
    command: &ChangeWebhook,
) -> Result<Result<ChangedWebhook, WebhookRefused>, Fault> {
    let agent = agent_on(connection, command.agent)?;
    if agent.is_none_or(|agent| agent.owner != command.owner) {
        return Ok(Err(WebhookRefused::AgentNotFound));
    }
    let applied = match command.apply(webhook_on(connection, command.agent)?) {
        Ok(applied) => applied,
        Err(refused) => return Ok(Err(refused)),
    };
    if applied.is_due {
        statement!(MAKE_DUE)
            .bind::<BigInt, _>(At(command.now))
            .bind::<Binary, _>(Id(command.agent.uuid()))
            .bind::<BigInt, _>(At(command.now))
            .execute(connection)?;
    }
    if applied.has_changed {
        if command.step == WebhookStep::Remove {
            remove_on(connection, command.agent)?;
        } else if applied.is_new {
            let row = WebhookRow::of(command.agent, &applied.webhook);
            diesel::insert_into(webhooks::table).values(row).execute(connection)?;
        } else {
            save_webhook_on(connection, command.agent, &applied.webhook)?;
        }
        audit::append_on(connection, [AuditEntry::webhook_changed(command)])?;
        change::append_on(connection, [Change::WebhookChanged(command.agent)], command.now)?;
    }
    Ok(Ok(ChangedWebhook { webhook: applied.webhook, is_new: applied.is_new }))
}

pub(super) fn agents_on(connection: &mut SqliteConnection) -> Result<Vec<(AgentId, WebhookOwner)>, Fault> {
    let found = statement!(AGENTS => (Binary, Binary, Binary)).load::<(Id, Id, Id)>(connection)?;
    Ok(found
        .into_iter()
        .map(|(Id(agent), Id(owner), Id(organization))| row::agent((agent, owner, organization)))
        .collect())
}

pub(super) fn failing_on(
    connection: &mut SqliteConnection,
    owner: UserId,
    limit: u32,
) -> Result<Vec<FailingWebhook>, Fault> {
    let found = statement!(FAILING => (Binary, Text, Text, Nullable<Text>, BigInt))
        .bind::<Binary, _>(Id(owner.uuid()))
        .bind::<BigInt, _>(i64::from(limit));
    found.load::<FailingRow>(connection)?.into_iter().map(row::failing).collect()
}

pub(super) fn list_on(
    connection: &mut SqliteConnection,
    agent: AgentId,
    page: &PageRequest,
) -> Result<Page<WebhookDelivery>, Fault> {
    let of_agent = || webhook_deliveries::table.filter(webhook_deliveries::agent_id.eq(Id(agent.uuid())));
    let total = page.count.then(|| of_agent().count().get_result::<i64>(connection)).transpose()?;
    let mut wanted = of_agent().into_boxed();
    if let Some(Position { key, id, .. }) = page.slice.after() {
        let at = At(Timestamp::from_micros(key));
        let same_time = webhook_deliveries::created_at.eq(at);
        wanted = wanted
            // The condition that the index needs.
            .filter(webhook_deliveries::created_at.le(at))
            .filter(
                webhook_deliveries::created_at
                    .lt(at)
                    .or(same_time.and(webhook_deliveries::id.lt(Id(id.uuid())))),
            );
    }
    let rows = wanted
        .order((webhook_deliveries::created_at.desc(), webhook_deliveries::id.desc()))
        .limit(i64::from(page.slice.limit()) + 1)
        .offset(page.slice.offset())
        .select(WebhookDeliveryRow::as_select())
        .load(connection)?;
    let rows = rows.into_iter().map(WebhookDeliveryRow::into_delivery).collect::<Result<Vec<_>, _>>()?;
    let total = total.map(i64::cast_unsigned);
    Ok(Page::from_overfetch(rows, page, total, WebhookDelivery::position))
}

pub(super) fn resend_on(
    connection: &mut SqliteConnection,
    command: Resend,
) -> Result<Result<WebhookDelivery, ResendRefused>, Fault> {
    let found = webhook_deliveries::table
        .find(Id(command.delivery.uuid()))
        .filter(webhook_deliveries::agent_id.eq(Id(command.agent.uuid())))
        .select(WebhookDeliveryRow::as_select())
        .get_result(connection)
        .optional()?;
    let Some(sent) = found.map(WebhookDeliveryRow::into_delivery).transpose()? else {
        return Ok(Err(ResendRefused::NotFound));
    };
    let is_busy = unfinished_on(connection, sent.agent, sent.chat)?.is_some_and(|begun| begun.id != sent.id);
    let message = message_on(connection, sent.agent, sent.chat, sent.sequence)?;
    let resent = command.apply(sent, message.as_ref(), is_busy);
    if let Ok(resent) = &resent {
        save_delivery_on(connection, resent)?;
        audit::append_on(connection, [AuditEntry::webhook_resent(&command)])?;
    }
    Ok(resent)
}

/// The delivery of a room that has not ended.
pub(super) fn unfinished_on(
    connection: &mut SqliteConnection,
    agent: AgentId,
    chat: ChatId,
) -> Result<Option<WebhookDelivery>, Fault> {
    let found = webhook_deliveries::table
        .filter(webhook_deliveries::agent_id.eq(Id(agent.uuid())))
        .filter(webhook_deliveries::chat_id.eq(Id(chat.uuid())))
        .filter(webhook_deliveries::ended_at.is_null())
        .select(WebhookDeliveryRow::as_select())
        .get_result(connection)
        .optional()?;
    found.map(WebhookDeliveryRow::into_delivery).transpose()
}

/// A message with the agent's own record.
pub(super) fn message_on(
    connection: &mut SqliteConnection,
    agent: AgentId,
    chat: ChatId,
    sequence: Sequence,
) -> Result<Option<Message>, Fault> {
    let sequence = [sequence.get()];
    let (mut messages, _) =
        part_on(connection, chat, &sequence, Order::Ascending, Records::Of(agent), PAGE_BYTES)?;
    Ok(messages.pop())
}
