//! Transcripts as JSON Lines. The members are documented in `docs/API.md`.

use serde::Serialize;
use serde_json::{Map, Value};

use super::entry::{Entry, Manifest, PartDigest, Sender, Summary, TranscriptHeader, given_metadata, named};
use crate::chat::Participant;
use crate::delivery::{Attempt, Delivery, HeldBy};
use crate::file::File;
use crate::foreign::Origin;
use crate::id::ParticipantId;
use crate::message::{Cause, Mention, Message, MessageKind, with_names};
use crate::usage::{TokenCounts, UsageReport};

/// The version of the members. It changes if a member is removed, or gets another meaning.
const VERSION: u32 = 1;

/// Writes one line.
pub(super) fn write(out: &mut String, entry: &Entry<'_>) {
    let line = match entry {
        Entry::Header(header) => LineView::Transcript(HeaderView::new(header)),
        Entry::Message(message) => LineView::Message(Box::new(MessageView::new(message))),
        Entry::Deleted(first, last) => {
            LineView::Deleted { first_sequence: first.get(), last_sequence: last.get() }
        }
        Entry::Summary(summary) => LineView::Summary(SummaryView::new(summary)),
        Entry::Manifest(manifest) => LineView::Manifest(ManifestView::new(manifest)),
    };
    out.push_str(
        &serde_json::to_string(&line).expect("maps have texts as keys, and nothing else here can fail"),
    );
    out.push('\n');
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum LineView<'a> {
    Transcript(HeaderView<'a>),
    Message(Box<MessageView<'a>>),
    Deleted { first_sequence: i64, last_sequence: i64 },
    Summary(SummaryView<'a>),
    Manifest(ManifestView),
}

#[derive(Serialize)]
struct HeaderView<'a> {
    version: u32,
    room: RoomView<'a>,
    participants: Vec<ParticipantView<'a>>,
    last_sequence: i64,
}

#[derive(Serialize)]
struct RoomView<'a> {
    id: String,
    title: Option<&'a str>,
    #[serde(rename = "type")]
    kind: &'static str,
    status: &'static str,
    task_id: Option<String>,
    created_at: String,
}

#[derive(Serialize)]
struct ParticipantView<'a> {
    #[serde(flatten)]
    person: PersonView<'a>,
    role: &'static str,
    status: &'static str,
    joined_at: String,
}

#[derive(Serialize)]
struct PersonView<'a> {
    id: String,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    handle: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
}

impl<'a> PersonView<'a> {
    fn new(id: ParticipantId, handle: Option<&'a str>, name: Option<&'a str>) -> Self {
        Self { id: id.to_string(), kind: id.kind().as_str(), handle, name }
    }
}

impl<'a> HeaderView<'a> {
    fn new(header: &'a TranscriptHeader) -> Self {
        let TranscriptHeader { chat, roster, last_sequence } = header;
        let participant = |of: &'a Participant| ParticipantView {
            person: PersonView::new(of.id, Some(&of.handle), Some(&of.name)),
            role: of.role.as_str(),
            status: of.status.as_str(),
            joined_at: of.joined_at.to_string(),
        };
        Self {
            version: VERSION,
            room: RoomView {
                id: chat.id.to_string(),
                title: chat.title.as_deref(),
                kind: chat.kind.as_str(),
                status: chat.status.as_str(),
                task_id: chat.task_id.map(|id| id.to_string()),
                created_at: chat.created_at.to_string(),
            },
            participants: roster.participants.iter().map(participant).collect(),
            last_sequence: last_sequence.get(),
        }
    }
}

#[derive(Serialize)]
struct MessageView<'a> {
    sequence: i64,
    id: String,
    kind: &'static str,
    sender: PersonView<'a>,
    created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    changed_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    respond_by: Option<String>,
    text: String,
    mentions: Vec<MentionView<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<UsageView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<CauseView>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    foreign: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    traceparent: Option<String>,
    files: Vec<FileView<'a>>,
    deliveries: Vec<DeliveryView<'a>>,
}

impl<'a> MessageView<'a> {
    fn new(message: &'a Message) -> Self {
        let edited = message.updated_at > message.created_at;
        let deliveries = message.deliveries.iter().map(|delivery| {
            let known = named(message, delivery.agent());
            DeliveryView::new(delivery, known)
        });
        Self {
            sequence: message.sequence.get(),
            id: message.id.to_string(),
            kind: message.kind.as_str(),
            sender: PersonView::new(
                message.sender,
                message.sender_handle.as_deref(),
                Some(&message.sender_name),
            ),
            created_at: message.created_at.to_string(),
            changed_at: edited.then(|| message.updated_at.to_string()),
            respond_by: message.respond_by.map(|by| by.to_string()),
            text: with_names(&message.content, &message.mentions),
            mentions: message.mentions.iter().map(MentionView::new).collect(),
            metadata: given_metadata(message),
            usage: UsageReport::of(message).map(|report| UsageView::new(report.tokens, report.model)),
            cause: CauseView::of(message),
            foreign: message.origin == Origin::Labeled,
            traceparent: message.traceparent.map(|trace| trace.to_string()),
            files: message.attachments.iter().map(FileView::new).collect(),
            deliveries: deliveries.collect(),
        }
    }
}

#[derive(Serialize)]
struct MentionView<'a> {
    #[serde(flatten)]
    person: PersonView<'a>,
    kind: &'static str,
}

