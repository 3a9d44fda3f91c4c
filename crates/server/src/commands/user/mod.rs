//! `parlance user …`

mod arguments;
mod identity;
mod second_factor;

pub(crate) use arguments::UserCommand;

use std::fmt::Display;
use std::sync::Arc;

use domain::account::{
    AgentListing, Belongings, CreateUser, CreateUserError, CreatedUser, DeleteUserError, InitialOrganization,
    SetDisabledOutcome, User, UserHandle, UserRole, normalize_handle, parse_email, parse_person_name,
};
use domain::caller::UserCaller;
use domain::id::{ParticipantId, UserId};
use domain::login::{IssueResetError, IssuedReset};
use domain::page::{PageRequest, Slice};
use domain::plan::{Organization, OrganizationName, PlanName, WhichOrganization};
use domain::text::TextFault;
use serde_json::{Value, json};

use crate::commands::{hold, plan};
use crate::config::Config;
use crate::failure::Failure;
use crate::nearest::{self, nearest};
use crate::output::{List, Rows, Times, count, exact, print};
use crate::store::{self, Store};
use crate::wiring;
use arguments::{
    CreateUserArguments, DeleteUserArguments, EraseUserArguments, ListUsersArguments, ResetPasswordArguments,
    UserArguments,
};

/// The number of rows that are read, and held in memory, at a time.
pub(crate) const AT_ONCE: u32 = 500;

/// Printed for a store without users.
const NO_USERS: &str = "No users. Create one with `parlance user create`.";

/// A page for counting: one row, and the total.
const COUNT: PageRequest = PageRequest { slice: Slice::Numbered { number: 1, size: 1 }, count: true };

/// Runs the command on the configured store, and prints the result.
pub(crate) async fn run(config: &Config, command: UserCommand) -> Result<(), Failure> {
    match command {
        UserCommand::Create(arguments) => create(config, arguments).await,
        UserCommand::ResetPassword(arguments) => reset_password(config, arguments).await,
        UserCommand::LoginLink(arguments) => identity::login_link(config, &arguments).await,
        UserCommand::RemoveSecondFactor(arguments) => second_factor::remove(config, &arguments).await,
        UserCommand::Link(arguments) => identity::link(config, &arguments).await,
        UserCommand::Unlink(arguments) => identity::unlink(config, &arguments).await,
        UserCommand::List(arguments) => {
            store::with(config, async |store| list(store, &arguments).await).await
        }
        UserCommand::Show(arguments) => {
            store::with(config, async |store| show(store, &arguments).await).await
        }
        UserCommand::Disable(arguments) => {
            store::with(config, async |store| set_disabled(store, &arguments, true).await).await
        }
        UserCommand::Enable(arguments) => {
            store::with(config, async |store| set_disabled(store, &arguments, false).await).await
        }
        UserCommand::Erase(arguments) => {
            store::with(config, async |store| erase(store, &arguments).await).await
        }
        UserCommand::Delete(arguments) => {
            store::with(config, async |store| delete(store, &arguments).await).await
        }
    }
}

