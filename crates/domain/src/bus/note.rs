//! What nodes tell each other beside events: that they are there, and what their sockets listen to.

use super::route::Interest;
use crate::id::NodeId;

/// What a node tells all others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Note {
    /// It is there; said every second.
    Here {
        /// How often its interests have changed so far.
        revision: u64,
    },
    /// Its interests have changed once more.
    Changed {
        /// With this they have changed so often.
        revision: u64,
        /// What its sockets have begun to listen to.
        begun: Vec<Interest>,
        /// What none of them listens to any more.
        over: Vec<Interest>,
    },
    /// All its interests, in parts.
    Whole {
        /// After so many changes.
        revision: u64,
        /// Which part it is, from 0.
        part: u32,
        /// How many there are, at least one.
        parts: u32,
        /// The interests of this part.
        interests: Vec<Interest>,
    },
    /// Its knowledge of others has gaps: they should tell the whole.
    Ask {
        /// Who should; `None` for everybody.
        of: Option<NodeId>,
    },
    /// It ends, and wants nothing any more.
    Gone,
}
