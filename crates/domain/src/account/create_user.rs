//! Creating a user.

use super::handle::UserHandle;
use super::key::{ApiKey, KeyKind};
use super::port::CreateUserRefused;
use super::service::AccountService;
use super::user::{InitialOrganization, NewUser, PersonName, User, UserRole};
use crate::audit::Actor;
use crate::id::{OrganizationId, UserId};
use crate::organization::{InvitationRefused, OrganizationRole};
use crate::plan::PlanName;
use crate::ports::IdGenerator;
use crate::store::StoreError;
use crate::text::{TextFault, sender_name, single_line};
use crate::time::Timestamp;

/// A user to be created; every part is already checked.
#[derive(Clone, Debug)]
pub struct CreateUser {
    /// The requested handle.
    pub handle: UserHandle,
    /// From [`parse_email`].
    pub email: String,
    /// From [`parse_person_name`].
    pub name: PersonName,
    /// The organization of the user.
    pub initial_organization: InitialOrganization,
    /// The plan of a new organization.
    pub plan: PlanName,
}

/// A new user with its key, which is shown only here.
#[derive(Clone, Debug)]
pub struct CreatedUser {
    /// The account.
    pub user: User,
    /// Its first API key.
    pub key: ApiKey,
}

/// The reason why a user was not created.
#[derive(Debug, thiserror::Error)]
pub enum CreateUserError {
    /// Another user has the handle.
    #[error("the handle is already taken")]
    HandleTaken,
    /// Another user has the address.
    #[error("the email address is already taken")]
    EmailTaken,
    /// There is no such plan.
    #[error("there is no such plan")]
    NoSuchPlan,
    /// The invitation does not let the user in.
    #[error(transparent)]
    Invitation(#[from] InvitationRefused),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl AccountService {
    /// Creates a user with an API key, in an organization of its own, in a named one, or in one
    /// that it was invited to.
    pub async fn create_user(&self, command: CreateUser) -> Result<CreatedUser, CreateUserError> {
        self.create_user_as(UserRole::User, command).await
    }

    /// The same, with a role on the server.
    pub async fn create_user_as(
        &self,
        role: UserRole,
        command: CreateUser,
    ) -> Result<CreatedUser, CreateUserError> {
        let key = self.mint_user_key();
        let new = self.compose_user(command, role, &key);
        match self.accounts.create_user(new).await? {
            Ok(user) => Ok(CreatedUser { user, key }),
            Err(CreateUserRefused::HandleTaken) => Err(CreateUserError::HandleTaken),
            Err(CreateUserRefused::EmailTaken | CreateUserRefused::IdentityTaken) => {
                Err(CreateUserError::EmailTaken)
            }
            Err(CreateUserRefused::NoSuchPlan) => Err(CreateUserError::NoSuchPlan),
            Err(CreateUserRefused::Invitation(refused)) => Err(refused.into()),
        }
    }

    /// Creates the first user of an empty store, an administrator; `None` if the store already has
    /// users. Its key, of [`Self::mint_user_key`], never expires, so that the first administrator is
    /// not locked out.
    pub async fn create_first_user(
        &self,
        command: CreateUser,
        key: &ApiKey,
    ) -> Result<Option<User>, StoreError> {
        let mut new = self.compose_user(command, UserRole::Admin, key);
        if let Some(key) = &mut new.key {
            key.expires_at = None;
        }
        self.accounts.create_first_user(new).await
    }

    /// A key that is not valid until a user is created with it.
    pub fn mint_user_key(&self) -> ApiKey {
        self.mint.mint(KeyKind::User, self.clock.now())
    }

    fn compose_user(&self, command: CreateUser, role: UserRole, key: &ApiKey) -> NewUser {
        let now = self.clock.now();
        let mut new = NewUser::compose(command, role, &*self.ids, now);
        new.key = Some(self.new_key(key, now));
        new
    }
}

impl NewUser {
    /// A user that the operator creates at `now`, without a credential.
    pub(crate) fn compose(
        command: CreateUser,
        role: UserRole,
        ids: &dyn IdGenerator,
        now: Timestamp,
    ) -> Self {
        let user = User {
            id: UserId::new(ids.generate(now)),
            organization: OrganizationId::new(ids.generate(now)),
            organization_role: OrganizationRole::Admin,
            handle: command.handle,
            email: command.email,
            name: command.name,
            role,
            created_at: now,
            updated_at: now,
            disabled_at: None,
        };
        let (initial_organization, plan) = (command.initial_organization, command.plan);
        Self {
            user,
            by: Actor::Operator,
            key: None,
            password: None,
            identity: None,
            initial_organization,
            plan,
        }
    }
}

/// Checks an email address loosely: characters before and after one `@`, no blanks, at most 254
/// characters. Whether it can receive mail is not checked.
pub fn parse_email(text: &str) -> Result<String, TextFault> {
    let email = single_line(text, 254)?;
    let well_formed = !email.contains(char::is_whitespace)
        && email
            .split_once('@')
            .is_some_and(|(local, host)| !local.is_empty() && !host.is_empty() && !host.contains('@'));
    if well_formed { Ok(email) } else { Err(TextFault::Malformed { expected: "must be an email address" }) }
}

/// Checks and splits a person's name, 1 to 100 characters on one line.
pub fn parse_person_name(text: &str) -> Result<PersonName, TextFault> {
    sender_name(text, 100).map(|name| PersonName::split(&name))
}
