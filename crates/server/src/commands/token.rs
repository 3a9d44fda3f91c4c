//! `parlance token …`

use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand};
use domain::account::{IssueToken, IssueTokenError, IssuedToken, UserHandle};
use domain::audit::{AuditEntry, AuditService};
use serde_json::json;

use crate::commands::user;
use crate::config::Config;
use crate::failure::Failure;
use crate::output::print;
use crate::store::{self, Store, StoreAt};
use crate::token_keys;
use crate::wiring;

/// What to do with tokens.
#[derive(Subcommand, Debug)]
pub enum TokenCommand {
    /// Issue an access token for a user, and print it.
    #[command(after_help = "Example:\n  parlance token issue --user ann --ttl 300")]
    Issue(IssueTokenArguments),
    /// Sign new tokens with a new key.
    ///
    /// A running server uses it within a second.
    #[command(after_help = "Examples:\n  parlance token rotate-keys\n  parlance token rotate-keys --forget")]
    RotateKeys(RotateKeysArguments),
}

/// The token to issue.
#[derive(Args, Debug)]
pub struct IssueTokenArguments {
    /// Handle of the user.
    #[arg(long, value_name = "HANDLE")]
    pub user: String,
    /// Lifetime of the token in seconds, at most 900.
    #[arg(long, value_name = "SECONDS", default_value_t = 900)]
    pub ttl: u64,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// How to treat tokens that the old key signed.
#[derive(Args, Debug)]
pub struct RotateKeysArguments {
    /// Reject all earlier tokens from now on, instead of when they expire.
    #[arg(long)]
    pub forget: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
pub(crate) async fn run(config: &Config, command: TokenCommand) -> Result<(), Failure> {
    match command {
        TokenCommand::Issue(arguments) => issue(config, arguments).await,
        TokenCommand::RotateKeys(arguments) => rotate_keys(config, &arguments),
    }
}

/// Issues a token for a user and prints it.
async fn issue(config: &Config, arguments: IssueTokenArguments) -> Result<(), Failure> {
    let handle = UserHandle::new(&arguments.user);
    let command = IssueToken {
        user: handle.map_err(|fault| {
            Failure::plain(format!("--user: {fault}")).next("see `parlance token issue --help`")
        })?,
        lifetime: Duration::from_secs(arguments.ttl),
    };
    let issued = store::with(config, async |store| {
        let tokens = wiring::tokens(store.clone(), wiring::token_mint_of_server(config)?);
        let handle = command.user.clone();
        let (error, next) = match tokens.issue(command).await {
            // A token is only issued with an audit entry.
            Ok(issued) => return note(store, &issued).await.map(|()| issued),
            Err(IssueTokenError::NoSuchUser) => return Err(user::unknown(store, &arguments.user).await),
            Err(error @ IssueTokenError::Lifetime) => (error, "see `parlance token issue --help`".to_owned()),
            Err(error @ IssueTokenError::Disabled) => {
                (error, format!("enable the user with `parlance user enable {handle}`"))
            }
            Err(error @ IssueTokenError::Store(_)) => (error, store::NEXT.to_owned()),
        };
        Err(Failure::new("the token was not issued", error).next(&next))
    });
    let issued = issued.await?;
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

/// Replaces the signing key by a new one.
fn rotate_keys(config: &Config, arguments: &RotateKeysArguments) -> Result<(), Failure> {
    let path = match &config.store {
        StoreAt::File(path) if !path.exists() => return Err(store::missing(path)),
        StoreAt::File(path) => path.clone(),
        StoreAt::Postgres(_) => {
            config.refuse_missing_data_dir()?;
            config.token_key_base()?
        }
        StoreAt::Memory => return config.refuse_memory(),
    };
    token_keys::rotate(&path, arguments.forget)?;
    if !arguments.json {
        return print(if arguments.forget {
            "All earlier tokens are now refused. Restart the server to close their sockets."
        } else {
            "New tokens are signed with a new key. Earlier tokens stay valid until they expire."
        });
    }
    let file = token_keys::path_beside(&path);
    print(&json!({ "file": file, "earlier_tokens_valid": !arguments.forget }).to_string())
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
