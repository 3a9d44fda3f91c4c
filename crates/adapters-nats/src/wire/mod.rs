//! Events and notes as bytes.
//!
//! What a body holds is said by its kind, a number that is never given to anything else. Bodies are JSON: a newer
//! program may add members, which older ones pass over; what changes its meaning gets another kind, which older ones
//! ignore. An event of the domain that has no kind here does not compile.

mod agent;
mod contact;
mod event;
mod message;
mod note;
mod plain;
mod room;

pub(crate) use event::{decode, encode, is_event};
pub(crate) use note::{BESIDE_INTERESTS, INTEREST, decode as decode_note, encode as encode_note, is_note};

/// A body that is none of its kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Malformed;

impl From<serde_json::Error> for Malformed {
    fn from(_: serde_json::Error) -> Self {
        Self
    }
}

#[cfg(test)]
mod tests;
