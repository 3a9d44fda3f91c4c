//! `parlance org …`

mod arguments;
mod budgets;

pub(crate) use arguments::{OrgCommand, RoleArgument};

use std::sync::Arc;
use std::time::Duration;

use domain::account::{AccountService, normalize_handle, parse_email};
use domain::chat::ChatService;
use domain::id::{ParticipantId, UserId};
use domain::message::{MaxHops, MaxPairMessages};
use domain::organization::{
    AcceptError, Authority, CreateOrganizationError, DeleteOrganizationError, EnterError, Invitation,
    InvitationStatus, Invite, LeaveError, Member, OrganizationChanges, OrganizationService, PauseReason,
    RenameError, SetRoleError,
};
use domain::page::{Page, PageRequest, Position, Slice};
use domain::plan::{Organization, OrganizationName, PlanName, WhichOrganization};
use http_wire::public_url::PublicUrl;
use serde_json::{Value, json};

use crate::cli::TableArguments;
use crate::commands::{hold, plan, user};
use crate::config::Config;
use crate::failure::Failure;
use crate::nearest::{self, nearest};
use crate::output::{List, Rows, Times, count, exact, print};
use crate::store::{self, Store};
use crate::wiring;
use arguments::{
    CreateOrgArguments, DeleteOrgArguments, InviteArguments, MembersArguments, MoveArguments,
    PauseOrgArguments, RenameOrgArguments, ResumeOrgArguments, SetForeignArguments, SetMaxHopsArguments,
    SetMaxPairMessagesArguments, SetRoleArguments, ShowOrgArguments,
};

/// The next step for an unknown name.
const NAMES: &str = "list organizations with `parlance org list`";

/// The next step for an unknown plan.
const PLANS: &str = "list plans with `parlance plan list`";

/// The reason why the last admin cannot leave.
const LAST_ADMIN: &str = "the organization would have no admin. Make another member an admin first: `parlance org \
 set-role USER admin`.";

/// The dependencies of a command.
struct Desk {
    store: Arc<dyn Store>,
    organizations: OrganizationService,
    accounts: AccountService,
    chats: ChatService,
    public_url: Option<PublicUrl>,
    default_plan: PlanName,
}

/// Runs the command on the configured store, and prints the result.
pub(crate) async fn run(config: &Config, command: OrgCommand) -> Result<(), Failure> {
    store::with(config, async |opened| {
        let desk = Desk {
            store: opened.clone(),
            organizations: wiring::organizations(config, opened.clone()),
            accounts: wiring::accounts(opened.clone()),
            chats: wiring::chats(opened.clone()),
            public_url: config.public_url.clone(),
            default_plan: config.default_plan.clone(),
        };
        let said = match &command {
            OrgCommand::List(arguments) => {
                return plan::organizations(&wiring::plans(opened.clone()), arguments).await;
            }
            OrgCommand::Members(arguments) => return list_members(&desk, arguments).await,
            OrgCommand::Show(arguments) => return show(&desk, arguments).await,
            OrgCommand::Create(arguments) => create(&desk, arguments).await,
            OrgCommand::Rename(arguments) => rename(&desk, arguments).await,
            OrgCommand::Pause(arguments) => pause(&desk, arguments).await,
            OrgCommand::Resume(arguments) => resume(&desk, arguments).await,
            OrgCommand::SetMaxHops(SetMaxHopsArguments { name, max_hops, json }) => {
                let max_hops = Some(limit(max_hops, "hops", MaxHops::MAX, MaxHops::new)?);
                let changes = OrganizationChanges { max_hops, ..OrganizationChanges::default() };
                change(&desk, name, changes, *json).await
            }
            OrgCommand::SetMaxPairMessages(arguments) => {
                let SetMaxPairMessagesArguments { name, max_pair_messages, json } = arguments;
                let (wished, max) = (max_pair_messages, MaxPairMessages::MAX);
                let max_pair_messages = Some(limit(wished, "pair-messages", max, MaxPairMessages::new)?);
                let changes = OrganizationChanges { max_pair_messages, ..OrganizationChanges::default() };
                change(&desk, name, changes, *json).await
            }
            OrgCommand::SetForeign(SetForeignArguments { name, policy, json }) => {
                let foreign = Some((*policy).into());
                let changes = OrganizationChanges { foreign, ..OrganizationChanges::default() };
                change(&desk, name, changes, *json).await
            }
            OrgCommand::Budgets(arguments) => budgets::show(&desk, arguments).await,
            OrgCommand::SetBudget(arguments) => budgets::set(&desk, arguments).await,
            OrgCommand::Delete(arguments) => delete(&desk, arguments).await,
            OrgCommand::Invite(arguments) => invite(&desk, arguments).await,
            OrgCommand::SetRole(arguments) => set_role(&desk, arguments).await,
            OrgCommand::Move(arguments) => move_user(&desk, arguments).await,
        };
        print(&said?)
    })
    .await
}

