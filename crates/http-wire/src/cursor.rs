//! Cursors: opaque texts that name the last row a reader has seen.
//!
//! A cursor holds a version, two fingerprints (of the list and of the filters it was made with)
//! and the position. It is no secret and not signed: whoever forges one only names another place
//! in a list that they may read anyway.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::page::Position;
use uuid::Uuid;

use crate::error::{ApiError, ErrorCode};

/// Raised when the layout or the meaning of a cursor changes; older ones are then refused.
const VERSION: u8 = 1;

/// Version, list, filters, key, id.
const BYTES: usize = 1 + 8 + 8 + 8 + 16;

/// The list that a cursor belongs to, and the filters in force.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CursorScope {
    list: Fingerprint,
    filters: Fingerprint,
}

impl CursorScope {
    /// The list of this name, as `me/chats`.
    pub fn list(name: &str) -> Self {
        Self { list: Fingerprint::EMPTY.with(name.as_bytes()), filters: Fingerprint::EMPTY }
    }

    /// The list as it belongs to somebody, or to a room.
    pub fn of(self, id: Uuid) -> Self {
        Self { list: self.list.with(id.as_bytes()), ..self }
    }

    /// The list with this filter or order.
    pub fn filtered(self, name: &str, value: &str) -> Self {
        Self { filters: self.filters.with(name.as_bytes()).with(value.as_bytes()), ..self }
    }

    /// Writes a cursor.
    pub fn encode(&self, position: Position) -> String {
        let mut bytes = Vec::with_capacity(BYTES);
        bytes.push(VERSION);
        bytes.extend(self.list.0.to_be_bytes());
        bytes.extend(self.filters.0.to_be_bytes());
        bytes.extend(position.key.to_be_bytes());
        bytes.extend(position.id.as_bytes());
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Reads a cursor that a client sent back.
    pub fn decode(&self, text: &str) -> Result<Position, ApiError> {
        let foreign = || ApiError::validation().with_detail("/cursor", "is not a cursor of this list");
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| foreign())?;
        let bytes = <[u8; BYTES]>::try_from(bytes).map_err(|_| foreign())?;
        let number = |at: usize| {
            let mut eight = [0; 8];
            eight.copy_from_slice(&bytes[at..at + 8]);
            u64::from_be_bytes(eight)
        };
        if bytes[0] != VERSION || number(1) != self.list.0 {
            return Err(foreign());
        }
        if number(9) != self.filters.0 {
            let message = "The cursor was made with other filters";
            return Err(ApiError::new(ErrorCode::CursorFilterMismatch, message)
                .with_detail("/cursor", "was made with other filters"));
        }
        let mut id = [0; 16];
        id.copy_from_slice(&bytes[25..]);
        Ok(Position { key: i64::from_be_bytes(number(17).to_be_bytes()), id: Uuid::from_bytes(id) })
    }
}

/// FNV-1a: the same in every version of this program, unlike the library's hashers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Fingerprint(u64);

impl Fingerprint {
    const EMPTY: Self = Self(0xcbf2_9ce4_8422_2325);

    /// Takes in `bytes` and an end mark, so that `ab`, `c` is not `a`, `bc`.
    fn with(self, bytes: &[u8]) -> Self {
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        let hash = bytes.iter().fold(self.0, |hash, byte| step(hash, *byte));
        Self(step(step(hash, 0xff), 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Position = Position { key: -7, id: Uuid::from_u128(9) };

    fn code(scope: CursorScope, text: &str) -> ErrorCode {
        scope.decode(text).unwrap_err().code()
    }

    #[test]
    fn a_cursor_comes_back_as_the_position_it_was_made_from() {
        let scope = CursorScope::list("chats").of(Uuid::from_u128(1)).filtered("status", "all");
        assert_eq!(scope.decode(&scope.encode(PLACE)).unwrap(), PLACE);
        let top = Position { key: i64::MAX, id: Uuid::max() };
        assert_eq!(scope.decode(&scope.encode(top)).unwrap(), top);
    }

    #[test]
    fn it_belongs_to_its_list_and_its_filters() {
        let chats = CursorScope::list("chats").of(Uuid::from_u128(1));
        let cursor = chats.encode(PLACE);
        assert_eq!(
            code(CursorScope::list("agents").of(Uuid::from_u128(1)), &cursor),
            ErrorCode::ValidationError
        );
        assert_eq!(
            code(CursorScope::list("chats").of(Uuid::from_u128(2)), &cursor),
            ErrorCode::ValidationError
        );
        assert_eq!(code(chats.filtered("status", "all"), &cursor), ErrorCode::CursorFilterMismatch);
    }

    #[test]
    fn anything_else_is_refused() {
        let scope = CursorScope::list("chats");
        let cursor = scope.encode(PLACE);
        let mut longer = cursor.clone();
        longer.push('A');
        let next_version = URL_SAFE_NO_PAD.encode([2_u8; BYTES]);
        for text in ["", "x", "äöü", "====", &cursor[1..], &longer, &next_version, &"A".repeat(100_000)] {
            assert_eq!(code(scope, text), ErrorCode::ValidationError, "{text:.20}");
        }
    }
}
