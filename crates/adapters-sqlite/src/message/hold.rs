//! Deliveries that are held by a limit.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Integer, Nullable, Text};
use diesel::sqlite::SqliteConnection;
use domain::delivery::HeldBy;
use domain::id::{ChatId, MessageId, SubjectId};
use domain::message::{
    Appended, CheckPair, CheckTree, DueHold, EndedHold, Message, NoticeHold, NoticeOutcome, TreeHolds,
    pair_since,
};
use domain::time::Timestamp;

use super::append::append_on;
use super::history::floor_on;
use super::load::message_on;
use crate::attention;
use crate::budget;
use crate::chat::load::{chat_on, participants_on};
use crate::chat::row::max_pair_messages;
use crate::error::Fault;
use crate::row::{self, At, Id};
use crate::schema::holds;
use crate::statement::statement;

/// Holds the deliveries of a new message that is over a limit. `has_held_pairs` is set if pairs of its chat are held.
pub(super) fn hold_on(
    connection: &mut SqliteConnection,
    appended: &mut Appended,
    has_held_pairs: bool,
) -> Result<(), Fault> {
    let Some(guarded) = appended.guarded() else { return Ok(()) };
    let (mut holds, now) = (TreeHolds::default(), appended.message.created_at);
    for subject in appended.hold_subjects(has_held_pairs) {
        let known = statement!(
            "SELECT held_by, allowed, held_at FROM holds WHERE subject_id = ?"
            => (Text, Nullable<Integer>, Nullable<BigInt>)
        );
        let known = known
            .bind::<Binary, _>(Id(subject.uuid()))
            .load::<(String, Option<i32>, Option<At>)>(connection)?;
        for (held_by, allowed, held_at) in known {
            let (by, allowed) = (row::word(&held_by, HeldBy::parse)?, allowed.map(i32::cast_unsigned));
            holds.add(by, allowed, held_at.map(|at| at.0), now);
        }
    }
    let Some(by) = holds.decide(guarded) else { return Ok(()) };
    appended.hold(|_| Some(by));
    if by == HeldBy::MaxHops {
        let Message { id, chat_id, created_at, .. } = appended.message;
        let (subject, bound) = (appended.message.hold_subject(), guarded.max_hops);
        let hold = DueHold {
            subject,
            held_by: by,
            bound: bound.into(),
            is_warning: false,
            chat: chat_id,
            message: id,
        };
        record_on(connection, hold, created_at)?;
    }
    Ok(())
}

/// A hold is recorded unless one is in force: it was not released, and if it is of a pair, its time is not over.
pub(super) fn record_on(
    connection: &mut SqliteConnection,
    hold: DueHold,
    now: Timestamp,
) -> Result<(), Fault> {
    statement!(
        "INSERT INTO holds (subject_id, held_by, chat_id, message_id, bound, held_at) VALUES (?, ?, ?, ?, ?, ?) \
         ON CONFLICT (subject_id, held_by) DO UPDATE SET chat_id = excluded.chat_id, \
         message_id = excluded.message_id, bound = excluded.bound, held_at = excluded.held_at, noticed_at = NULL \
         WHERE holds.held_at IS NULL OR holds.held_by = 'max_pair_messages' AND holds.held_at <= ?"
    )
    .bind::<Binary, _>(Id(hold.subject.uuid()))
    .bind::<Text, _>(hold.held_by.as_str())
    .bind::<Binary, _>(Id(hold.chat.uuid()))
    .bind::<Binary, _>(Id(hold.message.uuid()))
    .bind::<Integer, _>(i32::try_from(hold.bound).unwrap_or(i32::MAX))
    .bind::<BigInt, _>(now.micros())
    .bind::<BigInt, _>(pair_since(now).micros())
    .execute(connection)?;
    Ok(())
}

