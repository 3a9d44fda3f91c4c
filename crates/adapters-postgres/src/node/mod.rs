//! The nodes on this store, and their connections.
//!
//! A change of presence holds the lock of the change log from the beginning, as it ends with
//! entries in that log anyway; all such changes of all nodes therefore run one after the other.
//! They are few: a node puts all queued changes into one.

mod lease;
mod read;
mod register;

use std::time::Duration;

use async_trait::async_trait;
use domain::change::Change;
use domain::id::{AgentId, NodeId, ParticipantId, UserId};
use domain::node::{
    AgentClaim, Connected, Entrant, EntrantPosition, NodeRepository, PresenceChange, Registered,
};
use domain::store::StoreError;
use domain::time::Timestamp;
use futures_util::FutureExt;

use crate::error::Fault;
use crate::run::Db;
use crate::{PostgresStore, change};

#[async_trait]
impl NodeRepository for PostgresStore {
    async fn enter(&self, node: NodeId, lease: Duration) -> Result<(), StoreError> {
        let given = (node, lease);
        self.alter_quietly(given, |db, (node, lease)| lease::enter_on(db, *node, *lease).boxed()).await
    }

    async fn renew(&self, node: NodeId, lease: Duration) -> Result<bool, StoreError> {
        self.query((node, lease), |db, (node, lease)| lease::renew_on(db, *node, *lease).boxed()).await
    }

    async fn leave(&self, node: NodeId, grace: Duration) -> Result<(), StoreError> {
        let given = (node, grace);
        self.alter_quietly(given, |db, (node, grace)| lease::leave_on(db, *node, *grace).boxed()).await
    }

    async fn clear(&self, by: NodeId, holding: Duration) -> Result<u32, StoreError> {
        // There is nearly never a node to clear, and then no lock is needed.
        if !self.query((), |db, ()| lease::is_one_over_on(db).boxed()).await? {
            return Ok(0);
        }
        let given = (by, holding);
        self.alter_quietly(given, |db, (by, holding)| lease::clear_on(db, *by, *holding).boxed()).await
    }

    async fn erase_cleared(&self, limit: u32) -> Result<u32, StoreError> {
        if !self.query((), |db, ()| lease::is_one_cleared_on(db).boxed()).await? {
            return Ok(0);
        }
        self.alter_quietly(limit, |db, limit| lease::erase_on(db, *limit).boxed()).await
    }

    async fn register(
        &self,
        node: NodeId,
        changes: Vec<PresenceChange>,
        claims: Vec<AgentClaim>,
    ) -> Result<Registered, StoreError> {
        let given = (node, changes, claims);
        self.alter_quietly(given, |db, (node, changes, claims)| {
            register::register_on(db, *node, changes, claims).boxed()
        })
        .await
    }

    async fn whereabouts(&self, of: Vec<ParticipantId>) -> Result<Vec<Connected>, StoreError> {
        self.query(of, |db, of| read::whereabouts_on(db, of).boxed()).await
    }

    async fn connected_agents(
        &self,
        after: Option<AgentId>,
        limit: u32,
    ) -> Result<Vec<Connected>, StoreError> {
        self.query((after, limit), |db, (after, limit)| read::agents_on(db, *after, *limit).boxed()).await
    }

    async fn connected_users(
        &self,
        after: Option<(UserId, NodeId)>,
        limit: u32,
    ) -> Result<Vec<Connected>, StoreError> {
        self.query((after, limit), |db, (after, limit)| read::users_on(db, *after, *limit).boxed()).await
    }

    async fn record_event_loss(&self, by: NodeId, since: Timestamp) -> Result<(), StoreError> {
        let lost = Change::EventsLost { by, since };
        self.alter_quietly((lost, since), |db, (lost, since)| record_loss_on(db, *lost, *since).boxed()).await
    }

    async fn entrants(&self, after: EntrantPosition, limit: u32) -> Result<Vec<Entrant>, StoreError> {
        self.query((after, limit), |db, (after, limit)| read::entrants_on(db, *after, *limit).boxed()).await
    }
}

async fn record_loss_on(db: &Db, change: Change, now: Timestamp) -> Result<(), Fault> {
    change::append_on(db, [change], now).await?;
    Ok(())
}
