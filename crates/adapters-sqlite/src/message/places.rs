//! The sequences of messages of some kinds in a chat.
//!
//! They are read kind by kind along the index of kinds, and merged; of each kind no more is read
//! than is skipped and requested.

use diesel::sql_types::{BigInt, Binary};
use diesel::sqlite::SqliteConnection;
use diesel::{QueryableByName, RunQueryDsl};
use domain::id::ChatId;
use domain::message::Kinds;
use domain::page::Order;

use crate::error::Fault;
use crate::row;

/// The part of a chat between two sequences, both exclusive.
#[derive(Clone, Copy)]
pub(super) struct Between(pub(super) i64, pub(super) i64);

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
    let of_kind = |kind: domain::message::MessageKind| {
        within("messages_by_kind", &format!("AND kind = '{}' ", kind.as_str()))
    };
    kinds.iter().map(of_kind).collect()
}

/// The first `limit` sequences of the part in this order, after `offset` skipped ones.
pub(super) fn places_on(
    connection: &mut SqliteConnection,
    chat: ChatId,
    kinds: Kinds,
    part: Between,
    order: Order,
    (limit, offset): (i64, i64),
) -> Result<Vec<i64>, Fault> {
    if kinds == Kinds::NONE {
        return Ok(Vec::new());
    }
    let places =
        bodies(kinds).iter().map(|body| format!("SELECT sequence AS number {body}")).collect::<Vec<_>>();
    let direction = match order {
        Order::Ascending => "ASC",
        Order::Descending => "DESC",
    };
    let query = format!("{} ORDER BY number {direction} LIMIT ?4 OFFSET ?5", places.join(" UNION ALL "));
    let places = diesel::sql_query(query)
        .bind::<Binary, _>(row::bytes(chat.uuid()))
        .bind::<BigInt, _>(part.0)
        .bind::<BigInt, _>(part.1)
        .bind::<BigInt, _>(limit)
        .bind::<BigInt, _>(offset)
        .load::<Number>(connection)?;
    Ok(places.into_iter().map(|place| place.number).collect())
}

/// The number of messages of these kinds in the part.
pub(super) fn count_on(
    connection: &mut SqliteConnection,
    chat: ChatId,
    kinds: Kinds,
    part: Between,
) -> Result<u64, Fault> {
    if kinds == Kinds::NONE {
        return Ok(0);
    }
    let counts = bodies(kinds).iter().map(|body| format!("(SELECT count(*) {body})")).collect::<Vec<_>>();
    let counted = diesel::sql_query(format!("SELECT {} AS number", counts.join(" + ")))
        .bind::<Binary, _>(row::bytes(chat.uuid()))
        .bind::<BigInt, _>(part.0)
        .bind::<BigInt, _>(part.1)
        .get_result::<Number>(connection)?;
    Ok(counted.number.cast_unsigned())
}
