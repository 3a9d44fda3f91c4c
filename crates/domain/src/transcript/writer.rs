//! Writes a transcript message by message. Pure.

use sha2::{Digest, Sha256};

use super::entry::{Entry, Manifest, Part, PartDigest, Summary, TranscriptHeader};
use super::{BLOCK, TranscriptFormat, describe, html, jsonl, markdown};
use crate::chat::Roster;
use crate::file::FileDigest;
use crate::id::Sequence;
use crate::message::Message;

/// A transcript that is being written.
pub struct TranscriptWriter {
    format: TranscriptFormat,
    roster: Roster,
    last: Sequence,
    /// The sequence that follows those that were written.
    next: Sequence,
    summary: Summary,
    messages: u64,
    /// What was written and not taken yet.
    out: String,
    parts: Vec<PartDigest>,
    /// The part that is being written, with the digest of its bytes so far.
    open: Option<(Part, u64, Sha256)>,
    /// The number and the digest of all bytes so far.
    bytes: u64,
    digest: Sha256,
}

impl TranscriptWriter {
    /// Begins a transcript with its header.
    pub fn new(format: TranscriptFormat, header: TranscriptHeader) -> Self {
        let mut writer = Self {
            format,
            roster: Roster { chat: header.chat.id, participants: Vec::new() },
            last: header.last_sequence,
            next: Sequence::default().next(),
            summary: Summary::default(),
            messages: 0,
            out: String::new(),
            parts: Vec::new(),
            open: None,
            bytes: 0,
            digest: Sha256::new(),
        };
        writer.write(&Entry::Header(&header));
        writer.roster = header.roster;
        writer
    }

    /// Adds a message; those between the one before and this one were deleted. Messages must be in the order of their
    /// sequences. Returns false, and adds nothing, for one that is newer than the transcript.
    pub fn message(&mut self, message: &Message) -> bool {
        if message.sequence > self.last {
            return false;
        }
        self.skip_to(message.sequence);
        self.summary.add(message, &self.roster);
        self.messages += 1;
        self.write(&Entry::Message(message));
        self.next = message.sequence.next();
        true
    }

    /// Adds the summary and the manifest. Returns the digest of the whole transcript.
    pub fn end(&mut self) -> FileDigest {
        self.skip_to(self.last.next());
        let summary = std::mem::take(&mut self.summary);
        self.write(&Entry::Summary(&summary));
        self.close();
        let digest = digest_of(self.digest.clone());
        let manifest = Manifest { parts: std::mem::take(&mut self.parts), bytes: self.bytes, digest };
        self.write(&Entry::Manifest(&manifest));
        digest_of(self.digest.clone())
    }

    /// Takes what was written since it was last taken.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.out)
    }

    /// The number of bytes that were written since the last were taken.
    pub const fn waiting(&self) -> usize {
        self.out.len()
    }

    /// The number of bytes that were written.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The number of messages that were written.
    pub const fn messages(&self) -> u64 {
        self.messages
    }

    /// Notes that the messages up to this sequence were deleted. Each block has its own gap, so that it does not change
    /// when messages of another one are deleted.
    fn skip_to(&mut self, sequence: Sequence) {
        while self.next < sequence {
            let first = self.next.get();
            let gap = (BLOCK - (first - 1) % BLOCK).min(sequence.get() - first);
            self.summary.deleted += gap.unsigned_abs();
            self.write(&Entry::Deleted(self.next, Sequence::new(first + gap - 1)));
            self.next = Sequence::new(first + gap);
        }
    }

    fn write(&mut self, entry: &Entry<'_>) {
        let start = self.out.len();
        match self.format {
            TranscriptFormat::Jsonl => jsonl::write(&mut self.out, entry),
            TranscriptFormat::Markdown => {
                for section in describe::sections(entry) {
                    markdown::write(&mut self.out, &section);
                }
            }
            TranscriptFormat::Html => {
                if let Entry::Header(header) = entry {
                    html::begin(&mut self.out, header.chat.display_title());
                }
                for section in describe::sections(entry) {
                    html::write(&mut self.out, &section);
                }
                if matches!(entry, Entry::Manifest(_)) {
                    html::end(&mut self.out);
                }
            }
        }
        let part = entry.part();
        if self.open.as_ref().map(|(open, ..)| *open) != part {
            self.close();
            self.open = part.map(|part| (part, self.bytes, Sha256::new()));
        }
        let written = &self.out.as_bytes()[start..];
        self.bytes += written.len() as u64;
        self.digest.update(written);
        if let Some((_, _, digest)) = &mut self.open {
            digest.update(written);
        }
    }

    /// Ends the part that is being written.
    fn close(&mut self) {
        if let Some((part, offset, digest)) = self.open.take() {
            let (bytes, digest) = (self.bytes - offset, digest_of(digest));
            self.parts.push(PartDigest { part, offset, bytes, digest });
        }
    }
}

fn digest_of(digest: Sha256) -> FileDigest {
    FileDigest::new(digest.finalize().into())
}
