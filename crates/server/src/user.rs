//! `parlance user …`

use std::io::Write;
use std::sync::Arc;

use domain::account::{CreateUser, CreatedUser, Membership, UserHandle, parse_email, parse_person_name};
use domain::organization::OrganizationRole;
use domain::plan::{OrganizationName, PlanName};
use domain::text::TextFault;
use serde_json::json;

use crate::cli::{CreateUserArguments, ResetPasswordArguments};
use crate::config::Config;
use crate::failure::Failure;
use crate::ports::NobodyListens;
use crate::store;
use crate::wiring;

/// Creates a user and prints its key.
pub(crate) async fn create(config: &Config, arguments: CreateUserArguments) -> Result<(), Failure> {
    config.refuse_memory()?;
    let command = CreateUser {
        handle: UserHandle::new(&arguments.handle).map_err(|fault| wrong("handle", fault))?,
        email: parse_email(&arguments.email).map_err(|fault| wrong("email", fault))?,
        name: parse_person_name(&arguments.name).map_err(|fault| wrong("name", fault))?,
        membership: match &arguments.org {
            None => Membership::Own,
            Some(name) => {
                let name = OrganizationName::new(name).map_err(|fault| wrong("org", fault))?;
                Membership::Named(name, OrganizationRole::Member)
            }
        },
        plan: match &arguments.plan {
            None => config.default_plan.clone(),
            Some(name) => PlanName::new(name).map_err(|fault| wrong("plan", fault))?,
        },
    };
    let opened = store::open(config).await?;
    let created = wiring::accounts(opened.clone()).create_user(command).await;
    opened.close();
    let created = created.map_err(|cause| Failure::new("the user was not created", cause))?;
    let text = if arguments.json { as_json(&created) } else { as_text(&created) };
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}").map_err(|cause| Failure::new("cannot print the user's key", cause))
}

/// Prints a token with which a user may set a password.
pub(crate) async fn reset_password(
    config: &Config,
    arguments: ResetPasswordArguments,
) -> Result<(), Failure> {
    config.refuse_memory()?;
    let handle = UserHandle::new(&arguments.handle);
    let handle = handle.map_err(|fault| Failure::plain(format!("'{}': {fault}", arguments.handle)))?;
    let mint = wiring::token_mint(config)?;
    let opened = store::open(config).await?;
    let tokens = Arc::new(wiring::tokens(opened.clone(), mint));
    let issued = match wiring::logins(config, opened.clone(), tokens, Arc::new(NobodyListens)) {
        Ok(logins) => logins.issue_reset(&handle).await,
        Err(failure) => {
            opened.close();
            return Err(failure);
        }
    };
    opened.close();
    let issued = issued.map_err(|cause| Failure::new("no reset token was made", cause))?;
    let text = if arguments.json {
        let user = json!({ "id": issued.user.id.to_string(), "handle": issued.user.handle.as_str() });
        let expires_at = issued.expires_at.to_string();
        json!({ "user": user, "reset_token": issued.token, "expires_at": expires_at }).to_string()
    } else {
        format!(
            "With this token '{}' may set a password, once, until {}:\n\n    {}\n",
            issued.user.handle, issued.expires_at, issued.token
        )
    };
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}").map_err(|cause| Failure::new("cannot print the token", cause))
}

fn wrong(flag: &str, fault: TextFault) -> Failure {
    Failure::plain(format!("--{flag}: {fault}"))
}

fn as_json(created: &CreatedUser) -> String {
    let user = &created.user;
    let text = json!({
        "user": {
            "id": user.id.to_string(),
            "handle": user.handle.as_str(),
            "organization_id": user.organization.to_string(),
            "email": user.email,
            "first_name": user.name.first,
            "last_name": user.name.last,
            "inserted_at": user.created_at.to_string(),
        },
        "api_key": created.key.reveal(),
    });
    text.to_string()
}

fn as_text(created: &CreatedUser) -> String {
    format!(
        "Created the user '{}'. This is its API key; it is not shown again:\n\n    {}\n",
        created.user.handle,
        created.key.reveal()
    )
}
