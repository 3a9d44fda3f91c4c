//! Messages and events as clients see them.

use domain::delivery::{Attempt, AttemptNumber, Delivery, DeliveryStatus, HeldBy};
use domain::foreign::Origin;
use domain::id::{AgentId, ChatId, MessageId, ParticipantId, ParticipantKind};
use domain::message::{Cause, EventMetadata, Mention, Message, TraceParent};
use domain::page::weight::{MESSAGE_BYTES, of_files, of_members, of_record};
use domain::time::Timestamp;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

use super::{AttachmentView, Shown};

/// A message or an event, as one reader sees it.
#[derive(Debug, serde::Serialize, utoipa::ToSchema)]
pub struct MessageView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<MessageId>,
    content: &'a str,
    message_type: &'static str,
    #[schema(value_type = super::Id)]
    sender_id: Shown<ParticipantId>,
    sender_type: &'static str,
    sender_name: &'a str,
    /// Without `@`. It identifies the sender: names can repeat and change, handles never do. Absent if
    /// unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    sender_handle: Option<&'a str>,
    #[schema(value_type = super::Id)]
    chat_room_id: Shown<ChatId>,
    /// Always null: threads are not supported.
    #[schema(value_type = Option<String>)]
    thread_id: (),
    /// For a text: `mentions` (`id`, `type`, `handle`, `name`, `kind`), `status`, `delivery_status` by agent, and
    /// `attempts`. For an event: the metadata that its sender set. In addition `cause`, if the message follows
    /// from another or may do so, `delegation`, if a human asks an agent of somebody else, `traceparent`, if the
    /// message is part of a trace, and `origin`, if the originator belongs to a different organization than the
    /// room.
    #[schema(value_type = Object)]
    metadata: MetadataView<'a>,
    /// The files of a text, in the order of `attachment_ids`. Files that have expired are left out.
    attachments: Vec<AttachmentView<'a>>,
    #[schema(value_type = super::Instant)]
    inserted_at: Shown<Timestamp>,
    #[schema(value_type = super::Instant)]
    updated_at: Shown<Timestamp>,
    /// When the mentioned agents must have processed the text. Absent without a deadline.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<super::Instant>)]
    respond_by: Option<Shown<Timestamp>>,
    /// The place in the chat: 1 for the first message, without gaps except for deleted ones. Absent for agents, which do
    /// not learn how much was said between the messages that mention them.
    #[serde(skip_serializing_if = "Option::is_none")]
    sequence: Option<i64>,
}

impl<'a> MessageView<'a> {
    /// As a human sees it: what became of it at every agent.
    pub fn for_user(message: &'a Message) -> Self {
        Self::new(message, None)
    }

    /// As `reader` sees it: only its own delivery record.
    pub fn for_agent(message: &'a Message, reader: AgentId) -> Self {
        Self::new(message, Some(reader))
    }

    /// The approximate size of these messages as JSON, in bytes.
    pub fn bytes(messages: &[Message]) -> usize {
        let of_one = |message: &Message| {
            let attempts = message.deliveries.iter().map(|delivery| delivery.attempts().len());
            let records = attempts.map(|count| of_record(u32::try_from(count).unwrap_or(u32::MAX)));
            let files = of_files(message.attachments.len());
            let metadata = message.metadata.as_ref().map_or(0, of_members);
            message.content.len() + metadata + files + records.sum::<usize>()
        };
        messages.iter().map(|message| MESSAGE_BYTES + of_one(message)).sum()
    }

    fn new(message: &'a Message, reader: Option<AgentId>) -> Self {
        let metadata = if message.kind.is_event() {
            let (given, cause) = (message.metadata.as_ref(), CauseView::of(message));
            let (origin, traceparent) = (OriginView::of(message), message.traceparent);
            MetadataView::Event(EventMetadataView { given, cause, traceparent, origin })
        } else {
            MetadataView::Text(TextMetadataView::new(message, reader))
        };
        Self {
            id: Shown(message.id),
            content: &message.content,
            message_type: message.kind.as_str(),
            sender_id: Shown(message.sender),
            sender_type: message.sender.kind().as_str(),
            sender_name: &message.sender_name,
            sender_handle: message.sender_handle.as_deref(),
            chat_room_id: Shown(message.chat_id),
            thread_id: (),
            metadata,
            attachments: message.attachments.iter().map(AttachmentView::new).collect(),
            inserted_at: Shown(message.created_at),
            updated_at: Shown(message.updated_at),
            respond_by: message.respond_by.map(Shown),
            sequence: reader.is_none().then(|| message.sequence.get()),
        }
    }
}

