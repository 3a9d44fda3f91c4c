//! What senders do.

use std::sync::LazyLock;

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Nullable};
use diesel::sqlite::SqliteConnection;
use domain::audit::AuditEntry;
use domain::change::Change;
use domain::id::{AgentId, ChatId, ParticipantId, Sequence, WebhookDeliveryId};
use domain::time::Timestamp;
use domain::webhook::{
    Backlog, Lease, Notice, ROOMS_OF_AGENT, RoomSearch, SettleDelivery, Settled, TakeDelivery, Taken,
    Webhook, WebhookDelivery, WebhookRoom, offered_again_at,
};

use super::manage::{message_on, unfinished_on};
use super::row::{
    BACKLOG, DUE_OF_AGENT, ENABLED, ERASE_FOR_EARLIER, EVENT_BACKLOG, Names, OLD_EVENTS, SURPLUS_EVENTS,
    WebhookDeliveryRow, due_rooms, forgettable, new_rooms, old_of_agent, oldest_unsent, surplus_of_agent,
};
use super::{save_delivery_on, save_webhook_on, webhook_on};
use crate::chat::load::membership_on;
use crate::error::Fault;
use crate::row::{self, At, Id};
use crate::schema::{organization_webhook_deliveries, webhook_deliveries};
use crate::statement::statement;
use crate::{audit, change};

/// The indexes, which SQLite would not choose on its own, and their exact condition.
const NAMES: Names = Names {
    open_index: "INDEXED BY deliveries_open",
    offered_again_index: "INDEXED BY deliveries_offered_again",
    open: "deliveries.processed_at IS NULL AND deliveries.dead_at IS NULL AND deliveries.addressed = 1",
};

/// Joins some deliveries of each agent.
fn each(of_agent: &str) -> String {
    format!("webhook_deliveries AS one ON one.id IN (SELECT one.id {of_agent})")
}

static DUE_ROOMS: LazyLock<String> = LazyLock::new(|| due_rooms(&each(DUE_OF_AGENT)));

static NEW_ROOMS: LazyLock<String> = LazyLock::new(|| new_rooms(&NAMES));

static OLDEST_UNSENT: LazyLock<String> = LazyLock::new(|| oldest_unsent(&NAMES));

static OLD: LazyLock<String> = LazyLock::new(|| forgettable(&each(&old_of_agent(&NAMES))));

static SURPLUS: LazyLock<String> = LazyLock::new(|| forgettable(&each(&surplus_of_agent(&NAMES))));

#[derive(QueryableByName)]
struct Room {
    #[diesel(sql_type = Binary)]
    agent_id: Vec<u8>,
    #[diesel(sql_type = Binary)]
    chat_id: Vec<u8>,
}

#[derive(QueryableByName)]
struct Numbered {
    #[diesel(sql_type = Nullable<BigInt>)]
    sequence: Option<i64>,
}

#[derive(QueryableByName)]
struct Sent {
    #[diesel(sql_type = Binary)]
    id: Id,
}

pub(super) fn rooms_on(
    connection: &mut SqliteConnection,
    search: RoomSearch,
    after: AgentId,
    now: Timestamp,
    limit: u32,
) -> Result<Vec<WebhookRoom>, Fault> {
    let limit = i64::from(limit);
    let found = match search {
        RoomSearch::Due => diesel::sql_query(DUE_ROOMS.as_str())
            .bind::<BigInt, _>(now.micros())
            .bind::<BigInt, _>(i64::from(ROOMS_OF_AGENT))
            .bind::<Binary, _>(row::bytes(after.uuid()))
            .bind::<BigInt, _>(limit)
            .load::<Room>(connection)?,
        RoomSearch::New => {
            diesel::sql_query(NEW_ROOMS.as_str()).bind::<BigInt, _>(limit).load::<Room>(connection)?
        }
    };
    let room = |Room { agent_id, chat_id }: Room| {
        Ok(WebhookRoom { agent: row::agent_id(&agent_id)?, chat: row::chat_id(&chat_id)? })
    };
    found.into_iter().map(room).collect()
}

