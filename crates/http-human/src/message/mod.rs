//! `/chats/{chat_id}/messages`: all that was said and done in a room.

mod delete;
mod edit;
mod list;

pub(crate) use delete::remove;
pub(crate) use edit::edit;
pub(crate) use list::{HistoryMetadata, ListMessagesQuery, list};
