//! `/chats/{chat_id}/participants`: who is in a room.

mod add;
mod list;
mod remove;

pub(crate) use add::add;
pub(crate) use list::{ListParticipantsQuery, list};
pub(crate) use remove::remove;
