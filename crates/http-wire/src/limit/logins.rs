//! Log-ins: wrong passwords, counted before anything is hashed.
//!
//! Each attempt takes one of two quotas, and gets it back if the password was right: of the account from this
//! address, and of the address. A third counts the account from all addresses at which nobody was right lately.
//! Somebody with many addresses runs into that one; it does not shut the account, since then anybody could lock
//! its owner out, but from then on each unknown address has a single attempt a minute. So the owner is let in from
//! wherever they are, at the first try, and from where they are at home as always.
//!
//! This is remembered in memory: after a restart everybody is a stranger, with a fresh quota.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use domain::ports::Clock;

use super::address::Source;
use super::memory::Memory;
use super::meter::{Meter, Quota, Standing};

/// How long an address is known to an account.
const KNOWN: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Counts wrong passwords.
pub(super) struct Logins {
    clock: Arc<dyn Clock>,
    pairs: Meter,
    addresses: Meter,
    accounts: Meter,
    /// Of an account and an address, while many others guess at the account.
    strangers: Meter,
    known: Memory,
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
            hasher: RandomState::new(),
        }
    }

    /// Whether a password may be looked at; `name` is what somebody types to say who they are.
    pub(super) fn may_try(&self, source: Source, name: &str) -> Result<LoginAttempt<'_>, Standing> {
        let now = self.clock.now();
        let name = name.trim().trim_start_matches('@').to_lowercase();
        let account = u128::from(self.hasher.hash_one(&name));
        let pair = u128::from(self.hasher.hash_one((&name, source.key())));
        let mut attempt = LoginAttempt { logins: self, pair, paid: Vec::with_capacity(3) };
        let spent = attempt.pay(&self.pairs, pair).and_then(|()| attempt.pay(&self.addresses, source.key()));
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
}

/// A password that is being looked at; whoever looks tells the verdict. Without one what was paid stays paid.
#[must_use]
pub struct LoginAttempt<'a> {
    logins: &'a Logins,
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
    pub fn good(self) {
        let now = self.logins.clock.now();
        self.logins.known.keep(self.pair, now.plus(KNOWN), now);
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

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};
    use std::sync::atomic::{AtomicI64, Ordering};

    use domain::time::Timestamp;

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
        (0..times).filter(|_| logins.may_try(from(address), name).is_ok()).count()
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

    /// What was right or cannot be told costs nothing.
    #[test]
    fn only_guesses_are_paid_for() {
        let (logins, _) = logins();
        for _ in 0..200 {
            logins.may_try(from(1), "ann").unwrap_or_else(|_| panic!("refused")).good();
            logins.may_try(from(2), "ann").unwrap_or_else(|_| panic!("refused")).undecided();
        }
        assert_eq!((guess(&logins, 1, "ann", 9), guess(&logins, 2, "ann", 9)), (5, 5));
    }

    /// However many guess, from however many addresses, the owner has a try from anywhere, and from where they were
    /// let in before as many as ever.
    #[test]
    fn nobody_is_locked_out_by_others() {
        let (logins, _) = logins();
        logins.may_try(from(0), "ann").unwrap_or_else(|_| panic!("refused")).good();
        let guessed = (1..=100).map(|address| guess(&logins, address, "ann", 50)).sum::<usize>();
        assert_eq!(guessed, 30 + 94, "six addresses have five each, the others one");
        assert_eq!(guess(&logins, 0, "ann", 50), 5, "at home");
        assert_eq!(guess(&logins, 200, "ann", 50), 1, "elsewhere");
    }
}
