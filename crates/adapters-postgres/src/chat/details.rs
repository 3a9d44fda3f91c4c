//! Additional parts of chat lists: each part for all chats of a page in a fixed number of
//! statements.

use std::collections::HashMap;

use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Bool, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::board::TaskCounts;
use domain::chat::{ChatAgent, ChatDetails, RosterHead, SHOWN_PARTICIPANTS, Standing, WorkStatus};
use domain::id::{AgentId, ChatId, ParticipantId, UserId};
use futures_util::future::try_join;
use uuid::Uuid;

use super::row::{ParticipantRow, StandingRow};
use crate::board::COUNT_COLUMNS;
use crate::error::Fault;
use crate::message::row::status::{FAILED, PROCESSING};
use crate::row::{At, Id};
use crate::run::Db;
use crate::statement::statement;

/// The agents of chats, and whether they are at work.
pub(crate) async fn details_on(db: &Db, chats: &[ChatId]) -> Result<HashMap<ChatId, ChatDetails>, Fault> {
    let (works, heads) = try_join(works_on(db, chats), heads_on(db, chats, true)).await?;
    let mut details = HashMap::with_capacity(chats.len());
    for (chat, work) in works {
        details.insert(chat, work);
    }
    for (chat, head) in heads {
        let agents = head.participants.into_iter().filter_map(|participant| {
            let id = participant.id.agent()?;
            Some(ChatAgent { id, name: participant.name, handle: participant.handle })
        });
        details.entry(chat).or_default().agents = agents.collect();
    }
    Ok(details)
}

pub(super) fn uuids(chats: &[ChatId]) -> Vec<Uuid> {
    chats.iter().map(|chat| chat.uuid()).collect()
}

/// Seeks from each agent of a chat to its unfinished work there, that is, attempts under way and
/// failed ones. Whether one is stopped is in the rows of the agents, and the counts of tasks in that of the board. The
/// limits keep PostgreSQL from reading all open work of the agents elsewhere.
async fn works_on(mut db: &Db, chats: &[ChatId]) -> Result<Vec<(ChatId, ChatDetails)>, Fault> {
    let agents = |columns: &str, status: &str, last: &str| {
        format!(
            "(SELECT {columns} FROM participants CROSS JOIN LATERAL (\
                 SELECT FROM deliveries WHERE deliveries.agent_id = participants.participant_id \
                 AND deliveries.chat_id = participants.chat_id AND deliveries.processed_at IS NULL AND deliveries.dead_at IS NULL \
                 AND deliveries.current_attempt > 0 AND {status} LIMIT 1) AS work \
              WHERE participants.chat_id = chat.id AND participants.kind = 'Agent' \
              AND participants.left_at IS NULL {last})"
        )
    };
    let any = |status: &str| agents("TRUE AS yes", status, "LIMIT 1");
    let counts = format!("{PROCESSING} AND NOT EXISTS (SELECT FROM agents {DOUBTFUL})");
    let interrupted =
        format!("{PROCESSING} AND EXISTS (SELECT FROM agents {DOUBTFUL} AND agents.disabled_at IS NULL)");
    let rows = statement::<(SqlUuid, Bool, Bool, Bool, Nullable<Array<SqlUuid>>, Nullable<Array<BigInt>>)>(
        format!(
            "SELECT chat.id, working.yes IS NOT NULL, failed.yes IS NOT NULL, EXISTS (SELECT FROM participants \
         WHERE participants.chat_id = chat.id AND participants.kind = 'Agent' AND participants.left_at IS NULL \
         AND (participants.stopped_at IS NOT NULL OR paused.paused_at IS NOT NULL) OFFSET 0), \
         {}, (SELECT ARRAY[{COUNT_COLUMNS}] FROM boards \
         WHERE boards.chat_id = chat.id OFFSET 0) \
         FROM unnest(?) AS chat (id) LEFT JOIN LATERAL (SELECT organizations.paused_at FROM chats \
         JOIN organizations ON organizations.id = chats.organization_id WHERE chats.id = chat.id OFFSET 0) \
         AS paused ON TRUE \
         LEFT JOIN LATERAL {} AS working ON TRUE LEFT JOIN LATERAL {} AS failed ON TRUE",
            agents("array_agg(participants.participant_id)", &interrupted, ""),
            any(&counts),
            any(FAILED),
        ),
    );
    let rows = rows.bind::<Array<SqlUuid>, _>(uuids(chats));
    let rows = rows.load::<WorkRow>(&mut db).await?;
    Ok(rows.into_iter().map(WorkRow::into_details).collect())
}

#[derive(Queryable)]
struct WorkRow {
    chat_id: Uuid,
    working: bool,
    failed: bool,
    stopped: bool,
    interrupted: Option<Vec<Uuid>>,
    tasks: Option<Vec<i64>>,
}

