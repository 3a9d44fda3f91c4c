//! `POST …/messages`, `PATCH …/messages/{id}`.

use domain::message::{MentionKind, MessageContent, RequestedMention, SendMessage};
use serde_json::{Value, json};

use crate::error::{ApiError, ErrorCode};
use crate::openapi::schema::{about, list, nullable, object, text, word};
use crate::strict_json::{FromBody, ObjectReader, Told};

/// The most mentions of one text.
const MAX_MENTIONS: usize = 100;

/// The most attachments of one text.
const MAX_ATTACHMENTS: usize = 10;

/// A text to be sent.
#[derive(Clone, Debug)]
pub struct SendMessageBody {
    message: SendMessage,
    attaches: bool,
}

impl SendMessageBody {
    /// The text, unless it comes with attachments: no file is in any room, so every one of them
    /// is unknown.
    pub fn into_command(self) -> Result<SendMessage, ApiError> {
        if self.attaches {
            let message = "An attachment is not in this chat; send the message without attachments";
            return Err(ApiError::new(ErrorCode::UnknownAttachment, message)
                .with_detail("/message/attachment_ids/0", "is not in this chat"));
        }
        Ok(self.message)
    }
}

impl FromBody for SendMessageBody {
    const WRAPPER: Option<&'static str> = Some("message");

    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Told> {
        let content = body.text("content", MessageContent::new);
        let mentions = body.objects("mentions", MAX_MENTIONS, mention);
        let attaches = body.list("attachment_ids", MAX_ATTACHMENTS).and_then(|ids| {
            let texts = ids.iter().all(Value::is_string);
            if texts { Ok(!ids.is_empty()) } else { Err(body.fault("attachment_ids", "must hold strings")) }
        });
        let message = SendMessage { content: content?, mentions: mentions? };
        Ok(Self { message, attaches: attaches? })
    }

    fn schema() -> Value {
        let mention = object(
            &[],
            &[
                ("id", nullable(text())),
                ("handle", nullable(text())),
                ("name", nullable(text())),
                ("username", nullable(text())),
                ("kind", word(&["mention", "reference"])),
            ],
        );
        object(
            &["content"],
            &[
                ("content", content()),
                ("mentions", nullable(list(mention, MAX_MENTIONS))),
                ("attachment_ids", nullable(list(text(), MAX_ATTACHMENTS))),
            ],
        )
    }
}

/// `PATCH …/messages/{id}`: what a text is to say.
#[derive(Clone, Debug)]
pub struct EditMessageBody(pub MessageContent);

impl FromBody for EditMessageBody {
    const WRAPPER: Option<&'static str> = Some("message");

    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Told> {
        body.text("content", MessageContent::new).map(Self)
    }

    fn schema() -> Value {
        object(&["content"], &[("content", content())])
    }
}

fn content() -> Value {
    about(
        json!({"type": "string", "minLength": 1, "maxLength": 524_288, "pattern": "\\S"}),
        "Text of at most 524,288 bytes of UTF-8, not only whitespace.",
    )
}

/// A mention as asked for; whether it names somebody is the domain's question.
///
/// Clients send nulls and empty texts beside the one identifier they know, and a name that says
/// nothing; old ones call the handle `username`.
fn mention(item: &mut ObjectReader<'_>) -> Result<RequestedMention, Told> {
    let kind = match item.any("kind") {
        None => Some(MentionKind::Mention),
        Some(Value::String(text)) => MentionKind::parse(&text),
        Some(_) => None,
    };
    let [id, handle, username, name] =
        ["id", "handle", "username", "name"].map(|name| item.optional_text(name));
    name?;
    let handle = handle?.filter(|handle| !handle.trim().is_empty());
    Ok(RequestedMention { id: id?, handle: handle.or(username?), kind })
}
