//! Storing a message with the next sequence of its chat.

use std::collections::HashMap;

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary};
use diesel::sqlite::SqliteConnection;
use domain::chat::MemberState;
use domain::id::{AgentId, ChatId, ParticipantKind, Sequence};
use domain::message::{AppendRefused, Appended, ChatPlan, ChatState, Message, NewMessage, PriorResult};
use uuid::Uuid;

use super::row::{MessageRow, mentions_column};
use super::title;
use crate::chat::activate_on;
use crate::chat::row::{member_state, respond_within};
use crate::error::Fault;
use crate::idempotency_record;
use crate::plan::quota::{bytes_of, limit_of};
use crate::row::{self, At, Id};
use crate::schema::{chats, deliveries, messages, organizations, participants, plans};
use crate::statement::statement;

pub(crate) fn append_on(
    connection: &mut SqliteConnection,
    new: NewMessage,
) -> Result<Result<Appended, AppendRefused>, Fault> {
    if let Some(keyed) = &new.keyed {
        match idempotency_record::earlier_on(connection, keyed)? {
            PriorResult::Nothing => {
                idempotency_record::remember_on(connection, keyed, new.id.into(), new.now)?;
            }
            PriorResult::Message(first) => return Ok(Err(AppendRefused::Repeated(first))),
            PriorResult::Deleted(first) => return Ok(Err(AppendRefused::RepeatedDeleted(first))),
            PriorResult::AnotherRequest => return Ok(Err(AppendRefused::KeyReused)),
        }
    }
    let Some((sender, mut state)) = sender_on(connection, &new)? else {
        return Ok(Err(AppendRefused::NotParticipant));
    };
    let mut members = mentioned_on(connection, &new)?;
    members.insert(new.sender.uuid(), sender);
    let agents = if state.awaits_title { agents_on(connection, new.chat)? } else { Vec::new() };
    let decision = match state.append(new, |who| members.get(&who.uuid()).copied(), &agents) {
        Ok(decision) => decision,
        Err(refused) => return Ok(Err(refused)),
    };
    let message = decision.message;
    if decision.activates {
        activate_on(connection, message.sender, message.chat_id)?;
    }
    let at = message.created_at.micros();
    statement!("UPDATE chats SET last_sequence = ?, updated_at = ?, last_message_at = ?, content_bytes = ? WHERE id = ?")
        .bind::<BigInt, _>(message.sequence.get())
        .bind::<BigInt, _>(at)
        .bind::<BigInt, _>(at)
        .bind::<BigInt, _>(state.content_bytes)
        .bind::<Binary, _>(row::bytes(message.chat_id.uuid()))
        .execute(connection)?;
    insert_on(connection, &message)?;
    deliver_on(connection, &message)?;
    let titled = match decision.titling {
        Some(titling) => title::give_on(connection, &message, titling)?,
        None => None,
    };
    let (recipients, stopped, is_paused) = (decision.recipients, decision.stopped, state.is_paused);
    Ok(Ok(Appended { message, recipients, stopped, is_paused, titled }))
}

/// The agents in a chat.
fn agents_on(connection: &mut SqliteConnection, chat: ChatId) -> Result<Vec<AgentId>, Fault> {
    let agents = participants::table
        .filter(participants::chat_id.eq(row::bytes(chat.uuid())))
        .filter(participants::kind.eq(ParticipantKind::Agent.as_str()))
        .filter(participants::left_at.is_null())
        .select(participants::participant_id)
        .load::<Vec<u8>>(connection)?;
    agents.iter().map(|id| row::agent_id(id)).collect()
}

/// Name of a plan, its limits of messages and bytes, and the bytes that the organization stores.
type Plan = (String, Option<i64>, Option<i64>, i64);

/// Status of a membership, its stop, and a pause of the organization; whether the chat has no title yet, its last
/// sequence, number of deleted messages, newest time, bytes, and default deadline.
type Sender = (String, Option<i64>, Option<i64>, bool, i64, i64, Option<i64>, i64, Option<i32>, Option<Plan>);

