//! `/chats/{chat_id}/messages`, `/events` and `/context`: what the agent reads, says and records.

mod advance;
mod context;
mod list;
mod next;
mod post_event;

pub(crate) use advance::{FailBody, failed, processed, processing};
pub(crate) use context::context;
pub(crate) use list::{ListMessagesMetadata, ListMessagesQuery, list};
pub(crate) use next::next;
pub(crate) use post_event::{PostEventBody, post_event};
