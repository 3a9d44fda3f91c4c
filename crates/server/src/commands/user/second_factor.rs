//! `parlance user remove-second-factor`, and which factors a user has.

use std::sync::Arc;

use domain::id::UserId;
use domain::login::Passkey;
use domain::store::StoreError;
use domain::time::Timestamp;
use serde_json::{Value, json};

use super::arguments::ResetPasswordArguments;
use super::{find, identity, print_reset};
use crate::config::Config;
use crate::failure::Failure;
use crate::store::{self, Store};

/// Removes the second factor and the passkeys of a user, and prints a token with which the user can set another password.
pub(super) async fn remove(config: &Config, arguments: &ResetPasswordArguments) -> Result<(), Failure> {
    let issued = store::with(config, async |store| {
        let user = find(store, &arguments.handle).await?;
        match identity::logins(config, store.clone())?.remove_second_factor_of(&user).await {
            Ok(Some(issued)) => Ok(issued),
            Ok(None) => Err(Failure::plain(format!("'{}' has no second factor and no passkey", user.handle))
                .next("see `parlance user show`")),
            Err(cause) => Err(Failure::new("the second factor and the passkeys were not removed", cause)
                .next("run the command again; see also `parlance doctor`")),
        }
    });
    print_reset(&issued.await?, arguments.json)
}

/// The time since which a user has a second factor, if it is on.
pub(super) async fn since(store: &Arc<dyn Store>, user: UserId) -> Result<Option<Timestamp>, StoreError> {
    Ok(store.find_second_factor(user).await?.and_then(|factor| factor.enabled_at))
}

/// A passkey as JSON, without its key.
pub(super) fn passkey_as_json(passkey: &Passkey) -> Value {
    json!({
        "id": passkey.id.to_string(),
        "name": passkey.name.as_str(),
        "inserted_at": passkey.created_at.to_string(),
        "last_used_at": passkey.used_at.map(|at| at.to_string()),
    })
}
