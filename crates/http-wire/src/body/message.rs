//! `POST …/messages`, `PATCH …/messages/{id}`.

use std::convert::Infallible;

use domain::file::MAX_ATTACHED;
use domain::id::{FileId, MessageId};
use domain::message::{MentionKind, MessageContent, RequestedMention, SendMessage};
use domain::reminder::{Recurrence, ScheduleText};
use domain::time::Timestamp;
use serde_json::Value;

use crate::error::{ApiError, unknown_attachment};
use crate::openapi::schema::{Schema, instant, some_text, text, uuid, word};
use crate::strict_json::{FromBody, ObjectReader, Optionality, Rejected, id};

/// The maximum number of mentions.
pub const MAX_MENTIONS: usize = 100;

const CONTENT: Schema = some_text(MessageContent::MAX_BYTES)
    .about("Text of at most 524,288 bytes of UTF-8, not only whitespace.");

const ATTACHMENT: Schema = uuid().about("The id of a file that any participant has uploaded to the room.");

const RESPOND_BY: Schema = instant().about(
    "When the mentioned agents must have processed the message: later than now, and at most 30 days ahead. If one \
     of them has not, the room gets an attention event. If omitted, the room's default applies.",
);

const DELIVER_AT: Schema = instant().about(
    "When the message is sent: later than now, and at most 366 days ahead. The answer is then 202 with a reminder instead \
     of 201. The text can have 65,536 bytes, may mention its sender, and has neither attachments nor respond_by.",
);

const EVERY: Schema = text().max(Recurrence::MAX_CHARS).about(
    "How often the message is sent, from deliver_at on: a rule of RFC 5545 with FREQ (HOURLY, DAILY, WEEKLY, or MONTHLY), \
     INTERVAL, COUNT or UNTIL, and for weeks BYDAY, such as FREQ=WEEKLY;BYDAY=MO,FR. Days are those of UTC.",
);

/// `POST …/messages`.
#[derive(Clone, Debug)]
pub struct SendMessageBody {
    message: SendMessage,
    attachments: Vec<String>,
    deliver_at: Option<Timestamp>,
    every: Option<Recurrence>,
}

impl SendMessageBody {
    /// Returns whether the message is to be sent later.
    pub const fn is_scheduled(&self) -> bool {
        self.deliver_at.is_some() || self.every.is_some()
    }

    /// Turns the body into a command for a text that is sent later.
    pub fn into_scheduled(self) -> Result<ScheduleText, ApiError> {
        let Self { deliver_at, every, .. } = self;
        Ok(ScheduleText { text: self.into_command()?, deliver_at, every })
    }

    /// Turns the body into a command. A malformed id of an attachment is that of no file.
    pub fn into_command(self) -> Result<SendMessage, ApiError> {
        let parse =
            |(index, id): (usize, &String)| FileId::parse(id).ok_or_else(|| unknown_attachment(index));
        let attachments = self.attachments.iter().enumerate().map(parse).collect::<Result<_, _>>()?;
        Ok(SendMessage { attachments, ..self.message })
    }
}

impl FromBody for SendMessageBody {
    const WRAPPER: Option<&'static str> = Some("message");

    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let content = body.text("content", CONTENT, MessageContent::new);
        let mentions = body.objects("mentions", MAX_MENTIONS, mention);
        let any = |id: &str| Ok::<_, Infallible>(id.to_owned());
        let attachments = body.texts_if_given("attachment_ids", ATTACHMENT, MAX_ATTACHED, any);
        let in_reply_to = in_reply_to(body);
        let respond_by = body.optional_text("respond_by", RESPOND_BY, time);
        let deliver_at = body.optional_text("deliver_at", DELIVER_AT, time);
        let every = body.optional_text("every", EVERY, |text| Recurrence::parse(&text));
        let message = SendMessage {
            content: content?,
            mentions: mentions?,
            respond_by: respond_by?,
            in_reply_to: in_reply_to?,
            attachments: Vec::new(),
        };
        let (deliver_at, every) = (deliver_at?, every?);
        Ok(Self { message, attachments: attachments?.unwrap_or_default(), deliver_at, every })
    }
}

/// Reads a time with its zone.
pub fn time(text: String) -> Result<Timestamp, &'static str> {
    Timestamp::parse(&text).ok_or("must be a time such as 2026-07-01T10:00:00Z")
}

/// The cause that the sender of a message or event names.
pub fn in_reply_to(body: &mut ObjectReader<'_>) -> Result<Option<MessageId>, Rejected> {
    let schema = uuid()
        .about("The message of the room that this one follows from. By default, it is the one that the agent works on; for a human, none.");
    body.optional_text("in_reply_to", schema, id(MessageId::parse))
}

/// `PATCH …/messages/{id}`: the new content.
#[derive(Clone, Debug)]
pub struct EditMessageBody(pub MessageContent);

impl FromBody for EditMessageBody {
    const WRAPPER: Option<&'static str> = Some("message");

    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        body.text("content", CONTENT, MessageContent::new).map(Self)
    }
}

/// Reads a mention; the domain resolves it.
///
/// Clients send nulls and empty texts in addition to the only identifier they know, and a name that is
/// ignored; old ones call the handle `username`.
fn mention(item: &mut ObjectReader<'_>) -> Result<RequestedMention, Rejected> {
    item.describe("kind", Optionality::Optional, word(MentionKind::WORDS));
    let kind = match item.any("kind") {
        None => Some(MentionKind::Mention),
        Some(Value::String(text)) => MentionKind::parse(&text),
        Some(_) => None,
    };
    let [id, handle, username, name] = ["id", "handle", "username", "name"]
        .map(|name| item.optional_text(name, text(), Ok::<_, Infallible>));
    name?;
    let handle = handle?.filter(|handle| !handle.trim().is_empty());
    Ok(RequestedMention { id: id?, handle: handle.or(username?), kind })
}
