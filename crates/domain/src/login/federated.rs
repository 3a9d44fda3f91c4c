//! Logging in at an identity provider, and what ends there.

use std::net::IpAddr;

use super::failures::{FailedLogin, Refused};
use super::federation::{KeptLogIn, LOG_IN_LIFETIME, Provider, ProviderFault};
use super::identity::{
    ClaimRule, FirstLogIn, Identity, NotAdmitted, ProvidedEmail, ProvidedIdentity, candidates,
};
use super::log_in::LoggedIn;
use super::port::{LinkOutcome, NewIdentity, SessionKind, SessionProof, WhichLogin, WhichSessions};
use super::return_path::ReturnPath;
use super::service::LoginService;
use crate::account::{CreateUser, CreateUserRefused, InitialOrganization, NewUser, User, UserRole};
use crate::audit::Actor;
use crate::organization::{AcceptError, OrganizationRole, SetRoleError};
use crate::page::{PageRequest, Slice};
use crate::plan::{Organization, OrganizationName};
use crate::store::StoreError;

/// The answer of a provider, in the browser that began the log-in.
pub struct ProviderLogIn<'a> {
    /// The provider.
    pub provider: &'a str,
    /// What the browser has kept; `None` if it has nothing that this server has given to it.
    pub kept: Option<KeptLogIn>,
    /// The state of the answer, which must be that of the browser.
    pub state: &'a str,
    /// The code of the answer.
    pub code: &'a str,
    /// The address of the client, for the audit log.
    pub address: Option<IpAddr>,
}

/// A session that was opened with an identity provider.
pub struct LoggedInByProvider {
    /// The session.
    pub open: LoggedIn,
    /// Why the user does not have the organization and role of the configuration.
    pub not_placed: Option<String>,
}

/// Where a rule brings people.
struct Home {
    organization: Organization,
    role: OrganizationRole,
}

/// The reason why nobody was logged in.
#[derive(Debug, thiserror::Error)]
pub enum ProviderLogInError {
    /// No provider has the name.
    #[error("there is no such provider")]
    NoSuchProvider,
    /// This browser has not begun the log-in, or has completed it already.
    #[error("this browser has not begun the log-in")]
    NotBegun,
    /// The log-in took too long.
    #[error("the log-in took too long")]
    Expired,
    /// The provider cannot be used.
    #[error(transparent)]
    Provider(#[from] ProviderFault),
    /// The person gets no account.
    #[error(transparent)]
    NotAdmitted(#[from] NotAdmitted),
    /// The account is disabled, or changed at the same moment.
    #[error("the account is disabled")]
    Disabled,
    /// The plan of new organizations does not exist.
    #[error("there is no such plan")]
    NoSuchPlan,
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ProviderLogInError {
    /// Returns whether the log-in was refused, and not merely impossible at the moment. An answer that this browser has
    /// not asked for is neither: every web page can make a browser send one.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Provider(ProviderFault::Refused(_)) | Self::NotAdmitted(_) | Self::Disabled => true,
            Self::NotBegun
            | Self::Expired
            | Self::NoSuchProvider
            | Self::Provider(ProviderFault::Unavailable(_))
            | Self::NoSuchPlan
            | Self::Store(_) => false,
        }
    }

    /// Returns whether it counts as a guess: somebody has answered with a code that the provider does not know. Whoever is
    /// not admitted has proved to be somebody.
    pub fn is_guess(&self) -> bool {
        matches!(self, Self::Provider(ProviderFault::Refused(_)))
    }
}

impl LoginService {
    /// The providers, in the order of their buttons.
    pub fn providers(&self) -> &[Provider] {
        &self.federation.providers
    }

    /// Whether passwords are on.
    pub fn has_passwords(&self) -> bool {
        !self.federation.is_only
    }

    fn provider(&self, name: &str) -> Result<&Provider, ProviderLogInError> {
        self.federation.find(name).ok_or(ProviderLogInError::NoSuchProvider)
    }

    /// Begins a log-in at a provider.
    ///
    /// Returns the page of the provider, and what the browser keeps.
    pub async fn begin_at_provider(
        &self,
        name: &str,
        return_to: ReturnPath,
    ) -> Result<(String, KeptLogIn), ProviderLogInError> {
        let begun = self.provider(name)?.client.begin().await?;
        let expires_at = self.clock.now().plus(LOG_IN_LIFETIME);
        Ok((begun.url, KeptLogIn { pending: begun.pending, return_to, expires_at }))
    }

