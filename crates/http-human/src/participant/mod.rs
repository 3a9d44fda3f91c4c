//! `/chats/{chat_id}/participants`: the participants of a chat.

mod list;
mod set_role;

pub(crate) use list::{ListParticipantsQuery, list};
pub(crate) use set_role::{SetParticipantRoleBody, set_role};
