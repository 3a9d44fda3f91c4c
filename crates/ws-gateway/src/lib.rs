//! The socket: Phoenix Channels at `/api/v1/socket/websocket`.
//!
//! - [`frame`], [`topic`]: text to values and back; pure;
//! - [`machine`]: the protocol of one connection; pure;
//! - [`connect`](self): authentication and admission, before the upgrade;
//! - [`inbound`](self): the bytes of a client, checked before they are parsed;
//! - [`task`](self): the loop that reads frames and carries out orders;
//! - [`inbox`](self): the bounded queue of one socket;
//! - [`outbox`](self): the frames to the client, in the order in which the connection takes them;
//! - [`receipts`](self): receipts of agents' sockets, buffered until they are stored;
//! - [`hub`](self): subscriptions, presence, and the publisher of events;
//! - [`claim_queue`](self), [`cluster_member`](self): the sockets of a node as the other nodes see
//!   them; [`remote_events`](self), [`recent_joins`](self): events that other nodes may have sent;
//! - [`redelivery`](self): redelivery of unacknowledged messages;
//! - [`payload`](self): events as JSON.
//!
//! Invariants: an event is pushed with the join reference of the socket it goes to, never before
//! the reply to its join; one agent has one live socket, on all servers together; a client that
//! does not read is disconnected and costs no more than its queue.

mod claim_queue;
mod cluster_member;
mod connect;
pub mod fault;
pub mod frame;
#[cfg(test)]
mod fuzz;
mod hub;
mod inbound;
mod inbox;
pub mod machine;
mod outbox;
mod payload;
mod receipts;
mod recent_joins;
mod redelivery;
mod remote_events;
mod subprotocol;
mod task;
pub mod topic;

use std::sync::Arc;

use actix_web::web;
use domain::account::{AccountService, TokenService};
use domain::activity::ActivityService;
use domain::chat::ChatService;

pub use cluster_member::ClusterMember;
pub use hub::{Figures, Hub, HubConfig};
pub use redelivery::Redeliverer;
pub use remote_events::{NodeEvents, RemoteEventSink};

/// The dependencies of a socket; registered as `web::Data`.
#[derive(Clone)]
pub struct SocketContext {
    /// Subscriptions and presence.
    pub hub: Arc<Hub>,
    /// Authenticates keys.
    pub accounts: Arc<AccountService>,
    /// Authenticates tokens.
    pub tokens: Arc<TokenService>,
    /// Decides the access to chats.
    pub chats: Arc<ChatService>,
    /// Reads the activity of a chat for the snapshot.
    pub activity: Arc<ActivityService>,
}

/// Mounts the socket.
pub fn configure(config: &mut web::ServiceConfig) {
    config.service(web::resource("/api/v1/socket/websocket").route(web::get().to(connect::connect)));
}
