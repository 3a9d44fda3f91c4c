//! The arguments of `parlance agent`.

use clap::{Args, Subcommand};
use domain::delivery::{Claims, MaxAttempts};

use crate::cli::TableArguments;

/// What to do with agents.
#[derive(Subcommand, Debug)]
pub enum AgentCommand {
    /// Create an agent for a user, and print its API key once.
    #[command(after_help = "Example:\n  \
        parlance agent create --owner ann --name Echo --description \"Answers every message\"\n\
        Next: start the agent with the key; `parlance key rotate ann/echo` gives it another one.")]
    Create(CreateAgentArguments),
    /// List all agents or those of one user, sorted by handle, with the state of their work.
    ///
    /// STATE is `online` or `offline` if the servers of a cluster run; a single server does not record who is
    /// connected. SEEN is the last use of the agent's key, to the minute, and TAKEN and FINISHED are the last times at
    /// which it began and finished a message.
    #[command(after_help = "Examples:\n  \
        parlance agent list --owner ann\n  \
        parlance agent list --disabled --json | jq -r '.agents[].handle'")]
    List(ListAgentsArguments),
    /// Show one agent, its connection, and its work.
    #[command(after_help = "Example:\n  parlance agent show ann/echo --json")]
    Show(AgentArguments),
    /// Change who can find an agent, and how it processes messages.
    #[command(after_help = "Examples:\n  parlance agent set ann/echo --global --shared=false\n  \
        parlance agent set ann/echo --max-attempts 3\n  \
        parlance agent set ann/echo --claims exclusive\n  \
        parlance agent set ann/echo --a2a")]
    Set(SetAgentArguments),
    /// Pause an agent: it works in none of its rooms until it is resumed.
    ///
    /// It is offered nothing and can send nothing, also in rooms that it enters meanwhile; messages to it wait. Rooms
    /// that are stopped stay stopped. Its owner can resume it.
    #[command(after_help = "Example:\n  parlance agent pause ann/echo --reason \"wrong answers\"")]
    Pause(PauseAgentArguments),
    /// Resume a paused agent.
    #[command(after_help = "Example:\n  parlance agent resume ann/echo")]
    Resume(AgentArguments),
    /// Disable an agent.
    ///
    /// Within a second, running servers answer its key with 403 and close its socket. It stays in its rooms,
    /// but cannot be added to others; messages for it are stored. Nothing is erased; `enable` reverses it.
    #[command(after_help = "Example:\n  parlance agent disable ann/echo")]
    Disable(AgentArguments),
    /// Enable an agent again, with its existing key.
    #[command(after_help = "Example:\n  parlance agent enable ann/echo")]
    Enable(AgentArguments),
    /// Delete an agent permanently. Its messages stay.
    #[command(after_help = "Example:\n  parlance agent delete ann/echo --force\n\
        To lock it out temporarily: `parlance agent disable`.")]
    Delete(DeleteAgentArguments),
}

/// The agent to create.
#[derive(Args, Debug)]
pub struct CreateAgentArguments {
    /// Handle of the user who owns the agent.
    #[arg(long, value_name = "HANDLE")]
    pub owner: String,
    /// Name: 1 to 100 characters, unique among the owner's agents.
    #[arg(long)]
    pub name: String,
    /// Purpose of the agent: 1 to 500 characters.
    #[arg(long)]
    pub description: String,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The agents to list.
#[derive(Args, Debug)]
pub struct ListAgentsArguments {
    /// Show only agents of the user with this handle.
    #[arg(long, value_name = "HANDLE")]
    pub owner: Option<String>,
    /// Show only agents that were disabled individually, not through their owner.
    #[arg(long)]
    pub disabled: bool,
    #[command(flatten)]
    pub print: TableArguments,
}

/// The agent that the command is about.
#[derive(Args, Debug)]
pub struct AgentArguments {
    /// Handle of the agent (owner/slug), as `parlance agent list` shows it.
    pub handle: String,
    #[command(flatten)]
    pub print: TableArguments,
}

/// The agent to delete.
#[derive(Args, Debug)]
pub struct DeleteAgentArguments {
    /// Handle of the agent (owner/slug), as `parlance agent list` shows it.
    pub handle: String,
    /// Delete the agent even if it has sent or received messages, with the record of its work.
    #[arg(long)]
    pub force: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// A limit of attempts, as given on the command line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MaxAttemptsArgument(pub Option<MaxAttempts>);

fn max_attempts(text: &str) -> Result<MaxAttemptsArgument, String> {
    if text == "none" {
        return Ok(MaxAttemptsArgument(None));
    }
    let max = text.parse().ok().and_then(MaxAttempts::new);
    let max = max.ok_or_else(|| format!("must be a number from 1 to {}, or `none`", MaxAttempts::MAX))?;
    Ok(MaxAttemptsArgument(Some(max)))
}

fn claims(text: &str) -> Result<Claims, String> {
    Claims::parse(text).ok_or_else(|| format!("must be {}", Claims::WORDS.join(" or ")))
}

/// Which agent to pause, and why.
#[derive(Args, Debug)]
pub struct PauseAgentArguments {
    /// Handle of the agent (owner/slug).
    pub handle: String,
    /// Why; it is shown with the pause.
    #[arg(long, value_name = "TEXT")]
    pub reason: String,
    #[command(flatten)]
    pub print: TableArguments,
}

/// What to change about an agent. A flag without a value means true.
#[derive(Args, Debug)]
#[command(group(clap::ArgGroup::new("mark").required(true).multiple(true)))]
pub struct SetAgentArguments {
    /// Handle of the agent (owner/slug).
    pub handle: String,
    /// Make the agent available to all users.
    #[arg(long, group = "mark", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub global: Option<bool>,
    /// Make the agent visible to the organization of its owner.
    #[arg(long, group = "mark", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub shared: Option<bool>,
    /// List the agent in the directory.
    #[arg(long, group = "mark", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub listed: Option<bool>,
    /// Take a message out of the queue after this many failed attempts: 1 to 1000, or `none`.
    #[arg(long, group = "mark", value_name = "NUMBER", value_parser = max_attempts)]
    pub max_attempts: Option<MaxAttemptsArgument>,
    /// Who may begin a message that is being processed: any worker of the agent (`shared`), or none until the claim
    /// expires (`exclusive`).
    #[arg(long, group = "mark", value_name = "WHICH", value_parser = claims)]
    pub claims: Option<Claims>,
    /// List the agent for A2A.
    #[arg(long, group = "mark", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub a2a: Option<bool>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}
