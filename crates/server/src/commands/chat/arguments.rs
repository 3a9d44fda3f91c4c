//! The arguments of `parlance chat`.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueHint};
use domain::transcript::TranscriptFormat;

use crate::cli::TableArguments;

/// What to do with chats.
#[derive(Subcommand, Debug)]
pub enum ChatCommand {
    /// List chats, newest first.
    #[command(after_help = "Examples:\n  \
        parlance chat list --participant ann/echo\n  \
        parlance chat list --org acme --limit 1000 --json | jq -r '.chats[].id'")]
    List(ListChatsArguments),
    /// Show one chat with its participants.
    #[command(after_help = "Example:\n  parlance chat show 019ab1d0-5f6e-7c3a-9d8e-2f4b6a1c0e77")]
    Show(ShowChatArguments),
    /// Delete a chat with its messages for all participants.
    ///
    /// Within a second, running servers close the channels that sockets have joined for it.
    #[command(after_help = "Example:\n  parlance chat delete 019ab1d0-5f6e-7c3a-9d8e-2f4b6a1c0e77")]
    Delete(DeleteChatArguments),
    /// Write a transcript of a chat: every message with its deliveries, attempts, causes, and usage.
    ///
    /// It ends with the SHA-256 digests of its parts. The same state of a chat gives the same bytes.
    #[command(after_help = "Examples:\n  \
        parlance room export 019ab1d0-5f6e-7c3a-9d8e-2f4b6a1c0e77 --to room.md\n  \
        parlance room export 019ab1d0-5f6e-7c3a-9d8e-2f4b6a1c0e77 --format jsonl | jq 'select(.type == \"message\") | .text'")]
    Export(ExportChatArguments),
}

/// The chats to list.
#[derive(Args, Debug)]
pub struct ListChatsArguments {
    /// Show only chats that count towards the plan of this organization.
    #[arg(long, value_name = "NAME", conflicts_with = "participant")]
    pub org: Option<String>,
    /// Show only chats of this user or agent (owner/slug for an agent).
    #[arg(long, value_name = "HANDLE")]
    pub participant: Option<String>,
    /// Maximum number of chats.
    #[arg(long, value_name = "NUMBER", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
    #[command(flatten)]
    pub print: TableArguments,
}

/// The chat to show.
#[derive(Args, Debug)]
pub struct ShowChatArguments {
    /// The chat's id, as `parlance chat list` shows it.
    pub id: String,
    #[command(flatten)]
    pub print: TableArguments,
}

/// The chat to delete.
#[derive(Args, Debug)]
pub struct DeleteChatArguments {
    /// The chat's id, as `parlance chat list` shows it.
    pub id: String,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The chat to export.
#[derive(Args, Debug)]
pub struct ExportChatArguments {
    /// The chat's id, as `parlance chat list` shows it.
    pub id: String,
    /// Format: markdown, jsonl, or html [default: markdown].
    #[arg(long, value_name = "FORMAT", value_parser = formats(), default_value = TranscriptFormat::default().as_str())]
    #[arg(hide_default_value = true, hide_possible_values = true)]
    pub format: TranscriptFormat,
    /// File to write, which appears once it is complete; or a pipe or device [default: standard output].
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub to: Option<PathBuf>,
    /// Print JSON about the written file.
    #[arg(long, requires = "to")]
    pub json: bool,
}

fn formats() -> impl TypedValueParser<Value = TranscriptFormat> {
    PossibleValuesParser::new(TranscriptFormat::WORDS)
        .map(|word| TranscriptFormat::parse(&word).unwrap_or_default())
}
