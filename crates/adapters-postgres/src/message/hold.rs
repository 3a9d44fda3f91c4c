//! Deliveries that are held by a limit.
//!
//! The hops of a message are known when it is written. A batch that was decided on cached chats is written by one
//! statement, which holds what is over its limit itself ([`HELD`]); after every other batch, [`hold_on`] does.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;

use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Integer, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::delivery::HeldBy;
use domain::id::{ChatId, MessageId};
use domain::message::{Appended, DueHold, Message, NoticeHold, NoticeOutcome, Place};
use uuid::Uuid;

use super::batch::{Outcome, append_on};
use super::load::message_on;
use super::record_key::RecordKeys;
use crate::chat::load::{locked_chat_on, participants_on};
use crate::error::Fault;
use crate::row::{self, At};
use crate::run::Db;
use crate::schema::holds;
use crate::statement::{Statement, statement};

/// The limit of hops, as SQL.
macro_rules! max_hops {
    () => {
        "'max_hops'"
    };
}

/// Of the inserted messages `message`, those over their limits. Values: those of [`bind_limits`]. The first condition
/// keeps all others from most batches.
pub(super) const HELD: &str = concat!(
    "SELECT message.id, message.chat_id, message.sequence, message.created_at, message.root_id, limited.max_hops \
     FROM message JOIN unnest(?, ?) AS limited (id, max_hops) ON limited.id = message.id \
     LEFT JOIN holds ON holds.subject_id = message.root_id AND holds.held_by = ",
    max_hops!(),
    " WHERE message.hop > ? AND message.hop > limited.max_hops AND message.hop > coalesce(holds.allowed, 0)"
);

/// Records the holds of `held`, the first of each tree.
pub(super) const RECORD: &str = concat!(
    "INSERT INTO holds (subject_id, held_by, chat_id, message_id, bound, held_at) \
     SELECT DISTINCT ON (root_id) root_id, ",
    max_hops!(),
    ", chat_id, id, max_hops, created_at FROM held ORDER BY root_id, created_at, sequence \
     ON CONFLICT (subject_id, held_by) DO UPDATE SET chat_id = excluded.chat_id, message_id = excluded.message_id, \
     bound = excluded.bound, held_at = excluded.held_at, noticed_at = NULL WHERE holds.held_at IS NULL"
);

/// Binds the limits of these messages: their ids, the limits, and the least of them.
pub(super) fn bind_limits<'r, Row>(
    statement: Statement<'r, Row>,
    appended: impl Iterator<Item = &'r Appended>,
) -> Statement<'r, Row> {
    let limited =
        appended.filter_map(|appended| Some((appended.message.id.uuid(), column(appended.hop_limit?))));
    let (ids, limits) = limited.unzip::<_, _, Vec<_>, Vec<_>>();
    let least = limits.iter().copied().min();
    statement
        .bind::<Array<SqlUuid>, _>(ids)
        .bind::<Array<Integer>, _>(limits)
        .bind::<Nullable<Integer>, _>(least)
}

