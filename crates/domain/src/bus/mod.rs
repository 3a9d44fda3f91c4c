//! The bus: how a server, a *node*, passes its events to the others of a cluster.
//!
//! Sockets of one chat may be on different nodes, so an event of one node must reach the others.
//! Local sockets receive it at once, as if the node were alone; in addition, [`SharedEvents`]
//! passes it to an [`EventBus`], for the [addresses](Address) that another node is
//! [interested](Interest) in. An event without such interest is neither serialized nor sent, and
//! the traffic of a node grows with the topics that its sockets have joined and not with the number
//! of nodes.
//!
//! Nodes exchange their interests: the changes ([`PeerMessage::InterestsChanged`]), numbered, so that a node
//! that missed one asks for [the full list](PeerMessage::AllInterests); and a heartbeat every second. A node
//! whose heartbeat stops has no interests ([`known_nodes`]). While the interests of a node are not known for
//! certain, it counts as interested in everything.
//!
//! A bus may lose, repeat, or reorder events, and nothing relies on it: messages to agents are in
//! the store, are redelivered, and can be fetched with `/next`; revoked access is found through the
//! change log ([`crate::change`]); and joins are read from the store after a loss ([`resync_period`]). A
//! repeated event is published once ([`seen`]).
//!
//! Everything here is pure, or a port; the time is an argument.

pub mod known_nodes;
pub mod own;
pub mod peer_message;
pub mod port;
pub mod resync_period;
pub mod route;
pub mod seen;
pub mod shared;

pub use known_nodes::{Answer, KnownNodes};
pub use own::OwnInterests;
pub use peer_message::PeerMessage;
pub use port::{EventBus, RunningBus};
pub use resync_period::{CLOCKS_APART, Loss, ResyncPeriod};
pub use route::{Address, Interest, narrowed, routes};
pub use seen::Seen;
pub use shared::SharedEvents;
