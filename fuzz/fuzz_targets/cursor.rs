//! Cursors: none is accepted that was not made here for the list, and what was made is read back.
#![cfg_attr(feature = "libfuzzer", no_main)]

use domain::id::RecordId;
use domain::page::Position;
use domain::secret::Secret;
use http_wire::cursor::{CursorScope, CursorSeal};
use libfuzzer_sys::fuzz_target;
use uuid::Uuid;

fuzz_target!(|input: (&str, i64, u128, &str, u8, u8)| {
    let (forged, key, id, text, index, flip) = input;
    let seal = CursorSeal::new(Secret([7; 32]));
    let scope = CursorScope::list("me/chats").filtered("status", "active");
    assert!(scope.decode(&seal, forged).is_err(), "a cursor was forged");
    let position = Position { key, text: text.to_owned(), id: RecordId::new(Uuid::from_u128(id)) };
    let cursor = scope.encode(&seal, &position);
    assert_eq!(scope.decode(&seal, &cursor).ok(), Some(position));
    for other in
        [CursorScope::list("me/agents"), CursorScope::list("me/chats"), scope.of(Uuid::from_u128(id))]
    {
        assert!(other.decode(&seal, &cursor).is_err(), "a cursor of another list was accepted");
    }
    let mut changed = cursor.clone().into_bytes();
    let index = usize::from(index) % changed.len();
    changed[index] ^= flip & 0x7f;
    if let Ok(changed) = String::from_utf8(changed) {
        assert!(changed == cursor || scope.decode(&seal, &changed).is_err(), "a changed cursor was accepted");
    }
});

#[cfg(not(feature = "libfuzzer"))]
fn main() {}
