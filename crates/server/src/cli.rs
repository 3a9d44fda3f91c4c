//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueHint};

use crate::config::{LeadingFlags, ServerFlags};

mod account;
mod chat;
mod org;
mod work;

pub use account::{
    AgentArguments, AgentCommand, CreateAgentArguments, CreateUserArguments, DeleteAgentArguments,
    DeleteUserArguments, ListAgentsArguments, ListUsersArguments, MaxAttemptsArgument,
    ResetPasswordArguments, SetAgentArguments, UserArguments, UserCommand,
};
pub use chat::{ChatCommand, DeleteChatArguments, ListChatsArguments, ShowChatArguments};
pub use org::{
    CreateOrgArguments, DeleteOrgArguments, InviteArguments, MembersArguments, MoveArguments, OrgCommand,
    RenameOrgArguments, RoleArgument, SetRoleArguments, ShowOrgArguments,
};
pub use work::{
    DeadLetterWorkArguments, FilterWorkArguments, ListWorkArguments, RetryWorkArguments, ShowWorkArguments,
    WhichWorkArguments, WorkCommand,
};

/// A self-hosted server where agents and humans share chat rooms.
///
/// Without a command, it starts the server. `parlance serve --help` describes all settings. Each is a flag of `serve`,
/// an environment variable (`PARLANCE_DATA_DIR` for `--data-dir`), or a line in `parlance.toml`; flags override variables,
/// and variables override the file.
#[derive(Parser, Debug)]
#[command(name = "parlance", version, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    pub leading: LeadingFlags,
    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// What to do.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Start the server (the default).
    #[command(after_help = "Examples:\n  parlance serve\n  \
        parlance serve --listen 127.0.0.1:4000 --data-dir /var/lib/parlance")]
    Serve(ServerFlags),
    /// Check or show the configuration, or print a reference of all settings.
    Config {
        /// What to do.
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Check this installation: configuration, store, clock, disk, ports, and files.
    ///
    /// Changes nothing. Prints what to do about each fault, and exits with a non-zero status if there is one. Settings
    /// that the server gets as flags go in front of the command.
    #[command(after_help = "Examples:\n  parlance doctor --json\n  parlance --listen 127.0.0.1:4001 doctor")]
    Doctor(ListArguments),
    /// Show the installation at a glance: version, store, servers, sockets, and open work.
    ///
    /// Works while servers run on the store.
    #[command(after_help = "Examples:\n  parlance status\n  parlance status --json")]
    Status(TableArguments),
    /// Print the version and the build.
    #[command(after_help = "Examples:\n  parlance version\n  parlance version --json")]
    Version(ListArguments),
    /// Print shell completions.
    #[command(after_help = "Example:\n  parlance completions bash > /etc/bash_completion.d/parlance")]
    Completions {
        /// Shell to complete commands in.
        shell: clap_complete::Shell,
    },
    /// Print the API document (OpenAPI 3.1).
    #[command(after_help = "Example:\n  parlance openapi > openapi.json")]
    Openapi,
    /// Apply pending schema migrations, as every start of the server does.
    #[command(after_help = "Examples:\n  parlance migrate\n  parlance migrate --json | jq '.applied'")]
    Migrate(ListArguments),
    /// Back up the whole store to a new file, and check that file; or check an existing one.
    ///
    /// Works while a server runs on the store. The file is an archive that only its owner can read. Restore it with
    /// `parlance import`.
    #[command(after_help = "Examples:\n  parlance backup --to /var/backups\n  \
        parlance backup verify /var/backups/parlance-20261123T040000Z.jsonl")]
    Backup(BackupArguments),
    /// Write a consistent copy of the whole store to an archive.
    ///
    /// Works while a server runs on the store.
    #[command(after_help = "Examples:\n  parlance export --to parlance.jsonl\n  \
        parlance export | ssh backup 'cat > parlance.jsonl'")]
    Export(ExportArguments),
    /// Fill a new store from an archive.
    #[command(
        after_help = "Examples:\n  PARLANCE_DATABASE_URL=sqlite:new.db parlance import --from parlance.jsonl\n  \
        parlance import --from parlance.jsonl --resume"
    )]
    Import(ImportArguments),
    /// List, create, and disable users.
    User {
        /// What to do.
        #[command(subcommand)]
        command: UserCommand,
    },
    /// Issue access tokens for users, and rotate the keys that sign them.
    Token {
        /// What to do.
        #[command(subcommand)]
        command: TokenCommand,
    },
    /// List, create, rotate, and revoke API keys.
    ///
    /// Works while servers run on the same store.
    Key {
        /// What to do.
        #[command(subcommand)]
        command: KeyCommand,
    },
    /// Show the audit log of accounts, keys, rooms, and plans, newest first; or verify that it is intact.
    ///
    /// With --json, each entry is one object on a line of its own.
    #[command(after_help = "Examples:\n  parlance audit --org acme --since 2026-11-22T08:00:00Z --utc\n  \
        parlance audit --limit 1000 --json | jq -r .action")]
    Audit(AuditArguments),
    /// List, create, disable, and delete agents.
    Agent {
        /// What to do.
        #[command(subcommand)]
        command: AgentCommand,
    },
    /// List and show chats.
    #[command(visible_alias = "room", override_usage = "parlance {chat|room} [OPTIONS] <COMMAND>")]
    Chat {
        /// What to do.
        #[command(subcommand)]
        command: ChatCommand,
    },
    /// Show the work that agents owe: messages that they have not processed.
    Work {
        /// What to do.
        #[command(subcommand)]
        command: WorkCommand,
    },
    /// List plans, and assign them to organizations.
    Plan {
        /// What to do.
        #[command(subcommand)]
        command: PlanCommand,
    },
    /// List and create organizations, and manage their members.
    ///
    /// Works while servers run on the same store.
    Org {
        /// What to do.
        #[command(subcommand)]
        command: OrgCommand,
    },
}

