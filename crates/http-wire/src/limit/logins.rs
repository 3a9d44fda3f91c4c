//! Limits for log-ins: wrong passwords are counted before anything is hashed.
//!
//! Each attempt is charged to two quotas: that of the account from this address, which is paid back
//! if the password was right, and that of the address, which is not, as each log-in costs a hash
//! and a write. In addition, few attempts of one address are checked at the same time, so that one
//! client cannot use up the queue. A third quota counts the account from all addresses without a
//! recent success. An attacker with many addresses exhausts that one; it does not lock the account,
//! since then anyone could lock its owner out, but from then on each unknown address, and each IPv6
//! network of one customer, has a single attempt per minute. The owner is therefore admitted from
//! anywhere at the first attempt, and from known addresses as usual.
//!
//! Names are counted as the domain parses them ([`TypedName`]), so another spelling is no further
//! quota. A name and its account are counted separately: a refusal by name is a 429 and reveals
//! nothing about accounts, as an unknown name is refused in the same way. Behind it the account
//! counts the attempts of all its names, and its refusals look like a wrong password: a 429 there
//! would reveal which handle and which address belong to one account.
//!
//! Codes of second factors are counted per account, from all addresses together: many addresses with
//! attempts of their own would guess six digits too soon. Only somebody who has the password or a reset
//! token gets that far. Recovery codes are not counted, so the owner always has a way in. This limit has no switch: without
//! it, six digits are no second factor.
//!
//! All state is in memory: after a restart every client is unknown, with a fresh quota.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::id::UserId;
use domain::login::TypedName;
use domain::ports::Clock;
use domain::time::Timestamp;

use super::address::Source;
use super::expiring_map::ExpiringMap;
use super::rate_limiter::{Quota, RateLimiter, RateState};

/// The time for which an address stays known to an account.
const KNOWN: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The maximum number of passwords from one address that are checked at the same time.
const AT_ONCE: u32 = 2;

/// The seconds in which an account has one more attempt at a code, after the first ten.
pub(crate) const SECONDS_PER_CODE: u32 = 300;

/// The retry time for an address with the maximum number of concurrent attempts.
const SOON: Duration = Duration::from_secs(1);

/// The account that a client claims.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LoginName<'a> {
    /// The typed name: a handle or an address.
    Typed(&'a TypedName),
    /// The authenticated user.
    Known(UserId),
}

/// The reason why a password is not checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LoginRefused {
    /// Too many others from the same address are being checked.
    Busy(RateState),
    /// The quota of the address or of the name is used up.
    UsedUp(RateState),
}

/// Counts wrong passwords and codes.
pub(super) struct Logins {
    clock: Arc<dyn Clock>,
    /// Set unless only codes are limited.
    limits_passwords: bool,
    pairs: RateLimiter,
    addresses: RateLimiter,
    accounts: RateLimiter,
    /// Per account and site, while many others guess at the account.
    strangers: RateLimiter,
    /// Codes of second factors, per account.
    codes: RateLimiter,
    known: ExpiringMap,
    /// Attempts that are being checked, by address.
    busy: Mutex<HashMap<u128, u32>>,
    /// Exchanges of refresh tokens, by address.
    refreshes: RateLimiter,
    hasher: RandomState,
}

impl Logins {
    pub(super) fn new(limits_passwords: bool, clock: Arc<dyn Clock>) -> Self {
        let limiter = |quota| RateLimiter::new(quota, Duration::ZERO);
        Self {
            clock,
            limits_passwords,
            pairs: limiter(Quota::one_in(10, 5)),
            addresses: limiter(Quota::one_in(1, 50)),
            accounts: limiter(Quota::one_in(10, 30)),
            strangers: limiter(Quota::one_in(60, 1)),
            codes: limiter(Quota::one_in(SECONDS_PER_CODE, 10)),
            known: ExpiringMap::new(),
            busy: Mutex::default(),
            refreshes: limiter(Quota::one_in(1, 60)),
            hasher: RandomState::new(),
        }
    }

    /// Counts an exchange of a refresh token, whatever its result.
    pub(super) fn may_refresh(&self, source: Source) -> Result<(), RateState> {
        if !self.limits_passwords {
            return Ok(());
        }
        self.refreshes.spend(source.key(), self.clock.steady()).map(|_| ())
    }

    /// Counts an attempt at a code of `user`, whatever its result.
    pub(super) fn may_try_code(&self, user: UserId) -> bool {
        self.codes.spend(self.code_key(user), self.clock.steady()).is_ok()
    }

    fn code_key(&self, user: UserId) -> u128 {
        self.hasher.hash_one(user).into()
    }

