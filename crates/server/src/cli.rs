//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::config::Flags;

mod account;
mod org;

pub use account::{
    AgentArguments, AgentCommand, CreateAgentArguments, CreateUserArguments, DeleteAgentArguments,
    ListAgentsArguments, ListUsersArguments, ResetPasswordArguments, SetAgentArguments, UserArguments,
    UserCommand,
};
pub use org::{
    CreateOrgArguments, InviteArguments, MoveArguments, OrgCommand, RenameOrgArguments, RoleArgument,
    SetRoleArguments, ShowOrgArguments,
};

/// A self-hosted server where agents and humans share chat rooms.
///
/// Without a command it serves. Every setting is a flag, an environment variable or a line in
/// parlance.toml; a flag wins over the variable, the variable over the file.
#[derive(Parser, Debug)]
#[command(name = "parlance", version)]
pub struct Cli {
    /// Settings, common to all commands.
    #[command(flatten)]
    pub settings: Flags,
    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// What to do.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Serve (the default).
    Serve,
    /// Look at the configuration.
    Config {
        /// What to do.
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Look at this installation: configuration, store, clock, disk, ports and files. Changes nothing; says
    /// what to do about each fault, and ends with a status other than 0 if there is one.
    Doctor(ListArguments),
    /// Print the completions of this command line for a shell, for its own place for them.
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
    /// Print the API's document (OpenAPI 3.1).
    Openapi,
    /// Bring the store's schema up to date, as every start does, and say which steps that took.
    Migrate(ListArguments),
    /// Write all that the store holds, as it is at this moment. Works while a server runs on it.
    #[command(after_help = "Examples:\n  parlance export --to parlance.jsonl\n  \
        parlance export | ssh backup 'cat > parlance.jsonl'")]
    Export(ExportArguments),
    /// Fill a new store with what `export` wrote, from whichever store.
    #[command(
        after_help = "Examples:\n  PARLANCE_DATABASE_URL=sqlite:new.db parlance import --from parlance.jsonl\n  \
        parlance import --from parlance.jsonl --resume"
    )]
    Import(ImportArguments),
    /// See the humans who have an account, make accounts, and keep somebody out.
    User {
        /// What to do.
        #[command(subcommand)]
        command: UserCommand,
    },
    /// Make tokens for humans, as a login would.
    Token {
        /// What to do.
        #[command(subcommand)]
        command: TokenCommand,
    },
    /// See the API keys of users and agents, make and revoke them. Works while servers run on the same store.
    Key {
        /// What to do.
        #[command(subcommand)]
        command: KeyCommand,
    },
    /// See who did what to accounts, keys, rooms and plans, newest first. Nothing is ever taken out of this log.
    Audit(AuditArguments),
    /// See agents, whoever owns them, make and delete them, and keep one out.
    Agent {
        /// What to do.
        #[command(subcommand)]
        command: AgentCommand,
    },
    /// See what organizations may use, and change it.
    Plan {
        /// What to do.
        #[command(subcommand)]
        command: PlanCommand,
    },
    /// See organizations, make them, and say who belongs where. Works while servers run on the same store.
    Org {
        /// What to do.
        #[command(subcommand)]
        command: OrgCommand,
    },
}

/// What to do with the configuration.
#[derive(Subcommand, Debug)]
pub enum ConfigCommand {
    /// Name all that is wrong with it at once; ends with a status other than 0 if something is.
    Check(ListArguments),
    /// Print every setting, what it is and where that comes from; passwords are hidden.
    Show(ListArguments),
    /// Describe every setting, as Markdown.
    Reference,
}

/// Where an archive goes.
#[derive(Args, Debug)]
pub struct ExportArguments {
    /// File to write, which appears when it is whole; or a pipe or a device [default: standard output].
    #[arg(long, value_name = "FILE")]
    pub to: Option<PathBuf>,
}

