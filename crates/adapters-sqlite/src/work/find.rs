//! Reads items by their keys, and one by its message and agent.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Bool, Nullable, Text};
use diesel::sqlite::SqliteConnection;
use domain::organization::NotAdmin;
use domain::page::fitting;
use domain::work::{FindWork, SHOWN_TEXT_CHARS, WorkItem, WorkScope};

use super::check_on;
use super::row::{ItemRow, account, authority, organization, reader};
use crate::control::row::STOPPED_AND_PAUSED;
use crate::error::Fault;
use crate::message::load::{ERROR, RecordColumns, RecordKey, earlier_on, error_bytes};
use crate::message::row::DeliveryRow;
use crate::row::{self, Id};
use crate::statement::statement;

/// The SQL types of an [`ItemRow`].
type ItemColumns = (
    RecordColumns,
    Text,
    Text,
    Text,
    Nullable<BigInt>,
    Nullable<Text>,
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
    Nullable<BigInt>,
    Text,
    Text,
    Bool,
    Bool,
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
    let keys = key_on(connection, wanted)?;
    Ok(Ok(items_on(connection, wanted.scope, keys.as_slice(), usize::MAX)?.0.pop()))
}

/// The key of an item of the scope, whose message is in a chat of which its agent is a participant.
pub(super) fn key_on(
    connection: &mut SqliteConnection,
    wanted: FindWork,
) -> Result<Option<RecordKey>, Fault> {
    let agent = Id(wanted.agent.uuid());
    let mut key = diesel::sql_query(format!(
        "SELECT messages.chat_id AS chat_id, messages.sequence AS sequence FROM messages \
         CROSS JOIN participants ON participants.chat_id = messages.chat_id AND participants.participant_id = ? \
             AND participants.left_at IS NULL \
         CROSS JOIN chats ON chats.id = messages.chat_id AND chats.deleted_at IS NULL \
         WHERE messages.id = ? AND {}",
        authority(wanted.scope),
    ))
    .into_boxed()
    .bind::<Binary, _>(agent)
    .bind::<Binary, _>(Id(wanted.message.uuid()));
    if let Some(account) = account(wanted.scope) {
        key = key.bind::<Binary, _>(account);
    }
    let found = key.bind::<Binary, _>(agent).load::<Found>(connection)?;
    Ok(found.first().map(|found| (agent.0, found.chat_id.0, found.sequence)))
}

/// The items with these keys, in this order, without those at the end that would exceed `budget`;
/// returns whether there were any.
pub(super) fn items_on(
    connection: &mut SqliteConnection,
    scope: WorkScope,
    keys: &[RecordKey],
    budget: usize,
) -> Result<(Vec<WorkItem>, bool), Fault> {
    if keys.is_empty() {
        return Ok((Vec::new(), false));
    }
    let list = keys.iter().map(|(agent, chat, sequence)| (Id(*agent).hex(), Id(*chat).hex(), sequence));
    let rows = statement!(
        "SELECT ", DeliveryRow::COLUMNS, ", ", ERROR, ", ", ItemRow::COLUMNS, ", ", STOPPED_AND_PAUSED, " FROM json_each(?) AS wanted \
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
    let retried = rows.iter().filter_map(|row| Some((row.key(), row.earlier_after()?))).collect::<Vec<_>>();
    let mut earlier = earlier_on(connection, &retried)?;
    let items = rows.into_iter().map(|row| {
        let attempts = earlier.remove(&row.key()).unwrap_or_default();
        row.into_item(scope, attempts)
    });
    Ok((items.collect::<Result<_, _>>()?, cut))
}
