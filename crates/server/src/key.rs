//! `parlance key …`

use std::time::Duration;

use domain::account::{AccountService, CreateKey, KeyName, KeyRecord, WhichKeys, normalize_handle};
use domain::audit::Actor;
use domain::id::{ApiKeyId, ParticipantId};
use domain::page::{PageRequest, Slice};
use domain::ports::Clock;
use serde_json::{Value, json};

use crate::agent::unknown;
use crate::cli::{CreateKeyArguments, KeyCommand, ListKeysArguments, RevokeKeyArguments, RotateKeyArguments};
use crate::config::Config;
use crate::failure::Failure;
use crate::output::print;
use crate::ports::SystemClock;
use crate::store;
use crate::wiring;

/// Does it on the store of the configuration, and prints what came of it.
pub(crate) async fn run(config: &Config, command: KeyCommand) -> Result<(), Failure> {
    let said = store::with(config, async |store| {
        let accounts = wiring::accounts(store.clone());
        match command {
            KeyCommand::List(arguments) => list(&accounts, &arguments).await,
            KeyCommand::Create(arguments) => create(&accounts, &arguments).await,
            KeyCommand::Rotate(arguments) => rotate(&accounts, &arguments).await,
            KeyCommand::Revoke(arguments) => revoke(&accounts, &arguments).await,
        }
    });
    print(&said.await?)
}

async fn list(accounts: &AccountService, arguments: &ListKeysArguments) -> Result<String, Failure> {
    let holder = holder(accounts, &arguments.handle).await?;
    let (mut keys, mut after) = (Vec::new(), None);
    loop {
        let page = PageRequest { slice: Slice::After { after, limit: 100 }, count: false };
        let page = accounts.list_keys(holder, page).await;
        let page = page.map_err(|cause| Failure::new("cannot read the keys", cause).next(store::NEXT))?;
        keys.extend(page.rows);
        after = page.next;
        if after.is_none() {
            return Ok(told(&keys, arguments.json));
        }
    }
}

async fn create(accounts: &AccountService, arguments: &CreateKeyArguments) -> Result<String, Failure> {
    let name = arguments.name.as_deref().map(KeyName::new).transpose();
    let name = name.map_err(|fault| {
        Failure::plain(format!("--name: {fault}")).next("see `parlance key create --help`")
    })?;
    let day = Duration::from_secs(24 * 60 * 60);
    let expires_at = arguments.days.map(|days| SystemClock.now().plus(day * days));
    let ParticipantId::User(user) = holder(accounts, &arguments.user).await? else {
        let text = "--user: that is an agent; `parlance key rotate` gives an agent another key";
        return Err(Failure::plain(text));
    };
    let created = accounts.create_key_by(Actor::Operator, user, CreateKey { name, expires_at }).await;
    let created = created
        .map_err(|cause| Failure::new("no key was made", cause).next("see `parlance key list HANDLE`"))?;
    Ok(if arguments.json {
        json!({ "key": as_json(&created.record), "api_key": created.key.reveal() }).to_string()
    } else {
        shown_once(created.key.reveal())
    })
}

async fn rotate(accounts: &AccountService, arguments: &RotateKeyArguments) -> Result<String, Failure> {
    let handle = normalize_handle(&arguments.handle);
    let found = accounts.find_agent(&handle).await;
    let found = found.map_err(|cause| Failure::new("cannot read the agent", cause).next(store::NEXT))?;
    let agent = found.ok_or_else(|| unknown(&handle))?;
    let rotated = accounts.rotate_key_by(Actor::Operator, agent.owner, agent.id).await;
    let rotated = rotated.map_err(|cause| {
        Failure::new("the agent has the key it had", cause).next("see `parlance agent show HANDLE`")
    })?;
    Ok(if arguments.json {
        let agent = json!({ "id": agent.id.to_string(), "handle": agent.handle.as_str() });
        json!({ "agent": agent, "api_key": rotated.key.reveal() }).to_string()
    } else {
        shown_once(rotated.key.reveal())
    })
}

async fn revoke(accounts: &AccountService, arguments: &RevokeKeyArguments) -> Result<String, Failure> {
    let which = match (&arguments.key, &arguments.all_of) {
        (_, Some(handle)) => WhichKeys::AllOf(holder(accounts, handle).await?),
        (key, None) => {
            let key = key.as_deref().unwrap_or_default().trim();
            ApiKeyId::parse(key).map_or_else(|| accounts.keys_like(key), WhichKeys::Id)
        }
    };
    let revoked = accounts.revoke_keys(which).await;
    let revoked = revoked.map_err(|cause| Failure::new("no key was revoked", cause).next(store::NEXT))?;
    if revoked.is_empty() {
        let text =
            "there is no such key that is not revoked; `parlance key list HANDLE` shows those that are there";
        return Err(Failure::plain(text));
    }
    Ok(told(&revoked, arguments.json))
}

async fn holder(accounts: &AccountService, handle: &str) -> Result<ParticipantId, Failure> {
    let handle = normalize_handle(handle);
    let found = accounts.find_holder(&handle).await;
    let found = found.map_err(|cause| Failure::new("cannot look for the handle", cause).next(store::NEXT))?;
    found.ok_or_else(|| {
        let next = "`parlance user list` and `parlance agent list` show those who are there";
        Failure::plain(format!("nobody has the handle '{handle}'")).next(next)
    })
}

fn shown_once(key: &str) -> String {
    format!("This is the API key; it is not shown again:\n\n    {key}\n")
}

fn told(keys: &[KeyRecord], json: bool) -> String {
    if json {
        return json!({ "keys": keys.iter().map(as_json).collect::<Vec<_>>() }).to_string();
    }
    keys.iter().map(as_text).collect::<Vec<_>>().join("\n")
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
        "last_used_at": time(key.last_used_at),
        "revoked_at": time(key.revoked_at),
    })
}

fn as_text(key: &KeyRecord) -> String {
    let or = |text: Option<String>, other: &str| text.unwrap_or_else(|| other.to_owned());
    let time = |what: &str, at: Option<domain::time::Timestamp>| {
        at.map(|at| format!(", {what} {at}")).unwrap_or_default()
    };
    format!(
        "{}  {}…  {}: made {}{}{}{}",
        key.id,
        or(key.prefix.clone(), "thnv_"),
        or(key.name.clone(), "without a name"),
        key.created_at,
        time("expires", key.expires_at),
        if key.last_used_at.is_none() {
            ", never used".to_owned()
        } else {
            time("last used", key.last_used_at)
        },
        time("revoked", key.revoked_at),
    )
}
