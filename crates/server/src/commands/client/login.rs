//! `parlance client login`, `logout`, and `profiles`.

use std::io::{BufRead, IsTerminal};

use ::client::text::on_one_line;
use ::client::{Access, Address, ApiKey, KEY_VARIABLE, Profiles, Session, StoredProfile};
use serde_json::json;

use crate::cli::{ListArguments, TableArguments};
use crate::commands::client::arguments::{LoginArguments, ProfileArguments};
use crate::commands::client::{failed, no_access, no_profiles, profiles, terminal};
use crate::config::ClientSettings;
use crate::failure::Failure;
use crate::output::{List, Rows, print};
use crate::progress::say;

/// Checks a key with its server, and stores both.
pub(super) async fn log_in(arguments: LoginArguments) -> Result<(), Failure> {
    let settings = ClientSettings::read(arguments.profile.profile);
    let mut profiles = profiles(&settings)?;
    let name = settings.given.profile_name();
    Profiles::check_name(name).map_err(|error| no_profiles(&error))?;
    let named = settings.given.address().map_err(no_access)?;
    let address = arguments.url.or_else(|| named.clone()).unwrap_or_else(Address::local);
    let (key, origin) = match settings.given.key().map_err(no_access)? {
        // The key of the environment belongs to the address of the environment.
        Some(key) if named.as_ref().is_none_or(|named| *named == address) => (key, KEY_VARIABLE),
        _ => (typed(&address)?, "your input"),
    };
    if !address.is_encrypted() && !address.is_local() {
        say(&format!(
            "The connection to {address} is not encrypted: others may read the key. Use https:// if you can."
        ));
    }
    let access = Access { address, key, origin: origin.to_owned() };
    let failed = |error| failed(&error, &access);
    let user = Session::new(&access).map_err(failed)?.profile().await.map_err(failed)?;
    let profile = StoredProfile { url: access.address.clone(), api_key: access.key.clone() };
    profiles.put(name, profile).map_err(|error| no_profiles(&error))?;
    print(&format!(
        "Logged in to {} as @{}. Profile '{name}' is stored in {}.",
        access.address,
        on_one_line(&user.handle),
        profiles.path().display()
    ))
}

/// The key that somebody types, or that standard input holds.
fn typed(address: &Address) -> Result<ApiKey, Failure> {
    let read = if std::io::stdin().is_terminal() {
        terminal::secret(&format!("API key of a user at {address} (not shown): "))
    } else {
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line).map(|_| Some(line))
    };
    let text = read.map_err(|cause| Failure::new("cannot read the API key from standard input", cause))?;
    let text = text
        .ok_or_else(|| Failure::plain("no API key was entered").next("run `parlance client login` again"))?;
    ApiKey::new(&text).map_err(|fault| {
        let next = "create one in the console, or with `parlance key create --user HANDLE` beside the server";
        Failure::plain(format!("the API key {fault}")).next(next)
    })
}

/// Removes a profile.
pub(super) fn log_out(arguments: ProfileArguments) -> Result<(), Failure> {
    let settings = ClientSettings::read(arguments.profile);
    let mut profiles = profiles(&settings)?;
    let name = settings.given.profile_name();
    if !profiles.remove(name).map_err(|error| no_profiles(&error))? {
        let said = format!("there is no profile '{name}'");
        return Err(Failure::plain(said).next("list the profiles with `parlance client profiles`"));
    }
    print(&format!("Profile '{name}' is removed. Its key stays valid until you revoke it."))
}

/// Lists the profiles without their keys.
pub(super) fn list(arguments: &ListArguments) -> Result<(), Failure> {
    let profiles = profiles(&ClientSettings::read(None))?;
    let list = List {
        name: Some("profiles"),
        headings: &["NAME", "SERVER"],
        empty: "There are no profiles. Run `parlance client login` to add one.",
    };
    let how = TableArguments { json: arguments.json, utc: false };
    let mut rows = Rows::begin(list, &how)?;
    for (name, profile) in profiles.all() {
        let url = profile.url.to_string();
        rows.row(|| json!({ "name": name, "url": url }), |_| vec![name.to_owned(), url.clone()])?;
    }
    rows.end()
}
