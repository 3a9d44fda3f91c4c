//! A human's own profile.

use super::port::UpdateUser;
use super::service::AccountService;
use super::user::{PersonNamePart, User};
use crate::caller::UserCaller;
use crate::change::Change;
use crate::store::StoreError;

/// The changes that humans can make to their own profile; `None` leaves a value unchanged.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProfileChanges {
    /// The new first name.
    pub first_name: Option<PersonNamePart>,
    /// The new last name; `Some(None)` removes it.
    pub last_name: Option<Option<PersonNamePart>>,
}

impl AccountService {
    /// The caller's record; `None` if the account was deleted after it authenticated.
    pub async fn profile(&self, caller: UserCaller) -> Result<Option<User>, StoreError> {
        self.accounts.find_user(caller.user).await
    }

    /// Changes the caller's record and returns it; `None` as in [`Self::profile`].
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