fn column(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

const ALLOWED: &str =
    concat!("SELECT subject_id, allowed FROM holds WHERE subject_id = ANY(?) AND held_by = ", max_hops!());

const HOLD: &str = "UPDATE deliveries SET dead_at = messages.created_at, dead_reason = ?, held_by = ? \
     FROM unnest(?, ?, ?) AS held (agent_id, chat_id, sequence) \
     JOIN messages ON messages.chat_id = held.chat_id AND messages.sequence = held.sequence \
     WHERE deliveries.agent_id = held.agent_id AND deliveries.chat_id = held.chat_id \
     AND deliveries.sequence = held.sequence";

/// Holds the deliveries of those of the written messages that are over their limits, unless a release has allowed more.
/// Their causes must be known.
pub(super) async fn hold_on(mut db: &Db, outcomes: &mut [Outcome]) -> Result<(), Fault> {
    let over = |outcome: &Outcome| outcome.as_ref().ok().and_then(Appended::over_limit);
    let roots = outcomes.iter().filter_map(over).map(|(place, _)| place.root.uuid()).collect::<HashSet<_>>();
    if roots.is_empty() {
        return Ok(());
    }
    let allowed = statement::<(SqlUuid, Nullable<Integer>)>(ALLOWED)
        .bind::<Array<SqlUuid>, _>(roots.into_iter().collect::<Vec<_>>())
        .load::<(Uuid, Option<i32>)>(&mut db)
        .await?;
    let allowed = allowed.into_iter().collect::<HashMap<_, _>>();
    let is_allowed = |place: Place| {
        let allowed = allowed.get(&place.root.uuid()).copied().flatten();
        allowed.is_some_and(|allowed| column(place.hop) <= allowed)
    };
    let (by, mut keys, mut held) = (HeldBy::MaxHops, RecordKeys::default(), Vec::new());
    for appended in outcomes.iter_mut().flatten() {
        let Some((place, limit)) = appended.over_limit().filter(|(place, _)| !is_allowed(*place)) else {
            continue;
        };
        appended.hold(by);
        let message = &appended.message;
        let (chat, sequence) = (message.chat_id.uuid(), message.sequence.get());
        keys.extend(message.deliveries.iter().map(|delivery| (delivery.agent().uuid(), chat, sequence)));
        held.push((message, place.root.uuid(), column(limit)));
    }
    if held.is_empty() {
        return Ok(());
    }
    let hold = statement::<()>(HOLD).bind::<Text, _>(by.reason()).bind::<Text, _>(by.as_str());
    keys.bind(hold).execute(&mut db).await?;
    let all = held.iter();
    statement::<()>(format!(
        "WITH held AS (SELECT * FROM unnest(?, ?, ?, ?, ?, ?) \
         AS new (id, chat_id, sequence, created_at, root_id, max_hops)) {RECORD}"
    ))
    .bind::<Array<SqlUuid>, _>(all.clone().map(|(message, ..)| message.id.uuid()).collect::<Vec<_>>())
    .bind::<Array<SqlUuid>, _>(all.clone().map(|(message, ..)| message.chat_id.uuid()).collect::<Vec<_>>())
    .bind::<Array<BigInt>, _>(all.clone().map(|(message, ..)| message.sequence.get()).collect::<Vec<_>>())
    .bind::<Array<Timestamptz>, _>(
        all.clone().map(|(message, ..)| At(message.created_at)).collect::<Vec<_>>(),
    )
    .bind::<Array<SqlUuid>, _>(all.clone().map(|(_, root, _)| *root).collect::<Vec<_>>())
    .bind::<Array<Integer>, _>(all.map(|(.., limit)| *limit).collect::<Vec<_>>())
    .execute(&mut db)
    .await?;
    Ok(())
}

const STORED: &str = "SELECT DISTINCT messages.id FROM messages \
     JOIN participants ON participants.chat_id = messages.chat_id \
     JOIN deliveries ON deliveries.agent_id = participants.participant_id AND deliveries.chat_id = messages.chat_id \
     AND deliveries.sequence = messages.sequence WHERE messages.id = ANY(?) AND deliveries.held_by IS NOT NULL";

/// Those of these messages whose deliveries are stored as held.
pub(super) async fn stored_on(mut db: &Db, messages: Vec<Uuid>) -> Result<HashSet<Uuid>, Fault> {
    let held = statement::<SqlUuid>(STORED).bind::<Array<SqlUuid>, _>(messages).load::<Uuid>(&mut db).await?;
    Ok(held.into_iter().collect())
}

const RELEASE: &str = "UPDATE holds SET allowed = greatest(coalesce(allowed, 0), ? + bound), held_at = NULL, \
     noticed_at = NULL WHERE subject_id = ? AND held_by = ?";

/// Allows the tree of a message whose delivery is released as many hops again.
pub(crate) async fn release_on(mut db: &Db, message: &Message, by: HeldBy) -> Result<(), Fault> {
    let place = message.place();
    statement::<()>(RELEASE)
        .bind::<Integer, _>(column(place.counted_hop()))
        .bind::<SqlUuid, _>(place.root.uuid())
        .bind::<Text, _>(by.as_str())
        .execute(&mut db)
        .await?;
    Ok(())
}

const DUE: &str = "SELECT subject_id, held_by, bound, chat_id, message_id FROM holds \
     WHERE held_at IS NOT NULL AND noticed_at IS NULL ORDER BY held_at, subject_id LIMIT ?";

pub(super) async fn due_on(mut db: &Db, limit: u32) -> Result<Vec<DueHold>, Fault> {
    let rows = statement::<(SqlUuid, Text, Integer, SqlUuid, SqlUuid)>(DUE)
        .bind::<BigInt, _>(i64::from(limit))
        .load::<(Uuid, String, i32, Uuid, Uuid)>(&mut db)
        .await?;
    let due = |(root, held_by, bound, chat, message): (Uuid, String, i32, Uuid, Uuid)| {
        Ok(DueHold {
            root: MessageId::new(root),
            held_by: row::word(&held_by, HeldBy::parse)?,
            bound: bound.cast_unsigned(),
            chat: ChatId::new(chat),
            message: MessageId::new(message),
        })
    };
    rows.into_iter().map(due).collect()
}

pub(super) async fn notice_on(
    mut db: &Db,
    command: &NoticeHold,
) -> Result<Result<NoticeOutcome, Infallible>, Fault> {
    let due = command.due;
    let chat = locked_chat_on(db, due.chat).await?;
    let unnoticed = holds::table
        .find((due.root.uuid(), due.held_by.as_str()))
        .filter(holds::held_at.is_not_null())
        .filter(holds::noticed_at.is_null());
    let marked =
        diesel::update(unnoticed).set(holds::noticed_at.eq(At(command.now))).execute(&mut db).await?;
    if marked == 0 {
        return Ok(Ok(NoticeOutcome::Gone));
    }
    let Some(message) = message_on(db, due.chat, due.message).await? else {
        return Ok(Ok(NoticeOutcome::Settled));
    };
    if chat.is_none() {
        return Ok(Ok(NoticeOutcome::Settled));
    }
    let participants = participants_on(db, due.chat, None).await?;
    let Some(event) = command.event(&message, &participants) else { return Ok(Ok(NoticeOutcome::Settled)) };
    match append_on(db, event).await? {
        Ok(appended) => Ok(Ok(NoticeOutcome::Posted(Box::new(appended.message)))),
        Err(refused) => Err(Fault::Row(format!("the event of a hold was refused: {refused:?}"))),
    }
}
