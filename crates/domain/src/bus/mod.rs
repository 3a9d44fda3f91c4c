//! Several servers, one service: how a server, a *node*, tells the others what happened on it.
//!
//! Sockets of one room may be on different nodes, so an event of one node has to reach the others. What a node's own
//! sockets hear goes to them at once, as if the node were alone; beside that [`SharedEvents`] hands it to an
//! [`EventBus`], for the [addresses](Address) in which somebody elsewhere is [interested](Interest). So an event that
//! nobody elsewhere wants is neither put into bytes nor sent, and what a node is sent grows with what its sockets have
//! joined and not with the number of nodes.
//!
//! Nodes tell each other their interests: what has begun and what is over ([`Note::Changed`]), numbered, so that whoever
//! missed one asks for [the whole](Note::Whole); and every second that they are there. Whose beat is not heard any more
//! is interested in nothing ([`peers`]). While a node does not know for certain what another wants, that one wants
//! everything.
//!
//! A bus may lose an event, bring it twice, or bring two in another order. Nothing relies on it: what an agent has to
//! get is in the store and is pushed again, `/next` gives it at any time, and whoever lost the right to listen is found
//! by the log of changes ([`crate::change`]), and a room into which somebody came is looked up when something was lost
//! ([`healing`]). What comes twice is told once ([`seen`]).
//!
//! All here is pure, or a port; time is handed in.

pub mod healing;
pub mod note;
pub mod own;
pub mod peers;
pub mod port;
pub mod route;
pub mod seen;
pub mod shared;

pub use healing::{CLOCKS_APART, Healing, Loss};
pub use note::Note;
pub use own::OwnInterests;
pub use peers::{Answer, Peers};
pub use port::EventBus;
pub use route::{Address, Interest, narrowed, routes};
pub use seen::Seen;
pub use shared::SharedEvents;
