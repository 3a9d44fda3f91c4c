//! `/chats`: the chats of the caller and of the caller's agents.

mod create;
mod delete;
mod find;
mod include;
mod list;
mod mark_read;
mod rename;
mod transcript;

pub(crate) use create::create;
pub(crate) use delete::remove;
pub(crate) use find::{FindChatQuery, find};
pub(crate) use list::{ListChatsQuery, list};
pub(crate) use mark_read::{MarkReadBody, mark_all_read, mark_read};
pub(crate) use rename::rename;
pub(crate) use transcript::{MEDIA_TYPES, TranscriptQuery, transcript};
