//! Storing a message with the next sequence of its chat.

use std::collections::HashMap;

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Bool, Integer, Nullable, Text};
use diesel::sqlite::SqliteConnection;
use domain::attention::AttentionEffect;
use domain::chat::MemberState;
use domain::delivery::HeldBy;
use domain::foreign::Origin;
use domain::id::{AgentId, ChatId, OrganizationId, ParticipantId, ParticipantKind, Sequence};
use domain::message::{
    AppendRefused, Appended, ChatPlan, ChatState, Message, NewMessage, PriorResult, TraceParent, pair_since,
};
use uuid::Uuid;

use super::row::{CauseColumns, mentions_column};
use super::{cause, foreign, hold, title};
use crate::attention;
use crate::chat::activate_on;
use crate::chat::row::{foreign_policy, max_hops, member_state, respond_within};
use crate::error::Fault;
use crate::file;
use crate::idempotency_record;
use crate::plan::quota::{bytes_of, limit_of};
use crate::row::{self, At, Id};
use crate::schema::participants;
use crate::statement::{self, Statement, statement};
use crate::usage;

pub(crate) fn append_on(
    connection: &mut SqliteConnection,
    mut new: NewMessage,
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
    if !attention::takes_answer_on(connection, &new)? {
        return Ok(Err(AppendRefused::Answered));
    }
    let Some((sender, mut state, (has_begun, has_held_pairs, holds_foreign))) = sender_on(connection, &new)?
    else {
        return Ok(Err(AppendRefused::NotParticipant));
    };
    if let (Some(agent), true) = (new.sender.agent(), has_begun && new.counts_attempts()) {
        let (observed, of_cause, is_foreign) = cause::of_attempts_on(connection, agent, new.chat)?;
        if new.cause.is_none() {
            new.traceparent = TraceParent::of_new(new.traceparent, of_cause, new.id);
        }
        new.cause = new.cause.or_observed(observed);
        new.follows_foreign |= is_foreign;
    }
    let mut members = mentioned_on(connection, &new)?;
    members.insert(new.sender.uuid(), sender);
    let agents = if state.awaits_title { agents_on(connection, new.chat)? } else { Vec::new() };
    let files = file::found_on(connection, &new)?;
    let effect = AttentionEffect::of(&new);
    let member = |who: ParticipantId| members.get(&who.uuid()).copied();
    let decision = state.append(new, member, &agents, |file| files.get(&file).cloned());
    let mut decision = match decision {
        Ok(decision) => decision,
        Err(refused) => return Ok(Err(refused)),
    };
    let (activates, titling) = (decision.activates, decision.titling.take());
    let mut appended = decision.into_appended(&state);
    hold::hold_on(connection, &mut appended, has_held_pairs)?;
    if holds_foreign {
        foreign::hold_on(connection, &mut appended, state.organization)?;
    }
    let own = foreign::owners_on(connection, &appended)?;
    appended.hold_over_budget(&own);
    let message = &appended.message;
    if activates {
        activate_on(connection, message.sender, message.chat_id)?;
    }
    let at = message.created_at.micros();
    statement!("UPDATE chats SET last_sequence = ?, updated_at = ?, last_message_at = ?, content_bytes = ?, texts = ? WHERE id = ?")
        .bind::<BigInt, _>(message.sequence.get())
        .bind::<BigInt, _>(at)
        .bind::<BigInt, _>(at)
        .bind::<BigInt, _>(state.content_bytes)
        .bind::<BigInt, _>(state.texts)
        .bind::<Binary, _>(row::bytes(message.chat_id.uuid()))
        .execute(connection)?;
    insert_on(connection, message)?;
    file::attach_on(connection, message)?;
    deliver_on(connection, message)?;
    usage::add_on(connection, message)?;
    if let Some(effect) = effect {
        attention::apply_on(connection, &effect, message)?;
    }
    if let Some(titling) = titling {
        appended.titled = title::give_on(connection, message, titling)?;
    }
    Ok(Ok(appended))
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

/// Status of a membership, its stop, and the pauses of the agent and of the organization; whether the chat has no title
/// yet, its last sequence, number of deleted messages, newest time, bytes, and number of texts; the limits; the flags.
type Sender = (
    String,
    (Option<i64>, Option<i64>, Option<i64>),
    bool,
    i64,
    i64,
    Option<i64>,
    i64,
    i64,
    Limits,
    Option<Plan>,
    Flags,
);

/// Whether the sender has work that it has begun, whether pairs of the chat are held, and whether any organization has
/// what others ask its agents held.
type Flags = (bool, bool, bool);

/// The default deadline of a chat, its limit of hops, and that of its organization, which is the fourth; its policy.
type Limits = (Option<i32>, Option<i32>, Option<i32>, Option<Id>, Option<String>);

/// The SQL types of a [`Sender`].
type SenderColumns = (
    Text,
    (Nullable<BigInt>, Nullable<BigInt>, Nullable<BigInt>),
    Bool,
    BigInt,
    BigInt,
    Nullable<BigInt>,
    BigInt,
    BigInt,
    (Nullable<Integer>, Nullable<Integer>, Nullable<Integer>, Nullable<Binary>, Nullable<Text>),
    Nullable<(Text, Nullable<BigInt>, Nullable<BigInt>, BigInt)>,
    (Bool, Bool, Bool),
);

/// The sender's membership and the chat, if the sender is a participant, and the flags.
fn sender_on(
    connection: &mut SqliteConnection,
    new: &NewMessage,
) -> Result<Option<(MemberState, ChatState, Flags)>, Fault> {
    let found = statement!(
        "SELECT participants.status, stopped_at, agent_paused_at, paused_at, title IS NULL AND titled_by IS NULL, last_sequence, \
             deleted_messages, last_message_at, chats.content_bytes, texts, respond_within, \
             chats.max_hops, organizations.max_hops, chats.organization_id, organizations.foreign_policy, \
             plans.name, plans.messages, plans.bytes, organizations.content_bytes, EXISTS (SELECT 1 FROM deliveries INDEXED BY deliveries_at_work \
             WHERE agent_id = participant_id AND ", cause::BEGUN, "), \
             EXISTS (SELECT 1 FROM holds INDEXED BY holds_of_pairs WHERE holds.chat_id = participants.chat_id \
             AND held_by = 'max_pair_messages' AND held_at > ?), \
             EXISTS (SELECT 1 FROM organizations INDEXED BY organizations_that_hold WHERE foreign_policy = 'hold') \
         FROM participants CROSS JOIN chats ON chats.id = participants.chat_id AND chats.deleted_at IS NULL \
         LEFT JOIN organizations ON organizations.id = chats.organization_id \
         LEFT JOIN plans ON plans.name = organizations.plan \
         WHERE participants.chat_id = ? AND participant_id = ? AND left_at IS NULL" => SenderColumns
    );
    let found = found
        .bind::<BigInt, _>(At(pair_since(new.now)))
        .bind::<Binary, _>(Id(new.chat.uuid()))
        .bind::<Binary, _>(Id(new.sender.uuid()))
        .get_result::<Sender>(connection)
        .optional()?;
    let Some((
        status,
        (stop, own_pause, pause),
        awaits_title,
        last_sequence,
        deleted_messages,
        newest,
        content_bytes,
        texts,
        (within, max, organization_max, organization, policy),
        plan,
        flags,
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
        texts,
        is_paused,
        respond_within,
        max_hops: max.and_then(max_hops),
        organization_max_hops: organization_max.and_then(max_hops),
        organization: organization.map(|id| OrganizationId::new(id.0)),
        foreign: foreign_policy(policy.as_deref())?,
        plan,
    };
    Ok(Some((member_state(&status, stop.is_some(), own_pause.is_some())?, state, flags)))
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
            .select((participants::status, participants::stopped_at, participants::agent_paused_at))
            .get_result::<(String, Option<i64>, Option<i64>)>(connection)
            .optional()?;
        if let Some((status, stop, pause)) = found {
            members.insert(who, member_state(&status, stop.is_some(), pause.is_some())?);
        }
    }
    Ok(members)
}

fn insert_on(connection: &mut SqliteConnection, message: &Message) -> Result<(), Fault> {
    macro_rules! columns {
        () => {
            "INSERT INTO messages (id, chat_id, sequence, kind, content, sender_id, sender_kind, sender_name, mentions, \
             metadata, created_at, updated_at, respond_by"
        };
    }
    if message.cause.is_none() && message.traceparent.is_none() && message.origin.is_own() {
        let insert = statement!(columns!(), ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
        with_values(insert, message)?.execute(connection)?;
        return Ok(());
    }
    let insert = statement!(
        columns!(),
        ", cause_id, root_id, hop, originator_id, originator_kind, ambiguous_cause, traceparent, foreign_origin) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    );
    let cause = CauseColumns::of(message);
    with_values(insert, message)?
        .bind::<Nullable<Binary>, _>(cause.cause_id)
        .bind::<Nullable<Binary>, _>(cause.root_id)
        .bind::<Nullable<Integer>, _>(cause.hop)
        .bind::<Nullable<Binary>, _>(cause.originator_id)
        .bind::<Nullable<Text>, _>(cause.originator_kind)
        .bind::<Nullable<Bool>, _>(cause.ambiguous_cause)
        .bind::<Nullable<Text>, _>(cause.traceparent)
        .bind::<Nullable<Bool>, _>(origin_column(message.origin))
        .execute(connection)?;
    Ok(())
}

/// The column of an origin.
const fn origin_column(origin: Origin) -> Option<bool> {
    match origin {
        Origin::Own => None,
        Origin::Allowed => Some(false),
        Origin::Labeled => Some(true),
    }
}

/// Binds the values of a message without its cause, its trace, and its origin.
fn with_values<T: statement::Text>(
    statement: Statement<T, (), ()>,
    message: &Message,
) -> Result<Statement<T, impl statement::Values, ()>, Fault> {
    Ok(statement
        .bind::<Binary, _>(Id(message.id.uuid()))
        .bind::<Binary, _>(Id(message.chat_id.uuid()))
        .bind::<BigInt, _>(message.sequence.get())
        .bind::<Text, _>(message.kind.as_str())
        .bind::<Text, _>(message.content.as_str())
        .bind::<Binary, _>(Id(message.sender.uuid()))
        .bind::<Text, _>(message.sender.kind().as_str())
        .bind::<Text, _>(message.sender_name.as_str())
        .bind::<Text, _>(mentions_column(&message.mentions)?)
        .bind::<Nullable<Text>, _>(message.metadata.as_ref().map(row::to_json).transpose()?)
        .bind::<BigInt, _>(At(message.created_at))
        .bind::<BigInt, _>(At(message.updated_at))
        .bind::<Nullable<BigInt>, _>(message.respond_by.map(At)))
}

fn deliver_on(connection: &mut SqliteConnection, message: &Message) -> Result<(), Fault> {
    for record in &message.deliveries {
        if let Some(dead) = record.dead() {
            let insert = statement!(
                "INSERT INTO deliveries (agent_id, chat_id, sequence, addressed, current_attempt, dead_at, dead_reason, \
                 held_by) VALUES (?, ?, ?, ?, 0, ?, ?, ?)"
            );
            insert
                .bind::<Binary, _>(Id(record.agent().uuid()))
                .bind::<Binary, _>(Id(message.chat_id.uuid()))
                .bind::<BigInt, _>(message.sequence.get())
                .bind::<Bool, _>(record.is_addressed())
                .bind::<BigInt, _>(At(dead.at))
                .bind::<Text, _>(dead.reason.as_str())
                .bind::<Nullable<Text>, _>(dead.held_by.map(HeldBy::as_str))
                .execute(connection)?;
            continue;
        }
        let insert = statement!(
            "INSERT INTO deliveries (agent_id, chat_id, sequence, addressed, current_attempt) VALUES (?, ?, ?, ?, 0)"
        );
        insert
            .bind::<Binary, _>(Id(record.agent().uuid()))
            .bind::<Binary, _>(Id(message.chat_id.uuid()))
            .bind::<BigInt, _>(message.sequence.get())
            .bind::<Bool, _>(record.is_addressed())
            .execute(connection)?;
    }
    Ok(())
}
