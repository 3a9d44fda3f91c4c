//! Messages, with what became of them.

use std::borrow::Cow;

use domain::delivery::{Attempt, AttemptNumber, AttemptStatus, Delivery, DeliveryStatus};
use domain::id::{AgentId, ChatId, MessageId};
use domain::message::{Mention, MentionKind, Message, MessageKind};
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Malformed;
use super::plain::{At, Id, Text, Who, owned, text, word};

#[derive(Serialize, Deserialize)]
pub(super) struct WireMessage<'a> {
    id: Id,
    chat: Id,
    sequence: i64,
    kind: Text<'a>,
    content: Text<'a>,
    sender: Who,
    sender_name: Text<'a>,
    /// Older programs do not send it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sender_handle: Option<Text<'a>>,
    mentions: Vec<WireMention<'a>>,
    metadata: Option<Cow<'a, Map<String, Value>>>,
    created_at: At,
    updated_at: At,
    deliveries: Vec<WireDelivery<'a>>,
}

#[derive(Serialize, Deserialize)]
struct WireMention<'a> {
    id: Who,
    handle: Text<'a>,
    name: Text<'a>,
    kind: Text<'a>,
}

#[derive(Serialize, Deserialize)]
struct WireDelivery<'a> {
    agent: Id,
    addressed: bool,
    status: Text<'a>,
    delivered_at: Option<At>,
    processed_at: Option<At>,
    attempts: Vec<WireAttempt<'a>>,
}

#[derive(Serialize, Deserialize)]
struct WireAttempt<'a> {
    number: u32,
    status: Text<'a>,
    started_at: At,
    completed_at: Option<At>,
    error: Option<Text<'a>>,
}

impl<'a> From<&'a Message> for WireMessage<'a> {
    fn from(message: &'a Message) -> Self {
        let Message {
            id,
            chat_id,
            sequence,
            kind,
            content,
            sender,
            sender_name,
            sender_handle,
            mentions,
            metadata,
            created_at,
            updated_at,
            deliveries,
        } = message;
        Self {
            id: Id(id.uuid()),
            chat: Id(chat_id.uuid()),
            sequence: *sequence,
            kind: kind.as_str().into(),
            content: content.into(),
            sender: (*sender).into(),
            sender_name: sender_name.into(),
            sender_handle: text(sender_handle.as_ref()),
            mentions: mentions.iter().map(WireMention::from).collect(),
            metadata: metadata.as_ref().map(Cow::Borrowed),
            created_at: (*created_at).into(),
            updated_at: (*updated_at).into(),
            deliveries: deliveries.iter().map(WireDelivery::from).collect(),
        }
    }
}

impl TryFrom<WireMessage<'_>> for Message {
    type Error = Malformed;

    fn try_from(wire: WireMessage<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            id: MessageId::new(wire.id.0),
            chat_id: ChatId::new(wire.chat.0),
            sequence: wire.sequence,
            kind: word(&wire.kind, MessageKind::parse)?,
            content: wire.content.into_owned(),
            sender: wire.sender.into(),
            sender_name: wire.sender_name.into_owned(),
            sender_handle: owned(wire.sender_handle),
            mentions: wire.mentions.into_iter().map(Mention::try_from).collect::<Result<_, _>>()?,
            metadata: wire.metadata.map(Cow::into_owned),
            created_at: wire.created_at.into(),
            updated_at: wire.updated_at.into(),
            deliveries: wire.deliveries.into_iter().map(Delivery::try_from).collect::<Result<_, _>>()?,
        })
    }
}

impl<'a> From<&'a Mention> for WireMention<'a> {
    fn from(Mention { id, handle, name, kind }: &'a Mention) -> Self {
        Self { id: (*id).into(), handle: handle.into(), name: name.into(), kind: kind.as_str().into() }
    }
}

impl TryFrom<WireMention<'_>> for Mention {
    type Error = Malformed;

    fn try_from(wire: WireMention<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            id: wire.id.into(),
            handle: wire.handle.into_owned(),
            name: wire.name.into_owned(),
            kind: word(&wire.kind, MentionKind::parse)?,
        })
    }
}

impl<'a> From<&'a Delivery> for WireDelivery<'a> {
    fn from(delivery: &'a Delivery) -> Self {
        let Delivery { agent, addressed, status, delivered_at, processed_at, attempts } = delivery;
        Self {
            agent: Id(agent.uuid()),
            addressed: *addressed,
            status: status.as_str().into(),
            delivered_at: delivered_at.map(At::from),
            processed_at: processed_at.map(At::from),
            attempts: attempts.iter().map(WireAttempt::from).collect(),
        }
    }
}

impl TryFrom<WireDelivery<'_>> for Delivery {
    type Error = Malformed;

    fn try_from(wire: WireDelivery<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            agent: AgentId::new(wire.agent.0),
            addressed: wire.addressed,
            status: word(&wire.status, DeliveryStatus::parse)?,
            delivered_at: wire.delivered_at.map(Timestamp::from),
            processed_at: wire.processed_at.map(Timestamp::from),
            attempts: wire.attempts.into_iter().map(Attempt::try_from).collect::<Result<_, _>>()?,
        })
    }
}

impl<'a> From<&'a Attempt> for WireAttempt<'a> {
    fn from(Attempt { number, status, started_at, completed_at, error }: &'a Attempt) -> Self {
        Self {
            number: number.0,
            status: status.as_str().into(),
            started_at: (*started_at).into(),
            completed_at: completed_at.map(At::from),
            error: text(error.as_ref()),
        }
    }
}

impl TryFrom<WireAttempt<'_>> for Attempt {
    type Error = Malformed;

    fn try_from(wire: WireAttempt<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            number: AttemptNumber(wire.number),
            status: word(&wire.status, AttemptStatus::parse)?,
            started_at: wire.started_at.into(),
            completed_at: wire.completed_at.map(Timestamp::from),
            error: owned(wire.error),
        })
    }
}
