//! Reads items by their keys, and one by its message and agent.

use std::collections::BTreeMap;

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Bool, Integer, Nullable, Text};
use diesel::sqlite::SqliteConnection;
use domain::delivery::{Attempt, SHOWN_ATTEMPTS, shown_error};
use domain::organization::NotAdmin;
use domain::page::fitting;
use domain::work::{FindWork, SHOWN_TEXT_CHARS, WorkItem, WorkScope};

use super::check_on;
use super::row::{ItemRow, account, agents, organization, reader};
use crate::error::Fault;
use crate::message::load::{ERROR, RecordColumns, error_bytes};
use crate::message::row::{DeliveryRow, stored_attempt};
use crate::row::{self, At, Id};
use crate::statement::statement;

/// The key of an item: agent, chat, and sequence.
pub(super) type Key = (Id, Id, i64);

/// The SQL types of an [`ItemRow`].
type ItemColumns = (
    RecordColumns,
    Text,
    Text,
    Text,
    Binary,
    Nullable<Text>,
    Bool,
    Bool,
    Binary,
    BigInt,
    Binary,
    Text,
    Text,
    BigInt,
    Text,
);

#[derive(QueryableByName)]
struct Found {
    #[diesel(sql_type = Binary)]
    chat_id: Id,
    #[diesel(sql_type = BigInt)]
    sequence: i64,
}

pub(super) fn find_on(
    connection: &mut SqliteConnection,
    wanted: FindWork,
) -> Result<Result<Option<WorkItem>, NotAdmin>, Fault> {
    if let Err(refused) = check_on(connection, wanted.scope)? {
        return Ok(Err(refused));
    }
    // The agent is one of the scope, and the message is of a chat of which it is a participant.
    let agent = Id(wanted.agent.uuid());
    let mut key = diesel::sql_query(format!(
        "SELECT messages.chat_id AS chat_id, messages.sequence AS sequence FROM messages \
         CROSS JOIN participants ON participants.chat_id = messages.chat_id AND participants.participant_id = ? \
             AND participants.left_at IS NULL \
         CROSS JOIN chats ON chats.id = messages.chat_id AND chats.deleted_at IS NULL \
         WHERE messages.id = ? AND participants.participant_id IN (SELECT agents.id {} AND agents.id = ?)",
        agents(wanted.scope),
    ))
    .into_boxed()
    .bind::<Binary, _>(agent)
    .bind::<Binary, _>(Id(wanted.message.uuid()));
    if let Some(account) = account(wanted.scope) {
        key = key.bind::<Binary, _>(account);
    }
    let found = key.bind::<Binary, _>(agent).load::<Found>(connection)?;
    let keys = found.into_iter().map(|found| (agent, found.chat_id, found.sequence)).collect::<Vec<_>>();
    Ok(Ok(items_on(connection, wanted.scope, &keys, usize::MAX)?.0.pop()))
}

/// The items with these keys, in this order, without those at the end that would exceed `budget`;
/// returns whether there were any.
pub(super) fn items_on(
    connection: &mut SqliteConnection,
    scope: WorkScope,
    keys: &[Key],
    budget: usize,
) -> Result<(Vec<WorkItem>, bool), Fault> {
    if keys.is_empty() {
        return Ok((Vec::new(), false));
    }
    let list = keys.iter().map(|(agent, chat, sequence)| (agent.hex(), chat.hex(), sequence));
    let rows = statement!(
        "SELECT ", DeliveryRow::COLUMNS, ", ", ERROR, ", ", ItemRow::COLUMNS, " FROM json_each(?) AS wanted \
         CROSS JOIN deliveries ON deliveries.agent_id = unhex(wanted.value ->> 0) \
             AND deliveries.chat_id = unhex(wanted.value ->> 1) AND deliveries.sequence = wanted.value ->> 2 \
         CROSS JOIN agents ON agents.id = deliveries.agent_id CROSS JOIN chats ON chats.id = deliveries.chat_id \
         CROSS JOIN messages INDEXED BY messages_order ON messages.chat_id = deliveries.chat_id \
             AND messages.sequence = deliveries.sequence ORDER BY wanted.key" => ItemColumns
    );
    let mut rows = rows
        .bind::<BigInt, _>(error_bytes())
        .bind::<Binary, _>(reader(scope))
        .bind::<Binary, _>(organization(scope))
        .bind::<BigInt, _>(i64::from(SHOWN_TEXT_CHARS))
        .bind::<Text, _>(row::to_json(&list.collect::<Vec<_>>())?)
        .load::<ItemRow>(connection)?;
    let read = rows.len();
    rows.truncate(fitting(budget, rows.iter().map(ItemRow::weight)));
    let cut = rows.len() < read;
    let mut earlier = earlier_on(connection, rows.iter().filter(|row| row.has_earlier()))?;
    let items = rows.into_iter().map(|row| {
        let attempts = earlier.remove(&row.key()).unwrap_or_default();
        row.into_item(scope, attempts)
    });
    Ok((items.collect::<Result<_, _>>()?, cut))
}

/// The earlier attempts to show of these rows, oldest first.
fn earlier_on<'r>(
    connection: &mut SqliteConnection,
    rows: impl Iterator<Item = &'r ItemRow>,
) -> Result<BTreeMap<Key, Vec<Attempt>>, Fault> {
    let keys = rows.map(ItemRow::key).map(|(agent, chat, sequence)| (agent.hex(), chat.hex(), sequence));
    let keys = keys.collect::<Vec<_>>();
    let mut earlier = BTreeMap::<Key, Vec<Attempt>>::new();
    if keys.is_empty() {
        return Ok(earlier);
    }
    let found = statement!(
        "SELECT attempts.agent_id, attempts.chat_id, attempts.sequence, number, attempts.started_at, completed_at, \
             substr(CAST(attempts.error AS BLOB), 1, ?) FROM json_each(?) AS wanted \
         CROSS JOIN deliveries ON deliveries.agent_id = unhex(wanted.value ->> 0) \
             AND deliveries.chat_id = unhex(wanted.value ->> 1) AND deliveries.sequence = wanted.value ->> 2 \
         CROSS JOIN attempts ON attempts.agent_id = deliveries.agent_id AND attempts.chat_id = deliveries.chat_id \
             AND attempts.sequence = deliveries.sequence AND number > current_attempt - ? ORDER BY number"
        => (Binary, Binary, BigInt, Integer, BigInt, BigInt, Nullable<Binary>)
    );
    let found = found
        .bind::<BigInt, _>(error_bytes())
        .bind::<Text, _>(row::to_json(&keys)?)
        .bind::<BigInt, _>(i64::from(SHOWN_ATTEMPTS))
        .load::<(Id, Id, i64, i32, At, At, Option<Vec<u8>>)>(connection)?;
    for (agent, chat, sequence, number, At(started_at), At(completed_at), error) in found {
        let attempt = stored_attempt(number, started_at, completed_at, error.map(shown_error))?;
        earlier.entry((agent, chat, sequence)).or_default().push(attempt);
    }
    Ok(earlier)
}