    /// Opens a browser session for a person that a provider has authenticated. Refusals count as failed log-ins.
    pub async fn log_in_at_provider(
        &self,
        command: ProviderLogIn<'_>,
    ) -> Result<LoggedInByProvider, ProviderLogInError> {
        let provider = self.provider(command.provider)?;
        let done = self.complete(provider, &command).await;
        if done.as_ref().is_err_and(ProviderLogInError::is_refusal) {
            let refused = Refused::Provider(provider.name.clone());
            self.note_failure(FailedLogin { refused, ..FailedLogin::of(None, command.address) });
        }
        done
    }

    async fn complete(
        &self,
        provider: &Provider,
        command: &ProviderLogIn<'_>,
    ) -> Result<LoggedInByProvider, ProviderLogInError> {
        let kept = command.kept.as_ref().filter(|kept| kept.pending.state == command.state);
        let kept = kept.ok_or(ProviderLogInError::NotBegun)?;
        if kept.expires_at <= self.clock.now() {
            return Err(ProviderLogInError::Expired);
        }
        let person = provider.client.finish(&kept.pending, command.code).await?;
        let rule = provider.policy.admit(&person.claims)?;
        let home = match rule {
            Some(rule) => Some(self.home_of(rule).await?),
            None => None,
        };
        let user = self.account_of(provider, &person, home.as_ref()).await?;
        if user.disabled_at.is_some() {
            return Err(ProviderLogInError::Disabled);
        }
        let not_placed = match home {
            Some(Ok(home)) => self.place(&user, &home, person.identity.issuer()).await?,
            Some(Err(reason)) => Some(reason),
            None => None,
        };
        let proof = SessionProof::Identity(person.identity, person.session);
        let (kind, lifetime) = (SessionKind::Browser, provider.session_lifetime);
        let open = self.begin_for(lifetime, user.id, proof, kind, command.address).await?;
        let open = open.ok_or(ProviderLogInError::Disabled)?;
        Ok(LoggedInByProvider { open, not_placed })
    }

    /// The account of a person: linked, linked now, or created.
    async fn account_of(
        &self,
        provider: &Provider,
        person: &ProvidedIdentity,
        home: Option<&Result<Home, String>>,
    ) -> Result<User, ProviderLogInError> {
        if let Some(user) = self.logins.find_identity(person.identity.clone()).await? {
            return Ok(user);
        }
        match self.first_account_of(provider, person, home).await {
            // Another log-in of the same person may have been faster, and holds the address.
            Err(refused @ ProviderLogInError::NotAdmitted(_)) => {
                self.logins.find_identity(person.identity.clone()).await?.ok_or(refused)
            }
            decided => decided,
        }
    }

    /// The account of a person whose identity is not linked.
    async fn first_account_of(
        &self,
        provider: &Provider,
        person: &ProvidedIdentity,
        home: Option<&Result<Home, String>>,
    ) -> Result<User, ProviderLogInError> {
        let email = person.claims.email(&provider.policy);
        let home = home.map(|home| home.as_ref().map_err(|_| NotAdmitted::NoOrganization)).transpose()?;
        let holder = match &email {
            Some(email) => self.logins.find_login(WhichLogin::Email(email.address.clone())).await?,
            None => None,
        };
        // A provider vouches for people of the organization that it is for, and for no operator.
        let is_strange = |user: &User| {
            user.role != UserRole::User || home.is_some_and(|home| home.organization.id != user.organization)
        };
        let decided = provider.policy.decide(email.as_ref(), holder.as_ref().map(|found| found.user.id))?;
        let made = match (decided, holder, email) {
            (FirstLogIn::Link(_), Some(holder), _) if holder.user.disabled_at.is_some() => {
                return Err(ProviderLogInError::Disabled);
            }
            (FirstLogIn::Link(_), Some(holder), _) if is_strange(&holder.user) => {
                return Err(NotAdmitted::EmailTaken.into());
            }
            (FirstLogIn::Link(user), Some(holder), _) => {
                let by = Actor::from(user);
                let new = NewIdentity { identity: person.identity.clone(), user, by, now: self.clock.now() };
                (self.logins.link_identity(new).await? == LinkOutcome::Linked).then_some(holder.user)
            }
            (FirstLogIn::Create, _, Some(email)) => self.create_for(person, home, email).await?,
            (FirstLogIn::Link(_) | FirstLogIn::Create, ..) => None,
        };
        made.ok_or_else(|| NotAdmitted::EmailTaken.into())
    }