async fn create(desk: &Desk, arguments: &CreateOrgArguments) -> Result<String, Failure> {
    let wished = name(&arguments.name)?;
    let plan = arguments.plan.as_deref().map(PlanName::new).transpose();
    let plan = plan.map_err(|fault| Failure::plain(format!("--plan: {fault}")).next(PLANS))?;
    match desk.organizations.create(wished, plan).await {
        Ok(made) => Ok(rendered(&made, arguments.json)),
        Err(CreateOrganizationError::NameTaken) => Err(name_taken(&arguments.name)),
        Err(CreateOrganizationError::NoSuchPlan) => {
            let plan = arguments.plan.as_deref().unwrap_or(desk.default_plan.as_str());
            Err(plan::unknown(&desk.store, plan).await)
        }
        Err(cause) => Err(Failure::new("the organization was not created", cause)),
    }
}

async fn show(desk: &Desk, arguments: &ShowOrgArguments) -> Result<(), Failure> {
    let organization = named(&desk.organizations, &desk.store, &arguments.name).await?;
    let by = Authority::Operator(organization.id);
    let members = members(desk, &organization).await?;
    let invitations = all(async |page| desk.organizations.list_invitations(by, page).await).await;
    let mut open = invitations.map_err(|cause| Failure::new("cannot read the invitations", cause))?;
    let now = desk.organizations.now();
    open.retain(|invitation| invitation.status(now) == InvitationStatus::Open);
    if arguments.print.json {
        let members = members.iter().map(member_as_json).collect::<Vec<_>>();
        let open = open.iter().map(invitation_as_json).collect::<Vec<_>>();
        let organization = plan::organization_as_json(&organization);
        let all = json!({"organization": organization, "members": members, "open_invitations": open});
        return print(&all.to_string());
    }
    print(&format!("{}\n", plan::organization_as_text(&organization)))?;
    print_members(&members, &arguments.print)?;
    print("")?;
    let kind = List {
        name: None,
        headings: &["INVITATION", "ROLE", "EXPIRES", "FOR"],
        empty: "No open invitations.",
    };
    let mut rows = Rows::begin(kind, &arguments.print)?;
    for invitation in &open {
        let Invitation { id, role, email, expires_at, .. } = invitation;
        let email = email.as_deref().unwrap_or("anyone with the token").to_owned();
        let cells =
            |times: &Times| vec![id.to_string(), role.as_str().to_owned(), times.text(*expires_at), email];
        rows.row(|| invitation_as_json(invitation), cells)?;
    }
    rows.end()
}

async fn rename(desk: &Desk, arguments: &RenameOrgArguments) -> Result<String, Failure> {
    let wished = name(&arguments.new_name)?;
    let organization = named(&desk.organizations, &desk.store, &arguments.name).await?;
    match desk.organizations.rename(Authority::Operator(organization.id), wished).await {
        Ok(renamed) => Ok(rendered(&renamed, arguments.json)),
        Err(RenameError::NameTaken) => Err(name_taken(&arguments.new_name)),
        Err(cause) => Err(Failure::new("the organization was not renamed", cause)),
    }
}

