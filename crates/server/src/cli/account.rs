//! The commands on users and agents.

use clap::{Args, Subcommand};
use domain::delivery::MaxAttempts;

use super::{RoleArgument, TableArguments};

/// What to do with users.
#[derive(Subcommand, Debug)]
pub enum UserCommand {
    /// Create a user, and print the API key once.
    #[command(after_help = "Examples:\n  \
        parlance user create --handle ann --email ann@example.org --name \"Ann Lee\"\n  \
        parlance user create --handle ben --email ben@example.org --name Ben --org acme --json\n\
        Next: give the user the key; `parlance agent create` creates an agent for the user.")]
    Create(CreateUserArguments),
    /// List all users, sorted by handle.
    #[command(after_help = "Examples:\n  \
        parlance user list --disabled\n  \
        parlance user list --json | jq -r '.users[].email'")]
    List(ListUsersArguments),
    /// Show one user, with the number of agents and keys.
    #[command(after_help = "Example:\n  parlance user show ann --json")]
    Show(UserArguments),
    /// Disable a user and the user's agents.
    ///
    /// Within a second, running servers answer their keys and tokens with 403 and close their sockets. The user's
    /// sessions end. They stay in their rooms, and messages for the agents are stored. `enable` reverses it.
    #[command(after_help = "Example:\n  parlance user disable ann\n\
        See also: `parlance key revoke --all-of ann`, if keys have leaked.")]
    Disable(UserArguments),
    /// Enable a user and the user's agents again, with their existing keys.
    #[command(after_help = "Example:\n  parlance user enable ann\n\
        Agents that were disabled individually stay disabled; see `parlance agent list --owner ann --disabled`.")]
    Enable(UserArguments),
    /// Delete a user and the user's agents permanently. Their messages stay.
    ///
    /// Erases the user's name, email address, password, keys, and sessions. Nobody else can get the handle. Chats that
    /// only the user owned get another owner. The audit log keeps its entries.
    #[command(after_help = "Example:\n  parlance user delete ann --force\n\
        To lock the user out temporarily: `parlance user disable`.")]
    Delete(DeleteUserArguments),
    /// Print a token that lets a user set a password once, within a day.
    #[command(after_help = "Example:\n  parlance user reset-password ann\n\
        Next: give it to the user, who sets a password with it. That ends all earlier sessions.")]
    ResetPassword(ResetPasswordArguments),
}

/// Whose password may be set.
#[derive(Args, Debug)]
pub struct ResetPasswordArguments {
    /// Handle of the user.
    pub handle: String,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The user to be created.
#[derive(Args, Debug)]
pub struct CreateUserArguments {
    /// Unique handle of the user: 3 to 39 of a-z, 0-9, dot, and hyphen.
    #[arg(long)]
    pub handle: String,
    /// Email address.
    #[arg(long)]
    pub email: String,
    /// Full name.
    #[arg(long)]
    pub name: String,
    /// Organization of the user, created if it does not exist [default: a new one for the user].
    #[arg(long)]
    pub org: Option<String>,
    /// Role in the organization. The first member is always an admin.
    #[arg(long, value_enum, default_value = "member", requires = "org")]
    pub role: RoleArgument,
    /// Plan of the organization, if it is created [default: the default plan].
    #[arg(long)]
    pub plan: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Which users.
#[derive(Args, Debug)]
pub struct ListUsersArguments {
    /// Show only disabled users.
    #[arg(long)]
    pub disabled: bool,
    #[command(flatten)]
    pub print: TableArguments,
}

/// Which user.
#[derive(Args, Debug)]
pub struct UserArguments {
    /// Handle of the user, as `parlance user list` shows it.
    pub handle: String,
    #[command(flatten)]
    pub print: TableArguments,
}

/// Which user is to be deleted.
#[derive(Args, Debug)]
pub struct DeleteUserArguments {
    /// Handle of the user, as `parlance user list` shows it.
    pub handle: String,
    /// Delete the user even if they have agents, which are deleted as well, or are in chats.
    #[arg(long)]
    pub force: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// What to do with agents.
#[derive(Subcommand, Debug)]
pub enum AgentCommand {
    /// Create an agent for a user, and print its API key once.
    #[command(after_help = "Example:\n  \
        parlance agent create --owner ann --name Echo --description \"Answers every message\"\n\
        Next: start the agent with the key; `parlance key rotate ann/echo` gives it another one.")]
    Create(CreateAgentArguments),
    /// List all agents or those of one user, sorted by handle.
    #[command(after_help = "Examples:\n  \
        parlance agent list --owner ann\n  \
        parlance agent list --disabled --json | jq -r '.agents[].handle'")]
    List(ListAgentsArguments),
    /// Show one agent.
    #[command(after_help = "Example:\n  parlance agent show ann/echo --json")]
    Show(AgentArguments),
    /// Change who can find an agent, and how many attempts it makes at a message.
    #[command(after_help = "Examples:\n  parlance agent set ann/echo --global --shared=false\n  \
        parlance agent set ann/echo --max-attempts 3")]
    Set(SetAgentArguments),
    /// Disable an agent.
    ///
    /// Within a second, running servers answer its key with 403 and close its socket. It stays in its rooms, but cannot
    /// be added to others; messages for it are stored. Nothing is erased; `enable` reverses it.
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

/// The agent to be made.
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

/// Which agents.
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

/// Which agent.
#[derive(Args, Debug)]
pub struct AgentArguments {
    /// Handle of the agent (owner/slug), as `parlance agent list` shows it.
    pub handle: String,
    #[command(flatten)]
    pub print: TableArguments,
}

/// Which agent is to be deleted.
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
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}