impl WorkRow {
    fn into_details(self) -> (ChatId, ChatDetails) {
        let interrupted = self.interrupted.unwrap_or_default().into_iter().map(AgentId::new).collect();
        let tasks = self.tasks.and_then(|counts| counts.try_into().ok()).map(TaskCounts::of);
        let work = WorkStatus::of(self.stopped, self.failed, self.working);
        let tasks = tasks.unwrap_or_default();
        (ChatId::new(self.chat_id), ChatDetails { agents: Vec::new(), work, interrupted, tasks })
    }
}

/// An agent whose open attempt does not count: it is disabled, or its last socket has ended since the attempt began.
const DOUBTFUL: &str = "WHERE agents.id = participants.participant_id \
     AND (agents.disabled_at IS NOT NULL OR agents.disconnected_at >= deliveries.started_at)";

type SqlUser = (Nullable<Text>, Nullable<Text>, Nullable<Text>);
type SqlAgent = (Nullable<Text>, Nullable<Text>, Nullable<Text>, Nullable<Text>);
type SqlHead = (SqlUuid, BigInt, SqlUuid, Text, Text, Text, Timestamptz, SqlUuid, SqlUser, SqlAgent);

#[derive(Queryable)]
struct HeadRow {
    chat_id: Uuid,
    number: i64,
    participant_id: Uuid,
    kind: String,
    role: String,
    status: String,
    joined_at: At,
    account_id: Uuid,
    user: (Option<String>, Option<String>, Option<String>),
    agent: (Option<String>, Option<String>, Option<String>, Option<String>),
}

impl HeadRow {
    fn into_participant_row(self) -> ParticipantRow {
        let (user_handle, first, last) = self.user;
        let (agent_handle, name, description, kind) = self.agent;
        let user = user_handle.zip(first).zip(last);
        let agent = agent_handle.zip(name).zip(description).zip(kind);
        ParticipantRow {
            participant_id: Id(self.participant_id),
            kind: self.kind,
            role: self.role,
            status: self.status,
            joined_at: self.joined_at,
            account_id: Id(self.account_id),
            user: user.map(|((handle, first), last)| (handle, first, last)),
            agent: agent.map(|(((handle, name), description), kind)| (handle, name, description, kind)),
        }
    }
}

/// The first participants of chats by id, and their number; only agents, if requested.
pub(super) async fn heads_on(
    mut db: &Db,
    chats: &[ChatId],
    only_agents: bool,
) -> Result<HashMap<ChatId, RosterHead>, Fault> {
    let only = if only_agents { "AND kind = 'Agent' " } else { "" };
    let rows = statement::<SqlHead>(format!(
        "SELECT head.chat_id, head.number, head.participant_id, head.kind, head.role, head.status, \
         head.joined_at, head.account_id, users.handle, users.first_name, users.last_name, \
         agents.handle, agents.name, agents.description, agents.kind \
         FROM (SELECT chat_id, participant_id, kind, role, status, joined_at, account_id, \
               row_number() OVER (PARTITION BY chat_id ORDER BY participant_id) AS rank, \
               count(*) OVER (PARTITION BY chat_id) AS number \
               FROM participants WHERE chat_id = ANY(?) AND left_at IS NULL {only}) AS head \
         LEFT JOIN users ON head.kind = 'User' AND users.id = head.participant_id \
         LEFT JOIN agents ON head.kind = 'Agent' AND agents.id = head.participant_id \
         WHERE head.rank <= {SHOWN_PARTICIPANTS}"
    ));
    let rows = rows.bind::<Array<SqlUuid>, _>(uuids(chats)).load::<HeadRow>(&mut db).await?;
    let mut heads: HashMap<ChatId, RosterHead> = HashMap::with_capacity(chats.len());
    for found in rows {
        let head = heads.entry(ChatId::new(found.chat_id)).or_default();
        head.count = found.number.cast_unsigned();
        head.participants.push(found.into_participant_row().into_participant()?);
    }
    for head in heads.values_mut() {
        head.participants.sort_by_key(|participant| participant.id.uuid());
    }
    Ok(heads)
}

/// The standing of a human in chats. Seeks in each chat: without statistics, PostgreSQL would read all memberships of the
/// human.
pub(super) async fn standings_on(
    mut db: &Db,
    viewer: UserId,
    chats: &[ChatId],
) -> Result<HashMap<ChatId, Standing>, Fault> {
    let rows = statement::<(SqlUuid, SqlUuid, Text, Text, Text)>(
        "SELECT found.* FROM unnest(?) AS chat (id) CROSS JOIN LATERAL (\
             SELECT chat_id, participant_id, kind, role, status FROM participants \
             WHERE chat_id = chat.id AND account_id = ? AND left_at IS NULL OFFSET 0) AS found \
         ORDER BY chat_id, participant_id",
    );
    let rows = rows.bind::<Array<SqlUuid>, _>(uuids(chats)).bind::<SqlUuid, _>(viewer.uuid());
    let rows = rows.load::<StandingRow>(&mut db).await?;
    let mut standings: HashMap<ChatId, Standing> = HashMap::with_capacity(chats.len());
    for found in rows {
        let standing = standings.entry(ChatId::new(found.chat_id.0)).or_default();
        found.add_to(ParticipantId::User(viewer), standing)?;
    }
    Ok(standings)
}
