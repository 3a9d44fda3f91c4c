//! The socket: Phoenix Channels at `/api/v1/socket/websocket`.
//!
//! - [`frame`], [`topic`]: text to values and back; pure;
//! - [`machine`]: the protocol of one connection; pure;
//! - [`connect`](self): authentication and admission, before the upgrade;
//! - [`inbound`](self): the bytes of a client, checked before they are parsed;
//! - [`task`](self): the loop that reads frames and carries out commands;
//! - [`inbox`](self): the bounded queue of one socket;
//! - [`outbox`](self): the frames to the client, in the order in which the connection takes them;
//! - [`acknowledgements`](self): acknowledgements of agents' sockets, buffered until they are stored;
//! - [`hub`](self): subscriptions, presence, and the publisher of events;
//! - [`other_nodes`]: the port to the other nodes of a cluster;
//! - [`redelivery`](self): redelivery of unacknowledged messages;
//! - [`room_changes`](self): changes of rooms for the lists of humans;
//! - [`payload`](self): events as JSON.
//!
//! Invariants: an event is pushed with the join reference of the socket it goes to, never before
//! the reply to its join; one agent has one live socket, on all servers together; a client that
//! does not read is disconnected and costs no more than its queue.

mod acknowledgements;
mod connect;
mod context;
pub mod frame;
#[cfg(test)]
mod generated_input;
mod hub;
mod inbound;
pub mod inbox;
pub mod lossy_publisher;
pub mod machine;
pub mod other_nodes;
mod outbox;
mod payload;
mod person;
mod redelivery;
mod room_changes;
mod subprotocol;
mod task;
pub mod topic;

use actix_web::web;

pub use acknowledgements::AcknowledgementBuffer;
pub use context::SocketContext;
pub use hub::claim::SocketClaim;
pub use hub::{ClaimRefused, Departure, EndCounts, EndReason, Figures, Hub, HubConfig};
pub use person::Person;
pub use redelivery::Redeliverer;
pub use room_changes::RoomChanges;

/// Mounts the socket.
pub fn configure(config: &mut web::ServiceConfig) {
    config.service(web::resource("/api/v1/socket/websocket").route(web::get().to(connect::connect)));
}
