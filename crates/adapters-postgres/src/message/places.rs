//! The sequences of messages of some kinds in a chat.
//!
//! They are read kind by kind along the index of kinds, and merged; of each kind no more is read
//! than is skipped and requested.

use diesel::sql_types::{Array, BigInt, Text, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::id::ChatId;
use domain::message::Kinds;
use domain::page::Order;

use crate::error::Fault;
use crate::run::Db;
use crate::statement::{Statement, statement};

/// The part of a chat between two sequences, both exclusive.
#[derive(Clone, Copy)]
pub(super) struct Between(pub(super) i64, pub(super) i64);

/// The first `limit` sequences of the part in this order, after `offset` skipped ones.
pub(super) async fn places_on(
    mut db: &Db,
    chat: ChatId,
    kinds: Kinds,
    part: Between,
    order: Order,
    (limit, offset): (i64, i64),
) -> Result<Vec<i64>, Fault> {
    if kinds == Kinds::NONE {
        return Ok(Vec::new());
    }
    let direction = match order {
        Order::Ascending => "ASC",
        Order::Descending => "DESC",
    };
    let places = if kinds == Kinds::ALL {
        let places = statement::<BigInt>(format!(
            "SELECT sequence FROM messages WHERE chat_id = ? AND sequence > ? AND sequence < ? \
             ORDER BY sequence {direction} LIMIT ? OFFSET ?"
        ));
        within(places, chat, part)
    } else {
        // Bounding the range by the kind on both sides keeps every plan from scanning the whole
        // chat.
        let places = statement::<BigInt>(format!(
            "SELECT place.sequence FROM unnest(?) AS wanted (kind) CROSS JOIN LATERAL \
             (SELECT sequence FROM messages WHERE chat_id = ? \
              AND (messages.kind, sequence) > (wanted.kind, ?) \
              AND (messages.kind, sequence) < (wanted.kind, ?) \
              ORDER BY messages.kind {direction}, sequence {direction} LIMIT ?) AS place \
             ORDER BY place.sequence {direction} LIMIT ? OFFSET ?"
        ));
        within(places.bind::<Array<Text>, _>(words(kinds)), chat, part)
            .bind::<BigInt, _>(limit.saturating_add(offset))
    };
    Ok(places.bind::<BigInt, _>(limit).bind::<BigInt, _>(offset).load(&mut db).await?)
}

/// The number of messages of these kinds in the part.
pub(super) async fn count_on(mut db: &Db, chat: ChatId, kinds: Kinds, part: Between) -> Result<u64, Fault> {
    if kinds == Kinds::NONE {
        return Ok(0);
    }
    let counted = if kinds == Kinds::ALL {
        statement::<BigInt>(
            "SELECT count(*) FROM messages WHERE chat_id = ? AND sequence > ? AND sequence < ?",
        )
    } else {
        statement::<BigInt>(
            "SELECT count(*) FROM messages WHERE kind = ANY(?) AND chat_id = ? AND sequence > ? AND sequence < ?",
        )
        .bind::<Array<Text>, _>(words(kinds))
    };
    let counted = within(counted, chat, part).get_result::<i64>(&mut db).await?;
    Ok(counted.cast_unsigned())
}

fn words(kinds: Kinds) -> Vec<&'static str> {
    kinds.iter().map(domain::message::MessageKind::as_str).collect()
}

/// Binds the chat and the two sequences.
fn within<Row>(statement: Statement<'_, Row>, chat: ChatId, part: Between) -> Statement<'_, Row> {
    statement.bind::<SqlUuid, _>(chat.uuid()).bind::<BigInt, _>(part.0).bind::<BigInt, _>(part.1)
}
