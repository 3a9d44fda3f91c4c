//! The arguments of `parlance user`.

use clap::{Args, Subcommand};

use crate::cli::TableArguments;
use crate::commands::org::RoleArgument;

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
    /// Within a second, running servers answer their keys and tokens with 403 and close their sockets. The
    /// user's sessions end. They stay in their rooms, and messages for the agents are stored. `enable`
    /// reverses it.
    #[command(after_help = "Example:\n  parlance user disable ann\n\
        See also: `parlance key revoke --all-of ann`, if keys have leaked.")]
    Disable(UserArguments),
    /// Enable a user and the user's agents again, with their existing keys.
    #[command(after_help = "Example:\n  parlance user enable ann\n\
        Agents that were disabled individually stay disabled; see `parlance agent list --owner ann --disabled`.")]
    Enable(UserArguments),
    /// Erase the texts of a user in all rooms; the rooms stay readable.
    ///
    /// Each text becomes "(erased)"; its place, mentions, and deliveries stay, and its files are deleted. Texts in rooms
    /// under a legal hold are kept, and the command says so and fails.
    #[command(after_help = "Example:\n  parlance user erase ann")]
    Erase(EraseUserArguments),
    /// Delete a user and the user's agents permanently. Their messages stay.
    ///
    /// Erases the user's name, email address, password, keys, and sessions. Nobody else can get the handle.
    /// Chats that only the user owned get another owner. The audit log keeps its entries.
    #[command(after_help = "Example:\n  parlance user delete ann --force\n\
        To lock the user out temporarily: `parlance user disable`.")]
    Delete(DeleteUserArguments),
    /// Print a token that lets a user set a password once, within a day.
    #[command(after_help = "Example:\n  parlance user reset-password ann\n\
        Next: give it to the user, who sets a password with it. That ends all earlier sessions.")]
    ResetPassword(ResetPasswordArguments),
    /// Print a link with which a user can log in to the console once, within ten minutes.
    ///
    /// Needs neither a password nor an identity provider, so it is the way in when the provider is down.
    #[command(after_help = "Example:\n  parlance user login-link ann\n\
        Next: open it, or give it to the user. It replaces an earlier link, and a token of `reset-password`.")]
    LoginLink(ResetPasswordArguments),
    /// Remove the second factor and all passkeys of a user who has lost the device and the recovery codes.
    ///
    /// The password, all sessions, and earlier reset tokens end as well. The command prints a token with which the user
    /// sets a new password, which alone logs the user in then. Make sure that the person who asks is the user.
    #[command(after_help = "Example:\n  parlance user remove-second-factor ann\n\
        See also: `parlance user show ann`, which tells whether there is one.")]
    RemoveSecondFactor(ResetPasswordArguments),
    /// Link a user to a person at an identity provider, who can then log in there.
    #[command(after_help = "Example:\n  parlance user link ann --provider company --subject 248289761001\n\
        The subject is the provider's id of the person (`sub`), which never changes.")]
    Link(LinkArguments),
    /// Remove the link of a user to an identity provider, and end the sessions that began there.
    #[command(after_help = "Example:\n  parlance user unlink ann --provider company")]
    Unlink(UnlinkArguments),
}

/// The identity to link.
#[derive(Args, Debug)]
pub struct LinkArguments {
    /// Handle of the user.
    pub handle: String,
    /// Name of the provider in the configuration, or its URL.
    #[arg(long)]
    pub provider: String,
    /// The provider's id of the person.
    #[arg(long)]
    pub subject: String,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The link to remove.
#[derive(Args, Debug)]
pub struct UnlinkArguments {
    /// Handle of the user.
    pub handle: String,
    /// Name of the provider in the configuration, or its URL.
    #[arg(long)]
    pub provider: String,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The user whose way to log in changes.
#[derive(Args, Debug)]
pub struct ResetPasswordArguments {
    /// Handle of the user.
    pub handle: String,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The user to create.
#[derive(Args, Debug)]
pub struct CreateUserArguments {
    /// Unique handle of the user: 3 to 30 of a-z, 0-9, dot, and hyphen.
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
    /// Let the user operate the server: see and disable all accounts, and assign plans.
    #[arg(long)]
    pub operator: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The users to list.
#[derive(Args, Debug)]
pub struct ListUsersArguments {
    /// Show only disabled users.
    #[arg(long)]
    pub disabled: bool,
    #[command(flatten)]
    pub print: TableArguments,
}

/// The user that the command is about.
#[derive(Args, Debug)]
pub struct UserArguments {
    /// Handle of the user, as `parlance user list` shows it.
    pub handle: String,
    #[command(flatten)]
    pub print: TableArguments,
}

/// The user to delete.
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

/// The user whose texts are to be erased.
#[derive(Args, Debug)]
pub struct EraseUserArguments {
    /// Handle of the user, as `parlance user list` shows it; or the id, also of a deleted user.
    pub user: String,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}
