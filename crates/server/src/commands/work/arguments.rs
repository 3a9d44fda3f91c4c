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
    /// The last column is the flag of the message (unanswered, stuck, or failing), or its state if it has
    /// none. Dead and held messages are only listed with `--state dead` and `--state held`.
    #[command(after_help = "Examples:\n  \
        parlance work list --flag failing\n  \
        parlance work list --agent ann/echo --watch\n  \
        parlance work list --state held\n  \
        parlance work list --json | jq -r '.work[].attempts[-1].error'")]
    List(ListWorkArguments),
    /// Show what became of a message at one agent, with its newest attempts and the beginning of their errors.
    #[command(after_help = "Example:\n  parlance work show 019ab1d0-5f6e-7c3a-9d8e-2f4b6a1c0e77 ann/echo")]
    Show(ShowWorkArguments),
    /// Offer work to its agent as if it were new: one message, or all that match.
    ///
    /// Work that failed, is stuck, dead, held, or was delivered and not begun can be retried. Its attempts are kept,
    /// and the agent gets as many again. An agent that has given a message up may ignore it until its process
    /// restarts.
    #[command(after_help = "Examples:\n  \
        parlance work retry 019ab1d0-5f6e-7c3a-9d8e-2f4b6a1c0e77 ann/echo\n  \
        parlance work retry --agent ann/echo --flag failing\n  \
        parlance work retry --state held --root 019ab1d0-5f6e-7c3a-9d8e-2f4b6a1c0e77\n\
        See also: `parlance work list` shows the messages and agents.")]
    Retry(RetryWorkArguments),
    /// Take work out of the queue of its agent: one message, or all that match.
    ///
    /// The agent is not offered it any more, and goes on with what follows. `parlance work retry` reverses it.
    #[command(after_help = "Examples:\n  \
        parlance work dead-letter 019ab1d0-5f6e-7c3a-9d8e-2f4b6a1c0e77 ann/echo --reason \"no API key\"\n  \
        parlance work dead-letter --agent ann/echo --flag failing --reason \"no API key\"\n\
        Next: `parlance work list --state dead` lists it.")]
    DeadLetter(DeadLetterWorkArguments),
    /// Send work to another agent of the room: one message, or all that match.
    ///
    /// The owner of the message's agent, who must be in the room, sends a new message that mentions the
    /// other agent and quotes the original. The original message leaves the queue; `parlance work show`
    /// names its replacement.
    #[command(after_help = "Examples:\n  \
        parlance work reassign 019ab1d0-5f6e-7c3a-9d8e-2f4b6a1c0e77 ann/echo --to ann/scout\n  \
        parlance work reassign --agent ann/echo --flag failing --to ann/scout --reason \"no API key\"\n\
        See also: `parlance chat show` lists the agents of a room.")]
    Reassign(ReassignWorkArguments),
    /// Send the text of a message to its agent again, as a new message.
    ///
    /// For an agent that ignores a retried message because it has given it up. The agent's owner, who must
    /// be in the room, sends a new message that quotes the first one. The first one is dead-lettered with a
    /// reason that names the new message.
    #[command(after_help = "Example:\n  \
        parlance work send-again 019ab1d0-5f6e-7c3a-9d8e-2f4b6a1c0e77 ann/echo\n\
        See also: `parlance work retry` offers the same message again.")]
    SendAgain(SendAgainWorkArguments),
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
    /// The message was taken out of the queue.
    Dead,
    /// A limit holds the message.
    Held,
}

