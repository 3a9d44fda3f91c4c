//! The idempotency records: the request of a sender that made a message, chat, or key.
//!
//! Of concurrent requests with one key one is the first: it writes the key, and the others wait for
//! that row until it is committed or rolled back. If the key belongs to a chat, the chat is locked
//! before.

use std::collections::HashMap;

use async_trait::async_trait;
use diesel::dsl;
use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Binary, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::id::{ChatId, MessageId, RecordId};
use domain::idempotency::{Fingerprint, IdempotencyRepository, KeyedRequest, StoredAnswer, Verdict};
use domain::message::{DeletedText, Message, PriorResult};
use domain::store::StoreError;
use domain::time::Timestamp;
use futures_util::FutureExt;
use uuid::Uuid;

use crate::PostgresStore;
use crate::error::Fault;
use crate::message::load;
use crate::message::row::{mentions_column, stored_mentions};
use crate::row::At;
use crate::run::Db;
use crate::schema::idempotency_records;
use crate::statement::{Statement, statement};

#[async_trait]
impl IdempotencyRepository for PostgresStore {
    async fn forget(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        self.alter((before, limit), |db, (before, limit)| forget_on(db, *before, *limit).boxed()).await
    }
}

/// The primary key: sender, operation, chat or agent, and the client's key. The third is nil if it is what
/// is created.
pub(crate) type Key<'c> = (Uuid, &'c str, Uuid, &'c str);

/// The primary key of the request's record.
pub(crate) fn key(keyed: &KeyedRequest) -> Key<'_> {
    let place = keyed.place.map(RecordId::uuid).unwrap_or_default();
    (keyed.sender.uuid(), keyed.operation.as_str(), place, keyed.once.key.as_str())
}

type Row<'a> = dsl::Find<idempotency_records::table, Key<'a>>;

/// The row of the request's key.
fn row_of(keyed: &KeyedRequest) -> Row<'_> {
    idempotency_records::table.find(key(keyed))
}

fn bind_keys<'c, Row>(
    statement: Statement<'c, Row>,
    keyed_requests: &[&'c KeyedRequest],
) -> Statement<'c, Row> {
    let keys = keyed_requests.iter().map(|keyed| key(keyed));
    statement
        .bind::<Array<SqlUuid>, _>(keys.clone().map(|key| key.0).collect::<Vec<_>>())
        .bind::<Array<Text>, _>(keys.clone().map(|key| key.1).collect::<Vec<_>>())
        .bind::<Array<SqlUuid>, _>(keys.clone().map(|key| key.2).collect::<Vec<_>>())
        .bind::<Array<Text>, _>(keys.map(|key| key.3).collect::<Vec<_>>())
}

type Answer =
    (idempotency_records::fingerprint, idempotency_records::record_id, idempotency_records::answered_at);
const ANSWER: Answer =
    (idempotency_records::fingerprint, idempotency_records::record_id, idempotency_records::answered_at);

fn stored_answer((fingerprint, record, At(at)): (Vec<u8>, Uuid, At)) -> Result<StoredAnswer, Fault> {
    let fingerprint = <[u8; 32]>::try_from(fingerprint)
        .map_err(|_| Fault::Row("a fingerprint of another length".to_owned()))?;
    Ok(StoredAnswer { fingerprint: Fingerprint::new(fingerprint), record: RecordId::new(record), at })
}

/// One seek per key: the statement is planned while the table is empty, and must not scan it later.
const RECORDED: &str = "SELECT wanted.number, found.fingerprint, found.record_id, found.answered_at \
     FROM unnest(?, ?, ?, ?) WITH ORDINALITY AS wanted (sender_id, operation, place_id, key, number) \
     CROSS JOIN LATERAL (\
         SELECT fingerprint, record_id, answered_at FROM idempotency_records AS recorded \
         WHERE recorded.sender_id = wanted.sender_id AND recorded.operation = wanted.operation \
         AND recorded.place_id = wanted.place_id AND recorded.key = wanted.key OFFSET 0) AS found";

/// The recorded requests with the keys of these requests.
pub(crate) async fn recorded_on<'c>(
    mut db: &Db,
    keyed_requests: &[&'c KeyedRequest],
) -> Result<HashMap<Key<'c>, StoredAnswer>, Fault> {
    if keyed_requests.is_empty() {
        return Ok(HashMap::new());
    }
    let recorded = statement::<(BigInt, Binary, SqlUuid, Timestamptz)>(RECORDED);
    let rows = bind_keys(recorded, keyed_requests).load::<(i64, Vec<u8>, Uuid, At)>(&mut db).await?;
    let mut all = HashMap::new();
    for (number, fingerprint, record, at) in rows {
        let index = usize::try_from(number - 1).unwrap_or(usize::MAX);
        if let Some(keyed) = keyed_requests.get(index) {
            all.insert(key(keyed), stored_answer((fingerprint, record, at))?);
        }
    }
    Ok(all)
}

const REMEMBER: &str = "INSERT INTO idempotency_records \
     (sender_id, operation, place_id, key, fingerprint, record_id, answered_at) \
     SELECT * FROM unnest(?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING";

