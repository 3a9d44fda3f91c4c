//! The backlogs of agents: the first open message of each.

use std::sync::LazyLock;

use diesel::sql_types::{Array, BigInt, Bool, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::chat::ParticipantStatus;
use domain::delivery::NextMessage;
use domain::id::{AgentId, ChatId};
use domain::message::Message;
use domain::time::Timestamp;

use crate::error::Fault;
use crate::message::load::{MESSAGE, MessageColumns, RecordColumns, assembled_on, record_columns};
use crate::message::row::status::UNCLAIMED;
use crate::message::row::{DeliveryRow, MessageRow, SenderHandle};
use crate::row::{At, word};
use crate::run::Db;
use crate::statement::{Statement, statement};

/// What an agent has to do in a chat, at a time that decides on claims.
#[derive(Clone, Copy)]
pub(crate) struct Backlog {
    pub(super) agent: AgentId,
    pub(super) chat: ChatId,
    pub(super) now: Timestamp,
}

/// The condition of the index of open deliveries.
const OPEN: &str = "deliveries.processed_at IS NULL AND deliveries.dead_at IS NULL AND deliveries.addressed";

/// The memberships of agents in chats, and whether any delivery is open there. Agents ask this most often, and most
/// backlogs are empty. PostgreSQL spends most of its time on beginning to read each table, so those that an empty answer
/// does not need are left to [`FIRST`]. The participants of a deleted chat have left it.
static MEMBERS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT asked.number, member.status, (SELECT 1 FROM deliveries WHERE deliveries.agent_id = asked.agent \
         AND deliveries.chat_id = asked.chat AND {OPEN} LIMIT 1) IS NOT NULL \
         FROM unnest(?, ?) WITH ORDINALITY AS asked (agent, chat, number) \
         CROSS JOIN LATERAL (SELECT participants.status FROM participants WHERE participants.chat_id = asked.chat \
             AND participants.participant_id = asked.agent AND participants.left_at IS NULL OFFSET 0) AS member"
    )
});

/// The first open message of each backlog that is not claimed, with the agent's record, unless the agent is stopped.
static FIRST: LazyLock<String> = LazyLock::new(|| {
    let (record, handle, unclaimed) =
        (record_columns(), SenderHandle::TEXT, UNCLAIMED.replace('?', "asked.now"));
    format!(
        "SELECT asked.number, {record}, {MESSAGE}, {handle} \
         FROM unnest(?, ?, ?, ?) AS asked (agent, chat, now, number) \
         CROSS JOIN LATERAL (SELECT participants.participant_id, participants.chat_id FROM participants \
             WHERE participants.chat_id = asked.chat AND participants.participant_id = asked.agent \
             AND participants.left_at IS NULL AND coalesce(participants.stopped_at, participants.agent_paused_at, \
                 (SELECT organizations.paused_at FROM chats JOIN organizations ON organizations.id = chats.organization_id \
                  WHERE chats.id = participants.chat_id)) IS NULL OFFSET 0) AS member \
         CROSS JOIN LATERAL (SELECT * FROM deliveries WHERE deliveries.agent_id = member.participant_id \
             AND deliveries.chat_id = member.chat_id AND {OPEN} AND {unclaimed} \
             ORDER BY deliveries.sequence LIMIT 1) AS deliveries \
         CROSS JOIN LATERAL (SELECT * FROM messages WHERE messages.chat_id = deliveries.chat_id \
             AND messages.sequence = deliveries.sequence OFFSET 0) AS messages"
    )
});

/// The answers for these backlogs, in order.
pub(super) async fn next_on(mut db: &Db, asked: &[Backlog]) -> Result<Vec<Option<NextMessage>>, Fault> {
    let members = bound(statement::<(BigInt, Text, Bool)>(MEMBERS.as_str()), asked);
    let mut answers = asked.iter().map(|_| None).collect::<Vec<_>>();
    let (mut open, mut numbers) = (Vec::new(), Vec::new());
    for (number, status, has_open) in members.load::<(i64, String, bool)>(&mut db).await? {
        let index = index(number);
        let status = word(&status, ParticipantStatus::parse)?;
        answers[index] = Some(NextMessage { status, message: None });
        if has_open {
            open.push(asked[index]);
            numbers.push(number);
        }
    }
    for (number, message) in first_on(db, &open, numbers).await? {
        if let Some(answer) = &mut answers[index(number)] {
            answer.message = Some(message);
        }
    }
    Ok(answers)
}

/// The first message of each of these backlogs that has one, with its number.
async fn first_on(mut db: &Db, open: &[Backlog], numbers: Vec<i64>) -> Result<Vec<(i64, Message)>, Fault> {
    if open.is_empty() {
        return Ok(Vec::new());
    }
    let first = bound(statement::<(BigInt, RecordColumns, MessageColumns)>(FIRST.as_str()), open)
        .bind::<Array<Timestamptz>, _>(open.iter().map(|backlog| At(backlog.now)).collect::<Vec<_>>())
        .bind::<Array<BigInt>, _>(numbers);
    let found = first.load::<(i64, DeliveryRow, MessageRow)>(&mut db).await?.into_iter();
    let (numbers, rows) =
        found.map(|(number, record, row)| (number, (row, vec![record]))).unzip::<_, _, Vec<_>, Vec<_>>();
    Ok(numbers.into_iter().zip(assembled_on(db, rows).await?).collect())
}

/// Binds the agents and the chats.
fn bound<'v, Row>(statement: Statement<'v, Row>, asked: &[Backlog]) -> Statement<'v, Row> {
    let (agents, chats) = asked
        .iter()
        .map(|backlog| (backlog.agent.uuid(), backlog.chat.uuid()))
        .unzip::<_, _, Vec<_>, Vec<_>>();
    statement.bind::<Array<SqlUuid>, _>(agents).bind::<Array<SqlUuid>, _>(chats)
}

/// The index of a backlog by its number, which the database counts from 1.
fn index(number: i64) -> usize {
    usize::try_from(number - 1).unwrap_or(usize::MAX)
}