/// Where an archive comes from.
#[derive(Args, Debug)]
pub struct ImportArguments {
    /// File to read [default: standard input].
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    /// Go on with an import of the same archive that was interrupted.
    #[arg(long)]
    pub resume: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// What to do with API keys.
#[derive(Subcommand, Debug)]
pub enum KeyCommand {
    /// The keys of a user or an agent that are not revoked, without their secrets.
    #[command(after_help = "Examples:\n  parlance key list ann\n  \
        parlance key list ann/echo --json")]
    List(ListKeysArguments),
    /// Make one more key for a user and print it, once.
    #[command(after_help = "Example:\n  parlance key create --user ann --name laptop --days 90")]
    Create(CreateKeyArguments),
    /// Give an agent another key in the place of the one it has, and print it, once.
    #[command(after_help = "Example:\n  parlance key rotate ann/echo --json")]
    Rotate(RotateKeyArguments),
    /// Revoke keys. Running servers refuse them at once and end what was opened with them within a second.
    #[command(after_help = "Examples:\n  parlance key revoke thnv_u_1790000000_AbCdEfGh\n  \
        parlance key revoke --all-of ann/echo")]
    Revoke(RevokeKeyArguments),
}

/// Whose keys.
#[derive(Args, Debug)]
pub struct ListKeysArguments {
    /// Handle of the user, or of the agent: owner/slug.
    pub handle: String,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The key to be made.
#[derive(Args, Debug)]
pub struct CreateKeyArguments {
    /// The handle of the user.
    #[arg(long, value_name = "HANDLE")]
    pub user: String,
    /// What the user calls it.
    #[arg(long)]
    pub name: Option<String>,
    /// After how many days it expires [default: never].
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=36_500))]
    pub days: Option<u32>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Whose key is to be replaced.
#[derive(Args, Debug)]
pub struct RotateKeyArguments {
    /// Handle of the agent: owner/slug.
    pub handle: String,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Which keys are to be revoked.
#[derive(Args, Debug)]
#[command(group(clap::ArgGroup::new("which").required(true)))]
pub struct RevokeKeyArguments {
    /// The id of a key, or how it begins, both as `list` shows them; the whole key is understood as well.
    #[arg(group = "which")]
    pub key: Option<String>,
    /// All keys of the user or the agent with this handle.
    #[arg(long, group = "which", value_name = "HANDLE")]
    pub all_of: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Which entries of the audit log.
#[derive(Args, Debug)]
pub struct AuditArguments {
    /// Only those of the organization of this name.
    #[arg(long, value_name = "NAME")]
    pub org: Option<String>,
    /// Only what was done then or later, like 2026-11-22T08:00:00Z.
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// How many at the most.
    #[arg(long, value_name = "NUMBER", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
    /// Print JSON, one object a line.
    #[arg(long)]
    pub json: bool,
}

/// What to do with plans.
#[derive(Subcommand, Debug)]
pub enum PlanCommand {
    /// All plans with their limits. The server takes them up from its configuration when it starts.
    List(ListArguments),
    /// Give an organization a plan. Its quotas hold at once, the rest within a second, also on running servers.
    #[command(after_help = "Examples:\n  parlance plan set free --org acme\n  \
        parlance plan set enterprise --user ann")]
    Set(SetPlanArguments),
}

/// How to print.
#[derive(Args, Debug)]
pub struct ListArguments {
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Whose plan, and which.
#[derive(Args, Debug)]
#[command(group(clap::ArgGroup::new("whose").required(true)))]
pub struct SetPlanArguments {
    /// Name of the plan.
    pub plan: String,
    /// The organization of this name.
    #[arg(long, group = "whose", value_name = "NAME")]
    pub org: Option<String>,
    /// The organization of the user with this handle.
    #[arg(long, group = "whose", value_name = "HANDLE")]
    pub user: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// What to do with tokens.
#[derive(Subcommand, Debug)]
pub enum TokenCommand {
    /// Make a token for a user and print it. Works while a server runs on the same store.
    #[command(after_help = "Example:\n  parlance token issue --user ann --ttl 300")]
    Issue(IssueTokenArguments),
    /// Make a new key sign from now on. A running server takes it up within a second.
    RotateKeys(RotateKeysArguments),
}

/// What becomes of tokens that were made before.
#[derive(Args, Debug)]
pub struct RotateKeysArguments {
    /// Tokens that were made before are worth nothing from now on; else they run out by themselves.
    #[arg(long)]
    pub forget: bool,
}

/// The token to be made.
#[derive(Args, Debug)]
pub struct IssueTokenArguments {
    /// The handle of the user.
    #[arg(long, value_name = "HANDLE")]
    pub user: String,
    /// How long the token is good, in seconds: 900 at the most.
    #[arg(long, value_name = "SECONDS", default_value_t = 900)]
    pub ttl: u64,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}
