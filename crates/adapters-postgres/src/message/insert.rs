//! The rows of the messages of a batch.

use std::sync::LazyLock;

use diesel::sql_types::{Array, BigInt, Bool, Integer, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::delivery::HeldBy;
use domain::id::ChatId;
use domain::message::{Appended, ChatState};
use uuid::Uuid;

use super::cause::{self, Causes, cause_columns};
use super::record_key::RecordKeys;
use super::row::{CauseColumns, mentions_column};
use crate::error::Fault;
use crate::row::{self, At};
use crate::run::Db;
use crate::statement::{Statement, statement};

/// Inserts messages; the values of the [columns of the cause](cause::COLUMNS) follow.
const INSERT: &str = concat!(
    "INSERT INTO messages (id, chat_id, sequence, kind, content, sender_id, sender_kind, sender_name, mentions, \
     metadata, respond_by, created_at, updated_at, ",
    cause_columns!(),
    ") SELECT new.id, new.chat_id, new.sequence, new.kind, new.content, new.sender_id, new.sender_kind, \
     new.sender_name, new.mentions, new.metadata, new.respond_by, new.created_at, new.created_at, "
);

/// The given messages as rows; [`bind_messages`] binds the values.
const NEW: &str = "FROM unnest(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) \
     AS new (id, chat_id, sequence, kind, content, sender_id, sender_kind, sender_name, mentions, metadata, \
     respond_by, created_at, cause_id, root_id, hop, originator_id, originator_kind, traceparent, is_foreign, \
     labels_foreign, counts_attempts)";

/// Inserts messages whose senders have no open attempts; [`bind_messages`] binds the values.
pub(super) static CAUSELESS_MESSAGES: LazyLock<String> = LazyLock::new(|| {
    format!(
        "{INSERT}new.cause_id, new.root_id, new.hop, new.originator_id, new.originator_kind, NULL::boolean, \
         new.traceparent, CASE WHEN new.is_foreign THEN new.labels_foreign END {NEW}"
    )
});

/// Inserts messages from columns; [`bind_messages`] binds the values. The rule of the cause is
/// [`or_observed`](domain::message::Cause::or_observed), that of the trace
/// [`of_new`](domain::message::TraceParent::of_new), and that of the origin
/// [`is_foreign_to`](domain::message::NewMessage::is_foreign_to).
pub(super) static MESSAGES: LazyLock<String> = LazyLock::new(|| {
    let given =
        |column: &str| format!("CASE WHEN new.root_id IS NULL THEN found.{column} ELSE new.{column} END");
    let span = "substr(new.id::text, 20, 4) || substr(new.id::text, 25)";
    format!(
        "{INSERT}{cause_id}, {root_id}, greatest(new.hop, found.hop), {originator_id}, {originator_kind}, \
         CASE WHEN new.root_id IS NULL AND (found.ambiguous_cause OR found.root_id IS NULL AND new.hop IS NOT NULL) THEN TRUE END, \
         CASE WHEN new.root_id IS NULL AND found.traceparent IS NOT NULL \
         AND (new.traceparent IS NULL OR substr(new.traceparent, 37, 16) = {span}) \
         THEN substr(found.traceparent, 1, 36) || {span} || substr(found.traceparent, 53) ELSE new.traceparent END, \
         CASE WHEN found.is_foreign OR new.is_foreign AND (new.root_id IS NOT NULL OR found.root_id IS NULL) \
         THEN new.labels_foreign END {NEW} CROSS JOIN LATERAL ({of_attempts}) AS found",
        cause_id = given("cause_id"),
        root_id = given("root_id"),
        originator_id = given("originator_id"),
        originator_kind = given("originator_kind"),
        of_attempts = *cause::OF_ATTEMPTS,
    )
});

/// The [columns](cause::COLUMNS) of those that have a cause, or an ambiguous one; `message` is the inserted table.
pub(super) const HAS_CAUSE: &str = "message.root_id IS NOT NULL OR message.ambiguous_cause";

/// The same, with the causes of those that have one.
static MESSAGES_WITH_CAUSES: LazyLock<String> = LazyLock::new(|| {
    let (insert, columns) = (&*MESSAGES, cause::COLUMNS);
    format!(
        "WITH message AS ({insert} RETURNING id, {columns}) SELECT id, {columns} FROM message WHERE {HAS_CAUSE}"
    )
});

/// Inserts their deliveries; [`bind_deliveries`] binds the values.
pub(super) const DELIVERIES: &str = "INSERT INTO deliveries (agent_id, chat_id, sequence, addressed, current_attempt) \
     SELECT agent_id, chat_id, sequence, TRUE, 0 FROM unnest(?, ?, ?) AS new (agent_id, chat_id, sequence)";

/// Like [`DELIVERIES`], and holds those of the messages `held`.
pub(super) static GUARDED_DELIVERIES: LazyLock<String> = LazyLock::new(|| {
    // What is over a budget, or is held because of a stranger, is never written by one statement.
    let limits = HeldBy::ALL.into_iter().filter(|by| by.budget().is_none() && *by != HeldBy::Foreign);
    let reasons = limits.map(|by| format!("WHEN '{}' THEN '{}'", by.as_str(), by.reason()));
    let reasons = reasons.collect::<Vec<_>>().join(" ");
    format!(
        "INSERT INTO deliveries (agent_id, chat_id, sequence, addressed, current_attempt, dead_at, dead_reason, held_by) \
         SELECT new.agent_id, new.chat_id, new.sequence, TRUE, 0, held.created_at, \
         CASE held.held_by {reasons} END, held.held_by \
         FROM unnest(?, ?, ?) AS new (agent_id, chat_id, sequence) \
         LEFT JOIN held ON held.chat_id = new.chat_id AND held.sequence = new.sequence"
    )
});

/// Updates the last sequences of chats; [`bind_chats`] binds the values.
pub(super) const UPDATE_CHATS: &str = "UPDATE chats SET last_sequence = new.last_sequence, \
     updated_at = new.at, last_message_at = new.at, content_bytes = new.bytes, texts = new.texts \
     FROM unnest(?, ?, ?, ?, ?) AS new (id, last_sequence, at, bytes, texts) WHERE chats.id = new.id";

/// Returns the causes that were found, and the origins of those messages.
pub(super) async fn messages_on(mut db: &Db, messages: &[&Appended]) -> Result<Causes, Fault> {
    let written = statement::<(SqlUuid, cause::Types)>(&**MESSAGES_WITH_CAUSES);
    let found = bind_messages(written, messages)?.load::<(Uuid, cause::Columns)>(&mut db).await?;
    cause::by_message(found)
}

pub(super) async fn deliveries_on(mut db: &Db, messages: &[&Appended]) -> Result<(), Fault> {
    if messages.iter().any(|appended| !appended.message.deliveries.is_empty()) {
        bind_deliveries(statement::<()>(DELIVERIES), messages).execute(&mut db).await?;
    }
    Ok(())
}

/// Returns the new row version of the chats: the transaction that wrote them, hence the same for
/// all.
pub(super) async fn update_chats_on(
    mut db: &Db,
    chats: impl Iterator<Item = (ChatId, &ChatState)>,
) -> Result<Option<String>, Fault> {
    let written = statement::<Text>(format!("{UPDATE_CHATS} RETURNING chats.xmin::text"));
    Ok(bind_chats(written, chats).load::<String>(&mut db).await?.pop())
}

const ACTIVATE: &str = "UPDATE participants SET status = 'active' FROM unnest(?, ?) AS shown (chat_id, who) \
     WHERE participants.chat_id = shown.chat_id AND participants.participant_id = shown.who \
     AND participants.status = 'inactive' AND participants.left_at IS NULL";

/// Makes the memberships of senders active.
pub(super) async fn activate_on(mut db: &Db, chats: Vec<Uuid>, who: Vec<Uuid>) -> Result<(), Fault> {
    if who.is_empty() {
        return Ok(());
    }
    statement::<()>(ACTIVATE)
        .bind::<Array<SqlUuid>, _>(chats)
        .bind::<Array<SqlUuid>, _>(who)
        .execute(&mut db)
        .await?;
    Ok(())
}

pub(super) fn bind_messages<'m, Row>(
    statement: Statement<'m, Row>,
    appended: &[&'m Appended],
) -> Result<Statement<'m, Row>, Fault> {
    let messages = appended.iter().map(|appended| &appended.message).collect::<Vec<_>>();
    let mentions =
        messages.iter().map(|new| mentions_column(&new.mentions)).collect::<Result<Vec<_>, _>>()?;
    let metadata = messages
        .iter()
        .map(|new| new.metadata.as_ref().map(row::to_json).transpose())
        .collect::<Result<Vec<_>, _>>()?;
    let given = messages.iter().map(|new| CauseColumns::of(new)).collect::<Vec<_>>();
    let all = messages.iter();
    Ok(statement
        .bind::<Array<SqlUuid>, _>(all.clone().map(|new| new.id.uuid()).collect::<Vec<_>>())
        .bind::<Array<SqlUuid>, _>(all.clone().map(|new| new.chat_id.uuid()).collect::<Vec<_>>())
        .bind::<Array<BigInt>, _>(all.clone().map(|new| new.sequence.get()).collect::<Vec<_>>())
        .bind::<Array<Text>, _>(all.clone().map(|new| new.kind.as_str()).collect::<Vec<_>>())
        .bind::<Array<Text>, _>(all.clone().map(|new| new.content.as_str()).collect::<Vec<_>>())
        .bind::<Array<SqlUuid>, _>(all.clone().map(|new| new.sender.uuid()).collect::<Vec<_>>())
        .bind::<Array<Text>, _>(all.clone().map(|new| new.sender.kind().as_str()).collect::<Vec<_>>())
        .bind::<Array<Text>, _>(all.clone().map(|new| new.sender_name.as_str()).collect::<Vec<_>>())
        .bind::<Array<Text>, _>(mentions)
        .bind::<Array<Nullable<Text>>, _>(metadata)
        .bind::<Array<Nullable<Timestamptz>>, _>(
            all.clone().map(|new| new.respond_by.map(At)).collect::<Vec<_>>(),
        )
        .bind::<Array<Timestamptz>, _>(all.map(|new| At(new.created_at)).collect::<Vec<_>>())
        .bind::<Array<Nullable<SqlUuid>>, _>(given.iter().map(|cause| cause.cause_id).collect::<Vec<_>>())
        .bind::<Array<Nullable<SqlUuid>>, _>(given.iter().map(|cause| cause.root_id).collect::<Vec<_>>())
        .bind::<Array<Nullable<Integer>>, _>(given.iter().map(|cause| cause.hop).collect::<Vec<_>>())
        .bind::<Array<Nullable<SqlUuid>>, _>(
            given.iter().map(|cause| cause.originator_id).collect::<Vec<_>>(),
        )
        .bind::<Array<Nullable<Text>>, _>(
            given.iter().map(|cause| cause.originator_kind.clone()).collect::<Vec<_>>(),
        )
        .bind::<Array<Nullable<Text>>, _>(
            given.into_iter().map(|cause| cause.traceparent).collect::<Vec<_>>(),
        )
        .bind::<Array<Bool>, _>(
            appended.iter().map(|new| new.message.origin.is_foreign()).collect::<Vec<_>>(),
        )
        .bind::<Array<Bool>, _>(appended.iter().map(|new| !new.foreign.allows()).collect::<Vec<_>>())
        .bind::<Array<Bool>, _>(appended.iter().map(|new| new.counts_attempts).collect::<Vec<_>>()))
}

