//! The arguments of `parlance work`.

use clap::{Args, Subcommand, ValueEnum};
use domain::delivery::DeliveryStatus;
use domain::work::WorkFlag;

use crate::cli::TableArguments;

/// What to do with the work of agents.
#[derive(Subcommand, Debug)]
pub enum WorkCommand {
    /// List messages that agents have not processed, oldest first.
    ///
    /// The last column is the flag of the message (unanswered, stuck, or failing), or its state if it has none.
    #[command(after_help = "Examples:\n  \
        parlance work list --flag failing\n  \
        parlance work list --agent ann/echo --watch\n  \
        parlance work list --json | jq -r '.work[].attempts[-1].error'")]
    List(ListWorkArguments),
    /// Show what became of a message at one agent, with its newest attempts and the beginning of their errors.
    #[command(after_help = "Example:\n  parlance work show 019ab1d0-5f6e-7c3a-9d8e-2f4b6a1c0e77 ann/echo")]
    Show(ShowWorkArguments),
}

/// The state of open work, as given on the command line.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub enum StateArgument {
    /// The agent has not received the message.
    New,
    /// The agent has received the message, and has not begun to process it.
    Delivered,
    /// The agent is processing it.
    Processing,
    /// The last attempt failed.
    Failed,
}

impl From<StateArgument> for DeliveryStatus {
    fn from(state: StateArgument) -> Self {
        match state {
            StateArgument::New => Self::New,
            StateArgument::Delivered => Self::Delivered,
            StateArgument::Processing => Self::Processing,
            StateArgument::Failed => Self::Failed,
        }
    }
}

/// A flag of work, as given on the command line.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub enum FlagArgument {
    /// Not begun for longer than `work_unanswered_after_ms`.
    Unanswered,
    /// In processing for longer than `work_stuck_after_ms`.
    Stuck,
    /// At least `work_failing_attempts` attempts in a row have failed.
    Failing,
}

impl From<FlagArgument> for WorkFlag {
    fn from(flag: FlagArgument) -> Self {
        match flag {
            FlagArgument::Unanswered => Self::Unanswered,
            FlagArgument::Stuck => Self::Stuck,
            FlagArgument::Failing => Self::Failing,
        }
    }
}

/// Which work.
#[derive(Args, Debug)]
pub struct ListWorkArguments {
    /// Show only work of this agent (owner/slug).
    #[arg(long, value_name = "HANDLE")]
    pub agent: Option<String>,
    /// Show only work in this room.
    #[arg(long, value_name = "ID", visible_alias = "chat")]
    pub room: Option<String>,
    /// Show only work in this state.
    #[arg(long, value_enum)]
    pub state: Option<StateArgument>,
    /// Show only work with this flag.
    #[arg(long, value_enum)]
    pub flag: Option<FlagArgument>,
    /// Maximum number of items.
    #[arg(long, value_name = "NUMBER", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
    /// Print the list again every two seconds, until interrupted.
    #[arg(long)]
    pub watch: bool,
    #[command(flatten)]
    pub print: TableArguments,
}

/// Which work item.
#[derive(Args, Debug)]
pub struct ShowWorkArguments {
    /// The message's id, as `parlance work list` shows it.
    pub message: String,
    /// Handle of the agent (owner/slug).
    pub agent: String,
    #[command(flatten)]
    pub print: TableArguments,
}
