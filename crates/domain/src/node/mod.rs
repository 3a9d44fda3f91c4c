//! The nodes of a cluster on one store, and the users and agents connected to each.
//!
//! Terms. A *node* is one run of a server in a cluster. It holds a *lease*, which it renews; when
//! the lease has expired the node counts as dead, and the first other node to see that clears it:
//! its connections are void. *Whereabouts* are the nodes that a user or agent is connected to.
//! Times are those of the store's clock, since the clocks of nodes may differ.
//!
//! Invariants:
//!
//! - an agent has one live socket on all nodes together: the newest, unless it connected with
//!   `on_conflict=reject`;
//! - every change of whereabouts is in the change log ([`crate::change`]) in the transaction of the
//!   change, so that all nodes have the same view;
//! - a node that continues after its lease has expired registers as a new one, and learns then
//!   which of its sockets others have taken over.
//!
//! A single server writes and reads none of this.

mod claim;
mod lease;
mod port;

pub use claim::{ClaimReason, Holder, OnConflict};
pub use lease::{
    CLEARED_EVERY, CLEARED_WITHIN, GRACE, LEASE, MIN_REMAINING_LEASE, RENEWED_EVERY, StoreContinuity,
};
pub use port::{
    AgentClaim, Connected, Entrant, EntrantPosition, Granted, NodeRepository, PresenceChange, Registered,
    SocketNumber,
};