pub(super) fn bind_deliveries<'m, Row>(
    statement: Statement<'m, Row>,
    messages: &[&Appended],
) -> Statement<'m, Row> {
    let mut keys = RecordKeys::default();
    for message in messages.iter().map(|appended| &appended.message) {
        let (chat, sequence) = (message.chat_id.uuid(), message.sequence.get());
        keys.extend(message.deliveries.iter().map(|delivery| (delivery.agent().uuid(), chat, sequence)));
    }
    keys.bind(statement)
}

pub(super) fn bind_chats<'r, Row>(
    statement: Statement<'r, Row>,
    chats: impl Iterator<Item = (ChatId, &'r ChatState)>,
) -> Statement<'r, Row> {
    let (mut ids, mut sequences, mut newest) = (Vec::new(), Vec::new(), Vec::new());
    let (mut bytes, mut texts) = (Vec::new(), Vec::new());
    for (id, state) in chats {
        ids.push(id.uuid());
        sequences.push(state.last_sequence.get());
        newest.push(state.newest.map(At));
        bytes.push(state.content_bytes);
        texts.push(state.texts);
    }
    statement
        .bind::<Array<SqlUuid>, _>(ids)
        .bind::<Array<BigInt>, _>(sequences)
        .bind::<Array<Nullable<Timestamptz>>, _>(newest)
        .bind::<Array<BigInt>, _>(bytes)
        .bind::<Array<BigInt>, _>(texts)
}
