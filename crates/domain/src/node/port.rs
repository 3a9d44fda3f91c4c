//! The store of nodes.

use std::time::Duration;

use async_trait::async_trait;

use super::ClaimReason;
use crate::chat::{Chat, Role};
use crate::id::{AccountId, AgentId, ChatId, NodeId, ParticipantId, UserId};
use crate::store::StoreError;
use crate::time::Timestamp;

/// Orders the live sockets of an agent: the newer one has the larger number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SocketNumber(pub i64);

/// A node's claim of an agent's live socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AgentClaim {
    /// The agent.
    pub agent: AgentId,
    /// The socket that it is for.
    pub claiming: ClaimReason,
}

/// A change of the connections to a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PresenceChange {
    /// A user has a socket on the node.
    UserConnected(UserId),
    /// A user has no socket on the node any more.
    UserDisconnected(UserId),
    /// The connection of an agent broke; the agent counts as present, but blocks no new socket.
    AgentLost(AgentId),
    /// The agent is no longer present on the node.
    AgentDisconnected(AgentId),
}

/// The decision on a claim; `None` if another socket keeps it.
pub type Granted = Option<SocketNumber>;

/// The result of writing a node's changes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Registered {
    /// The changes are written, with the decisions on the claims, in order.
    Done(Vec<Granted>),
    /// Nothing is written: the node was cleared, and must register as a new one.
    Cleared,
}

/// A user or agent that is connected to a node that was not cleared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Connected {
    /// The user or agent.
    pub who: ParticipantId,
    /// The node.
    pub node: NodeId,
    /// The number of an agent's socket.
    pub number: Option<SocketNumber>,
}

/// A participant that has joined a chat, and is still in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entrant {
    /// The time of the join.
    pub entered_at: Timestamp,
    /// The user or agent.
    pub who: ParticipantId,
    /// The chat.
    pub chat: Chat,
    /// The role there.
    pub role: Role,
}

impl Entrant {
    /// The position after this one.
    pub fn position(&self) -> EntrantPosition {
        EntrantPosition { entered_at: self.entered_at, chat: self.chat.id, who: self.who.into() }
    }
}

/// A position in the order of all joins: by time, chat, and participant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct EntrantPosition {
    /// The time of the join.
    pub entered_at: Timestamp,
    /// The chat.
    pub chat: ChatId,
    /// The participant: its kind does not count in the order.
    pub who: AccountId,
}

impl EntrantPosition {
    /// The position before all joins at this time or later.
    pub fn before(entered_at: Timestamp) -> Self {
        Self { entered_at, chat: ChatId::NIL, who: AccountId::NIL }
    }
}

/// The nodes on one store, and their connections.
#[async_trait]
pub trait NodeRepository: Send + Sync {
    /// Registers a node whose lease holds for this time from now.
    async fn enter(&self, node: NodeId, lease: Duration) -> Result<(), StoreError>;

    /// Renews the lease for this time from now, even if it has expired; `false` if the node was
    /// cleared.
    async fn renew(&self, node: NodeId, lease: Duration) -> Result<bool, StoreError>;

    /// Unregisters a node that shuts down: its sockets are closed, and their users and agents count
    /// as present for `grace`.
    async fn leave(&self, node: NodeId, grace: Duration) -> Result<(), StoreError>;

    /// Clears the nodes whose lease has expired, with entries in the log; returns their number.
    /// Clears none if the lease of `by` does not hold for more than `holding` by the store's clock:
    /// then the store, or that node, was away, and the others may be alive.
    async fn clear(&self, by: NodeId, holding: Duration) -> Result<u32, StoreError>;

    /// Erases up to `limit` rows of cleared nodes, which no read returns; returns their number.
    async fn erase_cleared(&self, limit: u32) -> Result<u32, StoreError>;

    /// Writes the changes of a node, in this order: presence changes first, each about a different
    /// user or agent, then claims. Of several claims for one agent each is decided as if it came alone. All
    /// changes are entered in the log.
    async fn register(
        &self,
        node: NodeId,
        changes: Vec<PresenceChange>,
        claims: Vec<AgentClaim>,
    ) -> Result<Registered, StoreError>;

    /// The connections of these users and agents; nothing for those without any.
    async fn whereabouts(&self, of: Vec<ParticipantId>) -> Result<Vec<Connected>, StoreError>;

    /// The first connected agents after this one, by id.
    async fn connected_agents(
        &self,
        after: Option<AgentId>,
        limit: u32,
    ) -> Result<Vec<Connected>, StoreError>;

    /// The first connected users after this one on this node, by id and node.
    async fn connected_users(
        &self,
        after: Option<(UserId, NodeId)>,
        limit: u32,
    ) -> Result<Vec<Connected>, StoreError>;

    /// Notifies all nodes through the log that events of this one since then may not have reached
    /// the others.
    async fn record_event_loss(&self, by: NodeId, since: Timestamp) -> Result<(), StoreError>;

    /// The first joins after this position, in order.
    async fn entrants(&self, after: EntrantPosition, limit: u32) -> Result<Vec<Entrant>, StoreError>;
}
