//! Retention: erases messages and attempts that are too old.

use std::collections::HashMap;

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool};
use diesel::sqlite::SqliteConnection;
use domain::message::retention::ATTEMPTS_A_STEP;
use domain::message::{EraseOld, ErasedOld, MessageKind};

use crate::error::Fault;
use crate::row;
use crate::schema::{attempts, chats, deliveries, messages};

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
        .select((messages::id, messages::chat_id, messages::kind, sql::<BigInt>(BYTES)))
        .load::<(Vec<u8>, Vec<u8>, String, i64)>(connection)?;
    let last = rows.last().map(|(id, ..)| row::message_id(id)).transpose()?;
    let (mut old, mut rooms) = (Vec::new(), HashMap::<Vec<u8>, (i64, i64)>::new());
    for (id, chat, kind, bytes) in rows {
        if step.which.includes(row::word(&kind, MessageKind::parse)?) {
            old.push(id);
            let gone = rooms.entry(chat).or_default();
            *gone = (gone.0 + 1, gone.1 + bytes);
        }
    }
    let erased = old.len() as u64;
    if erased > 0 {
        if erase_attempts_on(connection, &old)? == i64::from(ATTEMPTS_A_STEP) {
            return Ok(ErasedOld::attempts_only(step));
        }
        diesel::delete(attempts::table.filter(attempts::message_id.eq_any(&old))).execute(connection)?;
        diesel::delete(deliveries::table.filter(deliveries::message_id.eq_any(&old))).execute(connection)?;
        diesel::delete(messages::table.filter(messages::id.eq_any(&old))).execute(connection)?;
        let titled =
            chats::table.filter(chats::id.eq_any(rooms.keys())).filter(chats::titled_by.eq_any(&old));
        diesel::update(titled).set(chats::title.eq(None::<String>)).execute(connection)?;
    }
    for (chat, (number, bytes)) in rooms {
        diesel::update(chats::table.find(chat))
            .set((
                chats::deleted_messages.eq(chats::deleted_messages + number),
                chats::content_bytes.eq(chats::content_bytes - bytes),
            ))
            .execute(connection)?;
    }
    Ok(ErasedOld { last, erased })
}

/// The condition that an attempt is not the newest of its delivery, which carries the state.
const HAS_NEWER: &str = "EXISTS (SELECT 1 FROM attempts AS newer WHERE newer.message_id = attempts.message_id \
     AND newer.agent_id = attempts.agent_id AND newer.number > attempts.number)";

/// Erases attempts of the messages, up to the limit of a step, except the newest of each delivery;
/// returns their number.
fn erase_attempts_on(connection: &mut SqliteConnection, messages: &[Vec<u8>]) -> Result<i64, Fault> {
    let some = attempts::table
        .filter(attempts::message_id.eq_any(messages))
        .filter(sql::<Bool>(HAS_NEWER))
        .order((attempts::message_id, attempts::agent_id, attempts::number))
        .limit(i64::from(ATTEMPTS_A_STEP))
        .select((attempts::message_id, attempts::agent_id, attempts::number))
        .load::<(Vec<u8>, Vec<u8>, i32)>(connection)?;
    let (mut last, mut number) = (HashMap::new(), 0);
    for (message, agent, attempt) in some {
        last.insert((message, agent), attempt);
        number += 1;
    }
    for ((message, agent), attempt) in last {
        let of_agent = attempts::message_id.eq(message).and(attempts::agent_id.eq(agent));
        let these = attempts::table.filter(of_agent.and(attempts::number.le(attempt)));
        diesel::delete(these).execute(connection)?;
    }
    Ok(number)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::time::Duration;

    use diesel::connection::SimpleConnection;
    use diesel::prelude::*;
    use domain::id::ParticipantId;
    use domain::message::{Ageing, Retention};
    use domain::ports::Clock;
    use testkit::{Stores, World};

    use crate::schema::attempts;
    use crate::{Location, SqliteStore};

    #[tokio::test]
    async fn any_number_of_attempts_is_erased_in_slices() {
        let store = Arc::new(SqliteStore::open(&Location::Memory).unwrap());
        let world = World::on(Stores::of(&store, SqliteStore::close));
        let ann = world.user("ann").await;
        let bot = world.agent(&ann, "Bot").await;
        let room = world.chat(ann.caller, &[bot.id.into()]).await;
        world.send(ann.caller, room, "old", &[ParticipantId::Agent(bot.id)]).await;
        let many = "INSERT INTO attempts (message_id, agent_id, number, status, started_at) \
             WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers LIMIT 12000) \
             SELECT message_id, agent_id, number, 'failed', 1 FROM deliveries, numbers";
        let made =
            store.change(move |connection| Ok(Ok::<_, Infallible>(connection.batch_execute(many)?)), |()| ());
        let Ok(()) = made.await.unwrap();
        world.clock.advance(Duration::from_secs(3 * 24 * 60 * 60));
        let mut walk = Retention::days(Ageing::Texts, 2);
        let mut erased = Vec::new();
        while let Some(some) = world.messages.erase_old(&mut walk, world.clock.now()).await.unwrap() {
            let newest = store.change(
                |connection| {
                    let newest = attempts::table.filter(attempts::number.eq(12_000)).count();
                    Ok(Ok::<_, Infallible>(newest.get_result::<i64>(connection)?))
                },
                |_| (),
            );
            let Ok(newest) = newest.await.unwrap();
            assert_eq!(newest + i64::try_from(some).unwrap(), 1, "the newest goes with its message");
            erased.push(some);
        }
        assert_eq!(erased, [0, 0, 1]);
    }
}
