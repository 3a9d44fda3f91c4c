//! Totals of the store.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable, Text};
use diesel::sqlite::SqliteConnection;
use domain::delivery::DeliveryStatus;
use domain::status::{OpenWork, StatusRepository, StoreStatus};
use domain::store::StoreError;

use crate::SqliteStore;
use crate::error::Fault;
use crate::row;
use crate::statement::statement;

#[async_trait]
impl StatusRepository for SqliteStore {
    async fn status(&self) -> Result<StoreStatus, StoreError> {
        self.read(status_on).await
    }
}

/// Messages are counted by the chats' sequences, so that only small tables are scanned.
const COUNTS: &str = "SELECT (SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()), \
     (SELECT count(*) FROM organizations WHERE deleted_at IS NULL), (SELECT count(*) FROM users WHERE deleted_at IS NULL), \
     (SELECT count(*) FROM agents WHERE deleted_at IS NULL), (SELECT count(*) FROM chats WHERE deleted_at IS NULL), \
     (SELECT coalesce(sum(last_sequence - deleted_messages), 0) FROM chats WHERE deleted_at IS NULL)";

/// The first half runs along the index of open work, the second along the index of work on messages that do not
/// mention the agent, which is rare.
const WORK: &str = "SELECT work.status, count(*), min(messages.created_at) FROM (\
         SELECT message_id, agent_id, chat_id, status FROM deliveries WHERE processed_at IS NULL AND addressed = 1 \
         UNION ALL \
         SELECT message_id, agent_id, chat_id, status FROM deliveries WHERE processed_at IS NULL AND addressed = 0\
     ) AS work \
     JOIN participants ON participants.chat_id = work.chat_id AND participants.participant_id = work.agent_id \
         AND participants.left_at IS NULL \
     JOIN chats ON chats.id = work.chat_id AND chats.deleted_at IS NULL \
     JOIN messages ON messages.id = work.message_id GROUP BY work.status";

fn status_on(connection: &mut SqliteConnection) -> Result<StoreStatus, Fault> {
    let (size, organizations, users, agents, chats, messages) =
        statement!(COUNTS => (BigInt, BigInt, BigInt, BigInt, BigInt, BigInt)).get_result::<(
            i64,
            i64,
            i64,
            i64,
            i64,
            i64,
        )>(connection)?;
    let mut work = OpenWork::default();
    for (status, count, oldest) in
        statement!(WORK => (Text, BigInt, Nullable<BigInt>)).load::<(String, i64, Option<i64>)>(connection)?
    {
        work.add(row::word(&status, DeliveryStatus::parse)?, count.cast_unsigned(), oldest.map(row::time));
    }
    Ok(StoreStatus {
        size_bytes: size.cast_unsigned(),
        organizations: organizations.cast_unsigned(),
        users: users.cast_unsigned(),
        agents: agents.cast_unsigned(),
        chats: chats.cast_unsigned(),
        messages: messages.cast_unsigned(),
        work,
        cluster: None,
    })
}