impl From<StateArgument> for DeliveryStatus {
    fn from(state: StateArgument) -> Self {
        match state {
            StateArgument::New => Self::New,
            StateArgument::Delivered => Self::Delivered,
            StateArgument::Processing => Self::Processing,
            StateArgument::Failed => Self::Failed,
            StateArgument::Dead => Self::Dead,
            StateArgument::Held => Self::Held,
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
    /// Taken out of the queue.
    Dead,
    /// Held by a limit.
    Held,
}

impl From<FlagArgument> for WorkFlag {
    fn from(flag: FlagArgument) -> Self {
        match flag {
            FlagArgument::Unanswered => Self::Unanswered,
            FlagArgument::Stuck => Self::Stuck,
            FlagArgument::Failing => Self::Failing,
            FlagArgument::Dead => Self::Dead,
            FlagArgument::Held => Self::Held,
        }
    }
}

/// The conditions of work.
#[derive(Args, Debug)]
pub struct FilterWorkArguments {
    /// Only work of the agents of this organization.
    #[arg(long, value_name = "NAME", visible_alias = "organization")]
    pub org: Option<String>,
    /// Only work of this agent (owner/slug).
    #[arg(long, value_name = "HANDLE")]
    pub agent: Option<String>,
    /// Only work in this room.
    #[arg(long, value_name = "ID", visible_alias = "chat")]
    pub room: Option<String>,
    /// Only messages of the tree that this message began.
    #[arg(long, value_name = "ID")]
    pub root: Option<String>,
    /// Only work in this state.
    #[arg(long, value_enum)]
    pub state: Option<StateArgument>,
    /// Only work with this flag.
    #[arg(long, value_enum)]
    pub flag: Option<FlagArgument>,
}

/// One message of an agent, or all that match.
#[derive(Args, Debug)]
pub struct WhichWorkArguments {
    /// The message's id, as `parlance work list` shows it [default: all that match the options].
    #[arg(requires = "of", conflicts_with_all = ["org", "agent", "room", "root", "state", "flag", "all"])]
    pub message: Option<String>,
    /// Handle of the message's agent (owner/slug).
    #[arg(id = "of", value_name = "AGENT")]
    pub of: Option<String>,
    #[command(flatten)]
    pub filter: FilterWorkArguments,
    /// All work that matches, even without another option.
    #[arg(long)]
    pub all: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The work to retry.
#[derive(Args, Debug)]
pub struct RetryWorkArguments {
    #[command(flatten)]
    pub which: WhichWorkArguments,
}

/// The work to dead-letter.
#[derive(Args, Debug)]
pub struct DeadLetterWorkArguments {
    #[command(flatten)]
    pub which: WhichWorkArguments,
    /// The reason, which the humans in the room see: 1 to 500 characters.
    #[arg(long, value_name = "TEXT")]
    pub reason: String,
}

/// Which work is for another agent.
#[derive(Args, Debug)]
pub struct ReassignWorkArguments {
    #[command(flatten)]
    pub which: WhichWorkArguments,
    /// Handle of the other agent (owner/slug).
    #[arg(long, value_name = "HANDLE")]
    pub to: String,
    /// The reason, which the other agent and the humans in the room see: 1 to 500 characters.
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

/// Which message is to be sent again.
#[derive(Args, Debug)]
pub struct SendAgainWorkArguments {
    /// The message's id, as `parlance work list` shows it.
    pub message: String,
    /// Handle of the agent (owner/slug).
    pub agent: String,
    /// The reason, which the agent and the humans in the room see: 1 to 500 characters.
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The work to list.
#[derive(Args, Debug)]
pub struct ListWorkArguments {
    #[command(flatten)]
    pub filter: FilterWorkArguments,
    /// Maximum number of items.
    #[arg(long, value_name = "NUMBER", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
    /// Print the list again every two seconds, until interrupted.
    #[arg(long)]
    pub watch: bool,
    #[command(flatten)]
    pub print: TableArguments,
}

/// The work item to show.
#[derive(Args, Debug)]
pub struct ShowWorkArguments {
    /// The message's id, as `parlance work list` shows it.
    pub message: String,
    /// Handle of the agent (owner/slug).
    pub agent: String,
    #[command(flatten)]
    pub print: TableArguments,
}
