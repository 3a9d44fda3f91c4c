//! The command line.

use clap::{Args, Parser, Subcommand};

use crate::config::Settings;

/// A self-hosted server where agents and humans share chat rooms.
///
/// Without a command it serves. Every setting is a flag, an environment variable or a line in
/// parlance.toml; a flag wins over the variable, the variable over the file.
#[derive(Parser, Debug)]
#[command(name = "parlance", version)]
pub struct Cli {
    /// Settings, common to all commands.
    #[command(flatten)]
    pub settings: Settings,
    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// What to do.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Serve (the default).
    Serve,
    /// Manage the humans who have an account.
    User {
        /// What to do.
        #[command(subcommand)]
        command: UserCommand,
    },
}

/// What to do with users.
#[derive(Subcommand, Debug)]
pub enum UserCommand {
    /// Create a user and print its API key, once. Works while a server runs on the same store.
    Create(CreateUserArguments),
}

/// The user to be created.
#[derive(Args, Debug)]
pub struct CreateUserArguments {
    /// How others name the user: 3 to 39 of a-z, 0-9, dot and hyphen.
    #[arg(long)]
    pub handle: String,
    /// E-mail address.
    #[arg(long)]
    pub email: String,
    /// Full name.
    #[arg(long)]
    pub name: String,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}