async fn create(config: &Config, arguments: CreateUserArguments) -> Result<(), Failure> {
    let command = CreateUser {
        handle: UserHandle::of_new_user(&arguments.handle).map_err(|fault| wrong("handle", fault))?,
        email: parse_email(&arguments.email).map_err(|fault| wrong("email", fault))?,
        name: parse_person_name(&arguments.name).map_err(|fault| wrong("name", fault))?,
        initial_organization: match &arguments.org {
            None => InitialOrganization::Own,
            Some(name) => {
                let name = OrganizationName::new(name).map_err(|fault| wrong("org", fault))?;
                InitialOrganization::Named(name, arguments.role.into())
            }
        },
        plan: match &arguments.plan {
            None => config.default_plan.clone(),
            Some(name) => PlanName::new(name).map_err(|fault| wrong("plan", fault))?,
        },
    };
    let created = store::with(config, async |store| {
        let accounts = wiring::accounts(store.clone()).with_key_days(config.key_ttl_days);
        let (wanted, handle) = (command.plan.clone(), command.handle.clone());
        let mut new_organization = None;
        if let InitialOrganization::Named(name, _) = &command.initial_organization {
            let which = WhichOrganization::Named(name.as_str().to_owned());
            match (named_organization(store, which).await?, &arguments.plan) {
                (None, _) => new_organization = Some(name.as_str().to_owned()),
                (Some(found), Some(_)) => {
                    let what = format!(
                        "the organization '{}' already exists, and --plan is for a new one",
                        found.name
                    );
                    return Err(Failure::plain(what).next("change its plan with `parlance plan set`"));
                }
                (Some(_), None) => {}
            }
        }
        let role = if arguments.operator { UserRole::Admin } else { UserRole::User };
        let created = accounts.create_user_as(role, command).await;
        match created {
            Err(CreateUserError::NoSuchPlan) => return Err(plan::unknown(store, wanted.as_str()).await),
            // Only a deleted user has a handle without being found.
            Err(CreateUserError::HandleTaken)
                if matches!(store.find_user_by_handle(&handle).await, Ok(None)) =>
            {
                return Err(Failure::plain(format!(
                    "the user was not created: a new user needs another handle, because '{handle}' stays reserved"
                ))
                .next("it belonged to a deleted user"));
            }
            _ => {}
        }
        let created = created.map_err(|error| {
            let next = match error {
                CreateUserError::HandleTaken | CreateUserError::EmailTaken => {
                    "list users with `parlance user list`"
                }
                CreateUserError::Invitation(_) => "see `parlance org --help`",
                CreateUserError::NoSuchPlan => "list plans with `parlance plan list`",
                CreateUserError::Store(_) => store::NEXT,
            };
            Failure::new("the user was not created", error).next(next)
        })?;
        Ok((created, new_organization))
    });
    let (created, organization) = created.await?;
    print(&if arguments.json {
        created_as_json(&created)
    } else {
        created_as_text(&created, organization.as_deref())
    })
}

/// Prints a token with which a user can set a password.
async fn reset_password(config: &Config, arguments: ResetPasswordArguments) -> Result<(), Failure> {
    let issued = store::with(config, async |store| {
        let user = find(store, &arguments.handle).await?;
        let issued = identity::logins(config, store.clone())?.issue_reset(&user.handle).await;
        issued.map_err(|cause| {
            let next = match cause {
                IssueResetError::PasswordsOff(_) => "let the user in with `parlance user login-link`",
                IssueResetError::NoSuchUser | IssueResetError::Store(_) => store::NEXT,
            };
            Failure::new("the reset token was not issued", cause).next(next)
        })
    });
    print_reset(&issued.await?, arguments.json)
}

fn print_reset(issued: &IssuedReset, as_json: bool) -> Result<(), Failure> {
    print(&if as_json {
        let user = json!({ "id": issued.user.id.to_string(), "handle": issued.user.handle.as_str() });
        let expires_at = issued.expires_at.to_string();
        json!({ "user": user, "reset_token": issued.token, "expires_at": expires_at }).to_string()
    } else {
        format!(
            "With this token, '{}' can set a password once, until {}:\n\n    {}\n",
            issued.user.handle,
            exact(issued.expires_at),
            issued.token
        )
    })
}

fn wrong(flag: &str, fault: TextFault) -> Failure {
    Failure::plain(format!("--{flag}: {fault}")).next("see `parlance user create --help`")
}

fn created_as_json(created: &CreatedUser) -> String {
    json!({ "user": as_json(&created.user), "api_key": created.key.reveal() }).to_string()
}

/// `organization` is the name of the organization that was created with the user.
fn created_as_text(created: &CreatedUser, organization: Option<&str>) -> String {
    let organization = organization.map(|name| format!(" and the organization '{name}'")).unwrap_or_default();
    format!(
        "Created the user '{}'{organization}. This is the user's API key; it is not shown again:\n\n    {}\n",
        created.user.handle,
        created.key.reveal()
    )
}

async fn list(store: &Arc<dyn Store>, arguments: &ListUsersArguments) -> Result<(), Failure> {
    let users = wiring::administration(store.clone());
    let kind = List {
        name: Some("users"),
        headings: &["HANDLE", "NAME", "EMAIL", "CREATED", "DISABLED"],
        empty: if arguments.disabled { "No user is disabled." } else { NO_USERS },
    };
    let mut rows = Rows::begin(kind, &arguments.print)?;
    let mut after = None;
    loop {
        let part = users.users_after(after, AT_ONCE).await;
        let part = part.map_err(|cause| Failure::new("cannot read the users", cause).next(store::NEXT))?;
        let Some(last) = part.last() else { return rows.end() };
        after = Some(last.handle.clone());
        for user in part.iter().filter(|user| !arguments.disabled || user.disabled_at.is_some()) {
            rows.row(|| as_json(user), |times| as_cells(user, times))?;
        }
    }
}

