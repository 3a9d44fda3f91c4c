//! Storing a message at the next place of its room.

use std::collections::HashSet;

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::chat::{ChatTitle, RenamedChat};
use domain::delivery::Delivery;
use domain::id::ChatId;
use domain::message::{AppendRefused, Appended, Earlier, Mention, Message, NewMessage};

use super::load::{MessageRow, mentions_column};
use crate::chat::activate_on;
use crate::chat::rename::renamed_on;
use crate::chat::row::chat_on;
use crate::error::Fault;
use crate::first_answer;
use crate::plan::quota;
use crate::row;
use crate::schema::{chats, deliveries, messages, participants};

pub(super) fn append_on(
    connection: &mut SqliteConnection,
    new: NewMessage,
) -> Result<Result<Appended, AppendRefused>, Fault> {
    let chat = row::bytes(new.chat.uuid());
    if let Some(claim) = &new.claim {
        match first_answer::earlier_on(connection, claim, new.now)? {
            Earlier::Nothing => first_answer::remember_on(connection, claim, new.id.uuid(), new.now)?,
            Earlier::Message(first) => return Ok(Err(AppendRefused::Repeated(first))),
            Earlier::Deleted(first) => return Ok(Err(AppendRefused::RepeatedDeleted(first))),
            Earlier::AnotherRequest => return Ok(Err(AppendRefused::KeyReused)),
        }
    }
    let Some((status, title, newest)) = sender_on(connection, &new)? else {
        return Ok(Err(AppendRefused::NotParticipant));
    };
    if let Err(reached) = quota::messages_on(connection, new.chat)? {
        return Ok(Err(AppendRefused::Limit(reached)));
    }
    if let Some(index) = first_missing_on(connection, &chat, &new.mentions)? {
        return Ok(Err(AppendRefused::MentionLeft { index }));
    }
    if status == "inactive" {
        activate_on(connection, new.sender, new.chat)?;
    }
    let titled = match (title, new.title_if_untitled) {
        (None, Some(title)) => Some(ChatTitle::into_string(title)),
        _ => None,
    };
    // Times follow the sequence, so that whoever asks for what came since a message misses nothing.
    let now = newest.map_or(new.now.micros(), |newest| new.now.micros().max(newest + 1));
    let at = row::time(now);
    let sequence = diesel::update(chats::table.find(&chat))
        .set((
            chats::last_sequence.eq(chats::last_sequence + 1),
            chats::updated_at.eq(now),
            chats::last_message_at.eq(now),
            titled.as_ref().map(|title| chats::title.eq(title)),
        ))
        .returning(chats::last_sequence)
        .get_result::<i64>(connection)?;
    let mut message = Message {
        id: new.id,
        chat_id: new.chat,
        sequence,
        kind: new.kind,
        content: new.content,
        sender: new.sender,
        sender_name: new.sender_name,
        mentions: new.mentions,
        metadata: new.metadata,
        created_at: at,
        updated_at: at,
        deliveries: Vec::new(),
    };
    insert_on(connection, &message)?;
    message.deliveries = deliver_on(connection, &message)?;
    let titled = if titled.is_some() { Some(titled_on(connection, new.chat)?) } else { None };
    Ok(Ok(Appended { message, titled }))
}

/// The room after it got its title.
fn titled_on(connection: &mut SqliteConnection, chat: ChatId) -> Result<RenamedChat, Fault> {
    let chat = chat_on(connection, chat)?;
    renamed_on(connection, chat.ok_or_else(|| Fault::Row("a room that went within one change".to_owned()))?)
}

/// The sender's membership status, the room's title, and the time of its newest message.
type Sender = (String, Option<String>, Option<i64>);

/// What is known of the sender and its room, if the sender is in it.
fn sender_on(connection: &mut SqliteConnection, new: &NewMessage) -> Result<Option<Sender>, Fault> {
    Ok(participants::table
        .inner_join(chats::table)
        .filter(participants::chat_id.eq(row::bytes(new.chat.uuid())))
        .filter(participants::participant_id.eq(row::bytes(new.sender.uuid())))
        .filter(participants::left_at.is_null())
        .filter(chats::deleted_at.is_null())
        .select((participants::status, chats::title, chats::last_message_at))
        .first(connection)
        .optional()?)
}

/// The first mention of somebody who is not in the room.
fn first_missing_on(
    connection: &mut SqliteConnection,
    chat: &[u8],
    mentions: &[Mention],
) -> Result<Option<usize>, Fault> {
    if mentions.is_empty() {
        return Ok(None);
    }
    let ids = mentions.iter().map(|mention| row::bytes(mention.id.uuid()));
    let present = participants::table
        .filter(participants::chat_id.eq(chat))
        .filter(participants::participant_id.eq_any(ids.collect::<Vec<_>>()))
        .filter(participants::left_at.is_null())
        .select(participants::participant_id)
        .load::<Vec<u8>>(connection)?;
    let present = present.into_iter().collect::<HashSet<_>>();
    Ok(mentions.iter().position(|mention| !present.contains(mention.id.uuid().as_bytes().as_slice())))
}

fn insert_on(connection: &mut SqliteConnection, message: &Message) -> Result<(), Fault> {
    let row = MessageRow {
        id: row::bytes(message.id.uuid()),
        chat_id: row::bytes(message.chat_id.uuid()),
        sequence: message.sequence,
        kind: message.kind.as_str().to_owned(),
        content: message.content.clone(),
        sender_id: row::bytes(message.sender.uuid()),
        sender_kind: message.sender.kind().as_str().to_owned(),
        sender_name: message.sender_name.clone(),
        mentions: mentions_column(&message.mentions)?,
        metadata: message.metadata.as_ref().map(row::to_json).transpose()?,
        created_at: message.created_at.micros(),
        updated_at: message.updated_at.micros(),
    };
    diesel::insert_into(messages::table).values(row).execute(connection)?;
    Ok(())
}

/// One delivery for every agent that is addressed.
fn deliver_on(connection: &mut SqliteConnection, message: &Message) -> Result<Vec<Delivery>, Fault> {
    let mut records =
        message.addressed_agents().into_iter().map(|agent| Delivery::new(agent, true)).collect::<Vec<_>>();
    records.sort_by_key(|record| record.agent);
    let rows = records.iter().map(|record| {
        (
            deliveries::message_id.eq(row::bytes(message.id.uuid())),
            deliveries::agent_id.eq(row::bytes(record.agent.uuid())),
            deliveries::chat_id.eq(row::bytes(message.chat_id.uuid())),
            deliveries::sequence.eq(message.sequence),
            deliveries::addressed.eq(true),
            deliveries::status.eq(record.status.as_str()),
            deliveries::current_attempt.eq(0),
        )
    });
    for row in rows {
        diesel::insert_into(deliveries::table).values(row).execute(connection)?;
    }
    Ok(records)
}
