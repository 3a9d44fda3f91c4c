//! What tools show to models: short, with handles in place of ids where people are addressed.

use domain::chat::{ListedChat, Participant};
use domain::delivery::AttemptNumber;
use domain::file::File;
use domain::foreign::Origin;
use domain::id::{ChatId, FileId, MessageId, ParticipantId};
use domain::memory::Memory;
use domain::message::{MentionKind, Message, MessageKind};
use domain::time::Timestamp;
use domain::work::WorkItem;
use http_wire::view::Shown;
use serde::Serialize;

/// The number of characters of a text that is shown among others.
const SHOWN_CHARS: usize = 8000;

/// The length of a mention in a text: `@[[ID]]`.
const TAG_CHARS: usize = 41;

/// Somebody in a room.
#[derive(Serialize)]
pub(crate) struct Person<'a> {
    id: Shown<ParticipantId>,
    handle: Option<&'a str>,
    name: &'a str,
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    /// What an agent is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    online: Option<bool>,
}

impl<'a> Person<'a> {
    fn sender(message: &'a Message) -> Self {
        Self {
            id: Shown(message.sender),
            handle: message.sender_handle.as_deref(),
            name: &message.sender_name,
            r#type: message.sender.kind().as_str(),
            role: None,
            description: None,
            online: None,
        }
    }

    /// A participant, and whether it is connected.
    pub(crate) fn participant(participant: &'a Participant, online: bool) -> Self {
        Self {
            id: Shown(participant.id),
            handle: Some(&participant.handle),
            name: &participant.name,
            r#type: participant.id.kind().as_str(),
            role: Some(participant.role.as_str()),
            description: participant.description.as_deref(),
            online: Some(online),
        }
    }
}

/// A message or an event.
#[derive(Serialize)]
pub(crate) struct ShownMessage<'a> {
    id: Shown<MessageId>,
    room: Shown<ChatId>,
    from: Person<'a>,
    text: String,
    /// Set if the text goes on.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    at: Shown<Timestamp>,
    /// The kind of an event.
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<&'static str>,
    /// The handles of those to whom it is addressed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    to: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    in_reply_to: Option<Shown<MessageId>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    respond_by: Option<Shown<Timestamp>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<ShownFile<'a>>,
    /// Set if it follows from a message of another organization.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    foreign: bool,
}

#[derive(Serialize)]
struct ShownFile<'a> {
    id: Shown<FileId>,
    name: &'a str,
    bytes: u64,
}

impl<'a> ShownFile<'a> {
    fn new(file: &'a File) -> Self {
        Self { id: Shown(file.id), name: file.name.as_str(), bytes: file.bytes }
    }
}

impl<'a> ShownMessage<'a> {
    /// The whole message.
    pub(crate) fn whole(message: &'a Message) -> Self {
        Self::with_text(message, with_handles(message, &message.content))
    }

    fn with_text(message: &'a Message, text: String) -> Self {
        let is_to = |kind: MentionKind| kind == MentionKind::Mention;
        Self {
            id: Shown(message.id),
            room: Shown(message.chat_id),
            from: Person::sender(message),
            text,
            truncated: false,
            at: Shown(message.created_at),
            event: (message.kind != MessageKind::Text).then(|| message.kind.as_str()),
            to: message
                .mentions
                .iter()
                .filter(|one| is_to(one.kind))
                .map(|one| one.handle.as_str())
                .collect(),
            in_reply_to: message.place().message.map(Shown),
            respond_by: message.respond_by.map(Shown),
            files: message.attachments.iter().map(ShownFile::new).collect(),
            foreign: message.origin == Origin::Labeled,
        }
    }

    /// The message, with only the beginning of a long text.
    pub(crate) fn short(message: &'a Message) -> Self {
        // What is cut off is not searched for mentions.
        let cut = message.content.char_indices().nth(SHOWN_CHARS + TAG_CHARS).map(|(end, _)| end);
        let mut shown = Self::with_text(
            message,
            with_handles(message, &message.content[..cut.unwrap_or(message.content.len())]),
        );
        shown.truncated = cut.is_some();
        if let Some((end, _)) = shown.text.char_indices().nth(SHOWN_CHARS) {
            shown.text.truncate(end);
            shown.truncated = true;
        }
        shown
    }
}

/// The text, with `@handle` for those whom it mentions.
fn with_handles(message: &Message, text: &str) -> String {
    message.with_handles(text)
}

/// A room.
#[derive(Serialize)]
pub(crate) struct ShownRoom<'a> {
    id: Shown<ChatId>,
    title: &'a str,
    updated_at: Shown<Timestamp>,
    /// The handles of the participants, at most [`SHOWN_HANDLES`].
    participants: Vec<&'a str>,
    participant_count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    unread: Option<u64>,
}

/// The number of participants of a room in a list.
const SHOWN_HANDLES: usize = 10;

impl<'a> ShownRoom<'a> {
    /// A room of a list, with its participants.
    pub(crate) fn new(listed: &'a ListedChat) -> Self {
        let people = listed.roster.iter().flat_map(|roster| &roster.participants);
        Self {
            id: Shown(listed.chat.id),
            title: listed.chat.display_title(),
            updated_at: Shown(listed.chat.updated_at),
            participants: people.take(SHOWN_HANDLES).map(|one| one.handle.as_str()).collect(),
            participant_count: listed.roster.as_ref().map_or(0, |roster| roster.count),
            unread: listed.unread.map(|unread| unread.count),
        }
    }
}

/// A memory.
#[derive(Serialize)]
pub(crate) struct ShownMemory<'a> {
    id: Shown<domain::id::MemoryId>,
    text: &'a str,
    scope: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    about: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stored_by: Option<&'a str>,
    at: Shown<Timestamp>,
}

impl<'a> ShownMemory<'a> {
    pub(crate) fn new(memory: &'a Memory) -> Self {
        Self {
            id: Shown(memory.id),
            text: &memory.content,
            scope: memory.scope.as_str(),
            about: memory.subject_name.as_deref(),
            stored_by: memory.source_name.as_deref(),
            at: Shown(memory.created_at),
        }
    }
}

/// A message that an agent has not handled.
#[derive(Serialize)]
pub(crate) struct ShownWork<'a> {
    message: Shown<MessageId>,
    agent: Shown<domain::id::AgentId>,
    agent_handle: &'a str,
    agent_online: bool,
    room: Shown<ChatId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    room_title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    state: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    flags: Vec<&'static str>,
    at: Shown<Timestamp>,
    attempts: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

impl<'a> ShownWork<'a> {
    /// An item with its flags, and whether its agent is connected.
    pub(crate) fn new(item: &'a WorkItem, flags: Vec<&'static str>, agent_online: bool) -> Self {
        let attempts = item.delivery.attempts();
        // An error may quote the message.
        let last_error = attempts.last().and_then(|attempt| attempt.error()).filter(|_| item.is_readable());
        Self {
            message: Shown(item.message),
            agent: Shown(item.agent.id),
            agent_handle: &item.agent.handle,
            agent_online,
            room: Shown(item.chat),
            room_title: item.title.as_deref(),
            from: item.shown_sender_name(),
            text: item.text_with_handles(),
            state: item.delivery.status().as_str(),
            flags,
            at: Shown(item.written_at),
            attempts: item.delivery.current_attempt().map_or(0, AttemptNumber::get),
            last_error,
            reason: item.shown_dead_reason(),
        }
    }
}
