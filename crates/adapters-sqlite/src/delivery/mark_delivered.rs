//! Storing the acknowledgements of sockets.

use std::collections::BTreeSet;

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary};
use diesel::sqlite::SqliteConnection;
use domain::delivery::{DeliveryKey, HasHumanSubscribers};
use domain::id::MessageId;
use domain::message::Message;
use domain::time::Timestamp;

use crate::error::Fault;
use crate::message::load::{Records, messages_on};
use crate::message::row::{MessageRow, status};
use crate::row;
use crate::schema::messages;
use crate::statement::statement;

/// The changed messages that humans are subscribed to, in the order of their chats; `None` if
/// nothing changed.
pub(super) fn mark_delivered_on(
    connection: &mut SqliteConnection,
    taken: Vec<DeliveryKey>,
    now: Timestamp,
    selected: HasHumanSubscribers,
) -> Result<Option<Vec<Message>>, Fault> {
    let (mut any, mut announced) = (false, BTreeSet::new());
    for key in taken {
        let message = row::bytes(key.message.uuid());
        let chat = statement!(
            "UPDATE deliveries SET delivered_at = ? WHERE agent_id = ? \
             AND (chat_id, sequence) = (SELECT chat_id, sequence FROM messages WHERE id = ?) AND ", status::NEW,
            " RETURNING chat_id" => Binary
        );
        let chat = chat
            .bind::<BigInt, _>(now.micros())
            .bind::<Binary, _>(row::bytes(key.agent.uuid()))
            .bind::<Binary, _>(&message)
            .get_result::<Vec<u8>>(connection)
            .optional()?;
        let Some(chat) = chat else { continue };
        any = true;
        if selected(row::chat_id(&chat)?) {
            announced.insert(message);
        }
    }
    if announced.is_empty() {
        return Ok(any.then(Vec::new));
    }
    announced_on(connection, announced).map(Some)
}

/// Those of the messages that humans are subscribed to, in the order of their chats.
pub(super) fn announce_on(
    connection: &mut SqliteConnection,
    of: &[MessageId],
    selected: HasHumanSubscribers,
) -> Result<Vec<Message>, Fault> {
    let mut announced = BTreeSet::new();
    for message in of {
        let message = row::bytes(message.uuid());
        let chat = messages::table.find(&message).select(messages::chat_id);
        let Some(chat) = chat.get_result::<Vec<u8>>(connection).optional()? else { continue };
        if selected(row::chat_id(&chat)?) {
            announced.insert(message);
        }
    }
    announced_on(connection, announced)
}

fn announced_on(
    connection: &mut SqliteConnection,
    announced: BTreeSet<Vec<u8>>,
) -> Result<Vec<Message>, Fault> {
    let mut rows = Vec::with_capacity(announced.len());
    for message in announced {
        let found = messages::table.find(message).select(MessageRow::as_select());
        rows.extend(found.get_result(connection).optional()?);
    }
    rows.sort_unstable_by_key(|row| (row.chat_id, row.sequence));
    messages_on(connection, rows, Records::All)
}
