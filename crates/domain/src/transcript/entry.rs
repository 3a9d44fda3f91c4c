//! What a transcript consists of, whatever its format.

use std::collections::BTreeMap;
use std::fmt;

use super::BLOCK;
use crate::chat::{Chat, Roster};
use crate::file::FileDigest;
use crate::id::{AgentId, ParticipantId, Sequence};
use crate::message::{EventMetadata, Message, MessageKind};
use crate::usage::{TokenCounts, UsageReport};
use serde_json::{Map, Value};

/// The room of a transcript.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TranscriptHeader {
    /// The room.
    pub chat: Chat,
    /// Its participants.
    pub roster: Roster,
    /// The sequence of its newest message when the transcript began, deleted ones included.
    pub last_sequence: Sequence,
}

/// A piece of a transcript.
pub(super) enum Entry<'a> {
    Header(&'a TranscriptHeader),
    Message(&'a Message),
    /// The messages with the sequences from the first one to the last one no longer exist.
    Deleted(Sequence, Sequence),
    Summary(&'a Summary),
    Manifest(&'a Manifest),
}

impl Entry<'_> {
    /// The part to which it belongs; `None` for the manifest.
    pub(super) fn part(&self) -> Option<Part> {
        match self {
            Self::Header(_) => Some(Part::Header),
            Self::Message(message) => Some(Part::holding(message.sequence)),
            Self::Deleted(first, _) => Some(Part::holding(*first)),
            Self::Summary(_) => Some(Part::Summary),
            Self::Manifest(_) => None,
        }
    }
}

/// A part of a transcript.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    Header,
    /// Messages of a block, by its number from 0.
    Messages(i64),
    Summary,
}

impl Part {
    const fn holding(sequence: Sequence) -> Self {
        Self::Messages((sequence.get() - 1) / BLOCK)
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header => f.write_str("header"),
            Self::Messages(block) => write!(f, "messages {}-{}", block * BLOCK + 1, (block + 1) * BLOCK),
            Self::Summary => f.write_str("summary"),
        }
    }
}

/// The bytes of a part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct PartDigest {
    pub(super) part: Part,
    /// The number of bytes before it.
    pub(super) offset: u64,
    pub(super) bytes: u64,
    pub(super) digest: FileDigest,
}

/// The digests of all parts, and of all of them together.
pub(super) struct Manifest {
    pub(super) parts: Vec<PartDigest>,
    pub(super) bytes: u64,
    pub(super) digest: FileDigest,
}

/// The sums of the messages of a transcript.
#[derive(Default)]
pub(super) struct Summary {
    pub(super) kinds: [u64; MessageKind::ALL.len()],
    pub(super) deleted: u64,
    /// Whoever sent a message that still exists, also those who have left the room.
    pub(super) senders: BTreeMap<ParticipantId, Sender>,
}

/// The sums of one sender.
pub(super) struct Sender {
    /// The name on the newest message.
    pub(super) name: String,
    pub(super) handle: Option<String>,
    pub(super) is_present: bool,
    pub(super) messages: u64,
    pub(super) reports: u64,
    pub(super) tokens: TokenCounts,
}

impl Summary {
    pub(super) fn add(&mut self, message: &Message, roster: &Roster) {
        if let Some(index) = MessageKind::ALL.iter().position(|kind| *kind == message.kind) {
            self.kinds[index] += 1;
        }
        let sender = self.senders.entry(message.sender).or_insert_with(|| Sender {
            name: String::new(),
            handle: None,
            is_present: roster.find(message.sender).is_some(),
            messages: 0,
            reports: 0,
            tokens: TokenCounts::default(),
        });
        sender.name.clone_from(&message.sender_name);
        sender.handle.clone_from(&message.sender_handle);
        sender.messages += 1;
        if let Some(report) = UsageReport::of(message) {
            sender.reports += 1;
            sender.tokens = sender.tokens.plus(report.tokens);
        }
    }
}

/// The name and the handle of an agent that has a delivery of the message, as they were when it was sent; `None` if the
/// message does not mention the agent.
pub(super) fn named(message: &Message, agent: AgentId) -> Option<(&str, &str)> {
    let mention = message.mentions.iter().find(|mention| mention.id == ParticipantId::Agent(agent))?;
    Some((&mention.name, &mention.handle))
}

/// The data of an event that its sender gave. Older versions also stored members that are reserved now.
pub(super) fn given_metadata(message: &Message) -> Option<Map<String, Value>> {
    let mut metadata = message.metadata.clone().filter(|_| message.kind.is_event())?;
    metadata.retain(|name, _| !EventMetadata::RESERVED.contains(&name.as_str()));
    (!metadata.is_empty()).then_some(metadata)
}
