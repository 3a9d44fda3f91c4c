//! Transcripts: a room as one document, for readers outside of Parlance.
//!
//! A transcript has *parts*: the header, the messages in blocks of [`BLOCK`] sequences, and the summary. It ends with a
//! *manifest*, which has the digest of every part. Three formats show the same facts: JSON Lines for programs, Markdown
//! and HTML for people.
//!
//! Rules: `entry` names what a transcript consists of, `describe` puts it into words, `markdown`, `html`, and `jsonl`
//! write it, [`TranscriptWriter`] adds up and digests what is written.
//!
//! Invariants: the same state of a room gives the same bytes, so nothing depends on the time, the reader, the store, or
//! the size of pages. Whatever people or agents wrote is shown as text and never changes the structure of the document.
//! The memory that a transcript takes does not grow with the number of messages, except for a digest for each block and
//! a sum for each sender.

mod describe;
mod document;
mod entry;
mod html;
mod jsonl;
mod markdown;
mod service;
mod writer;

pub use entry::TranscriptHeader;
pub use service::{Transcript, TranscriptReader, TranscriptService};
pub use writer::TranscriptWriter;

use crate::words::words;

words! {
    /// The format of a transcript.
    #[derive(Default)]
    TranscriptFormat {
        /// For people, and for repositories.
        #[default]
        Markdown = "markdown",
        /// For programs: a JSON object on each line.
        Jsonl = "jsonl",
        /// For people with a browser: one page without scripts and external resources.
        Html = "html",
    }
}

impl TranscriptFormat {
    /// The extension of a file's name.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Markdown => "md",
            Self::Jsonl => "jsonl",
            Self::Html => "html",
        }
    }
}

/// The number of sequences of a part with messages. A part that is full keeps its digest while the room grows, as long as
/// nothing in it changes.
pub const BLOCK: i64 = 1000;

#[cfg(test)]
mod tests;
