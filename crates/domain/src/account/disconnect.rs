//! Why sockets end, and what is known about the last ones of an agent.
//!
//! Writes are cheap, as those of the last uses of keys: a server collects them and writes them once a second.

use std::time::Duration;

use super::service::AccountService;
use super::update_agent::UpdateAgentError;
use crate::caller::UserCaller;
use crate::id::AgentId;
use crate::store::StoreError;
use crate::time::Timestamp;
use crate::words::words;

/// How long after an end that is stored its reason stays, if all that is known of a later one is that the server of
/// the socket has ended.
const SAME_END: Duration = Duration::from_secs(60);

words! {
    /// The reason why a socket ended.
    EndReason {
        /// Its client closed it.
        ClientClosed = "client_closed",
        /// The connection ended without a close, as when a client is killed.
        ConnectionLost = "connection_lost",
        /// Nothing came from the client for too long.
        IdleTimeout = "idle_timeout",
        /// A newer socket of the agent took over.
        Superseded = "superseded",
        /// The credential was revoked or has expired.
        CredentialEnded = "credential_ended",
        /// The user or the agent was disabled or deleted.
        AccountEnded = "account_ended",
        /// The server closed it so that the client connects again: it stops, or events may be missing.
        ServerClosed = "server_closed",
        /// Another server reported that the socket's server crashed. No server counts these.
        ServerLost = "server_lost",
        /// The client read too slowly.
        SlowConsumer = "slow_consumer",
        /// The client sent what the protocol does not allow.
        ProtocolError = "protocol_error",
    }
}

/// The end of the last socket of an agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LastDisconnect {
    /// The time.
    pub at: Timestamp,
    /// The reason.
    pub reason: EndReason,
}

impl LastDisconnect {
    /// Reads what a store has; `None` without it, and for a reason that only a newer version knows.
    pub fn of(at: Option<Timestamp>, reason: Option<&str>) -> Option<Self> {
        Some(Self { at: at?, reason: EndReason::parse(reason?)? })
    }

    /// The reason of an end that is stored stays unless that end was before this time.
    pub fn replaces_reason_before(self) -> Timestamp {
        match self.reason {
            EndReason::ServerLost => self.at.minus(SAME_END),
            _ => self.at,
        }
    }
}

/// The end of the last socket of this agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Disconnect {
    /// The agent.
    pub agent: AgentId,
    /// When the socket was opened; `None` if only another server knew.
    pub began_at: Option<Timestamp>,
    /// Its end.
    pub last: LastDisconnect,
}

/// A connection of an agent that has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Connection {
    /// Its beginning; `None` if only another server knew.
    pub began_at: Option<Timestamp>,
    /// Its end.
    pub end: LastDisconnect,
}

impl Connection {
    /// The number of connections that are kept of each agent.
    pub const KEPT: u32 = 50;

    /// Reads what a store has; `None` for a reason that only a newer version knows.
    pub fn of(began_at: Option<Timestamp>, ended_at: Timestamp, reason: &str) -> Option<Self> {
        Some(Self { began_at, end: LastDisconnect::of(Some(ended_at), Some(reason))? })
    }
}

/// A connection of an agent that has ended, with the agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AgentConnection {
    /// The agent.
    pub agent: AgentId,
    /// The connection.
    pub connection: Connection,
}

impl AccountService {
    /// Stores why the last sockets of agents ended.
    ///
    /// # Errors
    /// [`StoreError`]; calling again is safe.
    pub async fn note_disconnects(&self, ended: Vec<Disconnect>) -> Result<(), StoreError> {
        self.accounts.note_disconnects(ended).await
    }

    /// The connections of one of the caller's agents that have ended, the newest first, at most [`Connection::KEPT`].
    ///
    /// # Errors
    /// [`UpdateAgentError::AgentNotFound`] if the agent is not the caller's; or the store's.
    pub async fn connections(
        &self,
        caller: UserCaller,
        agent: AgentId,
    ) -> Result<Vec<Connection>, UpdateAgentError> {
        self.owned_agent(caller, agent).await?;
        Ok(self.accounts.list_connections(agent).await?)
    }
}
