//! Totals of the store.

use std::sync::LazyLock;

use async_trait::async_trait;
use diesel::sql_types::{BigInt, Nullable, Text, Timestamptz};
use diesel_async::RunQueryDsl;
use domain::delivery::DeliveryStatus;
use domain::status::{ClusterStatus, OpenWork, StatusRepository, StoreStatus};
use domain::store::StoreError;
use futures_util::FutureExt;

use crate::PostgresStore;
use crate::error::Fault;
use crate::message::row::status;
use crate::row::{self, At};
use crate::run::Db;
use crate::statement::statement;

#[async_trait]
impl StatusRepository for PostgresStore {
    async fn status(&self) -> Result<StoreStatus, StoreError> {
        self.query((), |db, ()| status_on(db).boxed()).await
    }
}

/// Messages are counted by the chats' sequences, so that only small tables are scanned.
const COUNTS: &str = "SELECT (SELECT pg_database_size(current_database())), \
     (SELECT count(*) FROM organizations WHERE deleted_at IS NULL), (SELECT count(*) FROM users WHERE deleted_at IS NULL), \
     (SELECT count(*) FROM agents WHERE deleted_at IS NULL), (SELECT count(*) FROM chats WHERE deleted_at IS NULL), \
     (SELECT coalesce(sum(last_sequence - deleted_messages), 0)::bigint FROM chats WHERE deleted_at IS NULL)";

/// The first half runs along the index of open work, the second along the index of work on messages that do
/// not mention the agent, which is rare.
static WORK: LazyLock<String> = LazyLock::new(|| {
    let columns = "SELECT deliveries.* FROM deliveries WHERE processed_at IS NULL AND dead_at IS NULL";
    format!(
        "SELECT {} AS status, count(*), min(messages.created_at) \
         FROM ({columns} AND addressed UNION ALL {columns} AND NOT addressed) AS deliveries \
         JOIN participants ON participants.chat_id = deliveries.chat_id \
             AND participants.participant_id = deliveries.agent_id AND participants.left_at IS NULL \
         JOIN chats ON chats.id = deliveries.chat_id AND chats.deleted_at IS NULL \
         JOIN messages ON messages.chat_id = deliveries.chat_id AND messages.sequence = deliveries.sequence \
         GROUP BY 1",
        status::word(),
    )
});

/// The live servers by the clock of the database.
const CLUSTER: &str = "SELECT \
     (SELECT count(*) FROM nodes WHERE ended_at IS NULL AND lease_until > clock_timestamp()), \
     (SELECT count(*) FROM agent_sockets WHERE lost_at IS NULL), \
     (SELECT count(DISTINCT user_id) FROM user_nodes)";

async fn status_on(mut db: &Db) -> Result<StoreStatus, Fault> {
    let (size, organizations, users, agents, chats, messages) =
        statement::<(BigInt, BigInt, BigInt, BigInt, BigInt, BigInt)>(COUNTS)
            .get_result::<(i64, i64, i64, i64, i64, i64)>(&mut db)
            .await?;
    let found = statement::<(Text, BigInt, Nullable<Timestamptz>)>(WORK.as_str());
    let mut work = OpenWork::default();
    for (status, count, oldest) in found.load::<(String, i64, Option<At>)>(&mut db).await? {
        work.add(row::word(&status, DeliveryStatus::parse)?, count.cast_unsigned(), oldest.map(|At(at)| at));
    }
    let (nodes, agents_there, users_there) =
        statement::<(BigInt, BigInt, BigInt)>(CLUSTER).get_result::<(i64, i64, i64)>(&mut db).await?;
    Ok(StoreStatus {
        size_bytes: size.cast_unsigned(),
        organizations: organizations.cast_unsigned(),
        users: users.cast_unsigned(),
        agents: agents.cast_unsigned(),
        chats: chats.cast_unsigned(),
        messages: messages.cast_unsigned(),
        work,
        cluster: Some(ClusterStatus {
            nodes: nodes.cast_unsigned(),
            connected_agents: agents_there.cast_unsigned(),
            connected_users: users_there.cast_unsigned(),
        }),
    })
}
