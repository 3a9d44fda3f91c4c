//! What a search has found, as clients see it.

use domain::id::{ChatId, MessageId, ParticipantId};
use domain::search::{Highlight, Hit};
use domain::time::Timestamp;
use serde::Serialize;

use super::Shown;
use super::message::OriginView;

/// A message that a search has found.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct SearchHitView<'a> {
    #[schema(value_type = super::Id)]
    message_id: Shown<MessageId>,
    chat: SearchedChatView<'a>,
    /// `text`, or the kind of event.
    message_type: &'static str,
    sender: SearchedSenderView<'a>,
    /// Present if the originator belongs to a different organization than the room, as in the metadata of messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<OriginView>,
    #[schema(value_type = super::Instant)]
    inserted_at: Shown<Timestamp>,
    /// The part of the text around the first match, at most 240 characters on one line, with `@handle` for mentions and
    /// `…` where the text continues. It is plain text.
    snippet: &'a str,
    /// What matches in the snippet, in order. Empty if only filters were given.
    highlights: Vec<HighlightView>,
}

/// The room of a message.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct SearchedChatView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<ChatId>,
    title: Option<&'a str>,
}

/// The sender of a message.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct SearchedSenderView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<ParticipantId>,
    /// `User` or `Agent`.
    r#type: &'static str,
    /// Without `@`. Null if it is unknown.
    handle: Option<&'a str>,
    name: &'a str,
}

/// A range of the snippet, in characters (Unicode code points).
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct HighlightView {
    /// The first character, from 0.
    start: usize,
    /// The character after the last one.
    end: usize,
}

impl<'a> SearchHitView<'a> {
    /// Shows a hit.
    pub fn new(hit: &'a Hit) -> Self {
        let message = &hit.message;
        let highlight = |range: &Highlight| HighlightView { start: range.start, end: range.end };
        Self {
            message_id: Shown(message.id),
            chat: SearchedChatView { id: Shown(message.chat), title: hit.title.as_deref() },
            message_type: message.kind.as_str(),
            sender: SearchedSenderView {
                id: Shown(message.sender),
                r#type: message.sender.kind().as_str(),
                handle: message.sender_handle.as_deref(),
                name: &message.sender_name,
            },
            origin: OriginView::new(message.origin, message.originator),
            inserted_at: Shown(message.created_at),
            snippet: &hit.snippet.text,
            highlights: hit.snippet.highlights.iter().map(highlight).collect(),
        }
    }
}
