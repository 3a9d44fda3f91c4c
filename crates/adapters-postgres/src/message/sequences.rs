//! The sequences of messages of some kinds in a chat.
//!
//! Events are read kind by kind along their index, and merged with the texts; of each kind no more
//! is read than is skipped and requested. Most messages are texts, so these are in no index of
//! their own: they are picked from the chat in its order.

use diesel::sql_types::{Array, BigInt, Bool, Text, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::id::ChatId;
use domain::message::{Kinds, MessageKind};
use domain::page::Order;
use futures_util::future::try_join;

use crate::error::Fault;
use crate::run::Db;
use crate::statement::{Statement, statement};

/// The part of a chat between two sequences, both exclusive.
#[derive(Clone, Copy)]
pub(super) struct SequenceRange(pub(super) i64, pub(super) i64);

/// The first `limit` sequences of the part in this order, after `offset` skipped ones.
pub(super) async fn sequences_on(
    mut db: &Db,
    chat: ChatId,
    kinds: Kinds,
    part: SequenceRange,
    order: Order,
    (limit, offset): (i64, i64),
) -> Result<Vec<i64>, Fault> {
    if kinds == Kinds::NONE {
        return Ok(Vec::new());
    }
    let direction = direction(order);
    let sequences = if kinds == Kinds::ALL {
        let sequences = statement::<BigInt>(format!(
            "SELECT sequence FROM messages WHERE chat_id = ? AND sequence > ? AND sequence < ? \
             ORDER BY sequence {direction} LIMIT ? OFFSET ?"
        ));
        within(sequences, chat, part)
    } else {
        // Bounding the range by the kind on both sides keeps every plan from scanning the whole
        // chat.
        let sequences = statement::<BigInt>(format!(
            "SELECT found.sequence FROM unnest(?) AS wanted (kind) CROSS JOIN LATERAL \
             (SELECT sequence FROM messages WHERE chat_id = ? AND messages.kind <> 'text' \
              AND (messages.kind, sequence) > (wanted.kind, ?) \
              AND (messages.kind, sequence) < (wanted.kind, ?) \
              ORDER BY messages.kind {direction}, sequence {direction} LIMIT ?) AS found \
             UNION ALL (SELECT sequence FROM messages WHERE ? AND kind = 'text' \
              AND chat_id = ? AND sequence > ? AND sequence < ? ORDER BY sequence {direction} LIMIT ?) \
             ORDER BY sequence {direction} LIMIT ? OFFSET ?"
        ));
        let most = limit.saturating_add(offset);
        let events = within(sequences.bind::<Array<Text>, _>(words(kinds)), chat, part);
        let texts = events.bind::<BigInt, _>(most).bind::<Bool, _>(kinds.contains(MessageKind::Text));
        within(texts, chat, part).bind::<BigInt, _>(most)
    };
    Ok(sequences.bind::<BigInt, _>(limit).bind::<BigInt, _>(offset).load(&mut db).await?)
}

/// The number of messages of these kinds in the part. Texts are counted as the rest, so that no
/// message is read.
pub(super) async fn count_on(db: &Db, chat: ChatId, kinds: Kinds, part: SequenceRange) -> Result<u64, Fault> {
    if !kinds.contains(MessageKind::Text) {
        return events_on(db, chat, kinds, part).await;
    }
    let others = events_on(db, chat, Kinds::ALL.without(kinds), part);
    let (all, others) = try_join(all_on(db, chat, part), others).await?;
    Ok(all.saturating_sub(others))
}

async fn all_on(mut db: &Db, chat: ChatId, part: SequenceRange) -> Result<u64, Fault> {
    let counted = statement::<BigInt>(
        "SELECT count(*) FROM messages WHERE chat_id = ? AND sequence > ? AND sequence < ?",
    );
    Ok(within(counted, chat, part).get_result::<i64>(&mut db).await?.cast_unsigned())
}

async fn events_on(mut db: &Db, chat: ChatId, kinds: Kinds, part: SequenceRange) -> Result<u64, Fault> {
    if kinds == Kinds::NONE {
        return Ok(0);
    }
    let counted = statement::<BigInt>(
        "SELECT count(*) FROM messages WHERE kind <> 'text' AND kind = ANY(?) \
         AND chat_id = ? AND sequence > ? AND sequence < ?",
    );
    let counted = within(counted.bind::<Array<Text>, _>(words(kinds)), chat, part);
    Ok(counted.get_result::<i64>(&mut db).await?.cast_unsigned())
}

/// The order in SQL.
pub(super) const fn direction(order: Order) -> &'static str {
    match order {
        Order::Ascending => "ASC",
        Order::Descending => "DESC",
    }
}

/// The words of these kinds except text.
fn words(kinds: Kinds) -> Vec<&'static str> {
    kinds.without(Kinds::of(&[MessageKind::Text])).iter().map(MessageKind::as_str).collect()
}

/// Binds the chat and the two sequences.
fn within<Row>(statement: Statement<'_, Row>, chat: ChatId, part: SequenceRange) -> Statement<'_, Row> {
    statement.bind::<SqlUuid, _>(chat.uuid()).bind::<BigInt, _>(part.0).bind::<BigInt, _>(part.1)
}
