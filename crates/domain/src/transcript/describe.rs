//! Puts what a transcript consists of into words.

use std::fmt::Display;

use super::document::{Block, Line, Section, Span, TextKind, said};
use super::entry::{Entry, Manifest, Sender, Summary, TranscriptHeader, given_metadata, named};
use crate::chat::{Chat, Participant, ParticipantStatus};
use crate::delivery::{Attempt, Delivery};
use crate::file::{File, FileDigest};
use crate::foreign::Origin;
use crate::id::{ParticipantId, ParticipantKind, Sequence};
use crate::message::{Cause, Mention, MentionKind, Message, MessageKind, with_names};
use crate::usage::{TokenCounts, UsageReport};
use serde_json::Value;

/// The sections of an entry.
pub(super) fn sections(entry: &Entry<'_>) -> Vec<Section> {
    match entry {
        Entry::Header(header) => of_header(header),
        Entry::Message(message) => vec![of_message(message)],
        Entry::Deleted(first, last) => vec![of_deleted(*first, *last)],
        Entry::Summary(summary) => of_summary(summary),
        Entry::Manifest(manifest) => vec![of_manifest(manifest)],
    }
}

fn section(level: usize, heading: Line, blocks: Vec<Block>) -> Section {
    Section { level, message: None, heading, blocks }
}

fn of_header(header: &TranscriptHeader) -> Vec<Section> {
    let Chat { id, kind, status, task_id, created_at, .. } = &header.chat;
    let mut lines = vec![
        vec![said("Room: "), Span::Code(id.to_string())],
        vec![said(format!("Type: {}", kind.as_str()))],
        vec![said(format!("Status: {}", status.as_str()))],
        vec![said("Created: "), Span::Time(*created_at)],
    ];
    lines.extend(task_id.map(|task| vec![said("Task: "), Span::Code(task.to_string())]));
    lines.push(vec![said(match header.last_sequence.get() {
        0 => "Messages: none".to_owned(),
        last => format!("Messages: 1 to {last}"),
    })]);
    lines.push(vec![said("Times are in UTC. Control characters are shown as symbols.")]);
    let participants = header.roster.participants.iter().map(of_participant).collect::<Vec<_>>();
    let participants =
        if participants.is_empty() { vec![vec![said("Nobody is in the room.")]] } else { participants };
    vec![
        section(1, vec![Span::Written(header.chat.display_title().to_owned())], vec![Block::Lines(lines)]),
        section(2, vec![said("Participants")], vec![Block::Lines(participants)]),
        section(2, vec![said("Messages")], Vec::new()),
    ]
}

fn of_participant(participant: &Participant) -> Line {
    let Participant { id, name, handle, role, status, joined_at, .. } = participant;
    let mut line = person(name, Some(handle));
    let inactive = if *status == ParticipantStatus::Inactive { ", not active yet" } else { "" };
    line.push(said(format!(": {}, {}{inactive}, joined ", kind_of(*id), role.as_str())));
    line.push(Span::Time(*joined_at));
    line.push(said(", id "));
    line.push(Span::Code(id.to_string()));
    line
}

fn of_deleted(first: Sequence, last: Sequence) -> Section {
    let (heading, text) = if first == last {
        (format!("{}. Deleted", first.get()), "The message was deleted.".to_owned())
    } else {
        let count = last.get() - first.get() + 1;
        (format!("{} to {}. Deleted", first.get(), last.get()), format!("{count} messages were deleted."))
    };
    section(3, vec![said(heading)], vec![Block::Lines(vec![vec![said(text)]])])
}

fn of_message(message: &Message) -> Section {
    let mut heading = vec![said(format!("{}. ", message.sequence.get()))];
    heading.extend(person(&message.sender_name, message.sender_handle.as_deref()));
    heading.push(said(", "));
    heading.push(Span::Time(message.created_at));
    let mut blocks = vec![Block::Lines(facts(message))];
    let text = with_names(&message.content, &message.mentions);
    blocks.push(Block::Text { label: None, text, kind: TextKind::Prose });
    if let Some(metadata) = given_metadata(message) {
        // On one line: with nested values, indentation could make it many times as long.
        let text = Value::Object(metadata).to_string();
        blocks.push(Block::Text { label: Some(vec![said("Metadata:")]), text, kind: TextKind::Json });
    }
    for delivery in &message.deliveries {
        blocks.extend(of_delivery(delivery, message));
    }
    Section { level: 3, message: Some(message.id), heading, blocks }
}

