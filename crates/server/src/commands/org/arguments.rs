//! The arguments of `parlance org`.

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand, ValueEnum};
use domain::budget::Budget;
use domain::foreign::ForeignPolicy;
use domain::organization::OrganizationRole;

use crate::cli::TableArguments;

/// What to do with organizations.
#[derive(Subcommand, Debug)]
pub enum OrgCommand {
    /// List all organizations with their plans.
    #[command(after_help = "Examples:\n  parlance org list\n  \
        parlance org list --json | jq -r '.organizations[].name'")]
    List(TableArguments),
    /// Create an organization without members.
    ///
    /// The first member becomes its admin; see `org move`, `org invite`, and `user create --org`.
    #[command(after_help = "Example:\n  parlance org create acme --plan enterprise")]
    Create(CreateOrgArguments),
    /// Show one organization with its plan, members, and open invitations.
    #[command(after_help = "Examples:\n  parlance org show acme\n  \
        parlance org show acme --json | jq -r '.open_invitations[].email'")]
    Show(ShowOrgArguments),
    /// Rename an organization.
    #[command(after_help = "Example:\n  parlance org rename acme \"Acme Labs\"")]
    Rename(RenameOrgArguments),
    /// Pause an organization: no agent works in any of its rooms until it is resumed.
    ///
    /// Its agents are offered nothing there and can send nothing. Humans can still write; messages to agents wait.
    /// Rooms that are stopped stay stopped.
    #[command(after_help = "Example:\n  parlance org pause acme --reason \"runaway costs\"")]
    Pause(PauseOrgArguments),
    /// Resume a paused organization.
    #[command(after_help = "Example:\n  parlance org resume acme")]
    Resume(ResumeOrgArguments),
    /// Set how many messages may follow from one another in the rooms of an organization before the next one of an
    /// agent is held.
    ///
    /// What is held is stored, and offered to no agent until a human retries it; see `parlance work`. A room can
    /// have a stricter limit.
    #[command(after_help = "Examples:\n  parlance org set-max-hops acme 200\n  \
        parlance org set-max-hops acme default")]
    SetMaxHops(SetMaxHopsArguments),
    /// Set how many messages two agents in a room of an organization may send each other within ten minutes before
    /// those of the next ten minutes are held.
    ///
    /// Counts only messages without a known cause.
    #[command(after_help = "Examples:\n  parlance org set-max-pair-messages acme 500\n  \
        parlance org set-max-pair-messages acme default")]
    SetMaxPairMessages(SetMaxPairMessagesArguments),
    /// Set what holds for messages that follow from those of other organizations.
    ///
    /// With `label`, the default, every such message in the rooms of the organization is labeled as foreign. With
    /// `hold`, its agents are also offered none of them until their owner or an admin retries it; see `parlance work`.
    /// Unless it is `allow`, its agents have fewer rights while they work on one.
    #[command(after_help = "Example:\n  parlance org set-foreign acme hold")]
    SetForeign(SetForeignArguments),
    /// Show the budgets of an organization, and what it has used today.
    #[command(after_help = "Example:\n  parlance org budgets acme --json")]
    Budgets(BudgetsArguments),
    /// Set how many messages or tokens may be used before deliveries to agents are held.
    ///
    /// Budgets of rooms, agents, and the organization are for a day in UTC; that of a tree is for all that follows from
    /// one message. The humans of the room get an event at 80 % and at 100 %. A turn that already runs is not stopped.
    #[command(after_help = "Examples:\n  parlance org set-budget acme agent_tokens 100000\n  \
        parlance org set-budget acme agent_tokens none")]
    SetBudget(SetBudgetArguments),
    /// Delete an organization without members permanently.
    ///
    /// Also deletes its memories and open invitations. Move or delete its members first: `org move`,
    /// `user delete`.
    #[command(after_help = "Example:\n  parlance org delete acme --force")]
    Delete(DeleteOrgArguments),
    /// List the members of an organization with their roles, oldest account first.
    #[command(after_help = "Example:\n  parlance org members acme --utc")]
    Members(MembersArguments),
    /// Invite somebody, and print the invitation token once, or a link with it if `public_url` is set.
    ///
    /// They accept it with POST /api/v1/me/invitations/accept, or register with it; the link's page says how.
    #[command(after_help = "Examples:\n  parlance org invite acme --email ben@example.org\n  \
        parlance org invite acme --role admin --days 1 --json | jq -r .link")]
    Invite(InviteArguments),
    /// Change a member's role.
    ///
    /// An organization always has an admin: promote another member before you demote the only one.
    #[command(after_help = "Example:\n  parlance org set-role ben admin")]
    SetRole(SetRoleArguments),
    /// Move a user and the user's agents to another organization, without asking them.
    ///
    /// Rooms and memories stay where they were created. The user's access tokens, and sockets opened with
    /// them, end within a second.
    #[command(after_help = "Examples:\n  parlance org move ben --to acme\n  parlance org move ben --own")]
    Move(MoveArguments),
}

/// The role of a member, as given on the command line.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub enum RoleArgument {
    /// Manages the organization: its name, members, roles, and invitations.
    Admin,
    /// Belongs to the organization.
    Member,
}

