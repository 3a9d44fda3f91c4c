//! What senders do.

use std::sync::LazyLock;

use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Integer, Nullable, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::audit::AuditEntry;
use domain::change::Change;
use domain::id::{AgentId, ChatId, ParticipantId, Sequence, WebhookDeliveryId};
use domain::time::Timestamp;
use domain::webhook::{
    Backlog, Lease, Notice, ROOMS_OF_AGENT, RoomSearch, SettleDelivery, Settled, TakeDelivery, Taken,
    WebhookDelivery, WebhookRoom, offered_again_at,
};
use uuid::Uuid;

use super::manage::{locked_webhook_on, message_on, unfinished_on, webhook_on};
use super::row::{
    BACKLOG, DUE_OF_AGENT, ENABLED, ERASE_FOR_EARLIER, EVENT_BACKLOG, Names, OLD_EVENTS, SURPLUS_EVENTS,
    WebhookDeliveryRow, due_rooms, forgettable, new_rooms, old_of_agent, oldest_unsent, surplus_of_agent,
};
use super::{save_delivery_on, save_webhook_on};
use crate::chat::load::membership_on;
use crate::error::Fault;
use crate::row::At;
use crate::run::Db;
use crate::schema::webhook_deliveries;
use crate::statement::statement;
use crate::{audit, change};

/// PostgreSQL finds the indexes by their condition.
const NAMES: Names = Names {
    open_index: "",
    offered_again_index: "",
    open: "deliveries.processed_at IS NULL AND deliveries.dead_at IS NULL AND deliveries.addressed",
};

/// Joins some deliveries of each agent.
fn each(of_agent: &str) -> String {
    format!("LATERAL (SELECT one.id, one.agent_id, one.chat_id {of_agent}) AS one ON TRUE")
}

static DUE_ROOMS: LazyLock<String> = LazyLock::new(|| due_rooms(&each(DUE_OF_AGENT)));

static NEW_ROOMS: LazyLock<String> = LazyLock::new(|| new_rooms(&NAMES));

static OLDEST_UNSENT: LazyLock<String> = LazyLock::new(|| oldest_unsent(&NAMES));

static OLD: LazyLock<String> = LazyLock::new(|| forgettable(&each(&old_of_agent(&NAMES))));

static SURPLUS: LazyLock<String> = LazyLock::new(|| forgettable(&each(&surplus_of_agent(&NAMES))));

pub(super) async fn rooms_on(
    mut db: &Db,
    search: RoomSearch,
    after: AgentId,
    now: Timestamp,
    limit: u32,
) -> Result<Vec<WebhookRoom>, Fault> {
    let asked = match search {
        RoomSearch::Due => statement::<(SqlUuid, SqlUuid)>(DUE_ROOMS.as_str())
            .bind::<Timestamptz, _>(At(now))
            .bind::<BigInt, _>(i64::from(ROOMS_OF_AGENT))
            .bind::<SqlUuid, _>(after.uuid()),
        RoomSearch::New => statement::<(SqlUuid, SqlUuid)>(NEW_ROOMS.as_str()),
    };
    let found = asked.bind::<BigInt, _>(i64::from(limit)).load::<(Uuid, Uuid)>(&mut db).await?;
    let room = |(agent, chat)| WebhookRoom { agent: AgentId::new(agent), chat: ChatId::new(chat) };
    Ok(found.into_iter().map(room).collect())
}

pub(super) async fn take_on(mut db: &Db, command: &TakeDelivery) -> Result<Taken, Fault> {
    let WebhookRoom { agent, chat } = command.room;
    let begun = unfinished_on(db, agent, chat).await?;
    // Read after the lock: a request is sent as the owner's last change says.
    let webhook = webhook_on(db, agent).await?.filter(|webhook| webhook.disabled.is_none());
    let Some(webhook) = webhook else { return Ok(Taken::Nothing) };
    if begun.as_ref().is_some_and(|begun| begun.is_leased(command.now)) {
        return Ok(Taken::Nothing);
    }
    let Some(membership) = membership_on(db, ParticipantId::Agent(agent), chat).await? else {
        if let Some(begun) = begun {
            diesel::delete(webhook_deliveries::table.find(begun.id.uuid())).execute(&mut db).await?;
        }
        return Ok(Taken::Nothing);
    };
    if membership.state.is_halted() || !is_enabled_on(db, agent).await? {
        if let Some(begun) = begun {
            save_delivery_on(db, &command.put_off(begun)).await?;
        }
        return Ok(Taken::Nothing);
    }
    let Some(begun) = begun else { return take_new_on(db, command).await };
    let message = message_on(db, agent, chat, begun.sequence).await?;
    let earliest = oldest_unsent_on(db, agent, chat).await?;
    if earliest.is_some_and(|earliest| earliest < begun.sequence)
        && command.gives_way(&begun, message.as_ref())
        && statement::<()>(ERASE_FOR_EARLIER).bind::<SqlUuid, _>(begun.id.uuid()).execute(&mut db).await? > 0
    {
        return Ok(Taken::Ended);
    }
    let (sent, taken) = command.decide(begun, message, webhook);
    save_delivery_on(db, &sent).await?;
    Ok(taken)
}

