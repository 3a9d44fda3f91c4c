//! The keys of the rows of deliveries.

use diesel::sql_types::{Array, BigInt, Uuid as SqlUuid};
use uuid::Uuid;

use crate::statement::Statement;

/// The key of a delivery's row: agent, chat, and sequence. Rows are locked in the order of their keys.
pub(crate) type RecordKey = (Uuid, Uuid, i64);

/// Keys, as one list for each column.
#[derive(Default, Clone)]
pub(crate) struct RecordKeys {
    agents: Vec<Uuid>,
    chats: Vec<Uuid>,
    sequences: Vec<i64>,
}

impl Extend<RecordKey> for RecordKeys {
    fn extend<I: IntoIterator<Item = RecordKey>>(&mut self, keys: I) {
        for (agent, chat, sequence) in keys {
            self.agents.push(agent);
            self.chats.push(chat);
            self.sequences.push(sequence);
        }
    }
}

impl FromIterator<RecordKey> for RecordKeys {
    fn from_iter<I: IntoIterator<Item = RecordKey>>(keys: I) -> Self {
        let mut columns = Self::default();
        columns.extend(keys);
        columns
    }
}

impl RecordKeys {
    pub(crate) const fn is_empty(&self) -> bool {
        self.agents.is_empty()
    }

    /// Binds the columns: agents, chats, sequences.
    pub(crate) fn bind<Row>(self, statement: Statement<'_, Row>) -> Statement<'_, Row> {
        statement
            .bind::<Array<SqlUuid>, _>(self.agents)
            .bind::<Array<SqlUuid>, _>(self.chats)
            .bind::<Array<BigInt>, _>(self.sequences)
    }
}
