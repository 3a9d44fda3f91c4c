//! Deliveries that are held by a limit.
//!
//! The hops of a message are known when it is written. A batch that was decided on cached chats is written by one
//! statement, which holds what is over its limit itself ([`HELD`]); after every other batch, [`hold_on`] does.

use std::collections::{HashMap, HashSet};

use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Integer, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::delivery::HeldBy;
use domain::id::{AgentId, ChatId, MessageId, SubjectId};
use domain::message::{
    Appended, CheckPair, CheckTree, DueHold, EndedHold, Message, NoticeHold, NoticeOutcome, Pair, TreeHolds,
};
use domain::time::Timestamp;
use uuid::Uuid;

use super::batch::{DecidedAppends, append_on};
use super::foreign;
use super::history::floor_on;
use super::load::message_on;
use super::record_key::RecordKeys;
use crate::attention;
use crate::budget;
use crate::chat::load::{locked_chat_on, participants_on};
use crate::chat::row::max_pair_messages;
use crate::error::Fault;
use crate::row::{self, At};
use crate::run::Db;
use crate::schema::holds;
use crate::statement::{Statement, statement};

/// A hold is recorded unless one is in force: it was not released, and if it is of a pair, its time is not over.
macro_rules! on_conflict {
    () => {
        "ON CONFLICT (subject_id, held_by) DO UPDATE SET chat_id = excluded.chat_id, message_id = excluded.message_id, \
         bound = excluded.bound, held_at = excluded.held_at, noticed_at = NULL WHERE holds.held_at IS NULL \
         OR holds.held_by = 'max_pair_messages' AND holds.held_at <= excluded.held_at - interval '600 seconds'"
    };
}

/// What holds deliveries, by the ids of their messages and agents.
pub(super) type Holds = HashMap<(Uuid, Uuid), HeldBy>;

/// Of the inserted messages `message`, those that a limit holds ([`TreeHolds::decide`]). Values: those of
/// [`bind_limits`].
pub(super) const HELD: &str = "SELECT message.id, message.chat_id, message.sequence, message.created_at, \
     coalesce(message.root_id, message.chat_id) AS subject_id, limited.max_hops, \
     CASE WHEN message.hop > limited.max_hops AND message.hop > coalesce(deep.allowed, 0) THEN 'max_hops' \
     WHEN full_tree.subject_id IS NOT NULL THEN 'max_tree_messages' ELSE 'max_pair_messages' END AS held_by \
     FROM message JOIN unnest(?, ?) AS limited (id, max_hops) ON limited.id = message.id \
     LEFT JOIN holds AS deep ON deep.subject_id = coalesce(message.root_id, message.chat_id) AND deep.held_by = 'max_hops' \
     LEFT JOIN holds AS full_tree ON full_tree.subject_id = message.root_id AND full_tree.held_by = 'max_tree_messages' \
     AND full_tree.held_at IS NOT NULL LEFT JOIN (SELECT paired.id, max(holds.held_at) AS held_at \
     FROM unnest(?, ?) AS paired (id, subject_id) JOIN holds ON holds.subject_id = paired.subject_id \
     AND holds.held_by = 'max_pair_messages' GROUP BY paired.id) AS pair ON pair.id = message.id \
     AND message.root_id IS NULL AND pair.held_at > message.created_at - interval '600 seconds' \
     WHERE message.hop > limited.max_hops AND message.hop > coalesce(deep.allowed, 0) \
     OR full_tree.subject_id IS NOT NULL OR pair.id IS NOT NULL";

/// Records the holds of `held`, the first of each subject. A full tree is recorded when it is found to be.
pub(super) const RECORD: &str = concat!(
    "INSERT INTO holds (subject_id, held_by, chat_id, message_id, bound, held_at) \
     SELECT DISTINCT ON (subject_id) subject_id, held_by, chat_id, id, max_hops, created_at FROM held \
     WHERE held_by = 'max_hops' ORDER BY subject_id, created_at, sequence ",
    on_conflict!()
);

/// Binds the limits of the guarded ones of these messages: their ids, and the limits; and the ids with each pair.
pub(super) fn bind_limits<'r, Row>(
    statement: Statement<'r, Row>,
    appended: impl Iterator<Item = &'r Appended> + Clone,
) -> Statement<'r, Row> {
    let pairs = appended.clone().flat_map(|appended| {
        appended.pairs().map(move |pair| (appended.message.id.uuid(), pair.subject().uuid()))
    });
    let (paired, subjects) = pairs.unzip::<_, _, Vec<_>, Vec<_>>();
    let limited =
        appended.filter_map(|appended| Some((appended.message.id.uuid(), column(appended.hop_limit?))));
    let (ids, limits) = limited.unzip::<_, _, Vec<_>, Vec<_>>();
    statement
        .bind::<Array<SqlUuid>, _>(ids)
        .bind::<Array<Integer>, _>(limits)
        .bind::<Array<SqlUuid>, _>(paired)
        .bind::<Array<SqlUuid>, _>(subjects)
}