pub(super) fn take_on(connection: &mut SqliteConnection, command: &TakeDelivery) -> Result<Taken, Fault> {
    let WebhookRoom { agent, chat } = command.room;
    let webhook = webhook_on(connection, agent)?.filter(|webhook| webhook.disabled.is_none());
    let Some(webhook) = webhook else { return Ok(Taken::Nothing) };
    let begun = unfinished_on(connection, agent, chat)?;
    if begun.as_ref().is_some_and(|begun| begun.is_leased(command.now)) {
        return Ok(Taken::Nothing);
    }
    let Some(membership) = membership_on(connection, ParticipantId::Agent(agent), chat)? else {
        if let Some(begun) = begun {
            diesel::delete(webhook_deliveries::table.find(Id(begun.id.uuid()))).execute(connection)?;
        }
        return Ok(Taken::Nothing);
    };
    if membership.state.is_halted() || !is_enabled_on(connection, agent)? {
        if let Some(begun) = begun {
            save_delivery_on(connection, &command.put_off(begun))?;
        }
        return Ok(Taken::Nothing);
    }
    let Some(begun) = begun else { return take_new_on(connection, command, webhook) };
    let message = message_on(connection, agent, chat, begun.sequence)?;
    let earliest = oldest_unsent_on(connection, agent, chat)?;
    if earliest.is_some_and(|earliest| earliest < begun.sequence)
        && command.gives_way(&begun, message.as_ref())
        && statement!(ERASE_FOR_EARLIER).bind::<Binary, _>(Id(begun.id.uuid())).execute(connection)? > 0
    {
        return Ok(Taken::Ended);
    }
    let (sent, taken) = command.decide(begun, message, webhook);
    save_delivery_on(connection, &sent)?;
    Ok(taken)
}

/// Takes a delivery of the oldest message that has none.
fn take_new_on(
    connection: &mut SqliteConnection,
    command: &TakeDelivery,
    webhook: Webhook,
) -> Result<Taken, Fault> {
    let WebhookRoom { agent, chat } = command.room;
    let Some(sequence) = oldest_unsent_on(connection, agent, chat)? else { return Ok(Taken::Nothing) };
    let Some(message) = message_on(connection, agent, chat, sequence)? else { return Ok(Taken::Nothing) };
    let again = offered_again_at(&message, agent);
    let (sent, taken) = command.decide(command.first(&message), Some(message), webhook);
    if let Some(at) = again {
        let earlier = webhook_deliveries::table
            .filter(webhook_deliveries::agent_id.eq(Id(agent.uuid())))
            .filter(webhook_deliveries::chat_id.eq(Id(chat.uuid())))
            .filter(webhook_deliveries::sequence.eq(sequence.get()))
            .filter(webhook_deliveries::created_at.lt(At(at)));
        diesel::delete(earlier).execute(connection)?;
    }
    let row = WebhookDeliveryRow::of(&sent);
    diesel::insert_into(webhook_deliveries::table).values(row).execute(connection)?;
    Ok(taken)
}

fn oldest_unsent_on(
    connection: &mut SqliteConnection,
    agent: AgentId,
    chat: ChatId,
) -> Result<Option<Sequence>, Fault> {
    let (agent, chat) = (row::bytes(agent.uuid()), row::bytes(chat.uuid()));
    let mut asked = diesel::sql_query(OLDEST_UNSENT.as_str()).into_boxed();
    for _ in 0..3 {
        asked = asked.bind::<Binary, _>(agent.clone()).bind::<Binary, _>(chat.clone());
    }
    let Numbered { sequence } = asked.get_result(connection)?;
    Ok(sequence.map(Sequence::new))
}

fn is_enabled_on(connection: &mut SqliteConnection, agent: AgentId) -> Result<bool, Fault> {
    let enabled = statement!(ENABLED => Binary).bind::<Binary, _>(Id(agent.uuid()));
    Ok(enabled.get_result::<Id>(connection).optional()?.is_some())
}

pub(super) fn renew_on(
    connection: &mut SqliteConnection,
    leases: &[Lease],
    until: Timestamp,
) -> Result<(), Fault> {
    for Lease { delivery, attempt } in leases {
        let held = webhook_deliveries::table
            .find(Id(delivery.uuid()))
            .filter(webhook_deliveries::attempts.eq(i32::try_from(*attempt).unwrap_or(i32::MAX)))
            .filter(webhook_deliveries::leased_until.is_not_null());
        diesel::update(held)
            .set((
                webhook_deliveries::leased_until.eq(At(until)),
                webhook_deliveries::next_attempt_at.eq(At(until)),
            ))
            .execute(connection)?;
        let held = organization_webhook_deliveries::table
            .find(Id(delivery.uuid()))
            .filter(organization_webhook_deliveries::attempts.eq(i32::try_from(*attempt).unwrap_or(i32::MAX)))
            .filter(organization_webhook_deliveries::leased_until.is_not_null());
        diesel::update(held)
            .set((
                organization_webhook_deliveries::leased_until.eq(At(until)),
                organization_webhook_deliveries::next_attempt_at.eq(At(until)),
            ))
            .execute(connection)?;
    }
    Ok(())
}

