//! Reads items by their keys, and one by its message and agent.

use diesel::sql_types::{BigInt, Bool, Integer, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::organization::NotAdmin;
use domain::page::fitting;
use domain::work::{FindWork, SHOWN_TEXT_CHARS, WorkItem, WorkScope};
use uuid::Uuid;

use super::check_on;
use super::row::{ItemRow, account, authority, organization, reader};
use crate::control::row::STOPPED_AND_PAUSED;
use crate::error::Fault;
use crate::message::load::{RecordColumns, earlier_on, record_columns};
use crate::message::record_key::{RecordKey, RecordKeys};
use crate::row::Id;
use crate::run::Db;
use crate::statement::statement;

/// The SQL types of an [`ItemRow`].
type ItemColumns = (
    RecordColumns,
    Text,
    Text,
    Text,
    Nullable<Timestamptz>,
    Nullable<Text>,
    SqlUuid,
    Nullable<Text>,
    Bool,
    Bool,
    SqlUuid,
    BigInt,
    SqlUuid,
    Text,
    Text,
    Timestamptz,
    Nullable<Timestamptz>,
    Text,
    Text,
    Bool,
    Bool,
);

pub(super) async fn find_on(db: &Db, wanted: FindWork) -> Result<Result<Option<WorkItem>, NotAdmin>, Fault> {
    if let Err(refused) = check_on(db, wanted.scope).await? {
        return Ok(Err(refused));
    }
    let keys = key_on(db, wanted).await?.into_iter().collect();
    Ok(Ok(items_on(db, wanted.scope, keys, usize::MAX).await?.0.pop()))
}

/// The key of an item of the scope, whose message is in a chat of which its agent is a participant.
pub(super) async fn key_on(mut db: &Db, wanted: FindWork) -> Result<Option<RecordKey>, Fault> {
    let mut key = statement::<(SqlUuid, BigInt)>(format!(
        "SELECT messages.chat_id, messages.sequence FROM messages \
         JOIN participants ON participants.chat_id = messages.chat_id AND participants.participant_id = ? \
             AND participants.left_at IS NULL \
         JOIN chats ON chats.id = messages.chat_id AND chats.deleted_at IS NULL \
         WHERE messages.id = ? AND {}",
        authority(wanted.scope),
    ))
    .bind::<SqlUuid, _>(wanted.agent.uuid())
    .bind::<SqlUuid, _>(wanted.message.uuid());
    if let Some(Id(account)) = account(wanted.scope) {
        key = key.bind::<SqlUuid, _>(account);
    }
    let found = key.bind::<SqlUuid, _>(wanted.agent.uuid()).load::<(Uuid, i64)>(&mut db).await?;
    Ok(found.into_iter().next().map(|(chat, sequence)| (wanted.agent.uuid(), chat, sequence)))
}

/// The items with these keys, in this order, without those at the end that would exceed `budget`;
/// returns whether there were any.
pub(super) async fn items_on(
    mut db: &Db,
    scope: WorkScope,
    keys: Vec<RecordKey>,
    budget: usize,
) -> Result<(Vec<WorkItem>, bool), Fault> {
    if keys.is_empty() {
        return Ok((Vec::new(), false));
    }
    let keys = keys.into_iter().collect::<RecordKeys>();
    let rows = statement::<ItemColumns>(format!(
        "SELECT {}, {}, {} FROM unnest(?, ?, ?) WITH ORDINALITY AS wanted (agent_id, chat_id, sequence, ordinal) \
         CROSS JOIN LATERAL (SELECT * FROM deliveries WHERE deliveries.agent_id = wanted.agent_id \
             AND deliveries.chat_id = wanted.chat_id AND deliveries.sequence = wanted.sequence OFFSET 0) AS deliveries \
         CROSS JOIN LATERAL (SELECT * FROM agents WHERE agents.id = wanted.agent_id OFFSET 0) AS agents \
         CROSS JOIN LATERAL (SELECT * FROM chats WHERE chats.id = wanted.chat_id OFFSET 0) AS chats \
         CROSS JOIN LATERAL (SELECT * FROM messages WHERE messages.chat_id = wanted.chat_id \
             AND messages.sequence = wanted.sequence OFFSET 0) AS messages \
         ORDER BY wanted.ordinal",
        record_columns(),
        ItemRow::COLUMNS,
        STOPPED_AND_PAUSED,
    ));
    let rows = rows
        .bind::<SqlUuid, _>(reader(scope).0)
        .bind::<SqlUuid, _>(organization(scope).0)
        .bind::<Integer, _>(i32::try_from(SHOWN_TEXT_CHARS).unwrap_or(0));
    let mut rows = keys.bind(rows).load::<ItemRow>(&mut db).await?;
    let read = rows.len();
    rows.truncate(fitting(budget, rows.iter().map(ItemRow::weight)));
    let cut = rows.len() < read;
    let retried = rows.iter().filter_map(|row| Some((row.key(), row.earlier_after()?)));
    let mut earlier = earlier_on(db, retried).await?;
    let items = rows.into_iter().map(|row| {
        let attempts = earlier.remove(&row.key()).unwrap_or_default();
        row.into_item(scope, attempts)
    });
    Ok((items.collect::<Result<_, _>>()?, cut))
}
