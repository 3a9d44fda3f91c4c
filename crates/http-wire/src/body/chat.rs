//! `POST …/chats`, where all properties and the body itself are optional; `PATCH …/chats/{id}`.

use domain::chat::{ChatChanges, ChatKind, ChatTitle, CreateChat};
use domain::id::TaskId;
use domain::message::{MaxHops, RespondWithin};

use crate::openapi::schema::{line, text, uuid, word};
use crate::strict_json::{FromBody, ObjectReader, Rejected, id, known};

/// `POST …/chats`.
#[derive(Clone, Debug)]
pub struct CreateChatBody(pub CreateChat);

impl FromBody for CreateChatBody {
    const WRAPPER: Option<&'static str> = Some("chat");

    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let schema = text().max(120).about("If omitted, the room gets its title from the first message.");
        let title = body.optional_text("title", schema, |text| ChatTitle::given(Some(&text)));
        let task_id = body.optional_text("task_id", uuid(), id(TaskId::parse));
        let kind = kind(body);
        Ok(Self(CreateChat { title: title?.flatten(), task_id: task_id?, kind: kind? }))
    }
}

/// `PATCH …/chats/{id}`: the changes; at least one is required.
#[derive(Clone, Debug)]
pub struct RenameChatBody(pub ChatChanges);

impl FromBody for RenameChatBody {
    const WRAPPER: Option<&'static str> = Some("chat");

    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        body.describe_as_never_empty();
        let title = body.text_if_given("title", line(120), |text| ChatTitle::renamed(&text));
        let respond_within =
            body.clearable_number("respond_within", 1..=RespondWithin::MAX, RespondWithin::new);
        let max_hops = body.clearable_number("max_hops", 1..=MaxHops::MAX, MaxHops::new);
        let changes = ChatChanges { title: title?, respond_within: respond_within?, max_hops: max_hops? };
        if changes == ChatChanges::default() {
            return Err(body.fault("title", "can't be blank"));
        }
        Ok(Self(changes))
    }
}

/// The kind has two names; both may be given if they agree.
fn kind(body: &mut ObjectReader<'_>) -> Result<ChatKind, Rejected> {
    let words = word(ChatKind::WORDS);
    let kind = body.optional_text("type", words, known(ChatKind::parse));
    let chat_type =
        body.optional_text("chat_type", words.about("Same value as `type`."), known(ChatKind::parse));
    match (kind?, chat_type?) {
        (Some(kind), Some(chat_type)) if kind != chat_type => {
            Err(body.fault("chat_type", "must not differ from type"))
        }
        (kind, chat_type) => Ok(kind.or(chat_type).unwrap_or_default()),
    }
}
