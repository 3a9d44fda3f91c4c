//! The arguments of `parlance attention`.

use clap::{Args, Subcommand, ValueEnum};

use crate::cli::TableArguments;

/// What to do with what waits for a user.
#[derive(Subcommand, Debug)]
pub enum AttentionCommand {
    /// List what waits for a user in all rooms: blocking items first, then the oldest.
    #[command(after_help = "Examples:\n  parlance attention list ann\n  \
        parlance attention list ann --state answered --json | jq '.attention[].answered_by'")]
    List(ListAttentionArguments),
    /// Answer an item as the user: post the text or the decision that its asker expects.
    #[command(
        after_help = "Examples:\n  parlance attention answer ann 019ab1d0-5f6e-7c3a-9d8e-2f4b6a1c0e77 --text 'Use the staging key.'\n  \
        parlance attention answer ann 019ab1d0-5f6e-7c3a-9d8e-2f4b6a1c0e77 --decision approve"
    )]
    Answer(AnswerAttentionArguments),
    /// Take an item off the list without answering its asker.
    #[command(after_help = "Example:\n  parlance attention dismiss ann 019ab1d0-5f6e-7c3a-9d8e-2f4b6a1c0e77")]
    Dismiss(DismissAttentionArguments),
}

/// The items to list.
#[derive(Args, Debug)]
pub struct ListAttentionArguments {
    /// Handle of the user.
    pub user: String,
    /// Only items in this state.
    #[arg(long, default_value = "open")]
    pub state: ListedState,
    /// Maximum number of items.
    #[arg(long, value_name = "NUMBER", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
    #[command(flatten)]
    pub print: TableArguments,
}

/// The states of a list.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub enum ListedState {
    /// What waits.
    Open,
    /// What was answered, dismissed, or resolved.
    Answered,
    /// What nobody answered in time.
    Expired,
    /// All of these, without work and contact requests.
    All,
}

/// The item to answer, and the answer.
#[derive(Args, Debug)]
pub struct AnswerAttentionArguments {
    /// Handle of the user.
    pub user: String,
    /// Id of the item.
    pub id: String,
    #[command(flatten)]
    pub answer: GivenAnswer,
    #[command(flatten)]
    pub print: TableArguments,
}

/// A text or a decision.
#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub struct GivenAnswer {
    /// Text, for a question, an assumption, a failure, or a review.
    #[arg(long)]
    pub text: Option<String>,
    /// Decision, for an approval or a contact request.
    #[arg(long)]
    pub decision: Option<GivenDecision>,
}

/// A decision.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub enum GivenDecision {
    /// Yes.
    Approve,
    /// Yes, and to all similar requests of the session.
    ApproveSession,
    /// No.
    Decline,
}

/// The item to dismiss.
#[derive(Args, Debug)]
pub struct DismissAttentionArguments {
    /// Handle of the user.
    pub user: String,
    /// Id of the item.
    pub id: String,
    #[command(flatten)]
    pub print: TableArguments,
}
