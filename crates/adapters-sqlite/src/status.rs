//! Totals of the store.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use diesel::sqlite::SqliteConnection;
use domain::status::{NodeLease, StatusRepository, StoreStatus};
use domain::store::StoreError;

use crate::SqliteStore;
use crate::error::Fault;
use crate::statement::statement;

#[async_trait]
impl StatusRepository for SqliteStore {
    async fn status(&self) -> Result<StoreStatus, StoreError> {
        self.read(status_on).await
    }

    async fn node_leases(&self) -> Result<Vec<NodeLease>, StoreError> {
        Ok(Vec::new())
    }
}

/// Messages are counted by the chats' sequences, so that only small tables are scanned.
const COUNTS: &str = "SELECT (SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()), \
     (SELECT count(*) FROM organizations WHERE deleted_at IS NULL), (SELECT count(*) FROM organizations WHERE paused_at IS NOT NULL AND deleted_at IS NULL), (SELECT count(*) FROM users WHERE deleted_at IS NULL), \
     (SELECT count(*) FROM agents WHERE deleted_at IS NULL), (SELECT count(*) FROM agents WHERE paused_at IS NOT NULL AND deleted_at IS NULL), (SELECT count(*) FROM chats WHERE deleted_at IS NULL), \
     (SELECT coalesce(sum(last_sequence - deleted_messages), 0) FROM chats WHERE deleted_at IS NULL)";

fn status_on(connection: &mut SqliteConnection) -> Result<StoreStatus, Fault> {
    let (size, organizations, paused_organizations, users, agents, paused_agents, chats, messages) =
        statement!(COUNTS => (BigInt, BigInt, BigInt, BigInt, BigInt, BigInt, BigInt, BigInt))
            .get_result::<(i64, i64, i64, i64, i64, i64, i64, i64)>(connection)?;
    Ok(StoreStatus {
        size_bytes: size.cast_unsigned(),
        organizations: organizations.cast_unsigned(),
        paused_organizations: paused_organizations.cast_unsigned(),
        users: users.cast_unsigned(),
        agents: agents.cast_unsigned(),
        paused_agents: paused_agents.cast_unsigned(),
        chats: chats.cast_unsigned(),
        messages: messages.cast_unsigned(),
        cluster: None,
    })
}
