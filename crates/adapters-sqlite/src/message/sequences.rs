//! The sequences of messages of some kinds in a chat.
//!
//! Events are read kind by kind along their index, and merged with the texts; of each kind no more
//! is read than is skipped and requested. Most messages are texts, so these are in no index of
//! their own: they are picked from the chat in its order.

use diesel::sql_types::{BigInt, Binary};
use diesel::sqlite::SqliteConnection;
use diesel::{QueryableByName, RunQueryDsl};
use domain::id::ChatId;
use domain::message::{Kinds, MessageKind};
use domain::page::Order;

use crate::error::Fault;
use crate::row;

/// The part of a chat between two sequences, both exclusive.
#[derive(Clone, Copy)]
pub(super) struct SequenceRange(pub(super) i64, pub(super) i64);

#[derive(QueryableByName)]
struct Number {
    #[diesel(sql_type = BigInt)]
    number: i64,
}

/// FROM and WHERE for every index to use; 1 is the chat, 2 and 3 the bounding sequences.
fn bodies(kinds: Kinds) -> Vec<String> {
    let within = |index: &str, kind: &str| {
        format!(
            "FROM messages INDEXED BY {index} WHERE chat_id = ?1 {kind}AND sequence > ?2 AND sequence < ?3"
        )
    };
    if kinds == Kinds::ALL {
        return vec![within("messages_order", "")];
    }
    let of_kind = |kind: MessageKind| match kind {
        MessageKind::Text => within("messages_order", "AND kind = 'text' "),
        event => within("messages_events", &format!("AND kind <> 'text' AND kind = '{}' ", event.as_str())),
    };
    kinds.iter().map(of_kind).collect()
}

/// The first `limit` sequences of the part in this order, after `offset` skipped ones.
pub(super) fn sequences_on(
    connection: &mut SqliteConnection,
    chat: ChatId,
    kinds: Kinds,
    part: SequenceRange,
    order: Order,
    (limit, offset): (i64, i64),
) -> Result<Vec<i64>, Fault> {
    if kinds == Kinds::NONE {
        return Ok(Vec::new());
    }
    let sequences =
        bodies(kinds).iter().map(|body| format!("SELECT sequence AS number {body}")).collect::<Vec<_>>();
    let direction = match order {
        Order::Ascending => "ASC",
        Order::Descending => "DESC",
    };
    let query = format!("{} ORDER BY number {direction} LIMIT ?4 OFFSET ?5", sequences.join(" UNION ALL "));
    let sequences = diesel::sql_query(query)
        .bind::<Binary, _>(row::bytes(chat.uuid()))
        .bind::<BigInt, _>(part.0)
        .bind::<BigInt, _>(part.1)
        .bind::<BigInt, _>(limit)
        .bind::<BigInt, _>(offset)
        .load::<Number>(connection)?;
    Ok(sequences.into_iter().map(|sequence| sequence.number).collect())
}

/// The number of messages of these kinds in the part. Texts are counted as the rest, so that no
/// message is read.
pub(super) fn count_on(
    connection: &mut SqliteConnection,
    chat: ChatId,
    kinds: Kinds,
    part: SequenceRange,
) -> Result<u64, Fault> {
    let mut counted = |kinds: Kinds| {
        let counts = bodies(kinds).iter().map(|body| format!("(SELECT count(*) {body})")).collect::<Vec<_>>();
        if counts.is_empty() {
            return Ok::<_, Fault>(0);
        }
        let counted = diesel::sql_query(format!("SELECT {} AS number", counts.join(" + ")))
            .bind::<Binary, _>(row::bytes(chat.uuid()))
            .bind::<BigInt, _>(part.0)
            .bind::<BigInt, _>(part.1)
            .get_result::<Number>(connection)?;
        Ok(counted.number.cast_unsigned())
    };
    if !kinds.contains(MessageKind::Text) {
        return counted(kinds);
    }
    Ok(counted(Kinds::ALL)?.saturating_sub(counted(Kinds::ALL.without(kinds))?))
}