pub(super) fn check_pair_on(connection: &mut SqliteConnection, command: CheckPair) -> Result<(), Fault> {
    let CheckPair { pair, message, now, .. } = command;
    let (subject, by) = (pair.subject(), HeldBy::MaxPairMessages);
    let own = statement!(
        "SELECT max_pair_messages, allowed FROM chats LEFT JOIN organizations ON organizations.id = organization_id \
         LEFT JOIN holds ON subject_id = ? AND held_by = ? WHERE chats.id = ?"
        => (Nullable<Integer>, Nullable<Integer>)
    );
    let own = own
        .bind::<Binary, _>(Id(subject.uuid()))
        .bind::<Text, _>(by.as_str())
        .bind::<Binary, _>(Id(pair.chat.uuid()))
        .get_result::<(Option<i32>, Option<i32>)>(connection)
        .optional()?;
    let Some((own, allowed)) = own else { return Ok(()) };
    let Some(limit) = command.limit(own.and_then(max_pair_messages)) else { return Ok(()) };
    let bound = limit.max(allowed.map_or(0, i32::cast_unsigned));
    let floor = floor_on(connection, pair.chat, command.since())?;
    let [one, other] = pair.agents.map(|agent| Id(agent.uuid()));
    let mut sent = [0, 0];
    // Replies come first: an agent that gets none is not in a loop.
    for (number, (from, to)) in sent.iter_mut().zip([(other, one), (one, other)]) {
        let texts = statement!(
            "SELECT count(*) FROM (SELECT 1 FROM messages INDEXED BY messages_by_sender CROSS JOIN deliveries \
                 ON deliveries.agent_id = ? AND deliveries.chat_id = messages.chat_id \
                 AND deliveries.sequence = messages.sequence \
             WHERE messages.chat_id = ? AND sender_id = ? AND sender_kind = 'Agent' AND messages.sequence > ? + 0 \
             AND root_id IS NULL LIMIT ? + 0)"
            => BigInt
        );
        let texts = texts
            .bind::<Binary, _>(to)
            .bind::<Binary, _>(Id(pair.chat.uuid()))
            .bind::<Binary, _>(from)
            .bind::<BigInt, _>(floor)
            .bind::<BigInt, _>(i64::from(bound) + 1);
        *number = u32::try_from(texts.get_result::<i64>(connection)?).unwrap_or(u32::MAX);
        if CheckPair::is_below(bound, *number) {
            return Ok(());
        }
    }
    if CheckPair::is_over(bound, sent[0], sent[1]) {
        let hold = DueHold {
            subject,
            held_by: by,
            bound: limit.into(),
            is_warning: false,
            chat: pair.chat,
            message,
        };
        record_on(connection, hold, now)?;
    }
    Ok(())
}

pub(super) fn check_tree_on(connection: &mut SqliteConnection, command: CheckTree) -> Result<(), Fault> {
    let CheckTree { root, limit, chat, message, now } = command;
    let by = HeldBy::MaxTreeMessages;
    let known = holds::table.find((row::bytes(root.uuid()), by.as_str())).select(holds::allowed);
    let allowed = known.get_result::<Option<i32>>(connection).optional()?.flatten().map(i32::cast_unsigned);
    let bound = command.bound(allowed);
    let counted = statement!(
        "SELECT count(*) FROM (SELECT 1 FROM messages INDEXED BY messages_of_tree WHERE root_id = ? AND kind = 'text' LIMIT ? + 0)"
        => BigInt
    );
    let counted = counted.bind::<Binary, _>(Id(root.uuid())).bind::<BigInt, _>(i64::from(bound) + 1);
    if counted.get_result::<i64>(connection)? > i64::from(bound) {
        record_on(
            connection,
            DueHold {
                subject: root.into(),
                held_by: by,
                bound: limit.into(),
                is_warning: false,
                chat,
                message,
            },
            now,
        )?;
    }
    Ok(())
}

/// Ends what is recorded for a message whose delivery was changed.
pub(crate) fn end_on(
    connection: &mut SqliteConnection,
    message: &Message,
    ended: EndedHold,
) -> Result<(), Fault> {
    let EndedHold { by, is_released } = ended;
    let subjects = match by {
        HeldBy::MaxHops | HeldBy::MaxTreeMessages => vec![message.hold_subject()],
        HeldBy::MaxPairMessages => message.pairs().map(|pair| pair.subject()).collect(),
        HeldBy::Foreign => vec![message.origin_subject()],
        // Budgets are released on their own.
        _ => return Ok(()),
    };
    for subject in subjects.into_iter().map(|subject| Id(subject.uuid())) {
        match by {
            _ if !is_released || by == HeldBy::Foreign => {
                statement!(
                    "UPDATE holds SET held_at = NULL, noticed_at = NULL WHERE subject_id = ? AND held_by = ?"
                )
                .bind::<Binary, _>(subject)
                .bind::<Text, _>(by.as_str())
                .execute(connection)?;
            }
            HeldBy::MaxHops => {
                let hop = message.place().counted_hop().cast_signed();
                statement!(
                    "UPDATE holds SET allowed = max(coalesce(allowed, 0), ? + bound), held_at = NULL, \
                     noticed_at = NULL WHERE subject_id = ? AND held_by = ?"
                )
                .bind::<Integer, _>(hop)
                .bind::<Binary, _>(subject)
                .bind::<Text, _>(by.as_str())
                .execute(connection)?;
                if message.place().root.uuid() != subject.0 {
                    allow_own_tree_on(connection, message, subject, hop)?;
                }
            }
            _ => allow_again_on(connection, subject, by)?,
        }
    }
    Ok(())
}

