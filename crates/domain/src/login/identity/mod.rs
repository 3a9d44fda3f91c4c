//! People known to an identity provider (OpenID Connect): what identifies them, and which account they get.
//!
//! An account is identified by the *issuer* and the *subject*, which never change. An e-mail address can change hands, so
//! it links an account only if the operator allows it, and only if the provider has verified it. Everything here is pure;
//! the use cases are in [`super::federated`].

mod claims;
mod handle;

use crate::account::UserHandle;
use crate::id::UserId;
use crate::organization::OrganizationRole;
use crate::plan::WhichOrganization;
use crate::text::single_line;
use crate::time::Timestamp;

pub use claims::Claims;
pub(super) use handle::handles;

/// The maximum length of an issuer, a subject, or the id of a provider's session.
const MAX_CHARS: usize = 255;

/// A person at a provider.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Identity {
    issuer: String,
    subject: String,
}

impl Identity {
    /// Checks both: 1 to 255 characters on one line.
    pub fn new(issuer: &str, subject: &str) -> Option<Self> {
        Some(Self { issuer: provided(issuer)?, subject: provided(subject)? })
    }

    /// An identity of a store.
    pub fn from_stored(issuer: String, subject: String) -> Self {
        Self { issuer, subject }
    }

    /// The URL of the provider.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// The provider's id of the person.
    pub fn subject(&self) -> &str {
        &self.subject
    }
}

/// A text of a provider that is stored as it is.
pub(super) fn provided(text: &str) -> Option<String> {
    single_line(text, MAX_CHARS).ok().filter(|kept| kept == text)
}

/// An identity with its user, as it is stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IdentityRecord {
    /// The identity.
    pub identity: Identity,
    /// The account.
    pub user: UserId,
    /// The time at which it was linked.
    pub created_at: Timestamp,
    /// The last log-in with it.
    pub used_at: Option<Timestamp>,
}

/// A person authenticated by a provider.
#[derive(Clone, PartialEq, Debug)]
pub struct ProvidedIdentity {
    /// The person.
    pub identity: Identity,
    /// The provider's id of its session (`sid`).
    pub session: Option<String>,
    /// What else it says.
    pub claims: Claims,
}

/// One row of the table of claims.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClaimRule {
    /// The name of the claim; with dots, the path to it.
    pub claim: String,
    /// The value that it has, or contains; `*` is any.
    pub value: String,
    /// The organization of those people, by its name, or by its id, which its admins cannot change.
    pub organization: WhichOrganization,
    /// Their role there.
    pub role: OrganizationRole,
}

/// What the operator lets people of a provider do.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProviderPolicy {
    /// Whether the first log-in creates an account.
    pub creates_accounts: bool,
    /// Whether the first log-in may link the account with the same verified address.
    pub links_by_email: bool,
    /// Whether addresses are verified unless the provider says otherwise.
    pub trusts_email: bool,
    /// The organizations and roles of people; the first that applies counts. Without rules, everybody is admitted.
    pub rules: Vec<ClaimRule>,
}

/// An e-mail address that a provider states.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProvidedEmail {
    /// The address.
    pub address: String,
    /// Whether the provider has verified it.
    pub is_verified: bool,
}

/// The reason why a person of a provider gets no account.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotAdmitted {
    /// No rule applies.
    #[error("none of the claims in the configuration applies")]
    NoRule,
    /// No account is linked, and none may be created.
    #[error("no account is linked to this identity")]
    NoAccount,
    /// The organization of the rule does not exist, or has no admin yet.
    #[error("the organization of the claims does not exist, or has no admin yet")]
    NoOrganization,
    /// There is no address, which an account needs.
    #[error("the provider states no email address")]
    NoEmail,
    /// The address is not verified.
    #[error("the provider has not verified the email address")]
    EmailUnverified,
    /// An account has the address, and may not be linked by it.
    #[error("an account with this email address is not linked to this identity")]
    EmailTaken,
}

/// What happens with somebody whose identity is not linked yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FirstLogIn {
    /// This account is linked.
    Link(UserId),
    /// An account is created.
    Create,
}

impl ProviderPolicy {
    /// The rule that applies to somebody; `None` without rules.
    pub fn admit(&self, claims: &Claims) -> Result<Option<&ClaimRule>, NotAdmitted> {
        let found = self.rules.iter().find(|rule| claims.have(&rule.claim, &rule.value));
        if found.is_none() && !self.rules.is_empty() { Err(NotAdmitted::NoRule) } else { Ok(found) }
    }

    /// Decides on somebody whose identity is not linked; `holder` is the account with the same address.
    pub fn decide(
        &self,
        email: Option<&ProvidedEmail>,
        holder: Option<UserId>,
    ) -> Result<FirstLogIn, NotAdmitted> {
        let is_verified = email.is_some_and(|email| email.is_verified);
        match holder {
            Some(user) if is_verified && self.links_by_email => Ok(FirstLogIn::Link(user)),
            Some(_) if is_verified && self.creates_accounts => Err(NotAdmitted::EmailTaken),
            _ if !(self.creates_accounts || self.links_by_email && holder.is_some()) => {
                Err(NotAdmitted::NoAccount)
            }
            _ if email.is_none() => Err(NotAdmitted::NoEmail),
            _ if !is_verified => Err(NotAdmitted::EmailUnverified),
            _ => Ok(FirstLogIn::Create),
        }
    }
}

/// The handles that a new account may get, the best first.
pub(super) fn candidates(claims: &Claims, email: &str) -> impl Iterator<Item = UserHandle> + use<> {
    let wished = claims.text("preferred_username");
    handles(wished.as_deref().unwrap_or(email))
}

#[cfg(test)]
mod tests;
