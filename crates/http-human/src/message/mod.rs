//! `/chats/{chat_id}/messages`: the history of a chat.

mod delete;
mod edit;
mod list;
mod tree;

pub(crate) use delete::remove;
pub(crate) use edit::edit;
pub(crate) use list::{HistoryMetadata, ListMessagesQuery, list};
pub(crate) use tree::tree;