async fn show(store: &Arc<dyn Store>, arguments: &UserArguments) -> Result<(), Failure> {
    let accounts = wiring::accounts(store.clone());
    let user = find(store, &arguments.handle).await?;
    let unread = |cause| Failure::new("cannot read the user", cause).next(store::NEXT);
    let caller = UserCaller { user: user.id, organization: user.organization };
    let agents = accounts.list_agents(caller, AgentListing::default(), COUNT).await.map_err(unread)?;
    let keys = accounts.list_keys(ParticipantId::User(user.id), COUNT).await.map_err(unread)?;
    let (agents, keys) = (agents.total.unwrap_or(0), keys.total.unwrap_or(0));
    let identities = store.list_identities(user.id).await.map_err(unread)?;
    let second_factor = second_factor::since(store, user.id).await.map_err(unread)?;
    let passkeys = store.list_passkeys(user.id).await.map_err(unread)?;
    if !arguments.print.json {
        let user = as_text(&user, &Times::of(&arguments.print));
        let linked = identities.iter().map(|linked| {
            let identity = &linked.identity;
            format!("; linked to '{}' at {}", identity.subject(), identity.issuer())
        });
        let linked = linked.collect::<String>();
        let (agents, keys) = (count(agents, "agent"), count(keys, "API key"));
        let second_factor = if second_factor.is_some() { "; second factor on" } else { "" };
        let passkeys = match u64::try_from(passkeys.len()) {
            Ok(some @ 1..) => format!("; {}", count(some, "passkey")),
            _ => String::new(),
        };
        return print(&format!("{user}; {agents}, {keys}{linked}{second_factor}{passkeys}"));
    }
    let mut shown = as_json(&user);
    shown["agents"] = agents.into();
    shown["api_keys"] = keys.into();
    shown["identities"] = identities.iter().map(|linked| identity::as_json(&linked.identity)).collect();
    shown["second_factor_enabled_at"] = second_factor.map(|at| at.to_string()).into();
    shown["passkeys"] = passkeys.iter().map(second_factor::passkey_as_json).collect();
    print(&json!({ "user": shown }).to_string())
}

async fn set_disabled(
    store: &Arc<dyn Store>,
    arguments: &UserArguments,
    disabled: bool,
) -> Result<(), Failure> {
    let user = find(store, &arguments.handle).await?;
    let done =
        wiring::administration(store.clone()).set_disabled(ParticipantId::User(user.id), disabled).await;
    let done = done.map_err(|cause| Failure::new("the user was not changed", cause).next(store::NEXT))?;
    let user = find(store, &arguments.handle).await?;
    let changed = done == SetDisabledOutcome::Done;
    print(&if arguments.print.json {
        json!({ "user": as_json(&user), "changed": changed }).to_string()
    } else {
        let as_before = if changed { "" } else { " (as before)" };
        format!("{}{as_before}", as_text(&user, &Times::of(&arguments.print)))
    })
}

async fn delete(store: &Arc<dyn Store>, arguments: &DeleteUserArguments) -> Result<(), Failure> {
    let user = find(store, &arguments.handle).await?;
    let (users, accounts) = (wiring::administration(store.clone()), wiring::accounts(store.clone()));
    let organization = named_organization(store, WhichOrganization::OfUser(user.handle.to_string())).await?;
    let organization = organization.map(|organization| organization.name).unwrap_or_default();
    let because = |why: String| Failure::plain(format!("the user was not deleted, because {why}"));
    let deleted = users.delete_user(&accounts, user.id, arguments.force).await;
    let deleted = deleted.map_err(|error| match error {
        DeleteUserError::NotFound => missing(&user.handle, None),
        DeleteUserError::LastAdmin(_) => {
            because(format!("'{}' is the last admin of the organization '{organization}'", user.handle))
                .next("make another member an admin first with `parlance org set-role`")
        }
        DeleteUserError::UnderHold(_) => Failure::new("the user was not deleted", error).next(hold::HOLDS),
        DeleteUserError::InUse(belongings) => {
            let (why, next) = in_use(&user.handle, belongings);
            because(why).next(&next)
        }
        DeleteUserError::Store(_) => Failure::new("the user was not deleted", error).next(store::NEXT),
    })?;
    let Belongings { agents, chats } = deleted.with;
    print(&if arguments.json {
        json!({ "user": as_json(&deleted.user), "agents": agents, "chats": chats }).to_string()
    } else {
        let (agents, chats) = (count(agents, "agent"), count(chats, "chat"));
        format!("Deleted the user '{}' with {agents}; the user was in {chats}.", user.handle)
    })
}

