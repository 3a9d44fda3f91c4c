//! `POST …/chats`: everything may be left out, the body too. `PATCH …/chats/{id}`.

use domain::chat::{ChatKind, ChatTitle, CreateChat};
use domain::id::TaskId;
use serde_json::{Value, json};

use crate::openapi::schema::{about, line, nullable, object, uuid, word};
use crate::strict_json::{FromBody, ObjectReader, Told};

/// A room to be created.
#[derive(Clone, Debug)]
pub struct CreateChatBody(pub CreateChat);

impl FromBody for CreateChatBody {
    const WRAPPER: Option<&'static str> = Some("chat");

    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Told> {
        let title = title(body);
        let task_id = task_id(body);
        let kind = kind(body);
        Ok(Self(CreateChat { title: title?, task_id: task_id?, kind: kind? }))
    }

    fn schema() -> Value {
        let kind = || nullable(word(&["direct", "group", "task"]));
        let title = nullable(json!({"type": "string", "maxLength": 120}));
        object(
            &[],
            &[
                ("title", about(title, "If omitted, the room gets its title from the first message.")),
                ("task_id", nullable(uuid())),
                ("type", kind()),
                ("chat_type", about(kind(), "Same value as `type`.")),
            ],
        )
    }
}

/// `PATCH …/chats/{id}`: the title that a room gets.
#[derive(Clone, Debug)]
pub struct RenameChatBody(pub ChatTitle);

impl FromBody for RenameChatBody {
    const WRAPPER: Option<&'static str> = Some("chat");

    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Told> {
        body.text("title", |text| ChatTitle::renamed(&text)).map(Self)
    }

    fn schema() -> Value {
        object(&["title"], &[("title", line(120))])
    }
}

fn title(body: &mut ObjectReader<'_>) -> Result<Option<ChatTitle>, Told> {
    let text = body.optional_text("title")?;
    ChatTitle::given(text.as_deref()).map_err(|fault| body.fault("title", fault))
}

fn task_id(body: &mut ObjectReader<'_>) -> Result<Option<TaskId>, Told> {
    let text = body.optional_text("task_id")?;
    let id = text.map(|text| TaskId::parse(&text).ok_or_else(|| body.fault("task_id", "must be a UUID")));
    id.transpose()
}

/// The kind goes by two names; both may be given if they agree.
fn kind(body: &mut ObjectReader<'_>) -> Result<ChatKind, Told> {
    let mut named = |name| match body.optional_text(name)? {
        None => Ok(None),
        Some(text) => match ChatKind::parse(&text) {
            None => Err(body.fault(name, "Invalid value for enum")),
            kind => Ok(kind),
        },
    };
    let [kind, chat_type] = [named("type"), named("chat_type")];
    match (kind?, chat_type?) {
        (Some(kind), Some(chat_type)) if kind != chat_type => {
            Err(body.fault("chat_type", "must not differ from type"))
        }
        (kind, chat_type) => Ok(kind.or(chat_type).unwrap_or_default()),
    }
}
