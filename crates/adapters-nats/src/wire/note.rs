//! Notes: messages of nodes about themselves.

use domain::bus::{Interest, Note};
use domain::id::NodeId;

/// The maximum size of one interest in a note, and the size of everything else.
pub(crate) const INTEREST: usize = 64;
pub(crate) const BESIDE_INTERESTS: usize = 128;

/// Returns whether a kind is that of a note, including those that only newer nodes know.
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
