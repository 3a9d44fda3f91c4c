//! `/chats/{chat_id}/messages`, `/events` and `/context`: what the agent reads, says and records.

mod advance;
mod context;
mod list;
mod next;
mod post_event;
mod send;

pub(crate) use advance::{failed, processed, processing};
pub(crate) use context::context;
pub(crate) use list::list;
pub(crate) use next::next;
pub(crate) use post_event::post_event;
pub(crate) use send::send;
