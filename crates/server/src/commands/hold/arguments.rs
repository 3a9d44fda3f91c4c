//! The arguments of `parlance hold`.

use clap::{Args, Subcommand};

use crate::cli::TableArguments;

/// What to do with legal holds.
#[derive(Subcommand, Debug)]
pub enum HoldCommand {
    /// List legal holds in the order in which they were placed.
    #[command(after_help = "Example:\n  parlance hold list --json | jq -r '.holds[].id'")]
    List(TableArguments),
    /// Place a legal hold on a room, or on all rooms of an organization, later ones included.
    ///
    /// Until it is released, nobody edits or deletes a message there, retention erases none, and neither the rooms nor
    /// users and agents who are or were in one can be deleted.
    #[command(after_help = "Examples:\n  \
        parlance hold place --room 019ab1d0-5f6e-7c3a-9d8e-2f4b6a1c0e77 --reason 'case 4711'\n  \
        parlance hold place --org acme --reason 'case 4711'")]
    Place(PlaceHoldArguments),
    /// Release a legal hold. Within a day, retention erases what it would have erased meanwhile.
    #[command(after_help = "Example:\n  parlance hold release --org acme")]
    Release(ReleaseHoldArguments),
}

/// What a hold is on.
#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub struct SubjectArguments {
    /// Id of the room.
    #[arg(long, value_name = "ID")]
    pub room: Option<String>,
    /// Name of the organization.
    #[arg(long, value_name = "NAME")]
    pub org: Option<String>,
}

/// The hold to place.
#[derive(Args, Debug)]
pub struct PlaceHoldArguments {
    #[command(flatten)]
    pub subject: SubjectArguments,
    /// Reason, at most 500 characters. Admins of the organization see it in the audit log.
    #[arg(long)]
    pub reason: String,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The hold to release.
#[derive(Args, Debug)]
pub struct ReleaseHoldArguments {
    #[command(flatten)]
    pub subject: SubjectArguments,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}
