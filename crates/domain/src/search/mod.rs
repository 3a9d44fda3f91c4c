//! Search: finding messages in all rooms of a caller by their words.
//!
//! Terms: a *token* is a word of a text, or several parts of an identifier joined ([`tokens`]). A [`SearchQuery`] has
//! words, phrases, and filters, and defines which messages match ([`SearchQuery::find_in`]). A [`SearchKey`] is what the
//! index keeps of a token, a room, a sender, a kind, or an agent: a number, so that both stores index alike, and no text is
//! left in the index.
//!
//! The index of a store narrows a search down to *candidates*; it may name too many messages, never too few. Every
//! candidate is read again, with the rights of the caller, and compared with the query ([`SearchWalk`]). So a search shows
//! nothing that the caller may not read, and all stores find the same.
//!
//! Nothing is indexed while a message is sent. Each room has a sequence up to which it is indexed, and a task of each server
//! continues from there ([`SearchService::index_some`]). Edits and deletions of what is indexed change the index in their
//! own transaction. The index is derived: no archive contains it, and it is made again after an import.

mod key;
mod message;
mod port;
mod query;
mod queue;
mod service;
mod snippet;
mod token;
mod walk;

#[cfg(test)]
mod tests;

pub use key::{IndexKeys, SearchKey, SearchPlace};
pub use message::{SEARCHED_CHARS, SearchedMessage, searched_text};
pub use port::{
    INDEXED_AT_ONCE, IndexBatch, IndexEntry, IndexStep, MAX_ROOM_KEYS, MessageSearch, RoomsBehind,
    SearchRepository, TITLED_ROOMS,
};
pub use query::{QueryFault, RoomName, SearchFilter, SearchQuery};
pub use queue::{IndexQueue, IndexedEvents};
pub use service::{IndexProgress, SearchService};
pub use snippet::{Highlight, SNIPPET_CHARS, Snippet};
pub use token::{SEARCHED_TOKENS, Token, tokens};
pub use walk::{Hit, SearchWalk};
