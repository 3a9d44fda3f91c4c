//! The idempotency records: the request of a sender that made a message or chat.
//!
//! Of concurrent requests with one key one is the first: it writes the key, and the others wait for
//! that row until it is committed or rolled back. If the key belongs to a chat, the chat is locked
//! before.

use async_trait::async_trait;
use diesel::dsl;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Timestamptz};
use diesel_async::RunQueryDsl;
use domain::id::{ChatId, MessageId, RecordId};
use domain::idempotency::{Fingerprint, IdempotencyClaim, IdempotencyRepository, StoredAnswer, Verdict};
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
use crate::run::{Db, Never};
use crate::schema::idempotency_records;
use crate::statement::statement;

#[async_trait]
impl IdempotencyRepository for PostgresStore {
    async fn forget(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let forgotten = self.change(
            (before, limit),
            |db, (before, limit)| async { Ok::<_, Fault>(Ok(forget_on(db, *before, *limit).await?)) }.boxed(),
            |_| (),
        );
        forgotten.await?.map_err(|never: Never| match never {})
    }
}

/// The value of `place_id`: nil if there is no chat yet.
fn place(claim: &IdempotencyClaim) -> Uuid {
    claim.place.map_or(Uuid::nil(), ChatId::uuid)
}

type Row<'a> = dsl::Find<idempotency_records::table, (Uuid, &'a str, Uuid, &'a str)>;

/// The row of the claim's key.
fn row_of(claim: &IdempotencyClaim) -> Row<'_> {
    let key = (claim.sender.uuid(), claim.operation.as_str(), place(claim), claim.once.key.as_str());
    idempotency_records::table.find(key)
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

/// The recorded requests with the claim's key. Another request may become the first at the same
/// time; a change calls [`remember_on`] to decide.
pub(crate) async fn judge_on(mut db: &Db, claim: &IdempotencyClaim) -> Result<Verdict, Fault> {
    let found = row_of(claim).select(ANSWER).first(&mut db).await.optional()?;
    Ok(claim.once.judge(found.map(stored_answer).transpose()?))
}

/// Records that the claim's request made `record`, if it is the first with its key; else nothing is
/// changed. The record must be created in the same change, after this call.
pub(crate) async fn remember_on(
    mut db: &Db,
    claim: &IdempotencyClaim,
    record: RecordId,
    now: Timestamp,
) -> Result<Verdict, Fault> {
    loop {
        // Waits for a concurrent request with the same key.
        let written = diesel::insert_into(idempotency_records::table)
            .values((
                idempotency_records::sender_id.eq(claim.sender.uuid()),
                idempotency_records::operation.eq(claim.operation.as_str()),
                idempotency_records::place_id.eq(place(claim)),
                idempotency_records::key.eq(claim.once.key.as_str()),
                idempotency_records::fingerprint.eq(claim.once.fingerprint.bytes().as_slice()),
                idempotency_records::record_id.eq(record.uuid()),
                idempotency_records::answered_at.eq(At(now)),
            ))
            .on_conflict_do_nothing()
            .execute(&mut db)
            .await?;
        if written > 0 {
            return Ok(Verdict::First);
        }
        let found = row_of(claim).select(ANSWER).for_update().first(&mut db).await.optional()?;
        // It was deleted between the two statements.
        let Some(found) = found else { continue };
        return Ok(claim.once.judge(Some(stored_answer(found)?)));
    }
}

/// The recorded requests for a message with the claim's key; exact while its chat is locked.
pub(crate) async fn earlier_on(mut db: &Db, claim: &IdempotencyClaim) -> Result<PriorResult, Fault> {
    let first = match judge_on(db, claim).await? {
        Verdict::First => return Ok(PriorResult::Nothing),
        Verdict::KeyReused => return Ok(PriorResult::AnotherRequest),
        Verdict::Repeated(first) => first,
    };
    let chat = claim.place.ok_or_else(|| Fault::Row("an idempotency record without a room".to_owned()))?;
    let id = MessageId::new(first.record.uuid());
    if let Some(message) = load::message_on(db, chat, id).await? {
        return Ok(PriorResult::Message(Box::new(message)));
    }
    let mentions =
        row_of(claim).select(idempotency_records::deleted_mentions).first::<Option<String>>(&mut db).await?;
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

/// The index yields the oldest first. Rows that another transaction has locked are left for the
/// next run, since requests compare themselves with them. The rows are addressed by `ctid`, which cannot change
/// while they are locked, so the plan cannot be anything but a direct access.
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
