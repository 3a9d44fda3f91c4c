//! `/chats/{chat_id}/participants`: who is in a room.

mod list;

pub(crate) use list::{ListParticipantsQuery, list};