/// The sender's membership and the chat, if the sender is a participant.
fn sender_on(
    connection: &mut SqliteConnection,
    new: &NewMessage,
) -> Result<Option<(MemberState, ChatState)>, Fault> {
    let found = participants::table
        .inner_join(chats::table)
        .left_join(organizations::table.on(chats::organization_id.eq(organizations::id.nullable())))
        .left_join(plans::table.on(organizations::plan.eq(plans::name)))
        .filter(participants::chat_id.eq(row::bytes(new.chat.uuid())))
        .filter(participants::participant_id.eq(row::bytes(new.sender.uuid())))
        .filter(participants::left_at.is_null())
        .filter(chats::deleted_at.is_null())
        .select((
            participants::status,
            participants::stopped_at,
            organizations::paused_at.nullable(),
            chats::title.is_null().and(chats::titled_by.is_null()),
            chats::last_sequence,
            chats::deleted_messages,
            chats::last_message_at,
            chats::content_bytes,
            chats::respond_within,
            (plans::name, plans::messages, plans::bytes, organizations::content_bytes).nullable(),
        ))
        .get_result::<Sender>(connection)
        .optional()?;
    let Some((
        status,
        stop,
        pause,
        awaits_title,
        last_sequence,
        deleted_messages,
        newest,
        content_bytes,
        within,
        plan,
    )) = found
    else {
        return Ok(None);
    };
    let plan = plan.map(|(name, messages, bytes, organization_bytes)| ChatPlan {
        name,
        messages: messages.map(limit_of),
        bytes: bytes.map(bytes_of),
        organization_bytes: bytes_of(organization_bytes),
    });
    let (last_sequence, newest) = (Sequence::new(last_sequence), newest.map(row::time));
    let (is_paused, respond_within) = (pause.is_some(), within.and_then(respond_within));
    let state = ChatState {
        awaits_title,
        last_sequence,
        deleted_messages,
        newest,
        content_bytes,
        is_paused,
        respond_within,
        plan,
    };
    Ok(Some((member_state(&status, stop.is_some())?, state)))
}

/// The mentioned participants of the chat.
fn mentioned_on(
    connection: &mut SqliteConnection,
    new: &NewMessage,
) -> Result<HashMap<Uuid, MemberState>, Fault> {
    let mut members = HashMap::with_capacity(new.mentions.len() + 1);
    for mention in &new.mentions {
        let who = mention.id.uuid();
        let found = participants::table
            .find((row::bytes(new.chat.uuid()), row::bytes(who)))
            .filter(participants::left_at.is_null())
            .select((participants::status, participants::stopped_at))
            .get_result::<(String, Option<i64>)>(connection)
            .optional()?;
        if let Some((status, stop)) = found {
            members.insert(who, member_state(&status, stop.is_some())?);
        }
    }
    Ok(members)
}

fn insert_on(connection: &mut SqliteConnection, message: &Message) -> Result<(), Fault> {
    let row = MessageRow {
        id: Id(message.id.uuid()),
        chat_id: Id(message.chat_id.uuid()),
        sequence: message.sequence.get(),
        kind: message.kind.as_str().to_owned(),
        content: message.content.clone(),
        sender_id: Id(message.sender.uuid()),
        sender_kind: message.sender.kind().as_str().to_owned(),
        sender_name: message.sender_name.clone(),
        mentions: mentions_column(&message.mentions)?,
        metadata: message.metadata.as_ref().map(row::to_json).transpose()?,
        created_at: At(message.created_at),
        updated_at: At(message.updated_at),
        respond_by: message.respond_by.map(At),
        sender_handle: message.sender_handle.clone(),
    };
    diesel::insert_into(messages::table).values(row).execute(connection)?;
    Ok(())
}

fn deliver_on(connection: &mut SqliteConnection, message: &Message) -> Result<(), Fault> {
    for record in &message.deliveries {
        diesel::insert_into(deliveries::table)
            .values((
                deliveries::agent_id.eq(row::bytes(record.agent().uuid())),
                deliveries::chat_id.eq(row::bytes(message.chat_id.uuid())),
                deliveries::sequence.eq(message.sequence.get()),
                deliveries::addressed.eq(record.is_addressed()),
                deliveries::current_attempt.eq(0),
            ))
            .execute(connection)?;
    }
    Ok(())
}
