//! The cause of a message: the open attempts of its sender.

use diesel::prelude::*;
use diesel::sql_types::{Binary, Bool, Integer, Nullable, Text};
use diesel::sqlite::SqliteConnection;
use domain::id::{AgentId, ChatId, MessageId};
use domain::message::{Cause, EXAMINED_DELIVERIES, OpenAttempts, Place, TraceParent};

use super::row::CauseColumns;
use super::row::status::PROCESSING;
use crate::error::Fault;
use crate::row::{self, Id};
use crate::statement::statement;

/// What tells the place of a message on which an attempt is open.
#[derive(Queryable)]
struct PlaceRow {
    id: Id,
    sender_id: Id,
    sender_kind: String,
    cause: CauseColumns,
    foreign_origin: Option<bool>,
}

impl PlaceRow {
    /// The columns of the row.
    const COLUMNS: &'static str = "messages.id, messages.sender_id, messages.sender_kind, messages.cause_id, \
         messages.root_id, messages.hop, messages.originator_id, messages.originator_kind, messages.ambiguous_cause, \
         messages.traceparent, messages.foreign_origin";

    /// The place of what follows from the message.
    fn place_below(self) -> Result<Place, Fault> {
        let message = MessageId::new(self.id.0);
        let hop = match self.cause.into_cause()? {
            Cause::Known(place) => return Ok(place.below(message)),
            Cause::Ambiguous { hop } => hop,
            Cause::None => 0,
        };
        let originator = row::participant_id(&self.sender_kind, self.sender_id.0)?;
        Ok(Place { message: None, root: message, hop, originator }.below(message))
    }
}

/// The SQL types of a [`PlaceRow`].
type PlaceColumns = (
    Binary,
    Binary,
    Text,
    (
        Nullable<Binary>,
        Nullable<Binary>,
        Nullable<Integer>,
        Nullable<Binary>,
        Nullable<Text>,
        Nullable<Bool>,
        Nullable<Text>,
    ),
    Nullable<Bool>,
);

/// A begun delivery that is not finished; its columns are null unless its attempt is open.
type Examined = Option<PlaceRow>;

/// A delivery is begun and not finished.
pub(super) const BEGUN: &str = "processed_at IS NULL AND dead_at IS NULL AND current_attempt > 0";

/// The number is [`EXAMINED_DELIVERIES`].
const LIMIT: &str = " LIMIT 100";

/// The cause of a message that `agent`, which is in the chat, sends there; the place of the cause in a trace; and whether it
/// may be foreign to the chat.
pub(crate) fn of_attempts_on(
    connection: &mut SqliteConnection,
    agent: AgentId,
    chat: ChatId,
) -> Result<(Cause, Option<TraceParent>, bool), Fault> {
    let here = statement!(
        "SELECT ", PlaceRow::COLUMNS, " FROM (\
             SELECT chat_id, sequence, ", PROCESSING, " AS is_open FROM deliveries INDEXED BY deliveries_at_work \
             WHERE agent_id = ? AND chat_id = ? AND ", BEGUN, " ORDER BY sequence DESC", LIMIT, ") AS examined \
         LEFT JOIN messages INDEXED BY messages_order ON is_open AND messages.chat_id = examined.chat_id \
             AND messages.sequence = examined.sequence"
        => Nullable<PlaceColumns>
    );
    let here = here.bind::<Binary, _>(Id(agent.uuid())).bind::<Binary, _>(Id(chat.uuid()));
    let (here, traceparent) = found(here.load(connection)?)?;
    if !here.open.is_empty() || here.examined >= EXAMINED_DELIVERIES {
        let cause = Cause::of_attempts(&here, &OpenAttempts::default());
        return Ok((cause, of_known(cause, traceparent), here.is_foreign));
    }
    let elsewhere = statement!(
        "SELECT ", PlaceRow::COLUMNS, " FROM (\
             SELECT agent_id, chat_id, sequence, ", PROCESSING, " AS is_open FROM deliveries INDEXED BY deliveries_at_work \
             WHERE agent_id = ? AND chat_id <> ? AND ", BEGUN, LIMIT, ") AS examined \
         LEFT JOIN participants ON is_open AND participants.chat_id = examined.chat_id \
             AND participants.participant_id = examined.agent_id AND participants.left_at IS NULL \
         LEFT JOIN chats ON chats.id = participants.chat_id AND chats.deleted_at IS NULL \
             AND chats.organization_id IS (SELECT organization_id FROM chats WHERE id = ?) \
         LEFT JOIN messages INDEXED BY messages_order ON messages.chat_id = chats.id \
             AND messages.sequence = examined.sequence"
        => Nullable<PlaceColumns>
    );
    let elsewhere = elsewhere
        .bind::<Binary, _>(Id(agent.uuid()))
        .bind::<Binary, _>(Id(chat.uuid()))
        .bind::<Binary, _>(Id(chat.uuid()));
    let (elsewhere, traceparent) = found(elsewhere.load(connection)?)?;
    let cause = Cause::of_attempts(&here, &elsewhere);
    Ok((cause, of_known(cause, traceparent), here.is_foreign || elsewhere.is_foreign))
}

/// Only a known cause is in a trace.
fn of_known(cause: Cause, traceparent: Option<TraceParent>) -> Option<TraceParent> {
    traceparent.filter(|_| matches!(cause, Cause::Known(_)))
}

/// Also the place in a trace of the message of an open attempt: it is known if there is only one.
fn found(rows: Vec<Examined>) -> Result<(OpenAttempts, Option<TraceParent>), Fault> {
    let examined = rows.len();
    let traceparent = rows.iter().flatten().next().map(|row| row.cause.traceparent()).transpose()?;
    let is_foreign = rows.iter().flatten().any(|row| row.foreign_origin.is_some());
    let open = rows.into_iter().flatten().map(PlaceRow::place_below).collect::<Result<_, _>>()?;
    Ok((OpenAttempts { open, is_foreign, examined }, traceparent.flatten()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_deliveries_are_examined_as_the_rule_says() {
        assert_eq!(LIMIT, format!(" LIMIT {EXAMINED_DELIVERIES}"));
    }
}
