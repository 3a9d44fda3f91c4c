//! `/chats/{chat_id}/participants`: the participants of a chat.

mod list;

pub(crate) use list::list;