/// What is known about a message besides its text and its deliveries.
fn facts(message: &Message) -> Vec<Line> {
    let mut lines = vec![
        vec![said(format!("Kind: {}", message.kind.as_str()))],
        vec![said("Id: "), Span::Code(message.id.to_string())],
        vec![said(format!("Sender: {} ", kind_of(message.sender))), Span::Code(message.sender.to_string())],
    ];
    for (label, kind) in [("To: ", MentionKind::Mention), ("Refers to: ", MentionKind::Reference)] {
        lines.extend(of_mentions(label, message.mentions.iter().filter(|mention| mention.kind == kind)));
    }
    lines.extend(of_cause(message));
    if message.origin == Origin::Labeled {
        lines.push(vec![said("Foreign: its originator is from another organization")]);
    }
    lines.extend(message.traceparent.map(|trace| vec![said("Trace: "), Span::Code(trace.to_string())]));
    let edited = (message.updated_at > message.created_at).then_some(message.updated_at);
    lines.extend(edited.map(|at| vec![said("Changed: "), Span::Time(at)]));
    lines.extend(message.respond_by.map(|by| vec![said("Respond by: "), Span::Time(by)]));
    lines.extend(message.attachments.iter().map(of_file));
    lines.extend(UsageReport::of(message).map(|report| {
        let mut line = vec![said(format!("Usage: {}", tokens(report.tokens)))];
        line.extend(report.model.into_iter().flat_map(|model| [said(", model "), Span::Written(model)]));
        line
    }));
    lines
}

fn of_mentions<'a>(label: &'static str, mentions: impl Iterator<Item = &'a Mention>) -> Option<Line> {
    let mut line = Vec::new();
    for mention in mentions {
        line.push(said(if line.is_empty() { label } else { ", " }));
        line.extend(person(&mention.name, Some(&mention.handle)));
    }
    (!line.is_empty()).then_some(line)
}

fn of_cause(message: &Message) -> Option<Line> {
    let place = message.place();
    let line = match (message.cause, place.message) {
        (Cause::None, _) => return None,
        (Cause::Ambiguous { .. }, _) => {
            vec![said(format!("Follows from: one of several messages; hop {}", place.hop))]
        }
        (Cause::Known(_), cause) => {
            let mut line = vec![said("Follows from: ")];
            line.push(cause.map_or_else(|| said("the beginning of its tree"), Span::Message));
            line.push(said(format!("; hop {} of the tree that ", place.hop)));
            line.push(Span::Message(place.root));
            line.push(said(format!(" began, by the {} ", kind_of(place.originator))));
            line.push(Span::Code(place.originator.to_string()));
            line
        }
    };
    Some(line)
}

fn of_file(file: &File) -> Line {
    vec![
        said("File: "),
        Span::Written(file.name.clone()),
        said(format!(" ({}, {} bytes, SHA-256 ", file.content_type.as_str(), file.bytes)),
        Span::Code(file.digest.to_string()),
        said(")"),
    ]
}

/// The delivery with its attempts, and then the errors of these.
fn of_delivery(delivery: &Delivery, message: &Message) -> Vec<Block> {
    let agent = match named(message, delivery.agent()) {
        Some((name, handle)) => person(name, Some(handle)),
        None => vec![said("the agent "), Span::Code(delivery.agent().to_string())],
    };
    let mut line = vec![said(if delivery.is_addressed() { "Delivery to " } else { "Work of " })];
    line.extend(agent);
    line.push(said(format!(": {}", delivery.status().as_str())));
    for (word, at) in
        [(", delivered at ", delivery.delivered_at()), (", processed at ", delivery.processed_at())]
    {
        line.extend(at.into_iter().flat_map(|at| [said(word), Span::Time(at)]));
    }
    if let Some(dead) = delivery.dead() {
        line.extend([said(", not offered since "), Span::Time(dead.at)]);
        line.extend(dead.held_by.map(|by| said(format!(" (limit: {})", by.as_str()))));
        line.extend([said(": "), Span::Written(dead.reason.clone())]);
        let replacement = dead.replaced_by.into_iter();
        line.extend(replacement.flat_map(|by| [said("; replaced by "), Span::Message(by)]));
    }
    let mut lines = vec![line];
    lines.extend(delivery.attempts().iter().map(of_attempt));
    let mut blocks = vec![Block::Lines(lines)];
    let failed = delivery.attempts().iter().filter_map(|attempt| Some((attempt, attempt.error()?)));
    blocks.extend(failed.map(|(attempt, error)| Block::Text {
        label: Some(vec![said(format!("Error of attempt {}:", attempt.number.get()))]),
        text: error.to_owned(),
        kind: TextKind::Prose,
    }));
    blocks
}

