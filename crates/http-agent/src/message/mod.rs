//! `/chats/{chat_id}/messages`, `/events` and `/context`: messages that the agent reads and sends, and its
//! events.

mod advance;
mod context;
mod list;
mod next;
mod post_event;

pub(crate) use advance::{AttemptBody, FailBody, failed, processed, processing};
pub(crate) use context::context;
pub(crate) use list::{ListMessagesMetadata, ListMessagesQuery, list};
pub(crate) use next::next;
pub(crate) use post_event::{PostEventBody, post_event};
