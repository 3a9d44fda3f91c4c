//! Several servers on one store: who they are, and who is connected to which.
//!
//! Terms. A *node* is one run of a server that is one of several. It holds a *lease*, which it renews; when the
//! lease is over the node counts as dead, and whoever sees that first clears it: what it had said is no longer
//! so. *Whereabouts* are the nodes that somebody is connected to. Times are those of the store's own clock, as
//! nodes need not agree on theirs.
//!
//! Invariants:
//!
//! - an agent has one live socket on all nodes together: the newest, unless it asked not to be in the way;
//! - every change of whereabouts stands in the log of changes ([`crate::change`]) in the transaction of the
//!   change, so that all nodes come to know the same;
//! - a node whose lease was over and that goes on has to begin as a new one, and finds out then which of its
//!   sockets others have taken over.
//!
//! A server that is alone writes and reads nothing of this.

mod claim;
mod lease;
mod port;

pub use claim::{Claiming, Holder, OnConflict};
pub use lease::{CLEARED_EVERY, CLEARED_WITHIN, CLEARS_HOLDING, Contact, GRACE, LEASE, RENEWED_EVERY};
pub use port::{
    AgentClaim, Connected, Entrant, EntrantPlace, Granted, NodeRepository, Note, Registered, SocketNumber,
};