impl From<RoleArgument> for OrganizationRole {
    fn from(role: RoleArgument) -> Self {
        match role {
            RoleArgument::Admin => Self::Admin,
            RoleArgument::Member => Self::Member,
        }
    }
}

/// A policy for messages of other organizations, as given on the command line.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub enum ForeignArgument {
    /// Treat them as all others.
    Allow,
    /// Label them.
    Label,
    /// Label them, and hold them for agents.
    Hold,
}

impl From<ForeignArgument> for ForeignPolicy {
    fn from(policy: ForeignArgument) -> Self {
        match policy {
            ForeignArgument::Allow => Self::Allow,
            ForeignArgument::Label => Self::Label,
            ForeignArgument::Hold => Self::Hold,
        }
    }
}

/// The organization to delete.
#[derive(Args, Debug)]
pub struct DeleteOrgArguments {
    /// Name of the organization; case does not matter.
    pub name: String,
    /// Delete the organization even if it has chats, which are deleted for all participants.
    #[arg(long)]
    pub force: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The organization to create.
#[derive(Args, Debug)]
pub struct CreateOrgArguments {
    /// Name of the organization, unique regardless of case.
    pub name: String,
    /// Plan of the organization [default: the default plan].
    #[arg(long)]
    pub plan: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The organization to show.
#[derive(Args, Debug)]
pub struct ShowOrgArguments {
    /// Name of the organization.
    pub name: String,
    #[command(flatten)]
    pub print: TableArguments,
}

/// The organization whose members are listed.
#[derive(Args, Debug)]
pub struct MembersArguments {
    /// Name of the organization.
    pub name: String,
    #[command(flatten)]
    pub print: TableArguments,
}

/// The organization to rename, and its new name.
#[derive(Args, Debug)]
pub struct RenameOrgArguments {
    /// Name of the organization.
    pub name: String,
    /// New name of the organization.
    pub new_name: String,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Which organization to pause, and why.
#[derive(Args, Debug)]
pub struct PauseOrgArguments {
    /// Name of the organization.
    pub name: String,
    /// Reason, which the members can read.
    #[arg(long, value_name = "TEXT")]
    pub reason: String,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Which organization to resume.
#[derive(Args, Debug)]
pub struct ResumeOrgArguments {
    /// Name of the organization.
    pub name: String,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The organization, and its limit of hops.
#[derive(Args, Debug)]
pub struct SetMaxHopsArguments {
    /// Name of the organization.
    pub name: String,
    /// Number of messages; 0 for no limit, `default` for the limit of the server.
    pub max_hops: String,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The organization.
#[derive(Args, Debug)]
pub struct BudgetsArguments {
    /// Name of the organization.
    pub name: String,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The organization, the budget, and its amount.
#[derive(Args, Debug)]
pub struct SetBudgetArguments {
    /// Name of the organization.
    pub name: String,
    /// `tree_messages`, `tree_tokens`, or the same of `room`, `agent`, or `organization`.
    #[arg(value_parser = PossibleValuesParser::new(Budget::WORDS))]
    pub budget: String,
    /// Number of messages or tokens; `none` for no limit.
    pub amount: String,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The organization, and its limit of pairs.
#[derive(Args, Debug)]
pub struct SetMaxPairMessagesArguments {
    /// Name of the organization.
    pub name: String,
    /// Number of messages; 0 for no limit, `default` for the limit of the server.
    pub max_pair_messages: String,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The organization, and its policy.
#[derive(Args, Debug)]
pub struct SetForeignArguments {
    /// Name of the organization.
    pub name: String,
    /// Policy for messages of other organizations.
    #[arg(value_enum)]
    pub policy: ForeignArgument,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The invitation to create.
#[derive(Args, Debug)]
pub struct InviteArguments {
    /// Name of the organization.
    pub name: String,
    /// Role of the new member.
    #[arg(long, value_enum, default_value = "member")]
    pub role: RoleArgument,
    /// Email address that the invitation is limited to [default: anyone with the token].
    #[arg(long)]
    pub email: Option<String>,
    /// Days until the invitation expires, 1 to 90.
    #[arg(long, default_value = "7", value_parser = clap::value_parser!(u32).range(1..=90))]
    pub days: u32,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The member, and the new role.
#[derive(Args, Debug)]
pub struct SetRoleArguments {
    /// Handle of the user.
    pub user: String,
    /// New role in the user's organization.
    #[arg(value_enum)]
    pub role: RoleArgument,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The user to move, and the destination.
#[derive(Args, Debug)]
#[command(group(clap::ArgGroup::new("where").required(true)))]
pub struct MoveArguments {
    /// Handle of the user.
    pub user: String,
    /// Name of the organization to move to.
    #[arg(long, group = "where", value_name = "NAME")]
    pub to: Option<String>,
    /// Move to an organization of the user's own: the one created for them, or a new one if that has other
    /// members.
    #[arg(long, group = "where")]
    pub own: bool,
    /// Role in that organization.
    #[arg(long, value_enum, default_value = "member", conflicts_with = "own")]
    pub role: RoleArgument,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}
