//! `/chats`: the chats that the agent participates in.

mod create;
mod find;
mod list;
mod rename;

pub(crate) use create::create;
pub(crate) use find::find;
pub(crate) use list::{ListChatsQuery, list};
pub(crate) use rename::rename;