    /// Decides whether a password may be checked. From an unknown source it may.
    pub(super) fn may_try(
        &self,
        source: impl Into<Option<Source>>,
        name: LoginName<'_>,
    ) -> Result<LoginAttempt<'_>, LoginRefused> {
        let mut attempt = LoginAttempt { logins: self, source: None, pairs: Vec::new(), paid: Vec::new() };
        let Some(source) = source.into().filter(|_| self.limits_passwords) else { return Ok(attempt) };
        let (now, address) = (self.clock.steady(), source.key());
        self.begin(address, now).map_err(LoginRefused::Busy)?;
        let keys = self.keys(name, source);
        (attempt.source, attempt.pairs) = (Some(source), vec![keys.pair]);
        let spent = attempt.pay(&self.addresses, address).and_then(|()| attempt.pay_for(keys));
        match spent {
            Ok(()) => Ok(attempt),
            Err(rate) => {
                attempt.undecided();
                Err(LoginRefused::UsedUp(rate))
            }
        }
    }

    fn keys(&self, name: impl Hash, source: Source) -> Keys {
        Keys {
            account: self.hasher.hash_one(&name).into(),
            pair: self.hasher.hash_one((&name, source.key())).into(),
            stranger: self.hasher.hash_one((&name, source.site())).into(),
        }
    }

    fn begin(&self, address: u128, now: Timestamp) -> Result<(), RateState> {
        let mut busy = self.busy();
        let count = busy.entry(address).or_default();
        if *count >= AT_ONCE {
            return Err(RateState { limit: AT_ONCE, remaining: 0, reset: now.plus(SOON), retry_after: SOON });
        }
        *count += 1;
        Ok(())
    }

    fn busy(&self) -> MutexGuard<'_, HashMap<u128, u32>> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The keys under which an attempt is counted.
#[derive(Clone, Copy)]
struct Keys {
    account: u128,
    /// The account from this address.
    pair: u128,
    /// The account from this site.
    stranger: u128,
}

/// A password that is being checked. Without a recorded result the charge stays.
#[must_use]
pub(super) struct LoginAttempt<'a> {
    logins: &'a Logins,
    /// `None` if the password is not limited.
    source: Option<Source>,
    /// The name, and the account once it is known, from this address.
    pairs: Vec<u128>,
    paid: Vec<(&'a RateLimiter, u128)>,
}

impl<'a> LoginAttempt<'a> {
    fn pay(&mut self, limiter: &'a RateLimiter, key: u128) -> Result<(), RateState> {
        limiter.spend(key, self.logins.clock.steady())?;
        self.paid.push((limiter, key));
        Ok(())
    }

    /// Charges a name or an account.
    fn pay_for(&mut self, Keys { account, pair, stranger }: Keys) -> Result<(), RateState> {
        let logins = self.logins;
        self.pay(&logins.pairs, pair)?;
        if logins.known.holds(pair, logins.clock.steady()) || self.pay(&logins.accounts, account).is_ok() {
            return Ok(());
        }
        self.pay(&logins.strangers, stranger)
    }

    /// Decides whether the password of `user`, whose name was typed, may be compared. The attempts
    /// by all names of an account count together.
    pub(super) fn may_try_account(&mut self, user: UserId) -> bool {
        let Some(source) = self.source else { return true };
        let (keys, paid_before) = (self.logins.keys(LoginName::Known(user), source), self.paid.len());
        if self.pay_for(keys).is_ok() {
            self.pairs.push(keys.pair);
            return true;
        }
        let now = self.logins.clock.steady();
        self.paid.drain(paid_before..).for_each(|(limiter, key)| limiter.pay_back(key, now));
        false
    }

    /// Decides whether a code of `user`, whose password was right, may be compared.
    pub(super) fn may_try_code(&mut self, user: UserId) -> bool {
        let logins = self.logins;
        self.pay(&logins.codes, logins.code_key(user)).is_ok()
    }

    /// Records a correct password, with a correct code if the account has a second factor.
    pub(super) fn good(self) {
        let now = self.logins.clock.steady();
        for pair in &self.pairs {
            self.logins.known.keep(*pair, now.plus(KNOWN), now);
        }
        self.incomplete();
    }

    /// Records a correct password without the code that the account requires: the address does not become known.
    pub(super) fn incomplete(mut self) {
        self.paid.retain(|(limiter, _)| !std::ptr::eq(*limiter, &raw const self.logins.addresses));
        self.undecided();
    }

    /// Records a check without a result, which does not count as a guess.
    pub(super) fn undecided(self) {
        let now = self.logins.clock.steady();
        for (limiter, key) in &self.paid {
            limiter.pay_back(*key, now);
        }
    }
}

impl Drop for LoginAttempt<'_> {
    fn drop(&mut self) {
        let Some(address) = self.source.map(Source::key) else { return };
        let mut busy = self.logins.busy();
        if let Some(count) = busy.get_mut(&address) {
            *count -= 1;
            if *count == 0 {
                busy.remove(&address);
            }
        }
    }
}

#[cfg(test)]
mod tests;
