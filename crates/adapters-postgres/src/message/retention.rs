//! Retention: erases messages and attempts that are too old.

use std::collections::BTreeSet;

use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::id::{ChatId, MessageId};
use domain::message::retention::ATTEMPTS_A_STEP;
use domain::message::{EraseOld, ErasedOld, MessageKind};
use domain::time::Timestamp;
use uuid::Uuid;

use super::erase;
use super::record_key::RecordKeys;
use crate::error::Fault;
use crate::run::{Db, execute};
use crate::schema::{chats, messages};
use crate::statement::statement;
use crate::{attention, file, legal_hold, lock, row, search};

/// Erases messages, and updates the counts of their chats; bytes are those of
/// [`domain::message::Message::bytes`].
const ERASE: &str = "WITH gone AS (DELETE FROM messages WHERE id = ANY(?) \
         RETURNING chat_id, octet_length(content) + coalesce(octet_length(metadata), 0) AS bytes), \
     counted AS (UPDATE chats SET deleted_messages = deleted_messages + less.number, \
         content_bytes = content_bytes - less.bytes \
         FROM (SELECT chat_id, count(*) AS number, sum(bytes) AS bytes FROM gone GROUP BY chat_id) AS less \
         WHERE chats.id = less.chat_id) \
     SELECT count(*) FROM gone";

pub(super) async fn erase_old_on(mut db: &Db, step: &EraseOld) -> Result<ErasedOld, Fault> {
    let mut next = messages::table.filter(messages::id.lt(step.before.uuid())).into_boxed();
    if let Some(after) = step.after {
        next = next.filter(messages::id.gt(after.uuid()));
    }
    let rows = next
        .order(messages::id)
        .limit(i64::from(step.limit))
        .select((messages::id, messages::chat_id, messages::kind))
        .load::<(Uuid, Uuid, String)>(&mut db)
        .await?;
    let last = rows.last().map(|(id, ..)| MessageId::new(*id));
    let held = legal_hold::kept_of_on(db, rows.iter().map(|(_, chat, _)| *chat).collect()).await?;
    let (mut old, mut chats, mut kept) = (Vec::new(), BTreeSet::new(), false);
    for (id, chat, kind) in rows {
        if step.which.includes(row::word(&kind, MessageKind::parse)?) {
            if held.contains(&chat) {
                kept = true;
                continue;
            }
            old.push(MessageId::new(id));
            chats.insert(ChatId::new(chat));
        }
    }
    if old.is_empty() {
        return Ok(ErasedOld { last, erased: 0, kept });
    }
    let records = RecordKeys::of_messages_on(db, &old).await?;
    if records.erase_attempts_on(db, i64::from(ATTEMPTS_A_STEP)).await? == ATTEMPTS_A_STEP as usize {
        return Ok(ErasedOld::attempts_only(*step));
    }
    let erased = erase_on(db, &chats, &old, step.now.plus(step.unattached)).await?;
    Ok(ErasedOld { last, erased, kept })
}

/// Those of the messages that still exist after their chats are locked. There can be many chats: if
/// one of them is locked by another transaction, all are released, and the step is retried later.
async fn erase_on(
    mut db: &Db,
    chats: &BTreeSet<ChatId>,
    old: &[MessageId],
    expiry: Timestamp,
) -> Result<u64, Fault> {
    execute(db, "SET LOCAL lock_timeout = 100").await?;
    lock::chats_on(db, chats.iter().copied()).await?;
    lock::messages_on(db, old.iter().copied()).await?;
    erase::records_on(db, old).await?;
    search::erase_of_messages_on(db, chats.iter().copied(), old).await?;
    let old = old.iter().map(|message| message.uuid()).collect::<Vec<_>>();
    file::detach_on(db, old.clone(), expiry).await?;
    attention::erase_on(db, old.clone()).await?;
    let erased =
        statement::<BigInt>(ERASE).bind::<Array<SqlUuid>, _>(old.clone()).get_result::<i64>(&mut db).await?;
    let chats = chats.iter().map(|chat| chat.uuid());
    let titled = chats::table.filter(chats::id.eq_any(chats)).filter(chats::titled_by.eq_any(&old));
    diesel::update(titled).set(chats::title.eq(None::<String>)).execute(&mut db).await?;
    Ok(erased.cast_unsigned())
}
