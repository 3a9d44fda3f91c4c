//! The idempotency records: the request of a sender that made a message, chat, or key.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use diesel::sqlite::SqliteConnection;
use domain::id::{ChatId, MessageId, RecordId};
use domain::idempotency::{Fingerprint, IdempotencyRepository, KeyedRequest, StoredAnswer, Verdict};
use domain::message::{DeletedText, Message, PriorResult};
use domain::store::StoreError;
use domain::time::Timestamp;

use crate::SqliteStore;
use crate::error::Fault;
use crate::message::load;
use crate::message::row::{mentions_column, stored_mentions};
use crate::row;
use crate::schema::idempotency_records;

#[async_trait]
impl IdempotencyRepository for SqliteStore {
    async fn forget(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        self.alter(move |connection| forget_on(connection, before, limit)).await
    }
}

/// The primary key: sender, operation, chat or agent, and the client's key. The third is empty if it is what
/// is created.
type Key<'c> = (Vec<u8>, &'c str, Vec<u8>, &'c str);

/// The primary key of the request's record.
fn key(keyed: &KeyedRequest) -> Key<'_> {
    let place = keyed.place.map(|place| row::bytes(place.uuid())).unwrap_or_default();
    (row::bytes(keyed.sender.uuid()), keyed.operation.as_str(), place, keyed.once.key.as_str())
}

/// The recorded requests with the request's key.
pub(crate) fn judge_on(connection: &mut SqliteConnection, keyed: &KeyedRequest) -> Result<Verdict, Fault> {
    let found = idempotency_records::table
        .find(key(keyed))
        .select((
            idempotency_records::fingerprint,
            idempotency_records::record_id,
            idempotency_records::answered_at,
        ))
        .get_result::<(Vec<u8>, Vec<u8>, i64)>(connection)
        .optional()?;
    let remembered = found.map(|(fingerprint, record, at)| {
        let fingerprint = <[u8; 32]>::try_from(fingerprint)
            .map_err(|_| Fault::Row("a fingerprint of another length".to_owned()))?;
        let fingerprint = Fingerprint::new(fingerprint);
        Ok::<_, Fault>(StoredAnswer {
            fingerprint,
            record: RecordId::new(row::uuid(&record)?),
            at: row::time(at),
        })
    });
    Ok(keyed.once.judge(remembered.transpose()?))
}

/// Records that the keyed request, the first with its key, made `record`.
pub(crate) fn remember_on(
    connection: &mut SqliteConnection,
    keyed: &KeyedRequest,
    record: RecordId,
    now: Timestamp,
) -> Result<(), Fault> {
    let (sender, operation, place, client_key) = key(keyed);
    diesel::insert_into(idempotency_records::table)
        .values((
            idempotency_records::sender_id.eq(sender),
            idempotency_records::operation.eq(operation),
            idempotency_records::place_id.eq(place),
            idempotency_records::key.eq(client_key),
            idempotency_records::fingerprint.eq(keyed.once.fingerprint.bytes().as_slice()),
            idempotency_records::record_id.eq(row::bytes(record.uuid())),
            idempotency_records::answered_at.eq(now.micros()),
        ))
        .execute(connection)?;
    Ok(())
}

/// Records that a repetition of the keyed request replaced what the first one made by `record`.
pub(crate) fn replace_on(
    connection: &mut SqliteConnection,
    keyed: &KeyedRequest,
    record: RecordId,
) -> Result<(), Fault> {
    let record = idempotency_records::record_id.eq(row::bytes(record.uuid()));
    diesel::update(idempotency_records::table.find(key(keyed))).set(record).execute(connection)?;
    Ok(())
}

/// The recorded requests for a message with the request's key.
pub(crate) fn earlier_on(
    connection: &mut SqliteConnection,
    keyed: &KeyedRequest,
) -> Result<PriorResult, Fault> {
    let first = match judge_on(connection, keyed)? {
        Verdict::First => return Ok(PriorResult::Nothing),
        Verdict::KeyReused => return Ok(PriorResult::AnotherRequest),
        Verdict::Repeated(first) => first,
    };
    let chat = keyed.place.ok_or_else(|| Fault::Row("an idempotency record without a room".to_owned()))?;
    let chat = ChatId::new(chat.uuid());
    let id = MessageId::new(first.record.uuid());
    if let Some(message) = load::message_on(connection, chat, id)? {
        return Ok(PriorResult::Message(Box::new(message)));
    }
    let mentions = idempotency_records::table
        .find(key(keyed))
        .select(idempotency_records::deleted_mentions)
        .get_result::<Option<String>>(connection)?;
    let mentions = mentions.as_deref().map(stored_mentions).transpose()?.unwrap_or_default();
    Ok(PriorResult::Deleted(DeletedText { id, mentions }))
}

/// Keeps the data of the answer to the request that made this message, which is being deleted.
pub(crate) fn keep_on(connection: &mut SqliteConnection, message: &Message) -> Result<(), Fault> {
    let made =
        idempotency_records::table.filter(idempotency_records::record_id.eq(row::bytes(message.id.uuid())));
    let mentions = mentions_column(&message.mentions)?;
    diesel::update(made).set(idempotency_records::deleted_mentions.eq(mentions)).execute(connection)?;
    Ok(())
}

/// One statement; the index yields the oldest first.
const FORGET: &str = "DELETE FROM idempotency_records WHERE (sender_id, operation, place_id, key) IN \
     (SELECT sender_id, operation, place_id, key FROM idempotency_records WHERE answered_at <= ?1 \
      ORDER BY answered_at LIMIT ?2)";

fn forget_on(connection: &mut SqliteConnection, before: Timestamp, limit: u32) -> Result<u64, Fault> {
    let forgotten = diesel::sql_query(FORGET)
        .bind::<BigInt, _>(before.micros())
        .bind::<BigInt, _>(i64::from(limit))
        .execute(connection)?;
    Ok(u64::try_from(forgotten).unwrap_or(u64::MAX))
}