/// Takes a delivery of the oldest message that has none. The webhook is locked, so that another sender that does the same,
/// and an owner who has one sent again, come before or after it.
async fn take_new_on(mut db: &Db, command: &TakeDelivery) -> Result<Taken, Fault> {
    let WebhookRoom { agent, chat } = command.room;
    let webhook = locked_webhook_on(db, agent).await?.filter(|webhook| webhook.disabled.is_none());
    let Some(webhook) = webhook else { return Ok(Taken::Nothing) };
    let Some(sequence) = oldest_unsent_on(db, agent, chat).await? else { return Ok(Taken::Nothing) };
    let Some(message) = message_on(db, agent, chat, sequence).await? else { return Ok(Taken::Nothing) };
    let again = offered_again_at(&message, agent);
    let (sent, taken) = command.decide(command.first(&message), Some(message), webhook);
    if let Some(at) = again {
        let earlier = webhook_deliveries::table
            .filter(webhook_deliveries::agent_id.eq(agent.uuid()))
            .filter(webhook_deliveries::chat_id.eq(chat.uuid()))
            .filter(webhook_deliveries::sequence.eq(sequence.get()))
            .filter(webhook_deliveries::created_at.lt(At(at)))
            .filter(webhook_deliveries::ended_at.is_not_null());
        diesel::delete(earlier).execute(&mut db).await?;
    }
    let row = WebhookDeliveryRow::of(&sent);
    let inserted = diesel::insert_into(webhook_deliveries::table)
        .values(row)
        .on_conflict_do_nothing()
        .execute(&mut db)
        .await?;
    Ok(if inserted == 0 { Taken::Nothing } else { taken })
}

async fn oldest_unsent_on(mut db: &Db, agent: AgentId, chat: ChatId) -> Result<Option<Sequence>, Fault> {
    let mut asked = statement::<Nullable<BigInt>>(OLDEST_UNSENT.as_str());
    for _ in 0..3 {
        asked = asked.bind::<SqlUuid, _>(agent.uuid()).bind::<SqlUuid, _>(chat.uuid());
    }
    Ok(asked.get_result::<Option<i64>>(&mut db).await?.map(Sequence::new))
}

async fn is_enabled_on(mut db: &Db, agent: AgentId) -> Result<bool, Fault> {
    let enabled = statement::<SqlUuid>(ENABLED).bind::<SqlUuid, _>(agent.uuid());
    Ok(enabled.get_result::<Uuid>(&mut db).await.optional()?.is_some())
}

macro_rules! renew {
    ($table:literal) => {
        concat!(
            "UPDATE ",
            $table,
            " AS sent SET leased_until = ?, next_attempt_at = ? FROM unnest(?, ?) AS lease (id, attempt) \
             WHERE sent.id = lease.id AND sent.attempts = lease.attempt AND sent.leased_until IS NOT NULL"
        )
    };
}

pub(super) async fn renew_on(mut db: &Db, leases: &[Lease], until: Timestamp) -> Result<(), Fault> {
    let attempts = leases.iter().map(|lease| attempt(lease.attempt)).collect::<Vec<_>>();
    let ids = leases.iter().map(|lease| lease.delivery.uuid()).collect::<Vec<_>>();
    for text in [renew!("webhook_deliveries"), renew!("organization_webhook_deliveries")] {
        statement::<()>(text)
            .bind::<Timestamptz, _>(At(until))
            .bind::<Timestamptz, _>(At(until))
            .bind::<Array<SqlUuid>, _>(ids.clone())
            .bind::<Array<Integer>, _>(attempts.clone())
            .execute(&mut db)
            .await?;
    }
    Ok(())
}

