//! Writing down what sockets of agents took.

use std::collections::BTreeSet;

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::delivery::{DeliveryKey, DeliveryStatus, Heard};
use domain::id::MessageId;
use domain::message::Message;
use domain::time::Timestamp;

use crate::error::Fault;
use crate::message::load::{MessageRow, Records, messages_on};
use crate::row;
use crate::schema::{deliveries, messages};

/// Of the messages that changed those that are heard of, in the order of their rooms; `None` when
/// nothing changed.
pub(super) fn mark_delivered_on(
    connection: &mut SqliteConnection,
    taken: Vec<DeliveryKey>,
    now: Timestamp,
    heard: Heard,
) -> Result<Option<Vec<Message>>, Fault> {
    let (mut any, mut told) = (false, BTreeSet::new());
    for key in taken {
        let message = row::bytes(key.message.uuid());
        let new = deliveries::table
            .find((&message, row::bytes(key.agent.uuid())))
            .filter(deliveries::status.eq(DeliveryStatus::New.as_str()));
        let chat = diesel::update(new)
            .set((
                deliveries::status.eq(DeliveryStatus::Delivered.as_str()),
                deliveries::delivered_at.eq(now.micros()),
            ))
            .returning(deliveries::chat_id)
            .get_result::<Vec<u8>>(connection)
            .optional()?;
        let Some(chat) = chat else { continue };
        any = true;
        if heard(row::chat_id(&chat)?) {
            told.insert(message);
        }
    }
    if told.is_empty() {
        return Ok(any.then(Vec::new));
    }
    told_on(connection, told).map(Some)
}

/// Of these messages those that are heard of, in the order of their rooms.
pub(super) fn heard_on(
    connection: &mut SqliteConnection,
    of: &[MessageId],
    heard: Heard,
) -> Result<Vec<Message>, Fault> {
    let ids = of.iter().map(|message| row::bytes(message.uuid()));
    let rooms = messages::table
        .filter(messages::id.eq_any(ids))
        .select((messages::id, messages::chat_id))
        .load::<(Vec<u8>, Vec<u8>)>(connection)?;
    let mut told = BTreeSet::new();
    for (message, chat) in rooms {
        if heard(row::chat_id(&chat)?) {
            told.insert(message);
        }
    }
    told_on(connection, told)
}

fn told_on(connection: &mut SqliteConnection, told: BTreeSet<Vec<u8>>) -> Result<Vec<Message>, Fault> {
    let rows = messages::table
        .filter(messages::id.eq_any(told))
        .order((messages::chat_id, messages::sequence))
        .select(MessageRow::as_select())
        .load(connection)?;
    messages_on(connection, rows, Records::All)
}