pub(super) fn settle_on(
    connection: &mut SqliteConnection,
    command: &SettleDelivery,
) -> Result<Option<Settled>, Fault> {
    let found = webhook_deliveries::table
        .find(Id(command.lease.delivery.uuid()))
        .select(WebhookDeliveryRow::as_select())
        .get_result(connection)
        .optional()?;
    let Some(mut delivery) =
        found.map(WebhookDeliveryRow::into_delivery).transpose()?.filter(|sent: &WebhookDelivery| {
            sent.leased_until.is_some() && sent.attempts == command.lease.attempt
        })
    else {
        return Ok(None);
    };
    let message = message_on(connection, delivery.agent, delivery.chat, delivery.sequence)?;
    let before = webhook_on(connection, delivery.agent)?;
    let mut webhook = before.clone();
    let notice = command.apply(&mut delivery, webhook.as_mut(), message.as_ref());
    save_delivery_on(connection, &delivery)?;
    if let Some(webhook) = webhook.as_ref().filter(|_| webhook != before) {
        save_webhook_on(connection, delivery.agent, webhook)?;
    }
    if let Some(Notice::Disabled(reason)) = notice {
        audit::append_on(connection, [AuditEntry::webhook_disabled(delivery.agent, reason, command.now)])?;
        change::append_on(connection, [Change::WebhookChanged(delivery.agent)], command.now)?;
    }
    Ok(Some(Settled { delivery, notice }))
}

#[derive(QueryableByName)]
struct Counted {
    #[diesel(sql_type = BigInt)]
    deliveries: i64,
    #[diesel(sql_type = Nullable<BigInt>)]
    oldest: Option<i64>,
}

pub(super) fn backlog_on(connection: &mut SqliteConnection) -> Result<Backlog, Fault> {
    let mut backlog = Backlog::default();
    for text in [BACKLOG, EVENT_BACKLOG] {
        let Counted { deliveries, oldest } = diesel::sql_query(text).get_result::<Counted>(connection)?;
        let (deliveries, oldest) = (deliveries.cast_unsigned(), oldest.map(row::time));
        backlog = backlog.plus(Backlog { deliveries, oldest });
    }
    Ok(backlog)
}

pub(super) fn old_on(
    connection: &mut SqliteConnection,
    before: Timestamp,
    kept: u32,
    limit: u32,
) -> Result<Vec<WebhookDeliveryId>, Fault> {
    let limit = i64::from(limit);
    let mut found = diesel::sql_query(OLD.as_str())
        .bind::<BigInt, _>(before.micros())
        .bind::<BigInt, _>(before.micros())
        .bind::<BigInt, _>(limit)
        .bind::<BigInt, _>(limit)
        .load::<Sent>(connection)?;
    let left = limit - i64::try_from(found.len()).unwrap_or(limit);
    let surplus = diesel::sql_query(SURPLUS.as_str())
        .bind::<BigInt, _>(i64::from(kept) - 1)
        .bind::<BigInt, _>(left)
        .bind::<BigInt, _>(left)
        .load::<Sent>(connection)?;
    found.extend(surplus);
    for (text, value) in [(OLD_EVENTS, before.micros()), (SURPLUS_EVENTS, i64::from(kept) - 1)] {
        let left = limit - i64::try_from(found.len()).unwrap_or(limit);
        let events = diesel::sql_query(text).bind::<BigInt, _>(value).bind::<BigInt, _>(left);
        found.extend(events.load::<Sent>(connection)?);
    }
    Ok(found.into_iter().map(|sent| WebhookDeliveryId::new(sent.id.0)).collect())
}

pub(super) fn forget_on(connection: &mut SqliteConnection, ids: &[WebhookDeliveryId]) -> Result<(), Fault> {
    for id in ids {
        let ended =
            webhook_deliveries::table.find(Id(id.uuid())).filter(webhook_deliveries::ended_at.is_not_null());
        diesel::delete(ended).execute(connection)?;
        let ended = organization_webhook_deliveries::table
            .find(Id(id.uuid()))
            .filter(organization_webhook_deliveries::ended_at.is_not_null());
        diesel::delete(ended).execute(connection)?;
    }
    Ok(())
}