/// A limit as it is written; the command is `set-max-` and `what`.
fn limit<L>(wished: &str, what: &str, max: u32, new: fn(u32) -> Option<L>) -> Result<Option<L>, Failure> {
    let number = match wished.trim() {
        "default" => return Ok(None),
        number => number,
    };
    let limit = number.parse().ok().and_then(new).ok_or_else(|| {
        let said = format!("'{number}' is neither a number from 0 to {max} nor `default`");
        Failure::plain(said).next(&format!("see `parlance org set-max-{what} --help`"))
    });
    limit.map(Some)
}

async fn change(
    desk: &Desk,
    name: &str,
    changes: OrganizationChanges,
    json: bool,
) -> Result<String, Failure> {
    let organization = named(&desk.organizations, &desk.store, name).await?;
    let stored = desk.organizations.rename(Authority::Operator(organization.id), changes).await;
    let stored = stored.map_err(|cause| Failure::new("the limit was not changed", cause))?;
    Ok(rendered(&stored, json))
}

async fn pause(desk: &Desk, arguments: &PauseOrgArguments) -> Result<String, Failure> {
    let reason = PauseReason::new(arguments.reason.clone());
    let reason = reason.map_err(|fault| {
        Failure::plain(format!("--reason: {fault}")).next("see `parlance org pause --help`")
    })?;
    let organization = named(&desk.organizations, &desk.store, &arguments.name).await?;
    let paused = desk.organizations.pause(Authority::Operator(organization.id), reason).await;
    let paused = paused.map_err(|cause| Failure::new("the organization was not paused", cause))?;
    Ok(rendered(&paused, arguments.json))
}

async fn resume(desk: &Desk, arguments: &ResumeOrgArguments) -> Result<String, Failure> {
    let organization = named(&desk.organizations, &desk.store, &arguments.name).await?;
    let resumed = desk.organizations.resume(Authority::Operator(organization.id)).await;
    let resumed = resumed.map_err(|cause| Failure::new("the organization was not resumed", cause))?;
    Ok(rendered(&resumed, arguments.json))
}

async fn delete(desk: &Desk, arguments: &DeleteOrgArguments) -> Result<String, Failure> {
    let organization = named(&desk.organizations, &desk.store, &arguments.name).await?;
    let deleted = desk.organizations.delete(&desk.chats, organization.id, arguments.force).await;
    let deleted = deleted.map_err(|error| {
        let because = |has: String| Failure::plain(format!("the organization was not deleted, because it has {has}"));
        match error {
            DeleteOrganizationError::HasMembers(members) => because(count(members, "member")).next(
                "move its members with `parlance org move`, or delete them with `parlance user delete`. `parlance org \
                 members` lists them",
            ),
            DeleteOrganizationError::HasChats(chats) => because(count(chats, "chat"))
                .next("delete its chats as well with --force. `parlance chat list --org` lists them"),
            DeleteOrganizationError::UnderHold(_) => {
                Failure::new("the organization was not deleted", error).next(hold::HOLDS)
            }
            DeleteOrganizationError::NotFound => {
                Failure::new("the organization was not deleted", error).next(NAMES)
            }
            DeleteOrganizationError::Store(_) => {
                Failure::new("the organization was not deleted", error).next(store::NEXT)
            }
        }
    })?;
    let (organization, chats) = (&deleted.organization, deleted.chats);
    Ok(if arguments.json {
        json!({"organization": plan::organization_as_json(organization), "chats": chats}).to_string()
    } else {
        format!("Deleted the organization '{}' with {}.", organization.name, count(chats, "chat"))
    })
}

async fn list_members(desk: &Desk, arguments: &MembersArguments) -> Result<(), Failure> {
    let members = members(desk, &named(&desk.organizations, &desk.store, &arguments.name).await?).await?;
    print_members(&members, &arguments.print)
}

fn print_members(members: &[Member], how: &TableArguments) -> Result<(), Failure> {
    let kind = List {
        name: Some("members"),
        headings: &["HANDLE", "NAME", "ROLE", "CREATED"],
        empty: "No members. Move a user here with `parlance org move`, or invite one with `parlance org invite`.",
    };
    let mut rows = Rows::begin(kind, how)?;
    for member in members {
        let cells = |times: &Times| {
            let Member { handle, name, role, created_at, .. } = member;
            vec![handle.to_string(), name.clone(), role.as_str().to_owned(), times.text(*created_at)]
        };
        rows.row(|| member_as_json(member), cells)?;
    }
    rows.end()
}