/// Erases the texts of a user, who may be deleted: then the id names the user.
async fn erase(store: &Arc<dyn Store>, arguments: &EraseUserArguments) -> Result<(), Failure> {
    let user = match UserId::parse(arguments.user.trim()) {
        Some(id) => id,
        None => find(store, &arguments.user).await?.id,
    };
    let erased = wiring::messages(store.clone()).erase_texts(user).await;
    let erased = erased.map_err(|cause| {
        Failure::new("not every text was erased", cause)
            .next("run the command again: it goes on where it stopped")
    })?;
    let held = erased.held.iter().map(ToString::to_string).collect::<Vec<_>>();
    print(&if arguments.json {
        json!({ "erased": erased.erased, "held": held }).to_string()
    } else {
        format!("Erased {}.", count(erased.erased, "text"))
    })?;
    if held.is_empty() {
        return Ok(());
    }
    let what = format!("texts under a legal hold were kept, in {}", held.join(", "));
    Err(Failure::plain(what).next("erase them when the hold is released: see `parlance hold list`"))
}

/// The reason why a user is not deleted without `--force`, and the next step.
fn in_use(handle: &UserHandle, Belongings { agents, chats }: Belongings) -> (String, String) {
    let has = (agents > 0).then(|| format!("has {}", count(agents, "agent")));
    let is_in = (chats > 0).then(|| format!("is in {}", count(chats, "chat")));
    let is_used = has.into_iter().chain(is_in).collect::<Vec<_>>().join(" and ");
    let what = if agents > 0 { "the user and the agents" } else { "the user" };
    let next =
        format!("delete {what} with --force, or lock the user out temporarily with `parlance user disable`");
    (format!("'{handle}' {is_used}"), next)
}

/// The organization that the arguments name, if they name one.
async fn named_organization(
    store: &Arc<dyn Store>,
    which: WhichOrganization,
) -> Result<Option<Organization>, Failure> {
    let found = store.find_organization(which).await;
    found.map_err(|cause| Failure::new("cannot read the organizations", cause).next(store::NEXT))
}

/// Finds the user with this handle.
pub(crate) async fn find(store: &Arc<dyn Store>, handle: &str) -> Result<User, Failure> {
    let handle = normalize_handle(handle);
    let found = store.find_user_by_handle(&UserHandle::from_stored(handle.clone())).await;
    let found = found.map_err(|cause| Failure::new("cannot look for the user", cause).next(store::NEXT))?;
    match found {
        Some(user) => Ok(user),
        None => Err(unknown(store, &handle).await),
    }
}

/// Returns whether the store has no users.
pub(crate) async fn has_no_users(store: &Arc<dyn Store>) -> bool {
    let users = wiring::administration(store.clone()).users_after(None, 1).await;
    users.is_ok_and(|users| users.is_empty())
}

/// The failure to find a user in a store without users.
pub(crate) fn no_users() -> Failure {
    Failure::plain("this store has no users").next("create one with `parlance user create`")
}

/// The failure for an unknown handle of a user.
pub(crate) async fn unknown(store: &Arc<dyn Store>, handle: &str) -> Failure {
    if has_no_users(store).await {
        return no_users();
    }
    let users = nearest::users(store).await;
    missing(handle, nearest(handle, users.iter().map(String::as_str)))
}

fn missing(handle: impl Display, meant: Option<&str>) -> Failure {
    let what = format!("no user has the handle '{handle}'");
    Failure::unknown(what, meant, "list users with `parlance user list`")
}

fn as_json(user: &User) -> Value {
    json!({
        "id": user.id.to_string(),
        "handle": user.handle.as_str(),
        "organization_id": user.organization.to_string(),
        "organization_role": user.organization_role.as_str(),
        "email": user.email,
        "first_name": user.name.first,
        "last_name": user.name.last,
        "role": user.role.as_str(),
        "inserted_at": user.created_at.to_string(),
        "disabled_at": user.disabled_at.map(|at| at.to_string()),
    })
}

fn as_cells(user: &User, times: &Times) -> Vec<String> {
    vec![
        user.handle.to_string(),
        user.name.full(),
        user.email.clone(),
        times.text(user.created_at),
        times.or_hyphen(user.disabled_at),
    ]
}

fn as_text(user: &User, times: &Times) -> String {
    let disabled = user.disabled_at.map(|at| format!(", disabled {}", times.text(at))).unwrap_or_default();
    let created = times.text(user.created_at);
    format!("{}: {} <{}>, created {created}{disabled}", user.handle, user.name.full(), user.email)
}
