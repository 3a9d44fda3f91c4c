//! Rules of an archive's rows that no constraint of a store expresses: the records of a message are
//! found by its mentions.

use std::collections::HashSet;

use domain::archive::{Row, Table, Value, WriteRefused};
use domain::id::{AgentId, ParticipantId};
use domain::message::Mention;
use uuid::Uuid;

use crate::error::Fault;
use crate::message::row::stored_mentions;

/// A delivery that is addressed to its agent.
pub(super) struct Addressed {
    agent: AgentId,
    pub(super) chat: Uuid,
    pub(super) sequence: i64,
}

/// Refuses a message that mentions somebody twice.
pub(super) fn repeated_mention(table: &Table, rows: &[Row]) -> Option<WriteRefused> {
    if table.name != "messages" {
        return None;
    }
    let (id, mentions) = (index(table, "id")?, index(table, "mentions")?);
    let is_wrong = |row: &&Row| {
        let Value::Text(mentions) = &row[mentions] else { return false };
        let mut seen = HashSet::new();
        !stored_mentions(mentions).is_ok_and(|mentions| mentions.iter().all(|one| seen.insert(one.id)))
    };
    let wrong = rows.iter().find(is_wrong)?;
    let rule = format!("the mentions of message {} cannot be read, or name a participant twice", wrong[id]);
    Some(WriteRefused::Breaks { table: table.name, rule })
}

/// The addressed deliveries among these rows.
pub(super) fn addressed(table: &Table, rows: &[Row]) -> Vec<Addressed> {
    if table.name != "deliveries" {
        return Vec::new();
    }
    let indexes = ["agent_id", "chat_id", "sequence", "addressed"].map(|name| index(table, name));
    let of_row = |row: &Row| {
        let [agent, chat, sequence, addressed] = indexes.map(|index| index.and_then(|index| row.get(index)));
        match (agent?, chat?, sequence?, addressed?) {
            (Value::Id(agent), Value::Id(chat), Value::Integer(sequence), Value::Flag(true)) => {
                Some(Addressed { agent: AgentId::new(*agent), chat: *chat, sequence: *sequence })
            }
            _ => None,
        }
    };
    rows.iter().filter_map(of_row).collect()
}

impl Addressed {
    /// Refuses it if its message, with these mentions, does not mention its agent.
    pub(super) fn unmentioned(&self, mentions: &str) -> Result<Option<WriteRefused>, Fault> {
        let Self { agent, chat, sequence } = self;
        let is_agent = |mention: &Mention| mention.id == ParticipantId::Agent(*agent);
        if stored_mentions(mentions)?.iter().any(is_agent) {
            return Ok(None);
        }
        let rule = format!(
            "agent {agent} has a delivery of message {sequence} in chat {chat}, which does not mention it"
        );
        Ok(Some(WriteRefused::Breaks { table: "deliveries", rule }))
    }
}

fn index(table: &Table, name: &str) -> Option<usize> {
    table.columns.iter().position(|column| column.name == name)
}