async fn invite(desk: &Desk, arguments: &InviteArguments) -> Result<String, Failure> {
    let email = arguments.email.as_deref().map(parse_email).transpose();
    let email = email.map_err(|fault| {
        Failure::plain(format!("--email: {fault}")).next("see `parlance org invite --help`")
    })?;
    let organization = named(&desk.organizations, &desk.store, &arguments.name).await?;
    let day = Duration::from_secs(24 * 60 * 60);
    let expires_at = Some(desk.organizations.now().plus(day * arguments.days));
    let command = Invite { role: arguments.role.into(), email, expires_at };
    let invited = desk.organizations.invite(Authority::Operator(organization.id), command).await;
    let invited = invited.map_err(|cause| Failure::new("the invitation was not created", cause))?;
    let token = invited.token.reveal();
    let link = desk.public_url.as_ref().map(|url| url.invitation(token));
    if arguments.json {
        let invitation = invitation_as_json(&invited.invitation);
        return Ok(json!({"invitation": invitation, "token": token, "link": link}).to_string());
    }
    let what = if link.is_some() { "link, with the token after #" } else { "token" };
    Ok(format!(
        "Invitation to '{}', valid until {}.\nThis is its {what}; it is not shown again:\n\n    {}\n",
        organization.name,
        exact(invited.invitation.expires_at),
        link.as_deref().unwrap_or(token)
    ))
}

async fn set_role(desk: &Desk, arguments: &SetRoleArguments) -> Result<String, Failure> {
    let (user, organization) = of_user(desk, &arguments.user).await?;
    let by = Authority::Operator(organization.id);
    match desk.organizations.set_role(by, user, arguments.role.into()).await {
        Ok(member) if arguments.json => Ok(json!({ "member": member_as_json(&member) }).to_string()),
        Ok(member) => Ok(format!("{}: {}", organization.name, member_as_text(&member))),
        Err(SetRoleError::LastAdmin(_)) => Err(Failure::plain(LAST_ADMIN)),
        Err(cause) => Err(Failure::new("the role was not changed", cause)),
    }
}

async fn move_user(desk: &Desk, arguments: &MoveArguments) -> Result<String, Failure> {
    let (user, from) = of_user(desk, &arguments.user).await?;
    let moved = match &arguments.to {
        Some(name) => {
            let to = named(&desk.organizations, &desk.store, name).await?.id;
            desk.organizations.move_user(user, to, arguments.role.into()).await.map_err(not_entered)
        }
        None => desk.organizations.remove(Authority::Operator(from.id), user).await.map_err(not_departed),
    };
    let user = moved?.user;
    let to = desk.organizations.find(WhichOrganization::OfUser(user.handle.as_str().to_owned())).await;
    let Some(to) = to.map_err(unread)? else {
        return Err(user::unknown(&desk.store, &arguments.user).await);
    };
    if arguments.json {
        let user = json!({
            "id": user.id.to_string(),
            "handle": user.handle.as_str(),
            "role": user.organization_role.as_str(),
        });
        let (from, to) = (plan::organization_as_json(&from), plan::organization_as_json(&to));
        return Ok(json!({"user": user, "from": from["name"], "organization": to}).to_string());
    }
    Ok(format!(
        "{} was moved from '{}' to '{}' as {}",
        user.handle,
        from.name,
        to.name,
        user.organization_role.as_str()
    ))
}

fn not_entered(error: AcceptError) -> Failure {
    match error {
        AcceptError::Enter(EnterError::LastAdmin(_)) => Failure::plain(LAST_ADMIN),
        AcceptError::Enter(EnterError::AlreadyThere) => {
            Failure::plain("the user is already in this organization")
                .next("change the role with `parlance org set-role`")
        }
        AcceptError::Enter(EnterError::Limit(reached)) => Failure::plain(format!(
            "the user's agents do not fit: {reached} in the organization, which has {}",
            reached.current
        ))
        .next("assign a larger plan with `parlance plan set`, or have the user delete some agents"),
        cause => Failure::new("the user was not moved", cause),
    }
}

