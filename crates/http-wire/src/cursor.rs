//! Cursors: opaque texts that identify the last row a reader has seen.
//!
//! A cursor is sealed with a secret of the installation, for one list of one reader: no other
//! reader can decode, change, or forge it. A position may reveal more than its list does, such as
//! the number of messages in a chat that an agent cannot read.

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::aead::{AES_256_GCM_SIV, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::id::RecordId;
use domain::page::Position;
use domain::secret::Secret;
use uuid::Uuid;

use crate::error::{ApiError, ErrorCode};

/// Raised when the layout or the meaning of a cursor changes; older ones are then refused.
const VERSION: u8 = 2;

/// The size of a cursor before the text: filters, key, id.
const FIXED_BYTES: usize = 8 + 8 + 16;

/// The key that seals cursors. All servers on one store have the same.
#[derive(Clone)]
pub struct CursorSeal(Arc<RandomizedNonceKey>);

impl fmt::Debug for CursorSeal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CursorSeal")
    }
}

impl CursorSeal {
    /// The seal of an installation.
    pub fn new(secret: Secret) -> Self {
        let key = RandomizedNonceKey::new(&AES_256_GCM_SIV, &secret.0);
        Self(Arc::new(key.expect("a key of AES-256 has 32 bytes")))
    }

    /// Seals a text that a client keeps for the server, which is no cursor; `purpose` is what it is for.
    pub fn close_text(&self, purpose: &str, text: &str) -> String {
        URL_SAFE_NO_PAD.encode(self.close(purpose.as_bytes(), text.as_bytes().to_vec()))
    }

    /// Opens a text that was sealed for this purpose; `None` if it was altered in any way.
    pub fn open_text(&self, purpose: &str, sealed: &str) -> Option<String> {
        String::from_utf8(self.open(purpose.as_bytes(), &URL_SAFE_NO_PAD.decode(sealed).ok()?)?).ok()
    }

    /// Seals the bytes; the nonce comes first.
    fn close(&self, list: &[u8], mut bytes: Vec<u8>) -> Vec<u8> {
        let nonce = self.0.seal_in_place_append_tag(Aad::from(list), &mut bytes);
        let nonce = nonce.expect("a cursor is shorter than what can be sealed");
        let mut sealed = nonce.as_ref().to_vec();
        sealed.append(&mut bytes);
        sealed
    }

    /// Opens a cursor of this list; `None` if it was altered in any way.
    fn open(&self, list: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE_LEN>()?;
        let mut bytes = sealed.to_vec();
        let opened = self.0.open_in_place(Nonce::from(nonce), Aad::from(list), &mut bytes).ok()?;
        Some(opened.to_vec())
    }
}

/// The list of a cursor, and the filters in force.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CursorScope {
    list: Fingerprint,
    filters: Fingerprint,
}

impl CursorScope {
    /// The list with this name, such as `me/chats`.
    pub fn list(name: &str) -> Self {
        Self { list: Fingerprint::EMPTY.with(name.as_bytes()), filters: Fingerprint::EMPTY }
    }

    /// The list of a caller or a chat.
    pub fn of(self, id: Uuid) -> Self {
        Self { list: self.list.with(id.as_bytes()), ..self }
    }

    /// The list with this filter or order.
    pub fn filtered(self, name: &str, value: &str) -> Self {
        Self { filters: self.filters.with(name.as_bytes()).with(value.as_bytes()), ..self }
    }

    /// Writes a cursor.
    pub fn encode(&self, seal: &CursorSeal, position: &Position) -> String {
        let mut bytes = Vec::with_capacity(FIXED_BYTES + position.text.len());
        bytes.extend(self.filters.0.to_be_bytes());
        bytes.extend(position.key.to_be_bytes());
        bytes.extend(position.id.uuid().as_bytes());
        bytes.extend(position.text.as_bytes());
        URL_SAFE_NO_PAD.encode(seal.close(&self.mark(), bytes))
    }

    /// Reads a cursor that a client sent back.
    pub fn decode(&self, seal: &CursorSeal, text: &str) -> Result<Position, ApiError> {
        let sealed = URL_SAFE_NO_PAD.decode(text).ok();
        let bytes = sealed.and_then(|sealed| seal.open(&self.mark(), &sealed));
        let Some((filters, position)) = bytes.as_deref().and_then(parts) else {
            return Err(ApiError::validation().with_detail("/cursor", "is not a cursor of this list"));
        };
        if filters != self.filters {
            let message =
                "The cursor was made with other filters. Send the same filters, or start without a cursor.";
            return Err(ApiError::new(ErrorCode::CursorFilterMismatch, message)
                .with_detail("/cursor", "was made with other filters"));
        }
        Ok(position)
    }

