//! Log-ins: wrong passwords, counted before anything is hashed.
//!
//! Each attempt takes one of two quotas: of the account from this address, which it gets back if the password was right,
//! and of the address, which also right ones are taken from, as each costs a hash and a write. Beside that, few
//! attempts of one address are looked at in the same moment, so that nobody takes all places. A third counts the account from all addresses at which nobody was right lately.
//! Somebody with many addresses runs into that one; it does not shut the account, since then anybody could lock
//! its owner out, but from then on each unknown address has a single attempt a minute. So the owner is let in from
//! wherever they are, at the first try, and from where they are at home as always.
//!
//! This is remembered in memory: after a restart everybody is a stranger, with a fresh quota.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::id::UserId;
use domain::ports::Clock;
use domain::time::Timestamp;

use super::address::Source;
use super::memory::Memory;
use super::meter::{Meter, Quota, Standing};

/// How long an address is known to an account.
const KNOWN: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How many passwords from one address are looked at in the same moment.
const AT_ONCE: u32 = 2;

/// When an address may come again that has as many attempts as it may.
const SOON: Duration = Duration::from_secs(1);

/// Who somebody says to be.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LoginName<'a> {
    /// What they have typed: a handle or an address.
    Typed(&'a str),
    /// The user whose token they have.
    Known(UserId),
}

/// Counts wrong passwords.
pub(super) struct Logins {
    clock: Arc<dyn Clock>,
    pairs: Meter,
    addresses: Meter,
    accounts: Meter,
    /// Of an account and an address, while many others guess at the account.
    strangers: Meter,
    known: Memory,
    /// Attempts that are looked at, by address.
    busy: Mutex<HashMap<u128, u32>>,
    /// Those who exchange refresh tokens, by address.
    refreshes: Meter,
    hasher: RandomState,
}