/// The same command without what `--help` hides, for completions, which know nothing of that.
pub fn visible(command: &clap::Command) -> clap::Command {
    let mut copy = clap::Command::new(command.get_name().to_owned())
        .visible_aliases(command.get_visible_aliases().map(str::to_owned).collect::<Vec<_>>())
        .args(command.get_arguments().filter(|argument| !argument.is_hide_set()).cloned())
        .subcommands(command.get_subcommands().filter(|command| !command.is_hide_set()).map(visible));
    if let Some(about) = command.get_about() {
        copy = copy.about(about.clone());
    }
    if let Some(version) = command.get_version() {
        copy = copy.version(version.to_owned());
    }
    copy
}

impl Command {
    /// Whether it takes every setting as a flag.
    pub fn takes_all_settings(&self) -> bool {
        matches!(self, Self::Serve(_) | Self::Doctor(_) | Self::Config { .. })
    }
}

/// What to do with the configuration.
#[derive(Subcommand, Debug)]
pub enum ConfigCommand {
    /// List all invalid settings. Exits with a non-zero status if there are any.
    #[command(after_help = "Example:\n  parlance config check --config /etc/parlance/parlance.toml")]
    Check(ExamineArguments),
    /// Print every setting with its value and its origin. Passwords are hidden.
    #[command(after_help = "Example:\n  parlance config show --json | jq '.settings.listen'")]
    Show(ExamineArguments),
    /// Print a reference of all settings, as Markdown.
    #[command(alias = "describe", after_help = "Example:\n  parlance config reference | less")]
    Reference,
}

/// Where a backup goes.
#[derive(Args, Debug)]
pub struct BackupArguments {
    /// What to do, other than writing a backup.
    #[command(subcommand)]
    pub command: Option<BackupCommand>,
    /// Directory for the file, which is named after the time [default: the current directory].
    #[arg(long, value_name = "DIRECTORY", value_hint = ValueHint::DirPath)]
    pub to: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// What to do with backups.
#[derive(Subcommand, Debug)]
pub enum BackupCommand {
    /// Check that a backup is complete and undamaged, without a store. Exits with a non-zero status if it is not.
    #[command(after_help = "Example:\n  \
        parlance backup verify /var/backups/parlance-20261123T040000Z.jsonl")]
    Verify(VerifyBackupArguments),
}

/// Which backup to check.
#[derive(Args, Debug)]
pub struct VerifyBackupArguments {
    /// Backup file.
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Where an archive goes.
#[derive(Args, Debug)]
pub struct ExportArguments {
    /// File to write, which appears once it is complete; or a pipe or device [default: standard output].
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub to: Option<PathBuf>,
    /// Print JSON about the written file.
    #[arg(long, requires = "to")]
    pub json: bool,
}

/// Where an archive comes from.
#[derive(Args, Debug)]
pub struct ImportArguments {
    /// File to read [default: standard input].
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub from: Option<PathBuf>,
    /// Resume an interrupted import of the same archive.
    #[arg(long)]
    pub resume: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// What to do with API keys.
#[derive(Subcommand, Debug)]
pub enum KeyCommand {
    /// List the valid keys of a user or an agent, without their secrets.
    #[command(after_help = "Examples:\n  parlance key list ann\n  \
        parlance key list ann/echo --json")]
    List(ListKeysArguments),
    /// Create another key for a user, and print it once.
    #[command(after_help = "Examples:\n  parlance key create --user ann --name laptop --days 90\n  \
        parlance key create --user ann --name dashboard --read-only")]
    Create(CreateKeyArguments),
    /// Replace an agent's key, and print the new one once.
    #[command(after_help = "Example:\n  parlance key rotate ann/echo --json")]
    Rotate(RotateKeyArguments),
    /// Revoke keys.
    ///
    /// Within a second, running servers reject them and close the sockets that they opened.
    #[command(after_help = "Examples:\n  parlance key revoke thnv_u_1790000000_AbCdEfGh\n  \
        parlance key revoke --all-of ann/echo")]
    Revoke(RevokeKeyArguments),
}

/// Whose keys.
#[derive(Args, Debug)]
pub struct ListKeysArguments {
    /// Handle of the user, or of the agent: owner/slug.
    pub handle: String,
    #[command(flatten)]
    pub print: TableArguments,
}

/// The key to be made.
#[derive(Args, Debug)]
pub struct CreateKeyArguments {
    /// Handle of the user.
    #[arg(long, value_name = "HANDLE")]
    pub user: String,
    /// Name of the key, for the user.
    #[arg(long)]
    pub name: Option<String>,
    /// Days until the key expires [default: the setting `key_ttl_days`; by default, keys do not expire].
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=36_500))]
    pub days: Option<u32>,
    /// Make a key that can only read.
    #[arg(long)]
    pub read_only: bool,
    /// Limit the key to this chat.
    #[arg(long, value_name = "ID")]
    pub chat: Option<String>,
    /// Limit the key to this agent of the user: owner/slug.
    #[arg(long, value_name = "HANDLE")]
    pub agent: Option<String>,
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
    /// Beginning of the key, as `parlance key list` shows it; or its id, or the whole key.
    #[arg(group = "which")]
    pub key: Option<String>,
    /// Revoke all keys of the user or agent with this handle.
    #[arg(long, group = "which", value_name = "HANDLE")]
    pub all_of: Option<String>,
    #[command(flatten)]
    pub print: TableArguments,
}

