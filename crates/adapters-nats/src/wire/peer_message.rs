//! Messages of nodes about themselves.

use domain::bus::{Interest, PeerMessage};
use domain::id::NodeId;

/// The maximum size of one interest in a peer message, and the size of everything else.
pub(crate) const INTEREST: usize = 64;
pub(crate) const BESIDE_INTERESTS: usize = 128;

/// Returns whether a kind is that of a peer message, including those that only newer nodes know.
pub(crate) const fn is_peer_message(kind: u8) -> bool {
    kind >= 200
}

super::bodies! {
    PeerMessage
    201 Heartbeat { revision: u64 }
    202 InterestsChanged { revision: u64, begun: Vec<Interest>, over: Vec<Interest> }
    203 AllInterests { revision: u64, part: u32, parts: u32, interests: Vec<Interest> }
    204 AskInterests { of: Option<NodeId> }
    ; 205 Leaving
}
