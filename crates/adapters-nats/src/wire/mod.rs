//! Events and peer messages as bytes.
//!
//! The kind of a body is a number in the head of the message; a number is never reused. A body is
//! JSON, and its members are the fields of the domain's types by their serde attributes
//! (`docs/adr/0014-bus-format-by-derive.md`). A newer program may add members, which older ones
//! ignore; a change of meaning needs a new kind, which older ones skip. An event without a kind
//! does not compile, and `golden.txt` holds the bytes.

mod event;
mod peer_message;

use serde::Serialize;

pub(crate) use event::{decode, encode, is_event};
pub(crate) use peer_message::{
    BESIDE_INTERESTS, INTEREST, decode as decode_peer_message, encode as encode_peer_message, is_peer_message,
};

/// A body that does not match its kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Malformed;

impl From<serde_json::Error> for Malformed {
    fn from(_: serde_json::Error) -> Self {
        Self
    }
}

/// Generates `encode` and `decode` of an enum from a table: per variant its kind and the members of
/// its body, in order. A last variant may have an empty body.
macro_rules! bodies {
    ($of:ident $($kind:literal $variant:ident { $($(#[$meta:meta])* $field:ident: $type:ty),+ })+
        $(; $empty_kind:literal $empty:ident)?) => {
        /// The kind and the body.
        pub(crate) fn encode(value: &$of) -> (u8, Vec<u8>) {
            match value {$(
                $of::$variant { $($field),+ } => {
                    #[derive(serde::Serialize)]
                    struct Body<'a> {
                        $($(#[$meta])* $field: &'a $type,)+
                    }
                    ($kind, $crate::wire::json(&Body { $($field),+ }))
                }
            )+
                $($of::$empty => ($empty_kind, Vec::new()),)?
            }
        }

        /// Reads [`encode`] back; `None` for a kind that only newer nodes support.
        pub(crate) fn decode(kind: u8, body: &[u8]) -> Result<Option<$of>, $crate::wire::Malformed> {
            Ok(Some(match kind {
                $($kind => {
                    #[derive(serde::Deserialize)]
                    struct Body {
                        $($(#[$meta])* $field: $type,)+
                    }
                    let Body { $($field),+ } = serde_json::from_slice(body)?;
                    $of::$variant { $($field),+ }
                })+
                $($empty_kind => $of::$empty,)?
                _ => return Ok(None),
            }))
        }
    };
}

use bodies;

fn json(body: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(body).expect("maps of JSON have texts as keys, and nothing else could fail")
}

#[cfg(test)]
mod tests;
