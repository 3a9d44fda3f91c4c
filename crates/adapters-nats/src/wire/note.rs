//! What nodes tell each other of themselves.

use domain::bus::{Interest, Note};
use domain::id::NodeId;

/// How many bytes of a note one interest takes at most, and how many there are beside all of them.
pub(crate) const INTEREST: usize = 64;
pub(crate) const BESIDE_INTERESTS: usize = 128;

/// Whether a kind is one of a note, also of one that only newer nodes know.
pub(crate) const fn is_note(kind: u8) -> bool {
    kind >= 200
}

super::bodies! {
    Note
    201 Here { revision: u64 }
    202 Changed { revision: u64, begun: Vec<Interest>, over: Vec<Interest> }
    203 Whole { revision: u64, part: u32, parts: u32, interests: Vec<Interest> }
    204 Ask { of: Option<NodeId> }
    ; 205 Gone
}