    /// Creates an account; `None` if the identity or the address was taken meanwhile.
    async fn create_for(
        &self,
        person: &ProvidedIdentity,
        home: Option<&Home>,
        email: ProvidedEmail,
    ) -> Result<Option<User>, ProviderLogInError> {
        let home = home.map(|Home { organization, role }| {
            let name = OrganizationName::new(&organization.name);
            name.map(|name| InitialOrganization::Named(name, *role)).map_err(|_| NotAdmitted::NoOrganization)
        });
        let home = home.transpose()?.unwrap_or(InitialOrganization::Own);
        let email = email.address;
        let name = person.claims.name(&email).ok_or(NotAdmitted::NoEmail)?;
        for handle in candidates(&person.claims, &email) {
            let wanted = CreateUser {
                handle,
                email: email.clone(),
                name: name.clone(),
                initial_organization: home.clone(),
                plan: self.plan.clone(),
            };
            let mut new = NewUser::compose(wanted, UserRole::User, &*self.ids, self.clock.now());
            new.by = new.user.id.into();
            new.identity = Some(person.identity.clone());
            match self.users.create_user(new).await? {
                Ok(user) => return Ok(Some(user)),
                Err(CreateUserRefused::HandleTaken) => {}
                Err(CreateUserRefused::NoSuchPlan) => return Err(ProviderLogInError::NoSuchPlan),
                Err(
                    CreateUserRefused::EmailTaken
                    | CreateUserRefused::IdentityTaken
                    | CreateUserRefused::Invitation(_),
                ) => return Ok(None),
            }
        }
        Ok(None)
    }

    /// Where a rule brings people, or why it brings nobody there. The operator creates organizations and their first admins:
    /// the first member of an organization becomes its admin, whatever the rule says.
    async fn home_of(&self, rule: &ClaimRule) -> Result<Result<Home, String>, StoreError> {
        let Some(organization) = self.organizations.find(rule.organization.clone()).await? else {
            return Ok(Err("the organization of the rule does not exist".to_owned()));
        };
        let one = PageRequest { slice: Slice::Numbered { number: 1, size: 1 }, count: false };
        let is_empty = self.organizations.list_members(organization.id, one).await?.rows.is_empty();
        Ok(if is_empty && rule.role != OrganizationRole::Admin {
            Err(format!("the organization '{}' has no admin yet", organization.name))
        } else {
            Ok(Home { organization, role: rule.role })
        })
    }

    /// Gives a user the organization and the role of a rule. Returns why that was not possible: the user stays where they
    /// are then.
    async fn place(&self, user: &User, home: &Home, issuer: &str) -> Result<Option<String>, StoreError> {
        let (id, role) = (home.organization.id, home.role);
        if user.organization != id {
            return match self.organizations.move_by_claims(user.id, id, role, issuer).await {
                Ok(_) => Ok(None),
                Err(AcceptError::Enter(crate::organization::EnterError::Store(error))) => Err(error),
                Err(refused) => Ok(Some(refused.to_string())),
            };
        }
        if user.organization_role == role {
            return Ok(None);
        }
        match self.organizations.set_role_by_claims(id, user.id, role, issuer).await {
            Ok(_) => Ok(None),
            Err(SetRoleError::Store(error)) => Err(error),
            Err(refused) => Ok(Some(refused.to_string())),
        }
    }

    /// Ends the sessions that a provider says have ended; returns their number.
    pub async fn end_at_provider(&self, name: &str, token: &str) -> Result<usize, ProviderLogInError> {
        let ended = self.provider(name)?.client.ended(token).await?;
        Ok(self.end(WhichSessions::AtProvider(ended)).await?.len())
    }

    /// Links an identity to a user, for the operator.
    pub async fn link(&self, user: &User, identity: Identity) -> Result<LinkOutcome, StoreError> {
        let new = NewIdentity { identity, user: user.id, by: Actor::Operator, now: self.clock.now() };
        self.logins.link_identity(new).await
    }

    /// Removes the link of a user to a provider, and ends the sessions that it has opened, for the operator. Returns
    /// whether there was one.
    pub async fn unlink(&self, user: &User, issuer: &str) -> Result<bool, StoreError> {
        let (issuer, now) = (issuer.to_owned(), self.clock.now());
        Ok(self.logins.unlink_identity(user.id, issuer, now).await?.is_some())
    }
}
