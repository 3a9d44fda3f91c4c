//! Additional parts of chat lists: each part for all chats of a page in a fixed number of
//! statements.

use std::collections::HashMap;

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Bool, Nullable, Text};
use diesel::sqlite::SqliteConnection;
use domain::board::TaskCounts;
use domain::chat::{
    ChatAgent, ChatDetails, RosterHead, SEARCHED_SEQUENCES, SHOWN_PARTICIPANTS, Standing, WorkStatus,
};
use domain::delivery::SHOWN_ATTEMPTS;
use domain::id::{AgentId, ChatId, ParticipantId, UserId};
use domain::message::Message;
use domain::page::weight::{ATTEMPT_BYTES, RECORD_BYTES};
use uuid::Uuid;

use super::row::{ParticipantRow, StandingRow};
use crate::board::COUNT_COLUMNS;
use crate::error::Fault;
use crate::message::load::{Records, messages_on};
use crate::message::row::MessageRow;
use crate::message::row::status::{FAILED, PROCESSING};
use crate::row::{self, At, Id};
use crate::schema::messages;

/// The agents of chats, and whether they are at work.
pub(crate) fn details_on(
    connection: &mut SqliteConnection,
    chats: &[ChatId],
) -> Result<HashMap<ChatId, ChatDetails>, Fault> {
    let mut details = HashMap::with_capacity(chats.len());
    for (chat, work) in works_on(connection, chats)? {
        details.insert(chat, work);
    }
    for (chat, head) in heads_on(connection, chats, true)? {
        let agents = head.participants.into_iter().filter_map(|participant| {
            let id = participant.id.agent()?;
            Some(ChatAgent { id, name: participant.name, handle: participant.handle })
        });
        details.entry(chat).or_default().agents = agents.collect();
    }
    Ok(details)
}

/// Own ids as SQL: quoted hexadecimal digits and nothing else.
pub(super) fn in_list(chats: &[ChatId]) -> String {
    chats.iter().map(|chat| format!("x'{}'", chat.uuid().simple())).collect::<Vec<_>>().join(",")
}

#[derive(QueryableByName)]
struct WorkRow {
    #[diesel(sql_type = Binary)]
    id: Vec<u8>,
    #[diesel(sql_type = Bool)]
    working: bool,
    #[diesel(sql_type = Bool)]
    failed: bool,
    #[diesel(sql_type = Bool)]
    stopped: bool,
    /// Ids in hexadecimal digits, with commas between them.
    #[diesel(sql_type = Nullable<Text>)]
    interrupted: Option<String>,
    /// The counts of the board as JSON.
    #[diesel(sql_type = Nullable<Text>)]
    tasks: Option<String>,
}

impl WorkRow {
    fn interrupted(&self) -> Vec<AgentId> {
        let ids = self.interrupted.as_deref().unwrap_or_default().split(',');
        ids.filter_map(|id| Uuid::try_parse(id).ok()).map(AgentId::new).collect()
    }
}

/// An agent whose open attempt does not count: it is disabled, or its last socket has ended since the attempt began.
const DOUBTFUL: &str = "WHERE agents.id = participants.participant_id \
     AND (agents.disabled_at IS NOT NULL OR agents.disconnected_at >= deliveries.started_at)";

