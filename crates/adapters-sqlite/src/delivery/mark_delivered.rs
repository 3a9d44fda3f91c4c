//! Writing down what sockets of agents took.

use std::collections::BTreeSet;

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::delivery::{DeliveryKey, DeliveryStatus};
use domain::message::Message;
use domain::time::Timestamp;

use crate::error::Fault;
use crate::message::load::{MessageRow, Records, messages_on};
use crate::row;
use crate::schema::{deliveries, messages};

/// The messages that changed, in the order of their rooms.
pub(super) fn mark_delivered_on(
    connection: &mut SqliteConnection,
    taken: Vec<DeliveryKey>,
    now: Timestamp,
) -> Result<Vec<Message>, Fault> {
    let mut changed = BTreeSet::new();
    for key in taken {
        let message = row::bytes(key.message.uuid());
        let new = deliveries::table
            .find((&message, row::bytes(key.agent.uuid())))
            .filter(deliveries::status.eq(DeliveryStatus::New.as_str()));
        let marked = diesel::update(new)
            .set((
                deliveries::status.eq(DeliveryStatus::Delivered.as_str()),
                deliveries::delivered_at.eq(now.micros()),
            ))
            .execute(connection)?;
        if marked > 0 {
            changed.insert(message);
        }
    }
    if changed.is_empty() {
        return Ok(Vec::new());
    }
    let rows = messages::table
        .filter(messages::id.eq_any(changed))
        .order((messages::chat_id, messages::sequence))
        .select(MessageRow::as_select())
        .load(connection)?;
    messages_on(connection, rows, Records::All)
}
