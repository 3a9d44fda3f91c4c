//! Erasing what is too old.

use std::collections::HashMap;

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::message::{EraseOld, ErasedOld, MessageKind};

use crate::error::Fault;
use crate::row;
use crate::schema::{attempts, chats, deliveries, messages};

pub(super) fn erase_old_on(connection: &mut SqliteConnection, step: EraseOld) -> Result<ErasedOld, Fault> {
    let mut next = messages::table.filter(messages::id.lt(row::bytes(step.before.uuid()))).into_boxed();
    if let Some(after) = step.after {
        next = next.filter(messages::id.gt(row::bytes(after.uuid())));
    }
    let rows = next
        .order(messages::id)
        .limit(i64::from(step.limit))
        .select((messages::id, messages::chat_id, messages::kind))
        .load::<(Vec<u8>, Vec<u8>, String)>(connection)?;
    let last = rows.last().map(|(id, ..)| row::message_id(id)).transpose()?;
    let (mut old, mut rooms) = (Vec::new(), HashMap::<Vec<u8>, i64>::new());
    for (id, chat, kind) in rows {
        if step.which.includes(row::word(&kind, MessageKind::parse)?) {
            old.push(id);
            *rooms.entry(chat).or_default() += 1;
        }
    }
    let erased = old.len() as u64;
    if erased > 0 {
        diesel::delete(attempts::table.filter(attempts::message_id.eq_any(&old))).execute(connection)?;
        diesel::delete(deliveries::table.filter(deliveries::message_id.eq_any(&old))).execute(connection)?;
        diesel::delete(messages::table.filter(messages::id.eq_any(&old))).execute(connection)?;
    }
    for (chat, number) in rooms {
        diesel::update(chats::table.find(chat))
            .set(chats::deleted_messages.eq(chats::deleted_messages + number))
            .execute(connection)?;
    }
    Ok(ErasedOld { last, erased })
}
