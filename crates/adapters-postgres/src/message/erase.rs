//! Erasing the records of messages.

use std::sync::LazyLock;

use diesel::sql_types::{Array, BigInt, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::id::MessageId;

use super::load::Records;
use super::record_key::{RecordKey, RecordKeys};
use crate::error::Fault;
use crate::run::Db;
use crate::statement::statement;

/// The keys of all records of messages.
static KEYS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT deliveries.agent_id, deliveries.chat_id, deliveries.sequence FROM messages {} \
         WHERE messages.id = ANY(?) ORDER BY 1, 2, 3",
        Records::All.joined(),
    )
});

/// Erases attempts of these records, up to a limit. Attempts are addressed by `ctid`; they never
/// change.
const ATTEMPTS: &str = "DELETE FROM attempts WHERE ctid = ANY(ARRAY(\
     SELECT attempts.ctid FROM unnest(?, ?, ?) AS record (agent_id, chat_id, sequence) \
     JOIN attempts ON attempts.agent_id = record.agent_id AND attempts.chat_id = record.chat_id \
     AND attempts.sequence = record.sequence LIMIT ?))";

const RECORDS: &str = "DELETE FROM deliveries USING unnest(?, ?, ?) AS record (agent_id, chat_id, sequence) \
     WHERE deliveries.agent_id = record.agent_id AND deliveries.chat_id = record.chat_id \
     AND deliveries.sequence = record.sequence";

impl RecordKeys {
    /// Those of all records of these messages.
    pub(super) async fn of_messages_on(mut db: &Db, messages: &[MessageId]) -> Result<Self, Fault> {
        let ids = messages.iter().map(|message| message.uuid()).collect::<Vec<_>>();
        let keys = statement::<(SqlUuid, SqlUuid, BigInt)>(KEYS.as_str()).bind::<Array<SqlUuid>, _>(ids);
        Ok(keys.load::<RecordKey>(&mut db).await?.into_iter().collect())
    }

    /// Erases earlier attempts of the records, up to a limit; returns their number.
    pub(crate) async fn erase_attempts_on(&self, mut db: &Db, limit: i64) -> Result<usize, Fault> {
        let erasing = self.clone().bind(statement::<()>(ATTEMPTS)).bind::<BigInt, _>(limit);
        Ok(erasing.execute(&mut db).await?)
    }

    /// Erases the records with all their attempts. Waits for changes of them, which may add attempts.
    pub(crate) async fn erase_on(&self, mut db: &Db) -> Result<(), Fault> {
        self.clone().bind(statement::<()>(RECORDS)).execute(&mut db).await?;
        self.erase_attempts_on(db, i64::MAX).await.map(|_| ())
    }
}

/// Erases all records of these messages with their attempts.
pub(super) async fn records_on(db: &Db, messages: &[MessageId]) -> Result<(), Fault> {
    RecordKeys::of_messages_on(db, messages).await?.erase_on(db).await
}