impl Logins {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        let meter = |quota| Meter::new(quota, Duration::ZERO);
        Self {
            clock,
            pairs: meter(Quota::one_in(10, 5)),
            addresses: meter(Quota::one_in(1, 50)),
            accounts: meter(Quota::one_in(10, 30)),
            strangers: meter(Quota::one_in(60, 1)),
            known: Memory::new(),
            busy: Mutex::default(),
            refreshes: meter(Quota::one_in(1, 60)),
            hasher: RandomState::new(),
        }
    }

    /// Counts one who exchanges a refresh token, whatever comes of it.
    pub(super) fn may_refresh(&self, source: Source) -> Result<(), Standing> {
        self.refreshes.spend(source.key(), self.clock.now()).map(|_| ())
    }

    /// Whether a password may be looked at.
    pub(super) fn may_try(&self, source: Source, name: LoginName<'_>) -> Result<LoginAttempt<'_>, Standing> {
        let (now, address) = (self.clock.now(), source.key());
        self.begin(address, now)?;
        let typed = |text: &str| text.trim().trim_start_matches('@').to_lowercase();
        let (account, pair) = match name {
            LoginName::Typed(text) => self.keys(typed(text), address),
            LoginName::Known(user) => self.keys(user, address),
        };
        let mut attempt = LoginAttempt { logins: self, address, pair, paid: Vec::with_capacity(3) };
        let spent = attempt.pay(&self.pairs, pair).and_then(|()| attempt.pay(&self.addresses, address));
        let spent = spent.and_then(|()| {
            if self.known.holds(pair, now) || attempt.pay(&self.accounts, account).is_ok() {
                return Ok(());
            }
            attempt.pay(&self.strangers, pair)
        });
        match spent {
            Ok(()) => Ok(attempt),
            Err(standing) => {
                attempt.undecided();
                Err(standing)
            }
        }
    }

    /// Of the account, and of the account from this address.
    fn keys(&self, name: impl Hash, address: u128) -> (u128, u128) {
        (self.hasher.hash_one(&name).into(), self.hasher.hash_one((&name, address)).into())
    }

    fn begin(&self, address: u128, now: Timestamp) -> Result<(), Standing> {
        let mut busy = self.busy();
        let count = busy.entry(address).or_default();
        if *count >= AT_ONCE {
            return Err(Standing { limit: AT_ONCE, remaining: 0, reset: now.plus(SOON), retry_after: SOON });
        }
        *count += 1;
        Ok(())
    }

    fn busy(&self) -> MutexGuard<'_, HashMap<u128, u32>> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A password that is being looked at; whoever looks tells the verdict. Without one what was paid stays paid.
#[must_use]
pub struct LoginAttempt<'a> {
    logins: &'a Logins,
    address: u128,
    pair: u128,
    paid: Vec<(&'a Meter, u128)>,
}

impl<'a> LoginAttempt<'a> {
    fn pay(&mut self, meter: &'a Meter, key: u128) -> Result<(), Standing> {
        meter.spend(key, self.logins.clock.now())?;
        self.paid.push((meter, key));
        Ok(())
    }

    /// It was right.
    pub fn good(mut self) {
        let now = self.logins.clock.now();
        self.logins.known.keep(self.pair, now.plus(KNOWN), now);
        self.paid.retain(|(meter, _)| !std::ptr::eq(*meter, &raw const self.logins.addresses));
        self.undecided();
    }

    /// Nobody could tell: that is no guess.
    pub fn undecided(self) {
        let now = self.logins.clock.now();
        for (meter, key) in &self.paid {
            meter.pay_back(*key, now);
        }
    }
}

impl Drop for LoginAttempt<'_> {
    fn drop(&mut self) {
        let mut busy = self.logins.busy();
        if let Some(count) = busy.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                busy.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::*;

    struct Hand(AtomicI64);

    impl Clock for Hand {
        fn now(&self) -> Timestamp {
            Timestamp::from_micros(self.0.load(Ordering::SeqCst))
        }
    }

    fn logins() -> (Logins, Arc<Hand>) {
        let clock = Arc::new(Hand(AtomicI64::new(1_700_000_000_000_000)));
        (Logins::new(clock.clone()), clock)
    }

    fn wait(clock: &Hand, seconds: i64) {
        clock.0.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
    }

    fn from(number: u32) -> Source {
        Source::new(IpAddr::V4(Ipv4Addr::from(0xc000_0200 + number)))
    }

    /// How many of so many wrong passwords are looked at.
    fn guess(logins: &Logins, address: u32, name: &str, times: usize) -> usize {
        (0..times).filter(|_| logins.may_try(from(address), LoginName::Typed(name)).is_ok()).count()
    }

    #[test]
    fn an_account_has_few_guesses_from_an_address_however_it_is_spelt() {
        let (logins, clock) = logins();
        assert_eq!(guess(&logins, 1, "ann", 3) + guess(&logins, 1, " @ANN", 100), 5);
        assert_eq!(guess(&logins, 1, "ben", 1) + guess(&logins, 2, "ann", 1), 2, "nobody else is concerned");
        wait(&clock, 10);
        assert_eq!(guess(&logins, 1, "ann", 100), 1);
    }

    #[test]
    fn an_address_has_few_guesses_whoever_is_meant() {
        let (logins, clock) = logins();
        let guessed = (0..100).map(|account| guess(&logins, 1, &format!("user-{account}"), 1)).sum::<usize>();
        assert_eq!(guessed, 50);
        wait(&clock, 2);
        assert_eq!((0..9).map(|account| guess(&logins, 1, &format!("other-{account}"), 1)).sum::<usize>(), 2);
    }

    /// What cannot be told costs nothing; what was right counts for the address alone.
    #[test]
    fn only_guesses_are_paid_for() {
        let (logins, _) = logins();
        let ann = || LoginName::Typed("ann");
        for _ in 0..200 {
            logins.may_try(from(2), ann()).unwrap_or_else(|_| panic!("refused")).undecided();
        }
        for _ in 0..45 {
            logins.may_try(from(1), ann()).unwrap_or_else(|_| panic!("refused")).good();
        }
        assert_eq!((guess(&logins, 1, "ann", 9), guess(&logins, 2, "ann", 9)), (5, 5));
        assert_eq!(guess(&logins, 1, "ben", 9), 0);
        assert_eq!(guess(&logins, 2, "ben", 9), 5);
    }

    #[test]
    fn nobody_takes_all_places() {
        let (logins, _) = logins();
        let begin = |address, name| logins.may_try(from(address), LoginName::Typed(name));
        let held = [begin(1, "ann"), begin(1, "ben")];
        assert!(held.iter().all(Result::is_ok));
        let refused = begin(1, "cat").err().unwrap();
        assert_eq!(refused.retry_after_seconds(), 1);
        assert!(begin(2, "cat").is_ok());
        drop(held);
        assert!(begin(1, "cat").is_ok());
        assert!(logins.busy().is_empty(), "who has gone is forgotten");
    }

    /// A user's id may be typed as a name; that is not the user who changes their password.
    #[test]
    fn a_typed_name_is_nobody_known() {
        let (logins, _) = logins();
        let user = UserId::new(uuid::Uuid::from_u128(7));
        for address in 1..99 {
            guess(&logins, address, &user.to_string(), 9);
        }
        let own = (0..9).filter(|_| logins.may_try(from(200), LoginName::Known(user)).is_ok()).count();
        assert_eq!(own, 5);
    }

    /// However many guess, from however many addresses, the owner has a try from anywhere, and from where they were
    /// let in before as many as ever.
    #[test]
    fn nobody_is_locked_out_by_others() {
        let (logins, _) = logins();
        logins.may_try(from(0), LoginName::Typed("ann")).unwrap_or_else(|_| panic!("refused")).good();
        let guessed = (1..=100).map(|address| guess(&logins, address, "ann", 50)).sum::<usize>();
        assert_eq!(guessed, 30 + 94, "six addresses have five each, the others one");
        assert_eq!(guess(&logins, 0, "ann", 50), 5, "at home");
        assert_eq!(guess(&logins, 200, "ann", 50), 1, "elsewhere");
    }
}