/// Seeks from each agent of a chat to its unfinished work there, that is, attempts under way and
/// failed ones. Whether one is stopped is in the rows of the agents, and the counts of tasks in that of the board.
fn works_on(
    connection: &mut SqliteConnection,
    chats: &[ChatId],
) -> Result<Vec<(ChatId, ChatDetails)>, Fault> {
    let agents = |columns: &str, status: &str| {
        format!(
            "(SELECT {columns} FROM participants CROSS JOIN deliveries INDEXED BY deliveries_at_work \
             ON deliveries.agent_id = participants.participant_id AND deliveries.chat_id = participants.chat_id \
             AND deliveries.processed_at IS NULL AND deliveries.dead_at IS NULL AND {status} \
             WHERE participants.chat_id = chats.id AND participants.kind = 'Agent' \
             AND participants.left_at IS NULL)"
        )
    };
    let any = |status: &str| format!("EXISTS {}", agents("1", status));
    let counts = format!("{PROCESSING} AND NOT EXISTS (SELECT 1 FROM agents {DOUBTFUL})");
    let interrupted =
        format!("{PROCESSING} AND EXISTS (SELECT 1 FROM agents {DOUBTFUL} AND agents.disabled_at IS NULL)");
    let rows = diesel::sql_query(format!(
        "SELECT chats.id, {} AS working, {} AS failed, EXISTS (SELECT 1 FROM participants \
         WHERE participants.chat_id = chats.id AND participants.kind = 'Agent' AND participants.left_at IS NULL \
         AND (participants.stopped_at IS NOT NULL OR paused.paused_at IS NOT NULL)) AS stopped, \
         {} AS interrupted, (SELECT json_array({COUNT_COLUMNS}) \
         FROM boards WHERE boards.chat_id = chats.id) AS tasks FROM chats \
         LEFT JOIN organizations AS paused ON paused.id = chats.organization_id WHERE chats.id IN ({})",
        any(&counts),
        any(FAILED),
        agents("group_concat(hex(participants.participant_id))", &interrupted),
        in_list(chats)
    ));
    let rows = rows.load::<WorkRow>(connection)?.into_iter();
    let details = |found: WorkRow| {
        let work = WorkStatus::of(found.stopped, found.failed, found.working);
        let tasks = found.tasks.as_deref().map(row::json).transpose()?.map(TaskCounts::of);
        let (interrupted, tasks) = (found.interrupted(), tasks.unwrap_or_default());
        let details = ChatDetails { agents: Vec::new(), work, interrupted, tasks };
        Ok((row::chat_id(&found.id)?, details))
    };
    rows.map(details).collect()
}

#[derive(QueryableByName)]
struct HeadRow {
    #[diesel(sql_type = Binary)]
    chat_id: Vec<u8>,
    #[diesel(sql_type = BigInt)]
    number: i64,
    #[diesel(sql_type = Binary)]
    participant_id: Id,
    #[diesel(sql_type = Text)]
    kind: String,
    #[diesel(sql_type = Text)]
    role: String,
    #[diesel(sql_type = Text)]
    status: String,
    #[diesel(sql_type = BigInt)]
    joined_at: At,
    #[diesel(sql_type = Binary)]
    account_id: Id,
    #[diesel(sql_type = Nullable<Text>)]
    user_handle: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    first_name: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    last_name: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    agent_handle: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    agent_name: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    description: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    agent_kind: Option<String>,
}

impl HeadRow {
    fn into_participant_row(self) -> ParticipantRow {
        let user = self.user_handle.zip(self.first_name).zip(self.last_name);
        let agent = self.agent_handle.zip(self.agent_name).zip(self.description).zip(self.agent_kind);
        ParticipantRow {
            participant_id: self.participant_id,
            kind: self.kind,
            role: self.role,
            status: self.status,
            joined_at: self.joined_at,
            account_id: self.account_id,
            user: user.map(|((handle, first), last)| (handle, first, last)),
            agent: agent.map(|(((handle, name), description), kind)| (handle, name, description, kind)),
        }
    }
}

/// The first participants of chats by id, and their number; only agents, if requested.
pub(super) fn heads_on(
    connection: &mut SqliteConnection,
    chats: &[ChatId],
    only_agents: bool,
) -> Result<HashMap<ChatId, RosterHead>, Fault> {
    let only = if only_agents { "AND kind = 'Agent' " } else { "" };
    // The rows of a chat are in the order of their ids, so numbering them sorts nothing.
    let rows = diesel::sql_query(format!(
        "SELECT head.*, users.handle AS user_handle, users.first_name, users.last_name, \
         agents.handle AS agent_handle, agents.name AS agent_name, agents.description, \
         agents.kind AS agent_kind \
         FROM (SELECT chat_id, participant_id, kind, role, status, joined_at, account_id, \
               row_number() OVER (PARTITION BY chat_id ORDER BY participant_id) AS rank, \
               count(*) OVER (PARTITION BY chat_id) AS number \
               FROM participants WHERE chat_id IN ({}) AND left_at IS NULL {only}) AS head \
         LEFT JOIN users ON head.kind = 'User' AND users.id = head.participant_id \
         LEFT JOIN agents ON head.kind = 'Agent' AND agents.id = head.participant_id \
         WHERE head.rank <= {SHOWN_PARTICIPANTS}",
        in_list(chats)
    ));
    let mut heads: HashMap<ChatId, RosterHead> = HashMap::with_capacity(chats.len());
    for found in rows.load::<HeadRow>(connection)? {
        let head = heads.entry(row::chat_id(&found.chat_id)?).or_default();
        head.count = found.number.cast_unsigned();
        head.participants.push(found.into_participant_row().into_participant()?);
    }
    for head in heads.values_mut() {
        head.participants.sort_by_key(|participant| participant.id.uuid());
    }
    Ok(heads)
}

