//! The limit for failed authentication per address.
//!
//! An unknown credential is charged before it is checked, so that concurrent guesses are worth no
//! more than sequential ones; a valid credential is paid back. While credentials of an address are
//! being checked, their charges may still be paid back, so the next credential waits for the result
//! instead of being refused. A fleet of agents that connects from one address at the same time is
//! therefore admitted.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::ports::Clock;
use tokio::sync::Notify;

use super::NotTried;
use super::address::Source;
use super::expiring_map::ExpiringMap;
use super::rate_limiter::{Quota, RateLimiter};
use crate::auth::Credential;

/// The time for which a credential counts as known after it was last valid.
const KNOWN: Duration = Duration::from_secs(15 * 60);

/// The time for which an invalid credential is refused without a check.
const KNOWN_BAD: Duration = Duration::from_secs(10);

/// The longest time that charges beyond the burst can lock out an address.
const LONGEST_BAN: Duration = Duration::from_secs(60);

/// Charges failures, and caches valid and invalid credentials.
pub(super) struct AuthThrottle {
    clock: Arc<dyn Clock>,
    failures: RateLimiter,
    known: ExpiringMap,
    known_bad: ExpiringMap,
    hasher: RandomState,
    /// Charged credentials that are being checked, by source.
    looking: Mutex<HashMap<u128, u32>>,
    decided: Notify,
}

impl AuthThrottle {
    pub(super) fn new(quota: Quota, clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            failures: RateLimiter::new(quota, LONGEST_BAN),
            known: ExpiringMap::new(),
            known_bad: ExpiringMap::new(),
            hasher: RandomState::new(),
            looking: Mutex::default(),
            decided: Notify::new(),
        }
    }

    pub(super) async fn may_try(
        &self,
        source: Option<Source>,
        credential: Credential<'_>,
    ) -> Result<CredentialCheck<'_>, NotTried> {
        let name = self.name(credential);
        let attempt = |paid: bool| CredentialCheck(Some(PendingCheck { throttle: self, name, source, paid }));
        let Some(payer) = source.map(Source::key) else { return Ok(attempt(false)) };
        loop {
            // Results from here on are not missed.
            let decided = self.decided.notified();
            let now = self.clock.steady();
            if self.known_bad.holds(name, now) {
                return Err(NotTried::KnownBad);
            }
            if self.known.holds(name, now) {
                return Ok(attempt(false));
            }
            {
                let mut looking = self.looking();
                match self.failures.spend(payer, now) {
                    Ok(_) => {
                        *looking.entry(payer).or_default() += 1;
                        return Ok(attempt(true));
                    }
                    Err(shut) if !looking.contains_key(&payer) => return Err(NotTried::ShutOut(shut)),
                    Err(_) => {}
                }
            }
            decided.await;
        }
    }

    fn looking(&self) -> MutexGuard<'_, HashMap<u128, u32>> {
        self.looking.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The key of a credential in the caches: a seeded hash, including the kind, since an invalid
    /// token may be a valid API key.
    fn name(&self, credential: Credential<'_>) -> u128 {
        u128::from(self.hasher.hash_one(credential))
    }
}

/// A credential that is being checked. If it is dropped without a result, for example because the
/// client has gone, the charge stays.
#[must_use]
pub(super) struct CredentialCheck<'a>(Option<PendingCheck<'a>>);

struct PendingCheck<'a> {
    throttle: &'a AuthThrottle,
    name: u128,
    source: Option<Source>,
    paid: bool,
}

impl CredentialCheck<'_> {
    /// An attempt without a limit.
    pub(super) fn uncounted() -> Self {
        Self(None)
    }

    /// Records a valid credential.
    pub(super) fn good(self) {
        let Some(looking) = self.0 else { return };
        looking.pay_back();
        let now = looking.throttle.clock.steady();
        looking.throttle.known.keep(looking.name, now.plus(KNOWN), now);
    }

    /// Records an invalid credential.
    pub(super) fn bad(self) {
        let Some(looking) = self.0 else { return };
        let (throttle, now) = (looking.throttle, looking.throttle.clock.steady());
        throttle.known.forget(looking.name);
        throttle.known_bad.keep(looking.name, now.plus(KNOWN_BAD), now);
        // A known credential was not charged yet.
        if let (false, Some(source)) = (looking.paid, looking.source) {
            throttle.failures.charge(source.key(), now);
        }
    }

    /// Records a check without a result, which does not count as a guess.
    pub(super) fn undecided(self) {
        if let Some(looking) = self.0 {
            looking.pay_back();
        }
    }
}

impl PendingCheck<'_> {
    fn pay_back(&self) {
        if let (true, Some(source)) = (self.paid, self.source) {
            self.throttle.failures.pay_back(source.key(), self.throttle.clock.steady());
        }
    }
}

impl Drop for PendingCheck<'_> {
    fn drop(&mut self) {
        let (true, Some(source)) = (self.paid, self.source) else { return };
        let mut looking = self.throttle.looking();
        if let Some(count) = looking.get_mut(&source.key()) {
            *count -= 1;
            if *count == 0 {
                looking.remove(&source.key());
            }
        }
        drop(looking);
        self.throttle.decided.notify_waiters();
    }
}