/// Which entries of the audit log, or what else to do with it.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct AuditArguments {
    /// What to do, other than printing entries.
    #[command(subcommand)]
    pub command: Option<AuditCommand>,
    /// Show only entries of the organization with this name.
    #[arg(long, value_name = "NAME")]
    pub org: Option<String>,
    /// Show only entries from this time on, such as 2026-11-22T08:00:00Z.
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Maximum number of entries.
    #[arg(long, value_name = "NUMBER", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
    #[command(flatten)]
    pub print: TableArguments,
}

/// What to do with the audit log.
#[derive(Subcommand, Debug)]
pub enum AuditCommand {
    /// Check that no sealed entry was changed, removed, or moved.
    ///
    /// Prints the newest seal, an anchor to keep elsewhere. Exits with a non-zero status if something is wrong.
    #[command(after_help = "Examples:\n  parlance audit verify\n  \
        parlance audit verify --anchor \"$(cat /mnt/elsewhere/audit-anchor)\"")]
    Verify(VerifyArguments),
}

/// How to check the audit log.
#[derive(Args, Debug)]
pub struct VerifyArguments {
    /// Seal that an earlier check printed (NUMBER:DIGEST). Checks that the log still contains what it contained then.
    #[arg(long, value_name = "SEAL")]
    pub anchor: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// What to do with plans.
#[derive(Subcommand, Debug)]
pub enum PlanCommand {
    /// List all plans with their limits. A hyphen means no limit.
    ///
    /// The server stores the plans of its configuration when it starts.
    #[command(after_help = "Examples:\n  parlance plan list\n  parlance plan list --json | jq '.plans[0]'")]
    List(TableArguments),
    /// Assign a plan to an organization.
    ///
    /// Running servers apply quotas immediately, and everything else within a second.
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

/// How to print, and the settings to look at.
#[derive(Args, Debug)]
pub struct ExamineArguments {
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub settings: ServerFlags,
}

/// How to print a list.
#[derive(Args, Debug)]
pub struct TableArguments {
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// Print exact times (UTC) instead of relative ones.
    #[arg(long)]
    pub utc: bool,
}

/// Whose plan, and which.
#[derive(Args, Debug)]
#[command(group(clap::ArgGroup::new("whose").required(true)))]
pub struct SetPlanArguments {
    /// Name of the plan.
    pub plan: String,
    /// Name of the organization.
    #[arg(long, group = "whose", value_name = "NAME")]
    pub org: Option<String>,
    /// Handle of a user in the organization.
    #[arg(long, group = "whose", value_name = "HANDLE")]
    pub user: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// What to do with tokens.
#[derive(Subcommand, Debug)]
pub enum TokenCommand {
    /// Issue an access token for a user, and print it.
    #[command(after_help = "Example:\n  parlance token issue --user ann --ttl 300")]
    Issue(IssueTokenArguments),
    /// Sign new tokens with a new key.
    ///
    /// A running server uses it within a second.
    #[command(after_help = "Examples:\n  parlance token rotate-keys\n  parlance token rotate-keys --forget")]
    RotateKeys(RotateKeysArguments),
}

/// What becomes of tokens that were made before.
#[derive(Args, Debug)]
pub struct RotateKeysArguments {
    /// Reject all earlier tokens from now on, instead of when they expire.
    #[arg(long)]
    pub forget: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The token to be made.
#[derive(Args, Debug)]
pub struct IssueTokenArguments {
    /// Handle of the user.
    #[arg(long, value_name = "HANDLE")]
    pub user: String,
    /// Lifetime of the token in seconds, at most 900.
    #[arg(long, value_name = "SECONDS", default_value_t = 900)]
    pub ttl: u64,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}