/// Always an object.
#[derive(Debug, serde::Serialize)]
#[serde(untagged)]
enum MetadataView<'a> {
    Text(TextMetadataView<'a>),
    Event(EventMetadataView<'a>),
}

/// What the sender of the event gave, without what only the server tells.
#[derive(Debug)]
struct EventMetadataView<'a> {
    given: Option<&'a Map<String, Value>>,
    cause: Option<CauseView>,
    traceparent: Option<TraceParent>,
    origin: Option<OriginView>,
}

impl Serialize for EventMetadataView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        // Older versions stored them.
        let is_given = |(name, _): &(&String, &Value)| !EventMetadata::RESERVED.contains(&name.as_str());
        for (name, value) in self.given.into_iter().flatten().filter(is_given) {
            map.serialize_entry(name, value)?;
        }
        if let Some(cause) = &self.cause {
            map.serialize_entry("cause", cause)?;
        }
        if let Some(traceparent) = &self.traceparent {
            map.serialize_entry("traceparent", traceparent)?;
        }
        if let Some(origin) = &self.origin {
            map.serialize_entry("origin", origin)?;
        }
        map.end()
    }
}

/// What a message follows from.
#[derive(Debug, serde::Serialize)]
struct CauseView {
    /// Null if the cause is ambiguous, and for a message that replaces the root.
    message_id: Option<Shown<MessageId>>,
    root_id: Shown<MessageId>,
    hop: u32,
    originator: OriginatorView,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    ambiguous: bool,
}

#[derive(Debug, serde::Serialize)]
struct OriginatorView {
    id: Shown<ParticipantId>,
    #[serde(rename = "type")]
    kind: &'static str,
}

impl CauseView {
    fn of(message: &Message) -> Option<Self> {
        if message.cause.is_none() {
            return None;
        }
        let place = message.place();
        Some(Self {
            message_id: place.message.map(Shown),
            root_id: Shown(place.root),
            hop: place.hop,
            originator: OriginatorView {
                id: Shown(place.originator),
                kind: place.originator.kind().as_str(),
            },
            ambiguous: matches!(message.cause, Cause::Ambiguous { .. }),
        })
    }
}

/// The originator belongs to a different organization than the room. Nothing that a client sends gets here.
#[derive(Debug, serde::Serialize, utoipa::ToSchema)]
pub(super) struct OriginView {
    /// Always true.
    foreign: bool,
    originator_type: &'static str,
}

impl OriginView {
    fn of(message: &Message) -> Option<Self> {
        Self::new(message.origin, message.place().originator.kind())
    }

    /// For a message of this origin with an originator of this kind.
    pub(super) fn new(origin: Origin, originator: ParticipantKind) -> Option<Self> {
        let originator_type = originator.as_str();
        (origin == Origin::Labeled).then_some(Self { foreign: true, originator_type })
    }
}

/// A human asks an agent of somebody else. Published clients know exactly these members and refuse others.
#[derive(Debug, serde::Serialize)]
struct DelegationView<'a> {
    version: u8,
    message_id: Shown<MessageId>,
    minted_at: Shown<Timestamp>,
    originator: DelegatorView<'a>,
}

#[derive(Debug, serde::Serialize)]
struct DelegatorView<'a> {
    uuid: Shown<ParticipantId>,
    handle: &'a str,
    display_name: &'a str,
}

impl<'a> DelegationView<'a> {
    fn of(message: &'a Message) -> Option<Self> {
        let handle = message.delegator()?;
        let originator =
            DelegatorView { uuid: Shown(message.sender), handle, display_name: &message.sender_name };
        let minted_at = Shown(message.created_at);
        Some(Self { version: 1, message_id: Shown(message.id), minted_at, originator })
    }
}

/// A message or an event as part of a tree.
#[derive(Debug, serde::Serialize, utoipa::ToSchema)]
pub struct TreeMessageView<'a> {
    #[serde(flatten)]
    message: MessageView<'a>,
    /// The number of causes up to the root: 0 at the root.
    hop: u32,
    /// The message that it follows from. Null at the root, and for a message that replaces it.
    #[schema(value_type = Option<super::Id>)]
    cause_id: Option<Shown<MessageId>>,
}

impl<'a> TreeMessageView<'a> {
    /// As a human sees it.
    pub fn new(message: &'a Message) -> Self {
        let place = message.place();
        Self { message: MessageView::for_user(message), hop: place.hop, cause_id: place.message.map(Shown) }
    }
}

#[derive(Debug, serde::Serialize)]
struct TextMetadataView<'a> {
    mentions: Vec<MentionView<'a>>,
    /// `sent`, on what humans wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    delivery_status: DeliveriesView<'a>,
    attempts: Vec<AttemptView<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<CauseView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delegation: Option<DelegationView<'a>>,
    /// The header for what its reader does with the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    traceparent: Option<TraceParent>,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<OriginView>,
}

