//! `parlance user login-link`, `link`, and `unlink`: log-ins without a password.

use std::sync::Arc;

use domain::login::{Identity, LinkOutcome, LoginService};
use domain::services::Services;
use serde_json::{Value, json};

use super::arguments::{LinkArguments, ResetPasswordArguments, UnlinkArguments};
use super::find;
use crate::adapters::NobodyListens;
use crate::config::Config;
use crate::failure::Failure;
use crate::output::{exact, print};
use crate::store::{self, Store};
use crate::welcome;
use crate::wiring;

/// The log-in use cases, with the keys of the server.
pub(super) fn logins(config: &Config, store: Arc<dyn Store>) -> Result<Arc<LoginService>, Failure> {
    let mint = wiring::token_mint_of_server(config)?;
    let nobody = Arc::new(NobodyListens);
    Ok(Services::new(wiring::ports(config, store, mint, nobody.clone(), nobody)?).logins)
}

/// Prints a link with which a user can log in once.
pub(super) async fn login_link(config: &Config, arguments: &ResetPasswordArguments) -> Result<(), Failure> {
    if !config.console {
        let what = "the console is turned off, so nobody can log in with a link";
        return Err(Failure::plain(what).next("set console = true, or use `parlance key create`"));
    }
    let issued = store::with(config, async |store| {
        let user = find(store, &arguments.handle).await?;
        let issued = logins(config, store.clone())?.issue_login_code(&user.handle).await;
        issued.map_err(|cause| Failure::new("the link was not made", cause).next(store::NEXT))
    });
    let issued = issued.await?;
    let link = format!("{}/console/enter#{}", welcome::base_url(config), issued.token);
    print(&if arguments.json {
        let user = json!({ "id": issued.user.id.to_string(), "handle": issued.user.handle.as_str() });
        let expires_at = issued.expires_at.to_string();
        json!({ "user": user, "login_code": issued.token, "link": link, "expires_at": expires_at })
            .to_string()
    } else {
        let (handle, until) = (&issued.user.handle, exact(issued.expires_at));
        format!("With this link, '{handle}' can log in once, until {until}:\n\n    {link}\n")
    })
}

/// The issuer that an argument names: the name of a configured provider, or its URL.
fn issuer(config: &Config, named: &str) -> Result<String, Failure> {
    if named.contains("://") {
        return Ok(named.to_owned());
    }
    let known = config.oidc.providers.iter();
    let found = known.clone().find(|provider| provider.name.as_str() == named);
    found.map(|provider| provider.settings.issuer.clone()).ok_or_else(|| {
        let all = known.map(|provider| provider.name.to_string()).collect::<Vec<_>>().join(", ");
        let next = if all.is_empty() {
            "configure one in a table [oidc.NAME], or give its URL: see `parlance user link --help`"
                .to_owned()
        } else {
            format!("the configuration has {all}; or give a URL: see `parlance user link --help`")
        };
        Failure::plain(format!("there is no identity provider '{named}'")).next(&next)
    })
}

/// Links a user to an identity.
pub(super) async fn link(config: &Config, arguments: &LinkArguments) -> Result<(), Failure> {
    let issuer = issuer(config, &arguments.provider)?;
    let identity = Identity::new(&issuer, &arguments.subject).ok_or_else(|| {
        Failure::plain("--subject: must be 1 to 255 characters without blanks around them")
            .next("see `parlance user link --help`")
    })?;
    let user = store::with(config, async |store| {
        let user = find(store, &arguments.handle).await?;
        let outcome = logins(config, store.clone())?.link(&user, identity.clone()).await;
        let outcome =
            outcome.map_err(|cause| Failure::new("the user was not linked", cause).next(store::NEXT))?;
        match outcome {
            LinkOutcome::Linked => Ok(user),
            LinkOutcome::Taken => Err(Failure::plain(format!(
                "the user was not linked, because this identity, or another one of '{}' at the same provider, is \
                 linked already",
                user.handle
            ))
            .next("see `parlance user show`, and remove a link with `parlance user unlink`")),
            LinkOutcome::UserGone => Err(super::missing(&user.handle, None)),
        }
    });
    let user = user.await?;
    print(&if arguments.json {
        let identity = as_json(&identity);
        json!({ "user": { "handle": user.handle.as_str() }, "identity": identity }).to_string()
    } else {
        format!("Linked '{}' to '{}' at {issuer}.", user.handle, identity.subject())
    })
}

/// Removes the link of a user to a provider.
pub(super) async fn unlink(config: &Config, arguments: &UnlinkArguments) -> Result<(), Failure> {
    let issuer = issuer(config, &arguments.provider)?;
    let user = store::with(config, async |store| {
        let user = find(store, &arguments.handle).await?;
        let unlinked = logins(config, store.clone())?.unlink(&user, &issuer).await;
        match unlinked {
            Ok(true) => Ok(user),
            Ok(false) => Err(Failure::plain(format!("'{}' has no identity at {issuer}", user.handle))
                .next("list identities with `parlance user show`")),
            Err(cause) => Err(Failure::new("the link was not removed", cause).next(store::NEXT)),
        }
    });
    let user = user.await?;
    print(&if arguments.json {
        json!({ "user": { "handle": user.handle.as_str() }, "issuer": issuer }).to_string()
    } else {
        format!("'{}' is no longer linked to {issuer}. Sessions that began there have ended.", user.handle)
    })
}

pub(super) fn as_json(identity: &Identity) -> Value {
    json!({ "issuer": identity.issuer(), "subject": identity.subject() })
}
