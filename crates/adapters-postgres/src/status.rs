//! Totals of the store.

use async_trait::async_trait;
use diesel::sql_types::{BigInt, Bool, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::id::NodeId;
use domain::status::{ClusterStatus, NodeLease, StatusRepository, StoreStatus};
use domain::store::StoreError;
use futures_util::FutureExt;
use uuid::Uuid;

use crate::PostgresStore;
use crate::error::Fault;
use crate::row::At;
use crate::run::Db;
use crate::statement::statement;

#[async_trait]
impl StatusRepository for PostgresStore {
    async fn status(&self) -> Result<StoreStatus, StoreError> {
        self.query((), |db, ()| status_on(db).boxed()).await
    }

    async fn node_leases(&self) -> Result<Vec<NodeLease>, StoreError> {
        self.query((), |db, ()| leases_on(db).boxed()).await
    }
}

/// Messages are counted by the chats' sequences, so that only small tables are scanned.
const COUNTS: &str = "SELECT (SELECT pg_database_size(current_database())), \
     (SELECT count(*) FROM organizations WHERE deleted_at IS NULL), (SELECT count(*) FROM organizations WHERE paused_at IS NOT NULL AND deleted_at IS NULL), (SELECT count(*) FROM users WHERE deleted_at IS NULL), \
     (SELECT count(*) FROM agents WHERE deleted_at IS NULL), (SELECT count(*) FROM agents WHERE paused_at IS NOT NULL AND deleted_at IS NULL), (SELECT count(*) FROM chats WHERE deleted_at IS NULL), \
     (SELECT coalesce(sum(last_sequence - deleted_messages), 0)::bigint FROM chats WHERE deleted_at IS NULL)";

/// The live servers by the clock of the database.
const CLUSTER: &str = "SELECT \
     (SELECT count(*) FROM nodes WHERE ended_at IS NULL AND lease_until > clock_timestamp()), \
     (SELECT count(*) FROM agent_sockets WHERE lost_at IS NULL), \
     (SELECT count(DISTINCT user_id) FROM user_nodes)";

async fn status_on(mut db: &Db) -> Result<StoreStatus, Fault> {
    let (size, organizations, paused_organizations, users, agents, paused_agents, chats, messages) =
        statement::<(BigInt, BigInt, BigInt, BigInt, BigInt, BigInt, BigInt, BigInt)>(COUNTS)
            .get_result::<(i64, i64, i64, i64, i64, i64, i64, i64)>(&mut db)
            .await?;
    let (nodes, agents_there, users_there) =
        statement::<(BigInt, BigInt, BigInt)>(CLUSTER).get_result::<(i64, i64, i64)>(&mut db).await?;
    Ok(StoreStatus {
        size_bytes: size.cast_unsigned(),
        organizations: organizations.cast_unsigned(),
        paused_organizations: paused_organizations.cast_unsigned(),
        users: users.cast_unsigned(),
        agents: agents.cast_unsigned(),
        paused_agents: paused_agents.cast_unsigned(),
        chats: chats.cast_unsigned(),
        messages: messages.cast_unsigned(),
        cluster: Some(ClusterStatus {
            nodes: nodes.cast_unsigned(),
            connected_agents: agents_there.cast_unsigned(),
            connected_users: users_there.cast_unsigned(),
        }),
    })
}

const LEASES: &str = "SELECT id, entered_at, lease_until, lease_until > clock_timestamp() FROM nodes \
     WHERE ended_at IS NULL ORDER BY entered_at, id";

async fn leases_on(mut db: &Db) -> Result<Vec<NodeLease>, Fault> {
    let rows = statement::<(SqlUuid, Timestamptz, Timestamptz, Bool)>(LEASES)
        .load::<(Uuid, At, At, bool)>(&mut db)
        .await?;
    let lease = |(node, At(entered_at), At(lease_until), is_alive)| NodeLease {
        node: NodeId::new(node),
        entered_at,
        lease_until,
        is_alive,
    };
    Ok(rows.into_iter().map(lease).collect())
}
