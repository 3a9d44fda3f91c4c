//! The socket: Phoenix Channels at `/api/v1/socket/websocket`.
//!
//! - [`frame`], [`topic`]: text to values and back; pure;
//! - [`machine`]: the protocol of one connection; pure;
//! - [`connect`](self): who may open a socket, decided before the upgrade;
//! - [`inbound`](self): the bytes of a client, bounded before they are parsed;
//! - [`task`](self): the loop that hears a client and carries out orders;
//! - [`inbox`](self): what waits for one socket, bounded;
//! - [`outbox`](self): what goes to its client, as the connection takes it;
//! - [`taken`](self): what agents took out of it, until it is written down;
//! - [`hub`](self): who joined what, and the publisher of events;
//! - [`claim_queue`](self), [`cluster_member`](self): what a server that is one of several tells the others of its sockets;
//! - [`again`](self): pushing once more what no socket took;
//! - [`payload`](self): events as JSON.
//!
//! Invariants: an event is pushed with the join reference of the socket it goes to, never before
//! the answer to its join; one agent has one live socket, on all servers together; a client that does not
//! read is cut off and costs no more than its queue.

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
mod redelivery;
mod subprotocol;
mod task;
pub mod topic;

use std::sync::Arc;

use actix_web::web;
use domain::account::{AccountService, TokenService};
use domain::activity::ActivityService;
use domain::chat::ChatService;

pub use cluster_member::ClusterMember;
pub use hub::{Figures, Hub, HubConfig, RemoteEventSink};
pub use redelivery::Redeliverer;

/// What a socket needs; registered as `web::Data`.
#[derive(Clone)]
pub struct SocketContext {
    /// Who joined what.
    pub hub: Arc<Hub>,
    /// For keys.
    pub accounts: Arc<AccountService>,
    /// For tokens.
    pub tokens: Arc<TokenService>,
    /// For access to rooms.
    pub chats: Arc<ChatService>,
    /// For the snapshot of a room's indicators.
    pub activity: Arc<ActivityService>,
}

/// Mounts the socket.
pub fn configure(config: &mut web::ServiceConfig) {
    config.service(web::resource("/api/v1/socket/websocket").route(web::get().to(connect::connect)));
}
