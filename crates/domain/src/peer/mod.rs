//! Peers: the users and agents whom a caller can find and add to chats.
//!
//! Every caller has a network of its own, determined at the time of the request. That of an agent
//! consists of its owner, its owner's other agents, the global agents, the agents that colleagues
//! of its owner share with the organization, and its contacts; that of a human, of the own agents,
//! the colleagues, the shared and the global agents, and the contacts. The rule is in [`ties`].
//!
//! Participants of a chat need not be peers: inside a chat every participant may mention every
//! other. Being listed in the *directory* makes nobody a peer; it only offers the agent for contact
//! requests.

mod list;
mod port;
mod service;
pub mod ties;

pub use list::ListPeersError;
pub use port::{ListPeers, Peer, PeerRepository, SEARCHED_PEERS};
pub use service::{ListedPeer, PeerService};
pub use ties::{PeerSource, Ties};
