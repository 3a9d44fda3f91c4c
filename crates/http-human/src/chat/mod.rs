//! `/chats`: the rooms that the caller takes part in.

mod create;
mod delete;
mod find;
mod list;

pub(crate) use create::create;
pub(crate) use delete::remove;
pub(crate) use find::find;
pub(crate) use list::list;
