//! The bus between nodes, on NATS: [`EventBus`](domain::bus::EventBus) for a server that is one of
//! several.
//!
//! - [`settings`](Settings), `connect`: the servers, and permanent failures;
//! - `subject`: one subject for each address, and two for all nodes;
//! - `wire`: events and peer messages as bytes, `seal`: the envelope and its signature;
//! - `bus`: the port, `outgoing`: the bounded send queue, `incoming`: checks of received messages;
//! - `requests`: what the local sockets need, `reports`: what NATS reports of the link; both
//!   bounded;
//! - `subscriptions`: the task that keeps the subscriptions and exchanges interests with other
//!   nodes;
//! - `losses`: the times since which events may have been lost.
//!
//! NATS stores nothing: no streams, no acknowledgements. A node subscribes to the addresses that
//! its own sockets need, so that it receives nothing else. While NATS is disconnected, slow, or
//! new, nothing waits for it: events that cannot be sent are dropped and counted, and the nodes
//! that need them read the store.

mod bus;
mod connect;
mod incoming;
mod losses;
mod outgoing;
mod reports;
mod requests;
mod seal;
mod settings;
mod subject;
mod subscriptions;
mod wire;

pub use bus::NatsBus;
pub use connect::ConnectFault;
pub use settings::{NatsServer, NotAServer, Settings, is_prefix};