fn attempt(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

pub(super) async fn settle_on(mut db: &Db, command: &SettleDelivery) -> Result<Option<Settled>, Fault> {
    let lease = command.lease;
    let agent = webhook_deliveries::table
        .find(lease.delivery.uuid())
        .select(webhook_deliveries::agent_id)
        .first::<Uuid>(&mut db)
        .await
        .optional()?;
    let Some(agent) = agent.map(AgentId::new) else { return Ok(None) };
    let before = locked_webhook_on(db, agent).await?;
    let found = webhook_deliveries::table
        .find(lease.delivery.uuid())
        .select(WebhookDeliveryRow::as_select())
        .for_update()
        .first(&mut db)
        .await
        .optional()?;
    let Some(mut delivery) = found
        .map(WebhookDeliveryRow::into_delivery)
        .transpose()?
        .filter(|sent: &WebhookDelivery| sent.leased_until.is_some() && sent.attempts == lease.attempt)
    else {
        return Ok(None);
    };
    let message = message_on(db, agent, delivery.chat, delivery.sequence).await?;
    let mut webhook = before.clone();
    let notice = command.apply(&mut delivery, webhook.as_mut(), message.as_ref());
    save_delivery_on(db, &delivery).await?;
    if let Some(webhook) = webhook.as_ref().filter(|_| webhook != before) {
        save_webhook_on(db, agent, webhook).await?;
    }
    if let Some(Notice::Disabled(reason)) = notice {
        audit::append_on(db, [AuditEntry::webhook_disabled(agent, reason, command.now)]).await?;
        change::append_on(db, [Change::WebhookChanged(agent)], command.now).await?;
    }
    Ok(Some(Settled { delivery, notice }))
}

pub(super) async fn backlog_on(mut db: &Db) -> Result<Backlog, Fault> {
    let mut backlog = Backlog::default();
    for text in [BACKLOG, EVENT_BACKLOG] {
        let counted = statement::<(BigInt, Nullable<Timestamptz>)>(text);
        let (deliveries, oldest) = counted.get_result::<(i64, Option<At>)>(&mut db).await?;
        let (deliveries, oldest) = (deliveries.cast_unsigned(), oldest.map(|At(at)| at));
        backlog = backlog.plus(Backlog { deliveries, oldest });
    }
    Ok(backlog)
}

pub(super) async fn old_on(
    mut db: &Db,
    before: Timestamp,
    kept: u32,
    limit: u32,
) -> Result<Vec<WebhookDeliveryId>, Fault> {
    let limit = i64::from(limit);
    let mut found = statement::<SqlUuid>(OLD.as_str())
        .bind::<Timestamptz, _>(At(before))
        .bind::<Timestamptz, _>(At(before))
        .bind::<BigInt, _>(limit)
        .bind::<BigInt, _>(limit)
        .load::<Uuid>(&mut db)
        .await?;
    let left = limit - i64::try_from(found.len()).unwrap_or(limit);
    let surplus = statement::<SqlUuid>(SURPLUS.as_str())
        .bind::<BigInt, _>(i64::from(kept) - 1)
        .bind::<BigInt, _>(left)
        .bind::<BigInt, _>(left)
        .load::<Uuid>(&mut db)
        .await?;
    found.extend(surplus);
    let left = limit - i64::try_from(found.len()).unwrap_or(limit);
    let events = statement::<SqlUuid>(OLD_EVENTS)
        .bind::<Timestamptz, _>(At(before))
        .bind::<BigInt, _>(left)
        .load::<Uuid>(&mut db)
        .await?;
    found.extend(events);
    let left = limit - i64::try_from(found.len()).unwrap_or(limit);
    let events = statement::<SqlUuid>(SURPLUS_EVENTS)
        .bind::<BigInt, _>(i64::from(kept) - 1)
        .bind::<BigInt, _>(left)
        .load::<Uuid>(&mut db)
        .await?;
    found.extend(events);
    Ok(found.into_iter().map(WebhookDeliveryId::new).collect())
}

/// Those that an admin removes meanwhile, with the webhook, are left to that.
const FORGET_EVENTS: &str = "DELETE FROM organization_webhook_deliveries WHERE id IN ( \
     SELECT id FROM organization_webhook_deliveries WHERE id = ANY(?) AND ended_at IS NOT NULL \
     ORDER BY id FOR UPDATE SKIP LOCKED)";

pub(super) async fn forget_on(mut db: &Db, ids: &[WebhookDeliveryId]) -> Result<(), Fault> {
    let ids = ids.iter().map(|id| id.uuid()).collect::<Vec<_>>();
    let ended = webhook_deliveries::table
        .filter(webhook_deliveries::id.eq_any(ids.clone()))
        .filter(webhook_deliveries::ended_at.is_not_null());
    diesel::delete(ended).execute(&mut db).await?;
    statement::<()>(FORGET_EVENTS).bind::<Array<SqlUuid>, _>(ids).execute(&mut db).await?;
    Ok(())
}