    /// The data that a cursor of this list is bound to.
    fn mark(self) -> [u8; 9] {
        let mut mark = [VERSION; 9];
        mark[1..].copy_from_slice(&self.list.0.to_be_bytes());
        mark
    }
}

/// The fingerprint of the filters, and the position.
fn parts(bytes: &[u8]) -> Option<(Fingerprint, Position)> {
    let (filters, rest) = bytes.split_first_chunk()?;
    let (key, rest) = rest.split_first_chunk()?;
    let (id, text) = rest.split_first_chunk()?;
    let text = String::from_utf8(text.to_vec()).ok()?;
    let position = Position { key: i64::from_be_bytes(*key), text, id: RecordId::new(Uuid::from_bytes(*id)) };
    Some((Fingerprint(u64::from_be_bytes(*filters)), position))
}

/// FNV-1a: the same in every version of this program, unlike the library's hashers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Fingerprint(u64);

impl Fingerprint {
    const EMPTY: Self = Self(0xcbf2_9ce4_8422_2325);

    /// Adds `bytes` and an end mark, so that `ab`, `c` differs from `a`, `bc`.
    fn with(self, bytes: &[u8]) -> Self {
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        let hash = bytes.iter().fold(self.0, |hash, byte| step(hash, *byte));
        Self(step(step(hash, 0xff), 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_text_is_for_one_purpose() {
        let seal = CursorSeal::new(Secret([7; 32]));
        let sealed = seal.close_text("log-in", "state");
        assert_eq!(seal.open_text("log-in", &sealed).as_deref(), Some("state"));
        assert_ne!(seal.close_text("log-in", "state"), sealed);
        let (altered, other) = (format!("{sealed}A"), CursorSeal::new(Secret([8; 32])));
        assert_eq!(seal.open_text("other", &sealed), None);
        assert_eq!(other.open_text("log-in", &sealed), None);
        for bad in ["", "x", "\u{e4}", &altered] {
            assert_eq!(seal.open_text("log-in", bad), None, "{bad}");
        }
        // A cursor is nothing else.
        let cursor = CursorScope::list("x").encode(&seal, &position());
        assert_eq!(seal.open_text("x", &cursor), None);
    }

    fn position() -> Position {
        Position { key: -7, text: "Größe".to_owned(), id: RecordId::new(Uuid::from_u128(9)) }
    }

    fn seal() -> CursorSeal {
        CursorSeal::new(Secret([7; 32]))
    }

    fn code(scope: CursorScope, text: &str) -> ErrorCode {
        scope.decode(&seal(), text).unwrap_err().code()
    }

    #[test]
    fn a_cursor_comes_back_as_the_position_it_was_made_from() {
        let scope = CursorScope::list("chats").of(Uuid::from_u128(1)).filtered("status", "all");
        for position in [position(), Position::at(i64::MAX, RecordId::MAX)] {
            assert_eq!(scope.decode(&seal(), &scope.encode(&seal(), &position)).unwrap(), position);
        }
    }

    #[test]
    fn it_belongs_to_its_list_and_its_filters() {
        let chats = CursorScope::list("chats").of(Uuid::from_u128(1));
        let cursor = chats.encode(&seal(), &position());
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
    fn no_byte_of_it_can_be_changed_or_read() {
        let scope = CursorScope::list("chats");
        let cursor = scope.encode(&seal(), &position());
        let sealed = URL_SAFE_NO_PAD.decode(&cursor).unwrap();
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert_eq!(code(scope, &URL_SAFE_NO_PAD.encode(&changed)), ErrorCode::ValidationError, "{at}");
            assert_eq!(code(scope, &URL_SAFE_NO_PAD.encode(&sealed[..at])), ErrorCode::ValidationError);
        }
        assert!(!sealed.windows(16).any(|window| window == position().id.uuid().as_bytes()));
        let elsewhere = CursorSeal::new(Secret([8; 32]));
        assert!(scope.decode(&elsewhere, &cursor).is_err(), "made by another installation");
    }

    #[test]
    fn anything_else_is_refused() {
        let scope = CursorScope::list("chats");
        let cursor = scope.encode(&seal(), &position());
        let mut longer = cursor.clone();
        longer.push('A');
        let unsealed = URL_SAFE_NO_PAD.encode([VERSION; NONCE_LEN + FIXED_BYTES + 16]);
        for text in ["", "x", "äöü", "====", &cursor[1..], &longer, &unsealed, &"A".repeat(100_000)] {
            assert_eq!(code(scope, text), ErrorCode::ValidationError, "{text:.20}");
        }
    }
}