/// The standing of a human in chats.
pub(super) fn standings_on(
    connection: &mut SqliteConnection,
    viewer: UserId,
    chats: &[ChatId],
) -> Result<HashMap<ChatId, Standing>, Fault> {
    // The index is named because SQLite would read all participants of the chats.
    let rows = diesel::sql_query(format!(
        "SELECT chat_id, participant_id, kind, role, status \
         FROM participants INDEXED BY participants_of_account \
         WHERE chat_id IN ({}) AND account_id = ?1 AND left_at IS NULL ORDER BY chat_id, participant_id",
        in_list(chats)
    ));
    let rows = rows.bind::<Binary, _>(row::bytes(viewer.uuid())).load::<StandingRow>(connection)?;
    let mut standings: HashMap<ChatId, Standing> = HashMap::with_capacity(chats.len());
    for found in rows {
        let chat = ChatId::new(found.chat_id.0);
        found.add_to(ParticipantId::User(viewer), standings.entry(chat).or_default())?;
    }
    Ok(standings)
}

/// The sequence of a chat's newest text, or else of its newest message.
fn newest_sequence() -> String {
    format!(
        "coalesce((SELECT sequence FROM messages AS newest INDEXED BY messages_order WHERE newest.chat_id = chats.id \
          AND sequence > chats.last_sequence - {SEARCHED_SEQUENCES} AND newest.kind = 'text' \
          ORDER BY sequence DESC LIMIT 1), \
         (SELECT max(sequence) FROM messages AS newest INDEXED BY messages_order WHERE newest.chat_id = chats.id))"
    )
}

#[derive(QueryableByName)]
struct NewestRow {
    #[diesel(sql_type = Binary)]
    chat_id: Vec<u8>,
    #[diesel(sql_type = Binary)]
    id: Vec<u8>,
    #[diesel(sql_type = BigInt)]
    weight: i64,
}

/// A message that is not loaded yet.
pub(super) struct Newest {
    id: Vec<u8>,
    /// The approximate size, with its deliveries.
    pub(super) weight: usize,
}

/// The newest text of each chat, or else its newest message. Lengths are in the head of a row, so only the mentions are
/// read.
pub(super) fn newest_weights_on(
    connection: &mut SqliteConnection,
    chats: &[ChatId],
) -> Result<HashMap<ChatId, Newest>, Fault> {
    let weight = format!("total({RECORD_BYTES} + min(current_attempt, {SHOWN_ATTEMPTS}) * {ATTEMPT_BYTES})");
    let rows = diesel::sql_query(format!(
        "SELECT messages.chat_id, messages.id, CAST(octet_length(messages.content) + octet_length(messages.mentions) \
         + coalesce(octet_length(messages.metadata), 0) \
         + (SELECT {weight} FROM json_each(messages.mentions) AS mention CROSS JOIN deliveries \
            ON agent_id = unhex(replace(mention.value ->> 'id', '-', '')) \
            AND deliveries.chat_id = messages.chat_id AND deliveries.sequence = messages.sequence \
            AND addressed = 1 WHERE mention.value ->> 'of' = 'Agent') \
         + (SELECT {weight} FROM deliveries INDEXED BY deliveries_unaddressed \
            WHERE deliveries.chat_id = messages.chat_id AND deliveries.sequence = messages.sequence \
            AND addressed = 0) AS INTEGER) AS weight \
         FROM chats CROSS JOIN messages \
         ON messages.chat_id = chats.id AND messages.sequence = {} \
         WHERE chats.id IN ({})",
        newest_sequence(),
        in_list(chats)
    ));
    let newest = |found: NewestRow| {
        let weight = usize::try_from(found.weight).unwrap_or(usize::MAX);
        Ok((row::chat_id(&found.chat_id)?, Newest { id: found.id, weight }))
    };
    rows.load::<NewestRow>(connection)?.into_iter().map(newest).collect()
}

/// These messages by chat, with all delivery records.
pub(super) fn newest_on(
    connection: &mut SqliteConnection,
    newest: impl IntoIterator<Item = Newest>,
) -> Result<HashMap<ChatId, Message>, Fault> {
    let rows = messages::table
        .filter(messages::id.eq_any(newest.into_iter().map(|message| message.id)))
        .select(MessageRow::as_select())
        .load(connection)?;
    let newest = messages_on(connection, rows, Records::All)?;
    Ok(newest.into_iter().map(|message| (message.chat_id, message)).collect())
}
