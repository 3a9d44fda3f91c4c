//! The ports of logging in, in one place.

use std::sync::Arc;

use super::failures::FailedLogins;
use super::federation::Federation;
use super::passkey::PasskeyCeremonies;
use super::password::PasswordHasher;
use super::port::LoginRepository;
use super::register::Registration;
use crate::account::{TokenService, UserRepository};
use crate::audit::AuditRepository;
use crate::organization::OrganizationService;
use crate::plan::PlanName;
use crate::ports::{Clock, EventPublisher, IdGenerator, KeyMint};

/// The maximum number of sessions of one user; beyond it the longest unused end.
pub const MAX_SESSIONS: u32 = 100;

/// Use cases on passwords and sessions.
pub struct LoginService {
    pub(super) logins: Arc<dyn LoginRepository>,
    pub(super) users: Arc<dyn UserRepository>,
    pub(super) tokens: Arc<TokenService>,
    pub(super) hasher: Arc<dyn PasswordHasher>,
    pub(super) events: Arc<dyn EventPublisher>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Arc<dyn IdGenerator>,
    pub(super) mint: Arc<dyn KeyMint>,
    pub(super) registration: Registration,
    pub(super) plan: PlanName,
    pub(super) audit: Arc<dyn AuditRepository>,
    pub(super) federation: Federation,
    pub(super) passkeys: Option<Arc<dyn PasskeyCeremonies>>,
    pub(super) organizations: Arc<OrganizationService>,
    pub(super) public_url: Option<String>,
    pub(super) failures: FailedLogins,
}

/// The dependencies of [`LoginService`].
#[derive(Clone)]
pub struct LoginPorts {
    /// Passwords and sessions.
    pub logins: Arc<dyn LoginRepository>,
    /// Users.
    pub users: Arc<dyn UserRepository>,
    /// Signs access tokens.
    pub tokens: Arc<TokenService>,
    /// Hashes passwords.
    pub hasher: Arc<dyn PasswordHasher>,
    /// Receives the events of what ends.
    pub events: Arc<dyn EventPublisher>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Ids of sessions.
    pub ids: Arc<dyn IdGenerator>,
    /// Refresh and reset tokens.
    pub mint: Arc<dyn KeyMint>,
    /// Who may register.
    pub registration: Registration,
    /// The plan of an organization that is created with a registration.
    pub plan: PlanName,
    /// The audit log.
    pub audit: Arc<dyn AuditRepository>,
    /// Identity providers.
    pub federation: Federation,
    /// Speaks with devices that hold passkeys; `None` if the address of the server does not allow it.
    pub passkeys: Option<Arc<dyn PasskeyCeremonies>>,
    /// Organizations, for the members whom providers name.
    pub organizations: Arc<OrganizationService>,
    /// The server's address from outside, for the name of an account in an authenticator app.
    pub public_url: Option<String>,
}

impl LoginService {
    /// Wires the area to its ports.
    pub fn new(ports: LoginPorts) -> Self {
        Self {
            logins: ports.logins,
            users: ports.users,
            tokens: ports.tokens,
            hasher: ports.hasher,
            events: ports.events,
            clock: ports.clock,
            ids: ports.ids,
            mint: ports.mint,
            registration: ports.registration,
            plan: ports.plan,
            audit: ports.audit,
            federation: ports.federation,
            passkeys: ports.passkeys,
            organizations: ports.organizations,
            public_url: ports.public_url,
            failures: FailedLogins::default(),
        }
    }
}
