//! Messages of nodes about themselves, in addition to events: heartbeats and interests.

use super::route::Interest;
use crate::id::NodeId;

/// A message of a node to all others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PeerMessage {
    /// The heartbeat, sent every second.
    Heartbeat {
        /// The number of changes of its interests so far.
        revision: u64,
    },
    /// A change of its interests.
    InterestsChanged {
        /// The number of changes including this one.
        revision: u64,
        /// The interests that have begun.
        begun: Vec<Interest>,
        /// The interests that have ended.
        over: Vec<Interest>,
    },
    /// All its interests, in parts.
    AllInterests {
        /// The number of changes that they include.
        revision: u64,
        /// The index of the part, from 0.
        part: u32,
        /// The number of parts, at least one.
        parts: u32,
        /// The interests of this part.
        interests: Vec<Interest>,
    },
    /// A request for the full list, since the sender has missed changes.
    AskInterests {
        /// The node that should answer; `None` for all.
        of: Option<NodeId>,
    },
    /// It stops, and has no interests any more.
    Leaving,
}
