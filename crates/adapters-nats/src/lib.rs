//! The bus between nodes, on NATS: [`EventBus`](domain::bus::EventBus) for a server that is one of several.
//!
//! - [`settings`](Settings), `connect`: which servers, and what can never work;
//! - `subject`: one subject for each address, and two for all nodes;
//! - `wire`: events and notes as bytes, `seal`: the envelope and its signature;
//! - `bus`: the port, `outgoing`: what waits to be sent, bounded; `incoming`: what is taken of what comes;
//! - `keeper`: the task that subscribes to what the own sockets want, tells others, and hears what they want;
//! - `losses`: since when something may have been lost.
//!
//! NATS carries and keeps nothing: no streams, no acknowledgements. A node is subscribed to the addresses in which its
//! own sockets are interested, so that it is sent nothing else. While NATS is away, slow or new, nothing waits for it:
//! what cannot be sent is dropped and counted, and found in the store by those it was for.

mod bus;
mod connect;
mod incoming;
mod losses;
mod outgoing;
mod seal;
mod settings;
mod subject;
mod subscriptions;
mod wire;

pub use bus::NatsBus;
pub use connect::ConnectFault;
pub use settings::{NatsServer, NotAServer, Settings, is_prefix};
