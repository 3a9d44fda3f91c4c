//! The composition root: reads the configuration, builds every port's implementation, and runs the
//! command.
//!
//! Nothing here decides a rule; `wiring` connects the ports of the domain to their implementations.

mod adapters;
pub mod api_document;
#[cfg(feature = "swagger-ui")]
mod api_page;
mod archive;
mod book;
mod bus;
pub mod cli;
mod commands;
pub mod config;
mod disk;
mod erasure_clock;
mod failure;
mod health;
mod invitation_page;
mod jwt;
mod listen;
mod lock;
mod metrics;
mod nearest;
mod open_files;
mod operator;
mod output;
pub mod passwords;
mod progress;
mod search_index;
mod static_files;
pub mod store;
mod system;
mod telemetry;
mod tls;
mod token_keys;
mod traces;
mod upkeep;
mod welcome;
mod wiring;

pub use failure::Failure;

use clap::CommandFactory;
use cli::{Cli, Command};
use commands::{
    agent, attention, audit, backup, chat, client, doctor, export, hold, import, key, migrate, openapi, org,
    plan, reminder, serve, status, token, usage, user, version, webhook, work,
};
use config::{Config, Flags, ServerFlags};

/// Runs one command to its end.
///
/// # Errors
/// [`Failure`] holds one line for the person at the terminal; the process should then end with
/// a status other than 0.
pub fn run(cli: Cli) -> Result<(), Failure> {
    let flags = cli.leading.0;
    let command = cli.command.unwrap_or_else(|| Command::Serve(ServerFlags::default()));
    if !command.takes_all_settings()
        && let Some(flag) = flags.only_for_the_server()
    {
        let said = format!("{flag} is a setting of `parlance serve`, and this command does not use it");
        return Err(Failure::plain(said).next("remove it, or set it in parlance.toml"));
    }
    match command {
        Command::Serve(settings) => {
            let store_flags = flags.of_the_store();
            with(flags.and(settings.0), async |config| serve::serve(config, &store_flags).await)
        }
        Command::Doctor(arguments) => {
            runtime()?.block_on(doctor::run(Config::examine(flags), arguments.json))
        }
        Command::Config { command } => commands::config::run(flags, command),
        Command::Openapi => openapi::print(),
        Command::Completions { shell } => completions(shell),
        Command::Man { directory } => manual(&directory),
        Command::Version(arguments) => version::print(&arguments),
        Command::Status(arguments) => with(flags, async |config| status::run(&config, &arguments).await),
        Command::Migrate(arguments) => with(flags, async |config| migrate::migrate(&config, arguments).await),
        Command::Export(arguments) => with(flags, async |config| export::export(&config, arguments).await),
        Command::Backup(arguments) => with(flags, async |config| backup::run(&config, arguments).await),
        Command::Import(arguments) => with(flags, async |config| import::import(&config, arguments).await),
        Command::User { command } => with(flags, async |config| user::run(&config, command).await),
        Command::Audit(arguments) => with(flags, async |config| audit::run(&config, arguments).await),
        Command::Key { command } => with(flags, async |config| key::run(&config, command).await),
        Command::Token { command } => with(flags, async |config| token::run(&config, command).await),
        Command::Plan { command } => with(flags, async |config| plan::run(&config, command).await),
        Command::Org { command } => with(flags, async |config| org::run(&config, command).await),
        Command::Agent { command } => with(flags, async |config| agent::run(&config, command).await),
        Command::Chat { command } => with(flags, async |config| chat::run(&config, command).await),
        Command::Client { command } => client::run(&flags, command),
        Command::Hold { command } => with(flags, async |config| hold::run(&config, command).await),
        Command::Webhook { command } => with(flags, async |config| webhook::run(&config, command).await),
        Command::Reminder { command } => with(flags, async |config| reminder::run(&config, command).await),
        Command::Attention { command } => with(flags, async |config| attention::run(&config, command).await),
        Command::Usage(arguments) => with(flags, async |config| usage::run(&config, &arguments).await),
        Command::Work { command } => with(flags, async |config| work::run(&config, command).await),
    }
}

/// Runs `work` with the configuration, which must be valid.
fn with(flags: Flags, work: impl AsyncFnOnce(Config) -> Result<(), Failure>) -> Result<(), Failure> {
    let config = Config::load(flags)?;
    runtime()?.block_on(work(config))
}

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    runtime.map_err(|cause| Failure::new("cannot start the runtime", cause))
}

/// Writes the manual pages.
fn manual(directory: &std::path::Path) -> Result<(), Failure> {
    clap_mangen::generate_to(Cli::command(), directory).map_err(|cause| {
        Failure::new(format_args!("cannot write to {}", directory.display()), cause)
            .next("name a directory that exists and that you may write to: see `parlance man --help`")
    })
}

/// Prints the completions of this command line for a shell.
fn completions(shell: clap_complete::Shell) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut cli::visible(&Cli::command()), "parlance", &mut text);
    let written = std::io::Write::write_all(&mut std::io::stdout().lock(), &text);
    written.map_err(output::unprinted)
}