fn not_departed(error: LeaveError) -> Failure {
    match error {
        LeaveError::LastAdmin(_) => Failure::plain(LAST_ADMIN),
        LeaveError::Alone => {
            Failure::plain("the user is already alone in an organization of their own").next(NAMES)
        }
        cause => Failure::new("the user was not moved", cause),
    }
}

/// Finds the user with this handle, with the current organization.
async fn of_user(desk: &Desk, handle: &str) -> Result<(UserId, Organization), Failure> {
    let stored = normalize_handle(handle);
    let found = desk.accounts.find_holder(&stored).await.map_err(unread)?;
    if let Some(ParticipantId::User(user)) = found
        && let Some(organization) =
            desk.organizations.find(WhichOrganization::OfUser(stored)).await.map_err(unread)?
    {
        return Ok((user, organization));
    }
    Err(user::unknown(&desk.store, handle).await)
}

/// Finds the organization with this name.
pub(crate) async fn named(
    organizations: &OrganizationService,
    store: &Arc<dyn Store>,
    name: &str,
) -> Result<Organization, Failure> {
    let found = organizations.find(WhichOrganization::Named(name.trim().to_owned())).await;
    match found.map_err(unread)? {
        Some(organization) => Ok(organization),
        None => Err(unknown(store, name).await),
    }
}

/// The failure for an unknown name of an organization.
pub(crate) async fn unknown(store: &Arc<dyn Store>, name: &str) -> Failure {
    let names = nearest::organizations(store).await;
    let meant = nearest(name.trim(), names.iter().map(String::as_str));
    let next = "list organizations with `parlance org list`, or create one with `parlance org create`";
    Failure::unknown(format!("no organization has the name '{name}'"), meant, next)
}

async fn members(desk: &Desk, organization: &Organization) -> Result<Vec<Member>, Failure> {
    let members = all(async |page| desk.organizations.list_members(organization.id, page).await).await;
    members.map_err(|cause| Failure::new("cannot read the members", cause))
}

/// Reads all pages of a list.
async fn all<T, E>(page: impl AsyncFn(PageRequest) -> Result<Page<T>, E>) -> Result<Vec<T>, E> {
    let (mut rows, mut after) = (Vec::new(), None::<Position>);
    loop {
        let part = page(PageRequest { slice: Slice::After { after, limit: 100 }, count: false }).await?;
        rows.extend(part.rows);
        after = part.next;
        if after.is_none() {
            return Ok(rows);
        }
    }
}

fn name(text: &str) -> Result<OrganizationName, Failure> {
    OrganizationName::new(text)
        .map_err(|fault| Failure::plain(format!("'{text}': an organization's name {fault}")).next(NAMES))
}

fn name_taken(name: &str) -> Failure {
    Failure::plain(format!("another organization has the name '{name}'")).next(NAMES)
}

fn unread(cause: domain::store::StoreError) -> Failure {
    Failure::new("cannot read the organizations", cause).next(store::NEXT)
}

fn rendered(organization: &Organization, as_json: bool) -> String {
    if as_json {
        return json!({ "organization": plan::organization_as_json(organization) }).to_string();
    }
    plan::organization_as_text(organization)
}

fn member_as_json(member: &Member) -> Value {
    json!({
        "id": member.id.to_string(),
        "handle": member.handle.as_str(),
        "name": member.name,
        "role": member.role.as_str(),
        "inserted_at": member.created_at.to_string(),
    })
}

fn member_as_text(member: &Member) -> String {
    format!("{} ({}): {}", member.handle, member.name, member.role.as_str())
}

fn invitation_as_json(invitation: &Invitation) -> Value {
    json!({
        "id": invitation.id.to_string(),
        "role": invitation.role.as_str(),
        "email": invitation.email,
        "created_by": invitation.created_by.map(|user| user.to_string()),
        "inserted_at": invitation.created_at.to_string(),
        "expires_at": invitation.expires_at.to_string(),
    })
}
