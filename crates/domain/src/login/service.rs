//! The ports of logging in, in one place.

use std::sync::Arc;

use super::password::PasswordHasher;
use super::port::LoginRepository;
use super::register::Registration;
use crate::account::{AccountRepository, TokenService};
use crate::plan::PlanName;
use crate::ports::{Clock, EventPublisher, IdGenerator, KeyMint};

/// How many sessions one user may have; of more the longest unused end.
pub const MAX_SESSIONS: u32 = 100;

/// Use cases on passwords and sessions.
pub struct LoginService {
    pub(super) logins: Arc<dyn LoginRepository>,
    pub(super) accounts: Arc<dyn AccountRepository>,
    pub(super) tokens: Arc<TokenService>,
    pub(super) hasher: Arc<dyn PasswordHasher>,
    pub(super) events: Arc<dyn EventPublisher>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Arc<dyn IdGenerator>,
    pub(super) mint: Arc<dyn KeyMint>,
    pub(super) registration: Registration,
    pub(super) plan: PlanName,
}

/// What [`LoginService`] stands on.
#[derive(Clone)]
pub struct LoginPorts {
    /// Passwords and sessions.
    pub logins: Arc<dyn LoginRepository>,
    /// Users.
    pub accounts: Arc<dyn AccountRepository>,
    /// Signs access tokens.
    pub tokens: Arc<TokenService>,
    /// Hashes passwords.
    pub hasher: Arc<dyn PasswordHasher>,
    /// Hears what ends.
    pub events: Arc<dyn EventPublisher>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Ids of sessions.
    pub ids: Arc<dyn IdGenerator>,
    /// Refresh and reset tokens.
    pub mint: Arc<dyn KeyMint>,
    /// Who may register.
    pub registration: Registration,
    /// The plan of an organization that comes with a registration.
    pub plan: PlanName,
}

impl LoginService {
    /// Wires the area to its ports.
    pub fn new(ports: LoginPorts) -> Self {
        let LoginPorts { logins, accounts, tokens, hasher, events, clock, ids, mint, registration, plan } =
            ports;
        Self { logins, accounts, tokens, hasher, events, clock, ids, mint, registration, plan }
    }
}
