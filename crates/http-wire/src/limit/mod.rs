//! How often somebody may ask (`semantics` 8).
//!
//! Whoever has proved who they are is counted by that, in one of a few classes of operations. An
//! address is counted for failed authentication only: from there, once too much was guessed, only
//! credentials that were good a short time ago are looked at, so that whoever guesses costs no
//! look at the store and harms nobody else behind the same address. A credential that was bad a
//! moment ago is bad still: a client that repeats a revoked key is no guesser, and costs nothing.

pub mod address;
mod class;
mod memory;
mod meter;

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use domain::id::ParticipantId;
use domain::ports::Clock;

use address::{Network, Source};
pub use class::Class;
use memory::Memory;
use meter::Meter;
pub use meter::{Quota, Standing};

use crate::auth::Credential;
use crate::error::{ApiError, ErrorCode, unauthorized};

/// How long a credential counts as known after it was last good.
const KNOWN: Duration = Duration::from_secs(15 * 60);

/// How long a credential that was bad is not looked at again.
const KNOWN_BAD: Duration = Duration::from_secs(10);

/// How long an address may be shut out for what it failed at, beyond its burst.
const LONGEST_BAN: Duration = Duration::from_secs(60);

/// The limits; `None` is no limit.
#[derive(Clone, Debug)]
pub struct RateLimitConfig {
    /// Everything that has no quota of its own.
    pub general: Option<Quota>,
    /// The calls of an agent at work: `/next`, processing, the indicator.
    pub work: Option<Quota>,
    /// Contact requests and the registration of agents.
    pub invitations: Option<Quota>,
    /// Opening sockets.
    pub connects: Option<Quota>,
    /// Failed authentication, for each address.
    pub failures: Option<Quota>,
    /// Proxies whose word on the client's address is taken.
    pub trusted_proxies: Vec<Network>,
}

impl Default for RateLimitConfig {
    fn default() -> Self {
        Self {
            general: Quota::new(500, 1000),
            work: Quota::new(2000, 4000),
            invitations: Quota::new(20, 500),
            connects: Quota::new(20, 200),
            failures: Quota::new(2, 100),
            trusted_proxies: Vec::new(),
        }
    }
}

impl RateLimitConfig {
    /// No limits at all.
    pub fn off() -> Self {
        Self {
            general: None,
            work: None,
            invitations: None,
            connects: None,
            failures: None,
            trusted_proxies: Vec::new(),
        }
    }
}

/// Counts who asks how often. One for all workers of the server.
pub struct RateLimits {
    clock: Arc<dyn Clock>,
    general: Option<Meter>,
    work: Option<Meter>,
    invitations: Option<Meter>,
    connects: Option<Meter>,
    failures: Option<Meter>,
    known: Memory,
    known_bad: Memory,
    hasher: RandomState,
    trusted_proxies: Vec<Network>,
}

impl RateLimits {
    /// With these limits, under this clock.
    pub fn new(config: RateLimitConfig, clock: Arc<dyn Clock>) -> Self {
        let meter = |quota: Option<Quota>| quota.map(|quota| Meter::new(quota, Duration::ZERO));
        Self {
            clock,
            general: meter(config.general),
            work: meter(config.work),
            invitations: meter(config.invitations),
            connects: meter(config.connects),
            failures: config.failures.map(|quota| Meter::new(quota, LONGEST_BAN)),
            known: Memory::new(),
            known_bad: Memory::new(),
            hasher: RandomState::new(),
            trusted_proxies: config.trusted_proxies,
        }
    }

    /// Where a request comes from.
    pub fn source(&self, peer: Option<std::net::SocketAddr>, headers: &HeaderMap) -> Option<Source> {
        address::source(peer.map(|peer| peer.ip()), headers, &self.trusted_proxies)
    }

    /// Whether `credential` from `source` may be looked at.
    pub fn may_try(&self, source: Option<Source>, credential: Credential<'_>) -> Result<(), NotTried> {
        let (Some(failures), Some(source)) = (&self.failures, source) else { return Ok(()) };
        let (now, name) = (self.clock.now(), self.name(credential));
        if self.known_bad.holds(name, now) {
            return Err(NotTried::KnownBad);
        }
        match failures.look(source.key(), now) {
            Some(shut) if !self.known.holds(name, now) => Err(NotTried::ShutOut(shut)),
            _ => Ok(()),
        }
    }

    /// What came of looking at `credential`.
    pub fn tried(&self, source: Option<Source>, credential: Credential<'_>, good: bool) {
        let Some(failures) = &self.failures else { return };
        let (now, name) = (self.clock.now(), self.name(credential));
        if good {
            self.known.keep(name, now.plus(KNOWN), now);
        } else {
            self.known.forget(name);
            self.known_bad.keep(name, now.plus(KNOWN_BAD), now);
            if let Some(source) = source {
                failures.charge(source.key(), now);
            }
        }
    }

    /// Counts one request of `who`. The standing afterwards; `None` where there is no limit.
    pub fn spend(&self, who: ParticipantId, class: Class) -> Option<Result<Standing, Standing>> {
        let meter = match class {
            Class::General => &self.general,
            Class::Work => &self.work,
            Class::Invitation => &self.invitations,
            Class::Connect => &self.connects,
        };
        Some(meter.as_ref()?.spend(who.uuid().as_u128(), self.clock.now()))
    }

    /// The name under which a credential is known: a hash that nobody outside can foresee. What is
    /// bad as a token may be good as a key, so the kind goes in.
    fn name(&self, credential: Credential<'_>) -> u128 {
        u128::from(self.hasher.hash_one(credential))
    }
}

/// Why a credential is not looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotTried {
    /// It was bad a moment ago.
    KnownBad,
    /// Too many others from the same address were.
    ShutOut(Standing),
}

impl From<NotTried> for ApiError {
    fn from(not_tried: NotTried) -> Self {
        match not_tried {
            NotTried::KnownBad => unauthorized(),
            NotTried::ShutOut(standing) => refused(standing),
        }
    }
}

/// The refusal of a request on REST.
pub(crate) fn refused(standing: Standing) -> ApiError {
    let error = ApiError::new(ErrorCode::RateLimited, "Too many requests, try again later");
    let error = error.with_retry_after(standing.retry_after_seconds());
    headers(standing).into_iter().fold(error, |error, (name, value)| error.with_header(name, value))
}

/// What a standing says of itself in every answer.
pub(crate) fn headers(standing: Standing) -> [(HeaderName, HeaderValue); 3] {
    [
        (HeaderName::from_static("x-ratelimit-limit"), HeaderValue::from(standing.limit)),
        (HeaderName::from_static("x-ratelimit-remaining"), HeaderValue::from(standing.remaining)),
        (HeaderName::from_static("x-ratelimit-reset"), HeaderValue::from(standing.reset_unix_seconds())),
    ]
}

#[cfg(test)]
mod tests;
