//! The composition root: reads the configuration, builds every port's implementation, and runs
//! what the command line asks for.
//!
//! Nothing here decides a rule; [`wiring`] is the only place where a port meets what stands
//! behind it.

mod agent;
pub mod api_document;
mod archive;
pub mod cli;
pub mod config;
mod export;
mod failure;
mod health;
mod import;
mod lock;
mod migrate;
mod openapi;
mod plan;
pub mod plans;
mod ports;
pub mod rates;
mod serve;
pub mod store;
mod system;
mod telemetry;
mod token;
mod token_keys;
mod tokens;
mod user;
mod welcome;
mod wiring;

pub use failure::Failure;

use cli::{AgentCommand, Cli, Command, OrgCommand, PlanCommand, TokenCommand, UserCommand};

/// Runs one command to its end.
///
/// # Errors
/// [`Failure`] holds one line for the person at the terminal; the process should then end with
/// a status other than 0.
pub fn run(cli: Cli) -> Result<(), Failure> {
    let config = config::Config::load(cli.settings)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|cause| Failure::new("cannot start the runtime", cause))?;
    match cli.command.unwrap_or(Command::Serve) {
        Command::Openapi => openapi::print(),
        Command::Migrate(arguments) => runtime.block_on(migrate::migrate(&config, arguments)),
        Command::Export(arguments) => runtime.block_on(export::export(&config, arguments)),
        Command::Import(arguments) => runtime.block_on(import::import(&config, arguments)),
        Command::Serve => runtime.block_on(serve::serve(config)),
        Command::User { command: UserCommand::Create(arguments) } => {
            runtime.block_on(user::create(&config, arguments))
        }
        Command::Token { command: TokenCommand::Issue(arguments) } => {
            runtime.block_on(token::issue(&config, arguments))
        }
        Command::Token { command: TokenCommand::RotateKeys(arguments) } => {
            token::rotate_keys(&config, &arguments)
        }
        Command::Plan { command: PlanCommand::List(arguments) } => {
            runtime.block_on(plan::list(&config, arguments))
        }
        Command::Plan { command: PlanCommand::Set(arguments) } => {
            runtime.block_on(plan::set(&config, arguments))
        }
        Command::Org { command: OrgCommand::List(arguments) } => {
            runtime.block_on(plan::organizations(&config, arguments))
        }
        Command::Agent { command: AgentCommand::Set(arguments) } => {
            runtime.block_on(agent::set(&config, arguments))
        }
    }
}
