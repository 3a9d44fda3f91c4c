//! `parlance key …`

use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand};
use domain::account::{
    AccountService, CreateKey, CreateKeyError, KeyName, KeyRecord, KeyScope, WhichKeys, normalize_handle,
};
use domain::audit::Actor;
use domain::id::{ApiKeyId, ChatId, ParticipantId};
use domain::page::{PageRequest, Slice};
use domain::ports::Clock;
use serde_json::{Value, json};

use crate::adapters::SystemClock;
use crate::cli::TableArguments;
use crate::commands::{agent, user};
use crate::config::Config;
use crate::failure::Failure;
use crate::nearest::{self, nearest};
use crate::output::{List, Rows, Times, print};
use crate::progress::say;
use crate::store::{self, Store};
use crate::wiring;

/// What to do with API keys.
#[derive(Subcommand, Debug)]
pub enum KeyCommand {
    /// List the valid keys of a user or an agent, without their secrets.
    #[command(after_help = "Examples:\n  parlance key list ann\n  \
        parlance key list ann/echo --json")]
    List(ListKeysArguments),
    /// Create another key for a user, and print it once.
    #[command(after_help = "Examples:\n  parlance key create --user ann --name laptop --days 90\n  \
        parlance key create --user ann --name dashboard --read-only")]
    Create(CreateKeyArguments),
    /// Replace an agent's key, and print the new one once.
    #[command(after_help = "Example:\n  parlance key rotate ann/echo --json")]
    Rotate(RotateKeyArguments),
    /// Revoke keys.
    ///
    /// Within a second, running servers reject them and close the sockets that they opened.
    #[command(after_help = "Examples:\n  parlance key revoke thnv_u_1790000000_AbCdEfGh\n  \
        parlance key revoke --all-of ann/echo")]
    Revoke(RevokeKeyArguments),
}

/// The user or agent whose keys are listed.
#[derive(Args, Debug)]
pub struct ListKeysArguments {
    /// Handle of the user, or of the agent: owner/slug.
    pub handle: String,
    #[command(flatten)]
    pub print: TableArguments,
}

/// The key to create.
#[derive(Args, Debug)]
pub struct CreateKeyArguments {
    /// Handle of the user.
    #[arg(long, value_name = "HANDLE")]
    pub user: String,
    /// Name of the key, for the user.
    #[arg(long)]
    pub name: Option<String>,
    /// Days until the key expires [default: the setting `key_ttl_days`; by default, keys do not expire].
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=36_500))]
    pub days: Option<u32>,
    /// Make a key that can only read.
    #[arg(long)]
    pub read_only: bool,
    /// Limit the key to this chat.
    #[arg(long, value_name = "ID")]
    pub chat: Option<String>,
    /// Limit the key to this agent of the user: owner/slug.
    #[arg(long, value_name = "HANDLE")]
    pub agent: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The agent whose key is replaced.
