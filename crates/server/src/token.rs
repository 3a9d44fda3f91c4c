//! `parlance token …`

use std::sync::Arc;
use std::time::Duration;

use domain::account::{IssueToken, IssueTokenError, IssuedToken, UserHandle};
use domain::audit::{AuditEntry, AuditService};
use serde_json::json;

use crate::cli::{IssueTokenArguments, RotateKeysArguments};
use crate::config::Config;
use crate::failure::Failure;
use crate::output::print;
use crate::store::{self, Store, StoreAt};
use crate::token_keys;
use crate::wiring;

/// Makes a token for a user and prints it.
pub(crate) async fn issue(config: &Config, arguments: IssueTokenArguments) -> Result<(), Failure> {
    config.refuse_memory()?;
    let handle = UserHandle::new(&arguments.user);
    let command = IssueToken {
        user: handle.map_err(|fault| {
            Failure::plain(format!("--user: {fault}")).next("see `parlance token issue --help`")
        })?,
        lifetime: Duration::from_secs(arguments.ttl),
    };
    let opened = store::open(config).await?;
    let issued = match wiring::token_mint_of_server(config) {
        Ok(tokens) => Ok(wiring::tokens(opened.clone(), tokens).issue(command).await),
        Err(failure) => Err(failure),
    };
    let noted = match &issued {
        Ok(Ok(issued)) => note(&opened, issued).await,
        _ => Ok(()),
    };
    opened.close();
    // A token that leaves no trace is not given out.
    noted?;
    let issued = issued?.map_err(|error| {
        let next = match error {
            IssueTokenError::Lifetime => "see `parlance token issue --help`",
            IssueTokenError::NoSuchUser => "list users with `parlance user list`",
            IssueTokenError::Disabled => "enable the user with `parlance user enable HANDLE`",
            IssueTokenError::Store(_) => store::NEXT,
        };
        Failure::new("the token was not issued", error).next(next)
    })?;
    let text = if arguments.json { as_json(&issued) } else { issued.token };
    print(&text)
}

/// Records the token in the audit log.
async fn note(store: &Arc<dyn Store>, issued: &IssuedToken) -> Result<(), Failure> {
    let claims = &issued.claims;
    let entry = AuditEntry::token_issued(claims.user, claims.expires_at, claims.issued_at);
    let noted = AuditService::new(store.clone()).append(vec![entry]).await;
    noted.map_err(|cause| Failure::new("the token was not issued", cause).next(store::NEXT))
}

/// Puts a new key in the place of the one that signs.
pub(crate) fn rotate_keys(config: &Config, arguments: &RotateKeysArguments) -> Result<(), Failure> {
    match &config.store {
        StoreAt::File(path) if !path.exists() => Err(store::missing(path)),
        StoreAt::File(store) => token_keys::rotate(store, arguments.forget),
        StoreAt::Postgres(_) => {
            config.refuse_missing_data_dir()?;
            token_keys::rotate(&config.key_place()?, arguments.forget)
        }
        StoreAt::Memory => {
            Err(Failure::plain("a store in memory has its own signing keys; name a store in a file"))
        }
    }
}

fn as_json(issued: &IssuedToken) -> String {
    let text = json!({
        "token": issued.token,
        "token_type": "Bearer",
        "expires_at": issued.claims.expires_at.to_string(),
        "user": { "id": issued.user.id.to_string(), "handle": issued.user.handle.as_str() },
    });
    text.to_string()
}