fn of_attempt(attempt: &Attempt) -> Line {
    let mut line = vec![
        said(format!("Attempt {}: {}, from ", attempt.number.get(), attempt.status().as_str())),
        Span::Time(attempt.started_at),
    ];
    line.extend(attempt.completed_at().into_iter().flat_map(|at| [said(" to "), Span::Time(at)]));
    line
}

fn of_summary(summary: &Summary) -> Vec<Section> {
    let mut lines = vec![vec![said(format!("Messages: {}", summary.kinds.iter().sum::<u64>()))]];
    let by_kind = MessageKind::ALL.iter().zip(summary.kinds).filter(|(_, count)| *count > 0);
    lines.extend(by_kind.map(|(kind, count)| vec![said(format!("Of kind {}: {count}", kind.as_str()))]));
    lines.push(vec![said(format!("Deleted: {}", summary.deleted))]);
    let mut sections = vec![section(2, vec![said("Summary")], vec![Block::Lines(lines)])];
    let senders = summary.senders.iter().map(|(id, sender)| of_sender(*id, sender)).collect::<Vec<_>>();
    if !senders.is_empty() {
        sections.push(section(3, vec![said("Senders")], vec![Block::Lines(senders)]));
    }
    sections
}

fn of_sender(id: ParticipantId, sender: &Sender) -> Line {
    let mut line = person(&sender.name, sender.handle.as_deref());
    let gone = if sender.is_present { "" } else { ", not in the room any more" };
    line.push(said(format!(": {}{gone}, {}", kind_of(id), counted(sender.messages, "message"))));
    if sender.reports > 0 {
        let reports = counted(sender.reports, "usage report");
        line.push(said(format!(", {reports}: {}", tokens(sender.tokens))));
    }
    line
}

fn of_manifest(manifest: &Manifest) -> Section {
    let row = |offset: u64, bytes: u64, digest: FileDigest, part: &dyn Display| {
        format!("{offset:>12} {bytes:>12} {digest} {part}\n")
    };
    let mut text = format!("{:>12} {:>12} {:<64} {}\n", "first byte", "bytes", "SHA-256", "part");
    for part in &manifest.parts {
        text.push_str(&row(part.offset, part.bytes, part.digest, &part.part));
    }
    text.push_str(&row(0, manifest.bytes, manifest.digest, &"everything above this section"));
    let lines = vec![
        vec![said("Use these digests to check whether a part of this file was changed.")],
        vec![
            said("Everything above this section: "),
            Span::Code(format!("head -c {} FILE | sha256sum", manifest.bytes)),
        ],
    ];
    let blocks = vec![Block::Lines(lines), Block::Text { label: None, text, kind: TextKind::Table }];
    section(2, vec![said("Manifest")], blocks)
}

fn person(name: &str, handle: Option<&str>) -> Line {
    let mut line = vec![Span::Written(name.to_owned())];
    if let Some(handle) = handle {
        line.extend([said(" ("), Span::Code(format!("@{handle}")), said(")")]);
    }
    line
}

fn kind_of(id: ParticipantId) -> &'static str {
    match id.kind() {
        ParticipantKind::User => "user",
        ParticipantKind::Agent => "agent",
    }
}

fn tokens(tokens: TokenCounts) -> String {
    let numbers =
        tokens.by_kind().map(|(kind, number)| format!("{number} {}", kind.as_str().replace('_', " ")));
    format!("{} tokens", numbers.join(", "))
}

fn counted(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
