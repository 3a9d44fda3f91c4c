//! `/chats/{chat_id}/messages`: all that was said and done in a room.

mod list;
mod send;

pub(crate) use list::{HistoryMetadata, ListMessagesQuery, list};
pub(crate) use send::send;
