//! Retention: erases messages and attempts that are too old.

use std::collections::btree_map::{BTreeMap, Entry};

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use diesel::sqlite::SqliteConnection;
use domain::id::{ChatId, MessageId};
use domain::message::retention::ATTEMPTS_A_STEP;
use domain::message::{EraseOld, ErasedOld, MessageKind};

use super::load::RECORDS;
use crate::attention;
use crate::error::Fault;
use crate::file;
use crate::legal_hold;
use crate::row::{self, Id};
use crate::schema::{chats, messages};
use crate::search;
use crate::statement::statement;

/// The bytes of a message that count towards a plan, as in [`domain::message::Message::bytes`].
const BYTES: &str = "octet_length(content) + coalesce(octet_length(metadata), 0)";

pub(super) fn erase_old_on(connection: &mut SqliteConnection, step: EraseOld) -> Result<ErasedOld, Fault> {
    let mut next = messages::table.filter(messages::id.lt(row::bytes(step.before.uuid()))).into_boxed();
    if let Some(after) = step.after {
        next = next.filter(messages::id.gt(row::bytes(after.uuid())));
    }
    let rows = next
        .order(messages::id)
        .limit(i64::from(step.limit))
        .select((
            messages::id,
            messages::chat_id,
            messages::sequence,
            messages::mentions,
            messages::kind,
            sql::<BigInt>(BYTES),
        ))
        .load::<(Id, Id, i64, String, String, i64)>(connection)?;
    let last = rows.last().map(|(id, ..)| MessageId::new(id.0));
    let (mut old, mut records, mut chats) = (Vec::new(), Vec::new(), BTreeMap::<Id, (i64, i64)>::new());
    let (mut kept, mut holds) = (false, BTreeMap::new());
    for (id, chat, sequence, mentions, kind, bytes) in rows {
        if step.which.includes(row::word(&kind, MessageKind::parse)?) {
            let is_kept = match holds.entry(chat) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(new) => {
                    *new.insert(legal_hold::keeps_chat_on(connection, ChatId::new(chat.0))?)
                }
            };
            if is_kept {
                kept = true;
                continue;
            }
            old.push(id);
            records.push((chat.hex(), sequence, mentions));
            let gone = chats.entry(chat).or_default();
            *gone = (gone.0 + 1, gone.1 + bytes);
        }
    }
    let erased = old.len() as u64;
    if erased > 0 {
        let records = row::to_json(&records)?;
        if erase_attempts_on(connection, &records)? == ATTEMPTS_A_STEP as usize {
            return Ok(ErasedOld::attempts_only(step));
        }
        statement!(
            RECORDS,
            "DELETE FROM deliveries WHERE (agent_id, chat_id, sequence) IN (\
             SELECT agent_id, chat_id, sequence FROM record)"
        )
        .bind::<Text, _>(&records)
        .execute(connection)?;
        file::detach_on(connection, &old, step.now.plus(step.unattached))?;
        diesel::delete(messages::table.filter(messages::id.eq_any(&old))).execute(connection)?;
        attention::erase_on(connection, &old)?;
        search::erase_listed_on(connection, &records)?;
        let titled =
            chats::table.filter(chats::id.eq_any(chats.keys())).filter(chats::titled_by.eq_any(&old));
        diesel::update(titled).set(chats::title.eq(None::<String>)).execute(connection)?;
    }
    for (chat, (number, bytes)) in chats {
        diesel::update(chats::table.find(chat))
            .set((
                chats::deleted_messages.eq(chats::deleted_messages + number),
                chats::content_bytes.eq(chats::content_bytes - bytes),
            ))
            .execute(connection)?;
    }
    Ok(ErasedOld { last, erased, kept })
}

/// Erases earlier attempts of these records, up to the limit of a step; returns their number.
fn erase_attempts_on(connection: &mut SqliteConnection, records: &str) -> Result<usize, Fault> {
    let some = statement!(
        RECORDS,
        "DELETE FROM attempts WHERE (agent_id, chat_id, sequence, number) IN (\
         SELECT agent_id, chat_id, sequence, number \
         FROM record CROSS JOIN attempts USING (agent_id, chat_id, sequence) LIMIT ?)"
    );
    let some = some.bind::<Text, _>(records).bind::<BigInt, _>(i64::from(ATTEMPTS_A_STEP));
    Ok(some.execute(connection)?)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use diesel::connection::SimpleConnection;
    use diesel::prelude::*;
    use domain::id::ParticipantId;
    use domain::message::{Ageing, Retention};
    use domain::ports::Clock;
    use testkit::{Stores, World};

    use crate::schema::{attempts, deliveries};
    use crate::{Location, SqliteStore};

    #[tokio::test]
    async fn any_number_of_attempts_is_erased_in_slices() {
        let store = Arc::new(SqliteStore::open(&Location::Memory).unwrap());
        let world = World::on(Stores::of(&store, SqliteStore::close));
        let ann = world.user("ann").await;
        let bot = world.agent(&ann, "Bot").await;
        let chat = world.chat(ann.caller, &[bot.id.into()]).await;
        world.send(ann.caller, chat, "old", &[ParticipantId::Agent(bot.id)]).await;
        let many = "INSERT INTO attempts (agent_id, chat_id, sequence, number, started_at, completed_at) \
             WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers LIMIT 12000) \
             SELECT agent_id, chat_id, sequence, number, 1, 1 FROM deliveries, numbers; \
             UPDATE deliveries SET current_attempt = 12001, started_at = 1, processed_at = 1";
        store.alter(move |connection| Ok(connection.batch_execute(many)?)).await.unwrap();
        world.clock.advance(Duration::from_secs(3 * 24 * 60 * 60));
        let mut walk = Retention::days(Ageing::Texts, 2);
        let mut erased = Vec::new();
        while let Some(some) = world.messages.erase_old(&mut walk, world.clock.now()).await.unwrap() {
            let left = store.read(|connection| {
                let records = deliveries::table.count().get_result::<i64>(connection)?;
                Ok((records, attempts::table.count().get_result::<i64>(connection)?))
            });
            erased.push((some, left.await.unwrap()));
        }
        assert_eq!(erased, [(0, (1, 7000)), (0, (1, 2000)), (1, (0, 0))]);
    }
}
