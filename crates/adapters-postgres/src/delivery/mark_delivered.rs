//! Storing the acknowledgements of sockets.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use diesel::sql_types::{Array, BigInt, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::delivery::{DeliveryKey, HasHumanSubscribers};
use domain::id::{ChatId, MessageId};
use domain::message::Message;
use domain::time::Timestamp;
use uuid::Uuid;

use crate::error::Fault;
use crate::message::load::{Records, messages_on, rows_on};
use crate::message::record_key::RecordKeys;
use crate::message::row::status::NEW;
use crate::row::At;
use crate::run::Db;
use crate::statement::statement;

/// The rows are written in one order, that of the outer side of the only possible join (a nested
/// loop), so that two marks do not deadlock.
static MARK: LazyLock<String> = LazyLock::new(|| {
    format!(
        "UPDATE deliveries SET delivered_at = ? \
         FROM (SELECT * FROM unnest(?, ?, ?, ?) AS given (agent_id, chat_id, sequence, message_id) \
             ORDER BY agent_id, chat_id, sequence) AS taken \
         WHERE deliveries.agent_id = taken.agent_id AND deliveries.chat_id = taken.chat_id \
         AND deliveries.sequence = taken.sequence AND {NEW} RETURNING taken.message_id"
    )
});

/// Locks messages, so that their events show all steps announced before.
pub(super) const LOCK_MESSAGES: &str =
    "SELECT id FROM messages WHERE id = ANY(?) ORDER BY id FOR NO KEY UPDATE";

/// The changed messages that humans are subscribed to, in the order of their chats; `None` if
/// nothing changed.
pub(super) async fn mark_delivered_on(
    mut db: &Db,
    taken: &[DeliveryKey],
    now: Timestamp,
    selected: &HasHumanSubscribers,
) -> Result<Option<Vec<Message>>, Fault> {
    let locations = locations_on(db, taken.iter().map(|key| key.message)).await?;
    let selected = locked_on(db, &locations, selected).await?;
    let found = taken.iter().filter_map(|key| {
        let (chat, sequence) = *locations.get(&key.message.uuid())?;
        Some(((key.agent.uuid(), chat, sequence), key.message.uuid()))
    });
    let (keys, messages) = found.unzip::<_, _, RecordKeys, Vec<_>>();
    let marking = statement::<SqlUuid>(MARK.as_str()).bind::<Timestamptz, _>(At(now));
    let marked = keys.bind(marking).bind::<Array<SqlUuid>, _>(messages).load::<Uuid>(&mut db).await?;
    if marked.is_empty() {
        return Ok(None);
    }
    announced_on(db, marked.into_iter().filter(|message| selected.contains(message)).collect())
        .await
        .map(Some)
}

/// Those of the messages that humans are subscribed to, in the order of their chats.
pub(super) async fn announce_on(
    db: &Db,
    of: &[MessageId],
    selected: &HasHumanSubscribers,
) -> Result<Vec<Message>, Fault> {
    let locations = locations_on(db, of.iter().copied()).await?;
    let announced = locked_on(db, &locations, selected).await?;
    announced_on(db, announced).await
}

/// The chats of messages, and their sequences there.
type Locations = HashMap<Uuid, (Uuid, i64)>;

async fn locations_on(mut db: &Db, of: impl Iterator<Item = MessageId>) -> Result<Locations, Fault> {
    let locations = statement::<(SqlUuid, SqlUuid, BigInt)>(
        "SELECT id, chat_id, sequence FROM messages WHERE id = ANY(?)",
    )
    .bind::<Array<SqlUuid>, _>(of.map(MessageId::uuid).collect::<Vec<_>>())
    .load::<(Uuid, Uuid, i64)>(&mut db)
    .await?;
    Ok(locations.into_iter().map(|(message, chat, sequence)| (message, (chat, sequence))).collect())
}

/// Those of the messages that humans are subscribed to. They are locked, so that their events show
/// all steps announced before.
async fn locked_on(
    mut db: &Db,
    locations: &Locations,
    selected: &HasHumanSubscribers,
) -> Result<BTreeSet<Uuid>, Fault> {
    let selected = locations.iter().filter(|(_, (chat, _))| selected(ChatId::new(*chat)));
    let selected = selected.map(|(message, _)| *message).collect::<Vec<_>>();
    if selected.is_empty() {
        return Ok(BTreeSet::new());
    }
    let locked = statement::<SqlUuid>(LOCK_MESSAGES).bind::<Array<SqlUuid>, _>(selected);
    let locked = locked.load::<Uuid>(&mut db).await?;
    Ok(locked.into_iter().collect())
}

async fn announced_on(db: &Db, announced: BTreeSet<Uuid>) -> Result<Vec<Message>, Fault> {
    if announced.is_empty() {
        return Ok(Vec::new());
    }
    let rows = rows_on(db, announced.into_iter().collect(), "ORDER BY chat_id, sequence").await?;
    messages_on(db, rows, Records::All).await
}
