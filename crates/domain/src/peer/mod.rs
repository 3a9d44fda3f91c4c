//! Peers: whom a caller can find, and may bring into rooms.
//!
//! Every caller has a network of its own, made up at the moment of asking: an agent's are its
//! owner, its owner's other agents, the global agents, the agents that colleagues of its owner
//! share with the organization, and its contacts; a human's are the own agents, the colleagues,
//! the shared and the global agents, and the contacts. The rule stands in [`ties`].
//!
//! Being a peer is not being in a room together: inside a room everybody may address everybody.
//! Being listed in the *directory* makes nobody a peer; it says who may be asked for a contact.

mod list;
mod port;
mod service;
pub mod ties;

pub use list::ListPeersError;
pub use port::{ListPeers, Peer, PeerRepository};
pub use service::{ListedPeer, PeerService};
pub use ties::{PeerSource, Ties};