#[derive(Args, Debug)]
pub struct RotateKeyArguments {
    /// Handle of the agent: owner/slug.
    pub handle: String,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The keys to revoke.
#[derive(Args, Debug)]
#[command(group(clap::ArgGroup::new("which").required(true)))]
pub struct RevokeKeyArguments {
    /// Beginning of the key, as `parlance key list` shows it; or its id, or the whole key.
    #[arg(group = "which")]
    pub key: Option<String>,
    /// Revoke all keys of the user or agent with this handle.
    #[arg(long, group = "which", value_name = "HANDLE")]
    pub all_of: Option<String>,
    #[command(flatten)]
    pub print: TableArguments,
}

/// Runs the command on the configured store, and prints the result.
pub(crate) async fn run(config: &Config, command: KeyCommand) -> Result<(), Failure> {
    let done = store::with(config, async |store| {
        let accounts = wiring::accounts(store.clone()).with_key_days(config.key_ttl_days);
        match command {
            KeyCommand::List(arguments) => list(&accounts, store, &arguments).await,
            KeyCommand::Create(arguments) => print(&create(&accounts, store, &arguments).await?),
            KeyCommand::Rotate(arguments) => print(&rotate(&accounts, store, &arguments).await?),
            KeyCommand::Revoke(arguments) => revoke(&accounts, store, &arguments).await,
        }
    });
    done.await
}

async fn list(
    accounts: &AccountService,
    store: &Arc<dyn Store>,
    arguments: &ListKeysArguments,
) -> Result<(), Failure> {
    let holder = holder(accounts, store, &arguments.handle).await?;
    let (mut keys, mut after) = (Vec::new(), None);
    loop {
        let page = PageRequest { slice: Slice::After { after, limit: 100 }, count: false };
        let page = accounts.list_keys(holder, page).await;
        let page = page.map_err(|cause| Failure::new("cannot read the keys", cause).next(store::NEXT))?;
        keys.extend(page.rows);
        after = page.next;
        if after.is_none() {
            return table(&keys, &arguments.print);
        }
    }
}

async fn create(
    accounts: &AccountService,
    store: &Arc<dyn Store>,
    arguments: &CreateKeyArguments,
) -> Result<String, Failure> {
    let name = arguments.name.as_deref().map(KeyName::new).transpose();
    let name = name.map_err(|fault| {
        Failure::plain(format!("--name: {fault}")).next("see `parlance key create --help`")
    })?;
    let day = Duration::from_secs(24 * 60 * 60);
    let expires_at = arguments.days.map(|days| SystemClock.now().plus(day * days));
    let ParticipantId::User(user) = holder(accounts, store, &arguments.user).await? else {
        let text = "--user: this is an agent. Replace its key with `parlance key rotate`.";
        return Err(Failure::plain(text));
    };
    let scope = scope(accounts, store, arguments).await?;
    // Read before the key exists: it is shown once.
    let found = store.find_user(user).await;
    let found = found.map_err(|cause| Failure::new("cannot read the user", cause).next(store::NEXT))?;
    let created =
        accounts.create_key_by(Actor::Operator, user, CreateKey { name, expires_at, scope }, None).await;
    let created = created.map_err(|cause| match (cause, scope.chat) {
        (CreateKeyError::ChatNotFound, Some(chat)) => {
            Failure::plain(format!("--chat: the user cannot read a chat with the id {chat}"))
                .next("list the user's chats with `parlance chat list --participant HANDLE`")
        }
        (cause, _) => Failure::new("the key was not created", cause).next("see `parlance key list HANDLE`"),
    })?;
    if let Some(user) = found.filter(|user| user.disabled_at.is_some()) {
        let handle = user.handle;
        say(&format!(
            "parlance: The user '{handle}' is disabled. The key works only after `parlance user enable {handle}`."
        ));
    }
    Ok(if arguments.json {
        json!({ "key": as_json(&created.record), "api_key": created.key.reveal() }).to_string()
    } else {
        shown_once(created.key.reveal())
    })
}

/// The requested scope.
async fn scope(
    accounts: &AccountService,
    store: &Arc<dyn Store>,
    arguments: &CreateKeyArguments,
) -> Result<KeyScope, Failure> {
    let chat = match &arguments.chat {
        None => None,
        Some(text) => {
            let id = ChatId::parse(text).ok_or_else(|| {
                Failure::plain(format!("--chat: '{text}' is not the id of a chat"))
                    .next("list chats with `parlance chat list`")
            })?;
            Some(id)
        }
    };
    let agent = match &arguments.agent {
        None => None,
        Some(handle) => match holder(accounts, store, handle).await? {
            ParticipantId::Agent(agent) => Some(agent),
            ParticipantId::User(_) => {
                return Err(Failure::plain(format!("--agent: '{handle}' is a user"))
                    .next("list agents with `parlance agent list`"));
            }
        },
    };
    Ok(KeyScope { is_read_only: arguments.read_only, chat, agent })
}

async fn rotate(
    accounts: &AccountService,
    store: &Arc<dyn Store>,
    arguments: &RotateKeyArguments,
) -> Result<String, Failure> {
    let handle = normalize_handle(&arguments.handle);
    let found = accounts.find_agent(&handle).await;
    let found = found.map_err(|cause| Failure::new("cannot read the agent", cause).next(store::NEXT))?;
    let Some(agent) = found else { return Err(agent::unknown(store, &handle).await) };
    let rotated = accounts.rotate_key_by(Actor::Operator, agent.owner, agent.id, None).await;
    let rotated = rotated.map_err(|cause| {
        Failure::new("the agent's key was not replaced", cause).next("see `parlance agent show HANDLE`")
    })?;
    Ok(if arguments.json {
        let agent = json!({ "id": agent.id.to_string(), "handle": agent.handle.as_str() });
        json!({ "agent": agent, "api_key": rotated.key.reveal() }).to_string()
    } else {
        shown_once(rotated.key.reveal())
    })
}

async fn revoke(
    accounts: &AccountService,
    store: &Arc<dyn Store>,
    arguments: &RevokeKeyArguments,
) -> Result<(), Failure> {
    let which = match (&arguments.key, &arguments.all_of) {
        (_, Some(handle)) => WhichKeys::AllOf(holder(accounts, store, handle).await?),
        (key, None) => {
            let key = key.as_deref().unwrap_or_default().trim();
            ApiKeyId::parse(key).map_or_else(|| accounts.keys_like(key), WhichKeys::Id)
        }
    };
    // Only the prefix of a key is compared or repeated; any other text is a mistyped id.
    let wanted = match (&which, arguments.key.as_deref()) {
        (WhichKeys::Prefix(_), Some(typed)) if !typed.trim().starts_with("thnv_") => typed.trim().to_owned(),
        (WhichKeys::Prefix(prefix), _) => prefix.clone(),
        (WhichKeys::Id(id), _) => id.to_string(),
        (WhichKeys::AllOf(_) | WhichKeys::Own(..), _) => String::new(),
    };
    let revoked = accounts.revoke_keys(which).await;
    let revoked = revoked.map_err(|cause| Failure::new("no key was revoked", cause).next(store::NEXT))?;
    if revoked.is_empty() {
        let keys = nearest::keys(store).await;
        let meant = nearest(&wanted, keys.iter().map(String::as_str));
        let next = "list keys with `parlance key list HANDLE`";
        return Err(Failure::unknown("no such key is active", meant, next));
    }
    table(&revoked, &arguments.print)
}

async fn holder(
    accounts: &AccountService,
    store: &Arc<dyn Store>,
    handle: &str,
) -> Result<ParticipantId, Failure> {
    let handle = normalize_handle(handle);
    let found = accounts.find_holder(&handle).await;
    let found = found.map_err(|cause| Failure::new("cannot read the accounts", cause).next(store::NEXT))?;
    match found {
        Some(holder) => Ok(holder),
        None => Err(unknown(store, &handle).await),
    }
}

/// The failure for an unknown handle.
pub(crate) async fn unknown(store: &Arc<dyn Store>, handle: &str) -> Failure {
    if user::has_no_users(store).await {
        return user::no_users();
    }
    let handles = nearest::handles(store, handle).await;
    let meant = nearest(handle, handles.iter().map(String::as_str));
    let next = "list handles with `parlance user list` and `parlance agent list`";
    Failure::unknown(format!("no user or agent has the handle '{handle}'"), meant, next)
}

fn shown_once(key: &str) -> String {
    format!("This is the API key; it is not shown again:\n\n    {key}\n")
}

fn table(keys: &[KeyRecord], how: &TableArguments) -> Result<(), Failure> {
    let kind = List {
        name: Some("keys"),
        headings: &["KEY", "NAME", "SCOPE", "CREATED", "EXPIRES", "LAST USED"],
        empty: "No keys.",
    };
    let mut rows = Rows::begin(kind, how)?;
    for key in keys {
        rows.row(|| as_json(key), |times| as_cells(key, times))?;
    }
    rows.end()
}

fn as_json(key: &KeyRecord) -> Value {
    let time = |at: Option<domain::time::Timestamp>| at.map(|at| at.to_string());
    json!({
        "id": key.id.to_string(),
        "holder_id": key.holder.to_string(),
        "holder_type": key.holder.kind().as_str(),
        "name": key.name,
        "prefix": key.prefix,
        "inserted_at": key.created_at.to_string(),
        "expires_at": time(key.expires_at),
        "read_only": key.scope.is_read_only,
        "chat_id": key.scope.chat.map(|chat| chat.to_string()),
        "agent_id": key.scope.agent.map(|agent| agent.to_string()),
        "last_used_at": time(key.last_used_at),
        "revoked_at": time(key.revoked_at),
    })
}

fn as_cells(key: &KeyRecord, times: &Times) -> Vec<String> {
    vec![
        // Keys of earlier versions have no prefix.
        key.prefix.as_ref().map_or_else(|| key.id.to_string(), |prefix| format!("{prefix}…")),
        key.name.clone().unwrap_or_else(|| "-".to_owned()),
        if key.scope.is_full() { "-".to_owned() } else { key.scope.to_string() },
        times.text(key.created_at),
        times.or_hyphen(key.expires_at),
        times.or_hyphen(key.last_used_at),
    ]
}