fn column(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

const KNOWN: &str = "SELECT subject_id, held_by, allowed, held_at FROM holds WHERE subject_id = ANY(?)";

const HOLD: &str = "UPDATE deliveries SET dead_at = messages.created_at, dead_reason = held.reason, held_by = held.held_by \
     FROM unnest(?, ?, ?, ?, ?) AS held (agent_id, chat_id, sequence, reason, held_by) \
     JOIN messages ON messages.chat_id = held.chat_id AND messages.sequence = held.sequence \
     WHERE deliveries.agent_id = held.agent_id AND deliveries.chat_id = held.chat_id \
     AND deliveries.sequence = held.sequence";

/// A subject, its limit, what a release allows, and since when it is held.
type Known = (Uuid, String, Option<i32>, Option<At>);

/// The limit of the loop guard that holds a message, of the known ones.
fn held_by(appended: &Appended, known: &[Known]) -> Result<Option<HeldBy>, Fault> {
    let Some(guarded) = appended.guarded() else { return Ok(None) };
    let (mut holds, now) = (TreeHolds::default(), appended.message.created_at);
    let subjects = appended.hold_subjects(true);
    for (_, held_by, allowed, held_at) in
        known.iter().filter(|(of, ..)| subjects.contains(&SubjectId::new(*of)))
    {
        let (by, allowed) = (row::word(held_by, HeldBy::parse)?, allowed.map(i32::cast_unsigned));
        holds.add(by, allowed, held_at.map(|at| at.0), now);
    }
    Ok(holds.decide(guarded))
}

/// Holds those of the written deliveries that a limit, the policy of an organization, or a budget holds; the first of
/// these counts. The causes of the messages must be known.
pub(super) async fn hold_on(mut db: &Db, decided: &mut DecidedAppends) -> Result<(), Fault> {
    let subjects = decided.outcomes.iter().flatten().flat_map(|appended| appended.hold_subjects(true));
    let subjects = subjects.map(SubjectId::uuid).collect::<HashSet<_>>();
    let known = if subjects.is_empty() {
        Vec::new()
    } else {
        statement::<(SqlUuid, Text, Nullable<Integer>, Nullable<Timestamptz>)>(KNOWN)
            .bind::<Array<SqlUuid>, _>(subjects.into_iter().collect::<Vec<_>>())
            .load::<Known>(&mut db)
            .await?
    };
    for appended in decided.outcomes.iter_mut().flatten() {
        if let Some(by) = held_by(appended, &known)? {
            appended.hold(|_| Some(by));
        }
    }
    let foreign = foreign::decide_on(db, decided).await?;
    let (mut keys, mut words, mut deep) = (RecordKeys::default(), Vec::new(), Vec::new());
    let DecidedAppends { outcomes, holding, .. } = decided;
    for appended in outcomes.iter_mut().flatten() {
        appended.hold_over_budget(&holding.over_budget);
        let message = &appended.message;
        let (chat, sequence) = (message.chat_id.uuid(), message.sequence.get());
        let held =
            message.deliveries.iter().filter_map(|delivery| Some((delivery.agent(), delivery.held_by()?)));
        keys.extend(held.clone().map(|(agent, _)| (agent.uuid(), chat, sequence)));
        words.extend(held.clone().map(|(_, by)| by));
        let is_deep = held.into_iter().any(|(_, by)| by == HeldBy::MaxHops);
        if let Some(guarded) = appended.guarded().filter(|_| is_deep) {
            deep.push((message, message.hold_subject().uuid(), column(guarded.max_hops)));
        }
    }
    if keys.is_empty() {
        return Ok(());
    }
    keys.bind(statement::<()>(HOLD))
        .bind::<Array<Text>, _>(words.iter().map(|by| by.reason()).collect::<Vec<_>>())
        .bind::<Array<Text>, _>(words.iter().map(|by| by.as_str()).collect::<Vec<_>>())
        .execute(&mut db)
        .await?;
    for (hold, now) in foreign {
        record_on(db, hold, now).await?;
    }
    if deep.is_empty() {
        return Ok(());
    }
    let all = deep.iter();
    statement::<()>(format!(
        "WITH held AS (SELECT *, 'max_hops' AS held_by FROM unnest(?, ?, ?, ?, ?, ?) \
         AS new (id, chat_id, sequence, created_at, subject_id, max_hops)) {RECORD}"
    ))
    .bind::<Array<SqlUuid>, _>(all.clone().map(|(message, ..)| message.id.uuid()).collect::<Vec<_>>())
    .bind::<Array<SqlUuid>, _>(all.clone().map(|(message, ..)| message.chat_id.uuid()).collect::<Vec<_>>())
    .bind::<Array<BigInt>, _>(all.clone().map(|(message, ..)| message.sequence.get()).collect::<Vec<_>>())
    .bind::<Array<Timestamptz>, _>(
        all.clone().map(|(message, ..)| At(message.created_at)).collect::<Vec<_>>(),
    )
    .bind::<Array<SqlUuid>, _>(all.clone().map(|(_, subject, _)| *subject).collect::<Vec<_>>())
    .bind::<Array<Integer>, _>(all.map(|(.., limit)| *limit).collect::<Vec<_>>())
    .execute(&mut db)
    .await?;
    Ok(())
}

const ALLOWED: &str = "SELECT allowed FROM holds WHERE subject_id = ? AND held_by = 'max_tree_messages'";

const TEXTS_OF_TREE: &str =
    "SELECT count(*) FROM (SELECT 1 FROM messages WHERE root_id = ? AND kind = 'text' LIMIT ?) AS part";

pub(super) async fn check_tree_on(mut db: &Db, command: &CheckTree) -> Result<(), Fault> {
    let CheckTree { root, limit, chat, message, now } = *command;
    let allowed = statement::<Nullable<Integer>>(ALLOWED).bind::<SqlUuid, _>(root.uuid());
    let allowed = allowed.load::<Option<i32>>(&mut db).await?.pop().flatten();
    let bound = i64::from(command.bound(allowed.map(i32::cast_unsigned)));
    let texts =
        statement::<BigInt>(TEXTS_OF_TREE).bind::<SqlUuid, _>(root.uuid()).bind::<BigInt, _>(bound + 1);
    if texts.get_result::<i64>(&mut db).await? > bound {
        let (subject, held_by) = (SubjectId::new(root.uuid()), HeldBy::MaxTreeMessages);
        record_on(
            db,
            DueHold { subject, held_by, bound: limit.into(), is_warning: false, chat, message },
            now,
        )
        .await?;
    }
    Ok(())
}

const OWN_LIMIT: &str = "SELECT organizations.max_pair_messages, holds.allowed FROM chats \
     LEFT JOIN organizations ON organizations.id = chats.organization_id \
     LEFT JOIN holds ON holds.subject_id = ? AND holds.held_by = 'max_pair_messages' WHERE chats.id = ?";

const TEXTS_TO_AGENT: &str = "SELECT count(*) FROM (SELECT 1 FROM messages JOIN deliveries ON deliveries.agent_id = ? \
     AND deliveries.chat_id = messages.chat_id AND deliveries.sequence = messages.sequence \
     WHERE messages.chat_id = ? AND messages.sender_id = ? AND messages.sender_kind = 'Agent' \
     AND messages.sequence > ? AND messages.root_id IS NULL LIMIT ?) AS part";

pub(super) async fn check_pair_on(mut db: &Db, command: &CheckPair) -> Result<(), Fault> {
    let CheckPair { pair: Pair { chat, agents }, message, now, .. } = *command;
    let subject = command.pair.subject();
    let own = statement::<(Nullable<Integer>, Nullable<Integer>)>(OWN_LIMIT)
        .bind::<SqlUuid, _>(subject.uuid())
        .bind::<SqlUuid, _>(chat.uuid())
        .load::<(Option<i32>, Option<i32>)>(&mut db)
        .await?;
    let Some((own, allowed)) = own.as_slice().first().copied() else { return Ok(()) };
    let Some(limit) = command.limit(own.and_then(max_pair_messages)) else { return Ok(()) };
    let bound = limit.max(allowed.map_or(0, i32::cast_unsigned));
    let floor = floor_on(db, chat, command.since()).await?;
    let [one, other] = agents.map(AgentId::uuid);
    let mut sent = [0, 0];
    // Replies come first: an agent that gets none is not in a loop.
    for (number, (from, to)) in sent.iter_mut().zip([(other, one), (one, other)]) {
        let texts = statement::<BigInt>(TEXTS_TO_AGENT)
            .bind::<SqlUuid, _>(to)
            .bind::<SqlUuid, _>(chat.uuid())
            .bind::<SqlUuid, _>(from)
            .bind::<BigInt, _>(floor)
            .bind::<BigInt, _>(i64::from(bound) + 1);
        *number = u32::try_from(texts.get_result::<i64>(&mut db).await?).unwrap_or(u32::MAX);
        if CheckPair::is_below(bound, *number) {
            return Ok(());
        }
    }
    if CheckPair::is_over(bound, sent[0], sent[1]) {
        let held_by = HeldBy::MaxPairMessages;
        record_on(
            db,
            DueHold { subject, held_by, bound: limit.into(), is_warning: false, chat, message },
            now,
        )
        .await?;
    }
    Ok(())
}

/// Records a hold, unless one is in force.
pub(super) async fn record_on(mut db: &Db, hold: DueHold, now: Timestamp) -> Result<(), Fault> {
    statement::<()>(concat!(
        "INSERT INTO holds (subject_id, held_by, chat_id, message_id, bound, held_at) VALUES (?, ?, ?, ?, ?, ?) ",
        on_conflict!()
    ))
    .bind::<SqlUuid, _>(hold.subject.uuid())
    .bind::<Text, _>(hold.held_by.as_str())
    .bind::<SqlUuid, _>(hold.chat.uuid())
    .bind::<SqlUuid, _>(hold.message.uuid())
    .bind::<Integer, _>(i32::try_from(hold.bound).unwrap_or(i32::MAX))
    .bind::<Timestamptz, _>(At(now))
    .execute(&mut db)
    .await?;
    Ok(())
}

const STORED: &str = "SELECT messages.id, deliveries.agent_id, deliveries.held_by FROM messages \
     JOIN participants ON participants.chat_id = messages.chat_id \
     JOIN deliveries ON deliveries.agent_id = participants.participant_id AND deliveries.chat_id = messages.chat_id \
     AND deliveries.sequence = messages.sequence WHERE messages.id = ANY(?) AND deliveries.held_by IS NOT NULL";

/// Those of the deliveries of these messages that are stored as held.
pub(super) async fn stored_on(mut db: &Db, messages: Vec<Uuid>) -> Result<Holds, Fault> {
    let held = statement::<(SqlUuid, SqlUuid, Text)>(STORED).bind::<Array<SqlUuid>, _>(messages);
    let held = held.load::<(Uuid, Uuid, String)>(&mut db).await?;
    held.into_iter()
        .map(|(message, agent, by)| Ok(((message, agent), row::word(&by, HeldBy::parse)?)))
        .collect()
}

const RELEASE_HOPS: &str = "UPDATE holds SET allowed = greatest(coalesce(allowed, 0), ? + bound), held_at = NULL, \
     noticed_at = NULL WHERE subject_id = ANY(?) AND held_by = ?";

/// The first of those that are released.
const RELEASE_TREE: &str = "UPDATE holds SET allowed = least(greatest(coalesce(allowed, 0), bound)::bigint + bound, \
     2000000000)::integer, held_at = NULL, noticed_at = NULL \
     WHERE subject_id = ANY(?) AND held_by = ? AND held_at IS NOT NULL";

/// What follows from a released text that begins a tree, whose hold was recorded for another subject.
const ALLOW_OWN_TREE: &str = "INSERT INTO holds (subject_id, held_by, chat_id, message_id, bound, allowed) \
     SELECT ?, held_by, ?, ?, bound, ? + bound FROM holds WHERE subject_id = ? AND held_by = ? \
     ON CONFLICT (subject_id, held_by) DO UPDATE \
     SET allowed = greatest(coalesce(holds.allowed, 0), excluded.allowed)";

const END: &str =
    "UPDATE holds SET held_at = NULL, noticed_at = NULL WHERE subject_id = ANY(?) AND held_by = ?";

/// Ends what is recorded for a message whose delivery was changed.
pub(crate) async fn end_on(mut db: &Db, message: &Message, ended: EndedHold) -> Result<(), Fault> {
    let EndedHold { by, is_released } = ended;
    let (subject, hop) = (message.hold_subject().uuid(), column(message.place().counted_hop()));
    let release = match by {
        _ if !is_released => statement::<()>(END),
        HeldBy::MaxHops => statement::<()>(RELEASE_HOPS).bind::<Integer, _>(hop),
        HeldBy::MaxTreeMessages | HeldBy::MaxPairMessages => statement::<()>(RELEASE_TREE),
        HeldBy::Foreign => statement::<()>(END),
        // Budgets are released on their own.
        _ => return Ok(()),
    };
    let subjects = match by {
        HeldBy::MaxPairMessages => message.pairs().map(|pair| pair.subject().uuid()).collect(),
        HeldBy::MaxHops | HeldBy::MaxTreeMessages => vec![subject],
        HeldBy::Foreign => vec![message.origin_subject().uuid()],
        _ => return Ok(()),
    };
    release.bind::<Array<SqlUuid>, _>(subjects).bind::<Text, _>(by.as_str()).execute(&mut db).await?;
    if is_released && by == HeldBy::MaxHops && message.place().root.uuid() != subject {
        statement::<()>(ALLOW_OWN_TREE)
            .bind::<SqlUuid, _>(message.id.uuid())
            .bind::<SqlUuid, _>(message.chat_id.uuid())
            .bind::<SqlUuid, _>(message.id.uuid())
            .bind::<Integer, _>(hop)
            .bind::<SqlUuid, _>(subject)
            .bind::<Text, _>(by.as_str())
            .execute(&mut db)
            .await?;
    }
    Ok(())
}

const DUE: &str = "SELECT subject_id, held_by, bound, chat_id, message_id FROM holds \
     WHERE held_at IS NOT NULL AND noticed_at IS NULL ORDER BY held_at, subject_id LIMIT ?";

pub(super) async fn due_on(mut db: &Db, limit: u32) -> Result<Vec<DueHold>, Fault> {
    let rows = statement::<(SqlUuid, Text, Integer, SqlUuid, SqlUuid)>(DUE)
        .bind::<BigInt, _>(i64::from(limit))
        .load::<(Uuid, String, i32, Uuid, Uuid)>(&mut db)
        .await?;
    let due = |(subject, held_by, bound, chat, message): (Uuid, String, i32, Uuid, Uuid)| {
        Ok(DueHold {
            subject: SubjectId::new(subject),
            held_by: row::word(&held_by, HeldBy::parse)?,
            bound: bound.cast_unsigned().into(),
            is_warning: false,
            chat: ChatId::new(chat),
            message: MessageId::new(message),
        })
    };
    let mut all = rows.into_iter().map(due).collect::<Result<Vec<_>, Fault>>()?;
    all.extend(budget::due_on(db, limit).await?);
    Ok(all)
}

pub(super) async fn notice_on(db: &Db, command: &NoticeHold) -> Result<NoticeOutcome, Fault> {
    let due = command.due;
    let chat = locked_chat_on(db, due.chat).await?;
    let is_marked = if due.held_by.budget().is_some() {
        budget::notice_on(db, &due, command.now).await?
    } else {
        mark_on(db, &due, command.now).await?
    };
    if !is_marked {
        return Ok(NoticeOutcome::Gone);
    }
    let Some(message) = message_on(db, due.chat, due.message).await? else {
        return Ok(NoticeOutcome::Settled);
    };
    if chat.is_none() {
        return Ok(NoticeOutcome::Settled);
    }
    let participants = participants_on(db, due.chat, None).await?;
    let Some(event) = command.event(&message, &participants) else { return Ok(NoticeOutcome::Settled) };
    match append_on(db, event).await? {
        Ok(appended) => {
            attention::name_hold_on(db, appended.message.id, due.subject, due.held_by).await?;
            Ok(NoticeOutcome::Posted(Box::new(appended.message)))
        }
        // It is not tried again, so that no other is held up.
        Err(_) => Ok(NoticeOutcome::Settled),
    }
}

/// Marks that the humans are told of a hold; `false` if they were told before.
async fn mark_on(mut db: &Db, due: &DueHold, now: Timestamp) -> Result<bool, Fault> {
    let unnoticed = holds::table
        .find((due.subject.uuid(), due.held_by.as_str()))
        .filter(holds::held_at.is_not_null())
        .filter(holds::noticed_at.is_null());
    Ok(diesel::update(unnoticed).set(holds::noticed_at.eq(At(now))).execute(&mut db).await? > 0)
}

#[cfg(test)]
mod tests {
    use domain::message::PAIR_WINDOW;

    use super::*;

    #[test]
    fn a_pair_is_held_as_long_as_the_rule_says() {
        let window = format!("interval '{} seconds'", PAIR_WINDOW.as_secs());
        let word = HeldBy::MaxPairMessages.as_str();
        assert!([HELD, on_conflict!()].iter().all(|text| text.contains(&window) && text.contains(word)));
        let is_of_tree = |by: &HeldBy| *by != HeldBy::Foreign && by.budget().is_none();
        let mut limits = HeldBy::ALL.into_iter().filter(is_of_tree);
        assert!(limits.all(|by| HELD.contains(&format!("'{}'", by.as_str()))));
    }
}
