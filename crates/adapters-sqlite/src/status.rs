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
use crate::message::row::status;
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

#[derive(QueryableByName)]
struct Work {
    #[diesel(sql_type = Text)]
    status: String,
    #[diesel(sql_type = BigInt)]
    number: i64,
    #[diesel(sql_type = Nullable<BigInt>)]
    oldest: Option<i64>,
}

/// The open work by status. The first half runs along the index of open deliveries, the second along
/// that of begun work: an agent that a message does not mention has a record once it began.
fn work_on(connection: &mut SqliteConnection) -> Result<Vec<Work>, Fault> {
    const COLUMNS: &str = "agent_id, chat_id, sequence, current_attempt, delivered_at, failed_at, dead_at, \
         restarted_after";
    let work = diesel::sql_query(format!(
        "SELECT {} AS status, count(*) AS number, min(messages.created_at) AS oldest FROM (\
             SELECT {COLUMNS} FROM deliveries INDEXED BY deliveries_open \
             WHERE processed_at IS NULL AND dead_at IS NULL AND addressed = 1 \
             UNION ALL \
             SELECT {COLUMNS} FROM deliveries INDEXED BY deliveries_at_work \
             WHERE processed_at IS NULL AND dead_at IS NULL AND current_attempt > 0 AND addressed = 0\
         ) AS deliveries \
         JOIN participants ON participants.chat_id = deliveries.chat_id \
             AND participants.participant_id = deliveries.agent_id AND participants.left_at IS NULL \
         JOIN chats ON chats.id = deliveries.chat_id AND chats.deleted_at IS NULL \
         JOIN messages ON messages.chat_id = deliveries.chat_id AND messages.sequence = deliveries.sequence \
         GROUP BY 1",
        status::word()
    ));
    Ok(work.load(connection)?)
}

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
    for Work { status, number, oldest } in work_on(connection)? {
        work.add(row::word(&status, DeliveryStatus::parse)?, number.cast_unsigned(), oldest.map(row::time));
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