/// Stores which record each of these requests made. Each request is the first with its key, and stays so
/// while its chat is locked. The records must be created in the same change, after this call.
pub(crate) async fn record_all_on(
    mut db: &Db,
    made: &[(&KeyedRequest, RecordId, Timestamp)],
) -> Result<(), Fault> {
    if made.is_empty() {
        return Ok(());
    }
    let (keyed_requests, rows) = (made.iter().map(|(keyed, ..)| *keyed).collect::<Vec<_>>(), made.iter());
    let fingerprints = keyed_requests.iter().map(|keyed| keyed.once.fingerprint.bytes().as_slice());
    bind_keys(statement::<()>(REMEMBER), &keyed_requests)
        .bind::<Array<Binary>, _>(fingerprints.collect::<Vec<_>>())
        .bind::<Array<SqlUuid>, _>(rows.clone().map(|(_, record, _)| record.uuid()).collect::<Vec<_>>())
        .bind::<Array<Timestamptz>, _>(rows.map(|(.., now)| At(*now)).collect::<Vec<_>>())
        .execute(&mut db)
        .await?;
    Ok(())
}

/// Records that the keyed request made `record`, if it is the first with its key; else nothing is
/// changed. The record must be created in the same change, after this call.
pub(crate) async fn remember_on(
    mut db: &Db,
    keyed: &KeyedRequest,
    record: RecordId,
    now: Timestamp,
) -> Result<Verdict, Fault> {
    loop {
        // Waits for a concurrent request with the same key.
        let written = diesel::insert_into(idempotency_records::table)
            .values((
                idempotency_records::sender_id.eq(keyed.sender.uuid()),
                idempotency_records::operation.eq(keyed.operation.as_str()),
                idempotency_records::place_id.eq(key(keyed).2),
                idempotency_records::key.eq(keyed.once.key.as_str()),
                idempotency_records::fingerprint.eq(keyed.once.fingerprint.bytes().as_slice()),
                idempotency_records::record_id.eq(record.uuid()),
                idempotency_records::answered_at.eq(At(now)),
            ))
            .on_conflict_do_nothing()
            .execute(&mut db)
            .await?;
        if written > 0 {
            return Ok(Verdict::First);
        }
        let found = row_of(keyed).select(ANSWER).for_update().first(&mut db).await.optional()?;
        // It was deleted between the two statements.
        let Some(found) = found else { continue };
        return Ok(keyed.once.judge(Some(stored_answer(found)?)));
    }
}

/// Records that a repetition of the keyed request replaced what the first one made by `record`.
pub(crate) async fn replace_on(mut db: &Db, keyed: &KeyedRequest, record: RecordId) -> Result<(), Fault> {
    let record = idempotency_records::record_id.eq(record.uuid());
    diesel::update(row_of(keyed)).set(record).execute(&mut db).await?;
    Ok(())
}

/// The result of an earlier request for a message with the request's key; exact while its chat is
/// locked.
pub(crate) async fn earlier_on(db: &Db, keyed: &KeyedRequest) -> Result<PriorResult, Fault> {
    let recorded = recorded_on(db, &[keyed]).await?;
    prior_result_on(db, keyed, recorded.get(&key(keyed)).copied()).await
}

/// The result of the request that is recorded under the request's key.
pub(crate) async fn prior_result_on(
    mut db: &Db,
    keyed: &KeyedRequest,
    recorded: Option<StoredAnswer>,
) -> Result<PriorResult, Fault> {
    let first = match keyed.once.judge(recorded) {
        Verdict::First => return Ok(PriorResult::Nothing),
        Verdict::KeyReused => return Ok(PriorResult::AnotherRequest),
        Verdict::Repeated(first) => first,
    };
    let chat = keyed.place.ok_or_else(|| Fault::Row("an idempotency record without a room".to_owned()))?;
    let chat = ChatId::new(chat.uuid());
    let id = MessageId::new(first.record.uuid());
    if let Some(message) = load::message_on(db, chat, id).await? {
        return Ok(PriorResult::Message(Box::new(message)));
    }
    let mentions =
        row_of(keyed).select(idempotency_records::deleted_mentions).first::<Option<String>>(&mut db).await?;
    let mentions = mentions.as_deref().map(stored_mentions).transpose()?.unwrap_or_default();
    Ok(PriorResult::Deleted(DeletedText { id, mentions }))
}

/// Keeps the data of the answer to the request that made this message, which is being deleted.
pub(crate) async fn keep_on(mut db: &Db, message: &Message) -> Result<(), Fault> {
    let made = idempotency_records::table.filter(idempotency_records::record_id.eq(message.id.uuid()));
    let mentions = mentions_column(&message.mentions)?;
    diesel::update(made).set(idempotency_records::deleted_mentions.eq(mentions)).execute(&mut db).await?;
    Ok(())
}

/// The index yields the oldest first. Rows that another transaction has locked are left for the next run,
/// since requests compare themselves with them. The rows are addressed by `ctid`, which cannot change while
/// they are locked, so the plan cannot be anything but a direct access.
const FORGET: &str = "DELETE FROM idempotency_records WHERE ctid = ANY(ARRAY(\
     SELECT ctid FROM idempotency_records WHERE answered_at <= ? \
     ORDER BY answered_at LIMIT ? FOR UPDATE SKIP LOCKED))";

async fn forget_on(mut db: &Db, before: Timestamp, limit: u32) -> Result<u64, Fault> {
    let forgotten = statement::<BigInt>(FORGET)
        .bind::<Timestamptz, _>(At(before))
        .bind::<BigInt, _>(i64::from(limit))
        .execute(&mut db)
        .await?;
    Ok(u64::try_from(forgotten).unwrap_or(u64::MAX))
}
