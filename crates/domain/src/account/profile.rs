//! A human's own record.

use super::port::UpdateUser;
use super::service::AccountService;
use super::user::{PersonNamePart, User};
use crate::caller::UserCaller;
use crate::change::Change;
use crate::store::StoreError;

/// What a human changes about themselves; what is `None` stays. Nothing else is theirs to change.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProfileChanges {
    /// Another first name.
    pub first_name: Option<PersonNamePart>,
    /// Another last name; `Some(None)` takes it away.
    pub last_name: Option<Option<PersonNamePart>>,
}

impl AccountService {
    /// The caller's record; `None` when the account went after it authenticated.
    pub async fn profile(&self, caller: UserCaller) -> Result<Option<User>, StoreError> {
        self.accounts.find_user(caller.user).await
    }

    /// Changes the caller's record and gives it; `None` as in [`Self::profile`].
    pub async fn update_profile(
        &self,
        caller: UserCaller,
        changes: ProfileChanges,
    ) -> Result<Option<User>, StoreError> {
        let command = UpdateUser { user: caller.user, changes, now: self.clock.now() };
        let updated = self.accounts.update_user(command).await?;
        self.cache.follow(Change::UserUpdated(caller.user));
        Ok(updated)
    }
}