/// Allows as many messages again, with the first of those that are released.
fn allow_again_on(connection: &mut SqliteConnection, subject: Id, by: HeldBy) -> Result<(), Fault> {
    statement!(
        "UPDATE holds SET allowed = min(max(coalesce(allowed, 0), bound) + bound, 2000000000), held_at = NULL, \
         noticed_at = NULL WHERE subject_id = ? AND held_by = ? AND held_at IS NOT NULL"
    )
    .bind::<Binary, _>(subject)
    .bind::<Text, _>(by.as_str())
    .execute(connection)?;
    Ok(())
}

/// Allows what follows from a released text that begins a tree, since its hold was recorded for another subject.
fn allow_own_tree_on(
    connection: &mut SqliteConnection,
    message: &Message,
    subject: Id,
    hop: i32,
) -> Result<(), Fault> {
    statement!(
        "INSERT INTO holds (subject_id, held_by, chat_id, message_id, bound, allowed) \
         SELECT ?, held_by, ?, ?, bound, ? + bound FROM holds WHERE subject_id = ? AND held_by = ? \
         ON CONFLICT (subject_id, held_by) DO UPDATE SET allowed = max(coalesce(holds.allowed, 0), excluded.allowed)"
    )
    .bind::<Binary, _>(Id(message.id.uuid()))
    .bind::<Binary, _>(Id(message.chat_id.uuid()))
    .bind::<Binary, _>(Id(message.id.uuid()))
    .bind::<Integer, _>(hop)
    .bind::<Binary, _>(subject)
    .bind::<Text, _>(HeldBy::MaxHops.as_str())
    .execute(connection)?;
    Ok(())
}

pub(super) fn due_on(connection: &mut SqliteConnection, limit: u32) -> Result<Vec<DueHold>, Fault> {
    let rows = statement!(
        "SELECT subject_id, held_by, bound, chat_id, message_id FROM holds INDEXED BY holds_to_notice \
         WHERE held_at IS NOT NULL AND noticed_at IS NULL ORDER BY held_at, subject_id LIMIT ?"
        => (Binary, Text, Integer, Binary, Binary)
    );
    let rows = rows.bind::<BigInt, _>(i64::from(limit)).load::<(Id, String, i32, Id, Id)>(connection)?;
    let due = |(subject, held_by, bound, chat, message): (Id, String, i32, Id, Id)| {
        Ok(DueHold {
            subject: SubjectId::new(subject.0),
            held_by: row::word(&held_by, HeldBy::parse)?,
            bound: bound.cast_unsigned().into(),
            is_warning: false,
            chat: ChatId::new(chat.0),
            message: MessageId::new(message.0),
        })
    };
    let mut all = rows.into_iter().map(due).collect::<Result<Vec<_>, Fault>>()?;
    all.extend(budget::due_on(connection, limit)?);
    Ok(all)
}

pub(super) fn notice_on(
    connection: &mut SqliteConnection,
    command: &NoticeHold,
) -> Result<NoticeOutcome, Fault> {
    let due = command.due;
    let is_marked = if due.held_by.budget().is_some() {
        budget::notice_on(connection, &due, command.now)?
    } else {
        mark_on(connection, &due, command.now)?
    };
    if !is_marked {
        return Ok(NoticeOutcome::Gone);
    }
    let Some(message) = message_on(connection, due.chat, due.message)? else {
        return Ok(NoticeOutcome::Settled);
    };
    if chat_on(connection, due.chat)?.is_none() {
        return Ok(NoticeOutcome::Settled);
    }
    let participants = participants_on(connection, due.chat, None)?;
    let Some(event) = command.event(&message, &participants) else { return Ok(NoticeOutcome::Settled) };
    match append_on(connection, event)? {
        Ok(appended) => {
            attention::name_hold_on(connection, appended.message.id, due.subject, due.held_by)?;
            Ok(NoticeOutcome::Posted(Box::new(appended.message)))
        }
        // It is not tried again, so that no other is held up.
        Err(_) => Ok(NoticeOutcome::Settled),
    }
}

/// Marks that the humans are told of a hold; `false` if they were told before.
fn mark_on(connection: &mut SqliteConnection, due: &DueHold, now: Timestamp) -> Result<bool, Fault> {
    let unnoticed = holds::table
        .find((row::bytes(due.subject.uuid()), due.held_by.as_str()))
        .filter(holds::held_at.is_not_null())
        .filter(holds::noticed_at.is_null());
    Ok(diesel::update(unnoticed).set(holds::noticed_at.eq(now.micros())).execute(connection)? > 0)
}
