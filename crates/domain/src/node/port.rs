//! What a store keeps of the nodes.

use std::time::Duration;

use async_trait::async_trait;
use uuid::Uuid;

use super::Claiming;
use crate::chat::{Chat, Role};
use crate::id::{AgentId, NodeId, ParticipantId, UserId};
use crate::store::StoreError;
use crate::time::Timestamp;

/// Tells an agent's live sockets apart: of two the newer has the larger number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SocketNumber(pub i64);

/// A node asks for the place of an agent's live socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AgentClaim {
    /// Of which agent.
    pub agent: AgentId,
    /// For which socket.
    pub claiming: Claiming,
}

/// What a node has to say of those who are connected to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note {
    /// A user has a socket on the node.
    UserCame(UserId),
    /// None any more.
    UserWent(UserId),
    /// The connection of an agent broke; the agent counts as there, and is in no newcomer's way.
    AgentLost(AgentId),
    /// The agent is not there any more, unless it is on another node.
    AgentWent(AgentId),
}

/// How a claim was decided; `None` if another socket has the place and keeps it.
pub type Granted = Option<SocketNumber>;

/// What became of what a node had to say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Registered {
    /// It is written; how the claims were decided, in their order.
    Done(Vec<Granted>),
    /// Nothing is written: the node was cleared, and has to begin as a new one.
    Cleared,
}

/// Somebody who is connected to a node that was not cleared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Connected {
    /// Who.
    pub who: ParticipantId,
    /// Where.
    pub node: NodeId,
    /// Of an agent, with which socket.
    pub number: Option<SocketNumber>,
}

/// Somebody has come into a room, and is there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entrant {
    /// When.
    pub entered_at: Timestamp,
    /// Who.
    pub who: ParticipantId,
    /// The room.
    pub chat: Chat,
    /// The role there.
    pub role: Role,
}

impl Entrant {
    /// The place behind this one.
    pub fn place(&self) -> EntrantPlace {
        EntrantPlace { entered_at: self.entered_at, chat: self.chat.id.uuid(), who: self.who.uuid() }
    }
}

/// A place in the order of all entrants: by time, room, and who.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct EntrantPlace {
    /// When.
    pub entered_at: Timestamp,
    /// The room's id.
    pub chat: Uuid,
    /// The entrant's id.
    pub who: Uuid,
}

impl EntrantPlace {
    /// Before all who have come at this time or later.
    pub fn before(entered_at: Timestamp) -> Self {
        Self { entered_at, chat: Uuid::nil(), who: Uuid::nil() }
    }
}

/// The nodes on one store, and who is connected where.
#[async_trait]
pub trait NodeRepository: Send + Sync {
    /// Begins a node whose lease holds for so long from now.
    async fn enter(&self, node: NodeId, lease: Duration) -> Result<(), StoreError>;

    /// Lets the lease hold for so long from now, also when it was over; `false` if the node was cleared.
    async fn renew(&self, node: NodeId, lease: Duration) -> Result<bool, StoreError>;

    /// Ends a node in order: none of its sockets is open, and those who were connected count as there for
    /// `grace`.
    async fn leave(&self, node: NodeId, grace: Duration) -> Result<(), StoreError>;

    /// Clears the nodes whose lease is over, and tells it in the log; how many they were. None if the lease of
    /// `by` does not hold for more than `holding` when the store looks: then the store, or that node, was away, and
    /// the others may be well.
    async fn clear(&self, by: NodeId, holding: Duration) -> Result<u32, StoreError>;

    /// Erases up to `limit` rows of what cleared nodes have left behind; how many they were. Nobody sees them.
    async fn erase_cleared(&self, limit: u32) -> Result<u32, StoreError>;

    /// Writes down what a node has to say, in this order: notes first, each about somebody else, then claims. Of
    /// several claims on one agent each is decided as if it came alone. Whatever changes is told in the log.
    async fn register(
        &self,
        node: NodeId,
        notes: Vec<Note>,
        claims: Vec<AgentClaim>,
    ) -> Result<Registered, StoreError>;

    /// Where these are connected; nothing for who is nowhere.
    async fn whereabouts(&self, of: Vec<ParticipantId>) -> Result<Vec<Connected>, StoreError>;

    /// The first agents behind this one that are connected, by id.
    async fn connected_agents(
        &self,
        after: Option<AgentId>,
        limit: u32,
    ) -> Result<Vec<Connected>, StoreError>;

    /// The first users behind this one on this node that are connected, by id and node.
    async fn connected_users(
        &self,
        after: Option<(UserId, NodeId)>,
        limit: u32,
    ) -> Result<Vec<Connected>, StoreError>;

    /// Tells all nodes in the log that what this one has told since then may not have reached the others.
    async fn tell_loss(&self, by: NodeId, since: Timestamp) -> Result<(), StoreError>;

    /// The first who have come into rooms behind this place, in their order.
    async fn entrants(&self, after: EntrantPlace, limit: u32) -> Result<Vec<Entrant>, StoreError>;
}