impl<'a> MentionView<'a> {
    fn new(mention: &'a Mention) -> Self {
        let person = PersonView::new(mention.id, Some(&mention.handle), Some(&mention.name));
        Self { person, kind: mention.kind.as_str() }
    }
}

#[derive(Serialize)]
struct UsageView {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
}

impl UsageView {
    fn new(tokens: TokenCounts, model: Option<String>) -> Self {
        let TokenCounts { input, output, cache_read, cache_write } = tokens;
        Self { input, output, cache_read, cache_write, model }
    }
}

#[derive(Serialize)]
struct CauseView {
    message_id: Option<String>,
    root_id: String,
    hop: u32,
    originator: PersonView<'static>,
    ambiguous: bool,
}

impl CauseView {
    fn of(message: &Message) -> Option<Self> {
        if message.cause.is_none() {
            return None;
        }
        let place = message.place();
        Some(Self {
            message_id: place.message.map(|id| id.to_string()),
            root_id: place.root.to_string(),
            hop: place.hop,
            originator: PersonView::new(place.originator, None, None),
            ambiguous: matches!(message.cause, Cause::Ambiguous { .. }),
        })
    }
}

#[derive(Serialize)]
struct FileView<'a> {
    id: String,
    name: &'a str,
    content_type: &'static str,
    bytes: u64,
    sha256: String,
}

impl<'a> FileView<'a> {
    fn new(file: &'a File) -> Self {
        Self {
            id: file.id.to_string(),
            name: &file.name,
            content_type: file.content_type.as_str(),
            bytes: file.bytes,
            sha256: file.digest.to_string(),
        }
    }
}

#[derive(Serialize)]
struct DeliveryView<'a> {
    agent: PersonView<'a>,
    addressed: bool,
    state: &'static str,
    delivered_at: Option<String>,
    processed_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<EndView<'a>>,
    attempts: Vec<AttemptView<'a>>,
}

#[derive(Serialize)]
struct EndView<'a> {
    at: String,
    reason: &'a str,
    held_by: Option<&'static str>,
    replaced_by: Option<String>,
}

impl<'a> DeliveryView<'a> {
    fn new(delivery: &'a Delivery, known: Option<(&'a str, &'a str)>) -> Self {
        let (name, handle) = known.unzip();
        Self {
            agent: PersonView::new(ParticipantId::Agent(delivery.agent()), handle, name),
            addressed: delivery.is_addressed(),
            state: delivery.status().as_str(),
            delivered_at: delivery.delivered_at().map(|at| at.to_string()),
            processed_at: delivery.processed_at().map(|at| at.to_string()),
            ended: delivery.dead().map(|dead| EndView {
                at: dead.at.to_string(),
                reason: &dead.reason,
                held_by: dead.held_by.map(HeldBy::as_str),
                replaced_by: dead.replaced_by.map(|id| id.to_string()),
            }),
            attempts: delivery.attempts().iter().map(AttemptView::new).collect(),
        }
    }
}

#[derive(Serialize)]
struct AttemptView<'a> {
    number: u32,
    state: &'static str,
    started_at: String,
    completed_at: Option<String>,
    error: Option<&'a str>,
}

impl<'a> AttemptView<'a> {
    fn new(attempt: &'a Attempt) -> Self {
        Self {
            number: attempt.number.get(),
            state: attempt.status().as_str(),
            started_at: attempt.started_at.to_string(),
            completed_at: attempt.completed_at().map(|at| at.to_string()),
            error: attempt.error(),
        }
    }
}

#[derive(Serialize)]
struct SummaryView<'a> {
    messages: u64,
    by_kind: Map<String, Value>,
    deleted: u64,
    senders: Vec<SenderView<'a>>,
}

#[derive(Serialize)]
struct SenderView<'a> {
    #[serde(flatten)]
    person: PersonView<'a>,
    participant: bool,
    messages: u64,
    usage_reports: u64,
    usage: UsageView,
}

impl<'a> SummaryView<'a> {
    fn new(summary: &'a Summary) -> Self {
        let sender = |(id, of): (&ParticipantId, &'a Sender)| SenderView {
            person: PersonView::new(*id, of.handle.as_deref(), Some(&of.name)),
            participant: of.is_present,
            messages: of.messages,
            usage_reports: of.reports,
            usage: UsageView::new(of.tokens, None),
        };
        let by_kind = MessageKind::ALL.iter().zip(summary.kinds).filter(|(_, count)| *count > 0);
        Self {
            messages: summary.kinds.iter().sum(),
            by_kind: by_kind.map(|(kind, count)| (kind.as_str().to_owned(), count.into())).collect(),
            deleted: summary.deleted,
            senders: summary.senders.iter().map(sender).collect(),
        }
    }
}

#[derive(Serialize)]
struct ManifestView {
    parts: Vec<PartView>,
    bytes: u64,
    sha256: String,
}

#[derive(Serialize)]
struct PartView {
    part: String,
    offset: u64,
    bytes: u64,
    sha256: String,
}

impl ManifestView {
    fn new(manifest: &Manifest) -> Self {
        let part = |of: &PartDigest| PartView {
            part: of.part.to_string(),
            offset: of.offset,
            bytes: of.bytes,
            sha256: of.digest.to_string(),
        };
        Self {
            parts: manifest.parts.iter().map(part).collect(),
            bytes: manifest.bytes,
            sha256: manifest.digest.to_string(),
        }
    }
}
