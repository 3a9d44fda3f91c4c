//! The command line: its commands, and arguments that several of them share. The arguments of one
//! command are in `commands`, beside the command.

use clap::{Args, Parser, Subcommand};

use crate::commands::agent::AgentCommand;
use crate::commands::attention::AttentionCommand;
use crate::commands::audit::AuditArguments;
use crate::commands::backup::BackupArguments;
use crate::commands::chat::ChatCommand;
use crate::commands::client::ClientCommand;
use crate::commands::config::ConfigCommand;
use crate::commands::export::ExportArguments;
use crate::commands::hold::HoldCommand;
use crate::commands::import::ImportArguments;
use crate::commands::key::KeyCommand;
use crate::commands::org::OrgCommand;
use crate::commands::plan::PlanCommand;
use crate::commands::reminder::ReminderCommand;
use crate::commands::token::TokenCommand;
use crate::commands::usage::UsageArguments;
use crate::commands::user::UserCommand;
use crate::commands::webhook::WebhookCommand;
use crate::commands::work::WorkCommand;
use crate::config::{LeadingFlags, ServerFlags, unused_store_flags};

/// A self-hosted server where agents and humans share chat rooms.
///
/// Without a command, it starts the server. `parlance serve --help` describes all settings. Each is a flag of
/// `serve`, an environment variable (`PARLANCE_DATA_DIR` for `--data-dir`), or a line in `parlance.toml`;
/// flags override variables, and variables override the file.
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
    /// Changes nothing. Prints what to do about each fault, and exits with a non-zero status if there is one.
    /// Settings that the server gets as flags go in front of the command.
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
    /// Write the manual pages of all commands to a directory.
    #[command(after_help = "Example:\n  parlance man /usr/local/share/man/man1")]
    Man {
        /// Existing directory.
        #[arg(value_hint = clap::ValueHint::DirPath)]
        directory: std::path::PathBuf,
    },
    /// Print the API document (OpenAPI 3.1).
    #[command(after_help = "Example:\n  parlance openapi > openapi.json")]
    Openapi,
    /// Apply pending schema migrations, as every start of the server does.
    #[command(after_help = "Examples:\n  parlance migrate\n  parlance migrate --json | jq '.applied'")]
    Migrate(ListArguments),
    /// Back up the whole store to a new file, and check that file; or check an existing one.
    ///
    /// Works while a server runs on the store. The file is an archive that only its owner can read. Restore it
    /// with `parlance import`.
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
    /// Show the audit log of accounts, keys, rooms, and plans, newest first; or verify it.
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
    /// List, place, and release legal holds, which keep what rooms contain.
    ///
    /// Works while servers run on the same store.
    Hold {
        /// What to do.
        #[command(subcommand)]
        command: HoldCommand,
    },
    /// Show the work that agents owe: messages that they have not processed.
    Work {
        /// What to do.
        #[command(subcommand)]
        command: WorkCommand,
    },
    /// Show what waits for a user, and answer it as the user.
    ///
    /// Works while servers run on the same store.
    Attention {
        /// What to do.
        #[command(subcommand)]
        command: AttentionCommand,
    },
    /// Show and cancel messages that are sent later.
    ///
    /// Works while servers run on the same store.
    Reminder {
        /// What to do.
        #[command(subcommand)]
        command: ReminderCommand,
    },
    /// Give agents webhooks, which wake those that hold no socket.
    ///
    /// Works while servers run on the same store.
    Webhook {
        /// What to do.
        #[command(subcommand)]
        command: WebhookCommand,
    },
    /// List the tokens that agents reported, and what they cost.
    ///
    /// The largest sums come first; with `--by day`, the newest day. CACHED are tokens that were read from the
    /// provider's cache or written to it. What tokens cost is known for the models in the configuration. Rooms and
    /// agents that were deleted count too.
    #[command(after_help = "Examples:\n  parlance usage --by owner --since 2026-11-01\n  \
        parlance usage --org acme --by model --json | jq .totals.cost")]
    Usage(UsageArguments),
    /// List plans, and assign them to organizations.
    Plan {
        /// What to do.
        #[command(subcommand)]
        command: PlanCommand,
    },
    /// Take part in rooms of a local or remote server, with your API key.
    ///
    /// All other commands work on a store. These talk to a server, like any client of its API. Log in first:
    /// `parlance client login`.
    #[command(args = unused_store_flags())]
    Client {
        /// What to do.
        #[command(subcommand)]
        command: ClientCommand,
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

/// How to print.
#[derive(Args, Debug)]
pub struct ListArguments {
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
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