impl<'a> TextMetadataView<'a> {
    fn new(message: &'a Message, reader: Option<AgentId>) -> Self {
        let visible = || message.deliveries.iter().filter(move |d| reader.is_none_or(|own| own == d.agent()));
        let attempts = visible().flat_map(|delivery| {
            let agent = reader.is_none().then_some(delivery.agent());
            delivery.attempts().iter().map(move |attempt| AttemptView::new(attempt, agent))
        });
        // A delivery that nothing has happened to shows as no entry.
        let begun = visible().filter(|delivery| delivery.status() != DeliveryStatus::New);
        let by_human = message.sender.kind() == ParticipantKind::User;
        Self {
            mentions: message.mentions.iter().map(MentionView::new).collect(),
            status: by_human.then_some("sent"),
            attempts: attempts.collect(),
            delivery_status: DeliveriesView(begun.collect()),
            cause: CauseView::of(message),
            delegation: DelegationView::of(message),
            traceparent: message.traceparent,
            origin: OriginView::of(message),
        }
    }
}

/// A mentioned participant. `username` repeats the handle for the older clients that insist on it.
#[derive(Debug, serde::Serialize)]
struct MentionView<'a> {
    id: Shown<ParticipantId>,
    handle: &'a str,
    name: &'a str,
    username: &'a str,
    kind: &'static str,
    #[serde(rename = "type")]
    participant: &'static str,
}

impl<'a> MentionView<'a> {
    fn new(mention: &'a Mention) -> Self {
        Self {
            id: Shown(mention.id),
            handle: &mention.handle,
            name: &mention.name,
            username: &mention.handle,
            kind: mention.kind.as_str(),
            participant: mention.id.kind().as_str(),
        }
    }
}

/// A map from agent id to delivery record.
#[derive(Debug)]
struct DeliveriesView<'a>(Vec<&'a Delivery>);

impl Serialize for DeliveriesView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for delivery in &self.0 {
            map.serialize_entry(&Shown(delivery.agent()), &DeliveryView::new(delivery))?;
        }
        map.end()
    }
}

#[derive(Debug, serde::Serialize)]
struct DeliveryView<'a> {
    status: &'static str,
    current_attempt: u32,
    attempts: Vec<AttemptView<'a>>,
    delivered_at: Option<Shown<Timestamp>>,
    processed_at: Option<Shown<Timestamp>>,
    /// When and why the message was taken out of the queue, or held; only then.
    #[serde(skip_serializing_if = "Option::is_none")]
    dead_at: Option<Shown<Timestamp>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dead_reason: Option<&'a str>,
    /// The message that replaces it for the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    replaced_by: Option<Shown<MessageId>>,
    /// The limit that holds the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    held_by: Option<&'static str>,
}

impl<'a> DeliveryView<'a> {
    fn new(delivery: &'a Delivery) -> Self {
        // Clients know five states; the members of a dead or held one say the rest.
        let status = match delivery.status() {
            DeliveryStatus::Dead | DeliveryStatus::Held => DeliveryStatus::Failed,
            status => status,
        };
        Self {
            status: status.as_str(),
            current_attempt: delivery.current_attempt().map_or(0, AttemptNumber::get),
            attempts: delivery.attempts().iter().map(|attempt| AttemptView::new(attempt, None)).collect(),
            delivered_at: delivery.delivered_at().map(Shown),
            processed_at: delivery.processed_at().map(Shown),
            dead_at: delivery.dead().map(|dead| Shown(dead.at)),
            dead_reason: delivery.dead().map(|dead| dead.reason.as_str()),
            replaced_by: delivery.replaced_by().map(Shown),
            held_by: delivery.held_by().map(HeldBy::as_str),
        }
    }
}

/// An attempt of an agent at a message.
#[derive(Debug, serde::Serialize, utoipa::ToSchema)]
pub(super) struct AttemptView<'a> {
    /// Only where attempts of several agents stand in one list.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<super::Id>)]
    agent_id: Option<Shown<AgentId>>,
    attempt_number: u32,
    status: &'static str,
    #[schema(value_type = super::Instant)]
    started_at: Shown<Timestamp>,
    #[schema(value_type = Option<super::Instant>)]
    completed_at: Option<Shown<Timestamp>>,
    error: Option<&'a str>,
}

impl<'a> AttemptView<'a> {
    pub(super) fn new(attempt: &'a Attempt, agent: Option<AgentId>) -> Self {
        Self {
            agent_id: agent.map(Shown),
            attempt_number: attempt.number.get(),
            status: attempt.status().as_str(),
            started_at: Shown(attempt.started_at),
            completed_at: attempt.completed_at().map(Shown),
            error: attempt.error(),
        }
    }

    /// Keeps the error only if it is shown.
    #[must_use]
    pub(super) fn with_error(self, is_shown: bool) -> Self {
        Self { error: self.error.filter(|_| is_shown), ..self }
    }
}
