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

/// Counts wrong passwords.
pub(super) struct Logins {
    clock: Arc<dyn Clock>,
    pairs: RateLimiter,
    addresses: RateLimiter,
    accounts: RateLimiter,
    /// Per account and site, while many others guess at the account.
    strangers: RateLimiter,
    known: ExpiringMap,
    /// Attempts that are being checked, by address.
    busy: Mutex<HashMap<u128, u32>>,
    /// Exchanges of refresh tokens, by address.
    refreshes: RateLimiter,
    hasher: RandomState,
}

impl Logins {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        let limiter = |quota| RateLimiter::new(quota, Duration::ZERO);
        Self {
            clock,
            pairs: limiter(Quota::one_in(10, 5)),
            addresses: limiter(Quota::one_in(1, 50)),
            accounts: limiter(Quota::one_in(10, 30)),
            strangers: limiter(Quota::one_in(60, 1)),
            known: ExpiringMap::new(),
            busy: Mutex::default(),
            refreshes: limiter(Quota::one_in(1, 60)),
            hasher: RandomState::new(),
        }
    }

    /// Counts an exchange of a refresh token, whatever its result.
    pub(super) fn may_refresh(&self, source: Source) -> Result<(), RateState> {
        self.refreshes.spend(source.key(), self.clock.steady()).map(|_| ())
    }

    /// Decides whether a password may be checked.
    pub(super) fn may_try(
        &self,
        source: Source,
        name: LoginName<'_>,
    ) -> Result<LoginAttempt<'_>, LoginRefused> {
        let (now, address) = (self.clock.steady(), source.key());
        self.begin(address, now).map_err(LoginRefused::Busy)?;
        let keys = self.keys(name, source);
        let mut attempt =
            LoginAttempt { logins: self, source, pairs: vec![keys.pair], paid: Vec::with_capacity(6) };
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
    source: Source,
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
        let (keys, paid_before) = (self.logins.keys(LoginName::Known(user), self.source), self.paid.len());
        if self.pay_for(keys).is_ok() {
            self.pairs.push(keys.pair);
            return true;
        }
        let now = self.logins.clock.steady();
        self.paid.drain(paid_before..).for_each(|(limiter, key)| limiter.pay_back(key, now));
        false
    }

    /// Records a correct password.
    pub(super) fn good(mut self) {
        let now = self.logins.clock.steady();
        for pair in &self.pairs {
            self.logins.known.keep(*pair, now.plus(KNOWN), now);
        }
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
        let mut busy = self.logins.busy();
        let address = self.source.key();
        if let Some(count) = busy.get_mut(&address) {
            *count -= 1;
            if *count == 0 {
                busy.remove(&address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::*;

    struct ManualClock(AtomicI64);

    impl Clock for ManualClock {
        fn now(&self) -> Timestamp {
            Timestamp::from_micros(self.0.load(Ordering::SeqCst))
        }

        fn steady(&self) -> Timestamp {
            self.now()
        }
    }

    fn logins() -> (Logins, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock(AtomicI64::new(1_700_000_000_000_000)));
        (Logins::new(clock.clone()), clock)
    }

    fn wait(clock: &ManualClock, seconds: i64) {
        clock.0.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
    }

    fn from(number: u32) -> Source {
        Source::new(IpAddr::V4(Ipv4Addr::from(0xc000_0200 + number)))
    }

    /// The number of checked passwords among `times` wrong ones.
    fn guess(logins: &Logins, address: u32, name: &str, times: usize) -> usize {
        (0..times)
            .filter(|_| logins.may_try(from(address), LoginName::Typed(&TypedName::new(name))).is_ok())
            .count()
    }

    #[test]
    fn an_account_has_few_guesses_from_an_address_however_it_is_spelt() {
        let (logins, clock) = logins();
        let spellings = ["ann", " @ANN", "@ ann", "@  ann", "@\u{a0}Ann"];
        assert_eq!(spellings.map(|name| guess(&logins, 1, name, 2)), [2, 2, 1, 0, 0]);
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

    /// A check without a result costs nothing; a correct password is charged to the address only.
    #[test]
    fn only_wrong_passwords_count() {
        let (logins, _) = logins();
        let name = TypedName::new("ann");
        let ann = || LoginName::Typed(&name);
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
        let [ann, ben, cat] = ["ann", "ben", "cat"].map(TypedName::new);
        let begin = |address, name| logins.may_try(from(address), LoginName::Typed(name));
        let held = [begin(1, &ann), begin(1, &ben)];
        assert!(held.iter().all(Result::is_ok));
        let Err(LoginRefused::Busy(refused)) = begin(1, &cat) else { panic!("it is looked at") };
        assert_eq!(refused.retry_after_seconds(), 1);
        assert!(begin(2, &cat).is_ok());
        drop(held);
        assert!(begin(1, &cat).is_ok());
        assert!(logins.busy().is_empty(), "who has gone is forgotten");
    }

    /// A user's id can be typed as a name; that is not the user who changes a password.
    #[test]
    fn a_typed_user_id_does_not_use_up_that_users_attempts() {
        let (logins, _) = logins();
        let user = UserId::new(uuid::Uuid::from_u128(7));
        for address in 1..99 {
            guess(&logins, address, &user.to_string(), 9);
        }
        let own = (0..9).filter(|_| logins.may_try(from(200), LoginName::Known(user)).is_ok()).count();
        assert_eq!(own, 5);
    }

    /// However many clients guess, from however many addresses, the owner has an attempt from
    /// anywhere, and as many as ever from known addresses.
    #[test]
    fn nobody_is_locked_out_by_others() {
        let (logins, _) = logins();
        logins
            .may_try(from(0), LoginName::Typed(&TypedName::new("ann")))
            .unwrap_or_else(|_| panic!("refused"))
            .good();
        let guessed = (1..=100).map(|address| guess(&logins, address, "ann", 50)).sum::<usize>();
        assert_eq!(guessed, 30 + 94, "six addresses have five each, the others one");
        assert_eq!(guess(&logins, 0, "ann", 50), 5, "at home");
        assert_eq!(guess(&logins, 200, "ann", 50), 1, "elsewhere");
    }

    /// A network of 48 bits costs nothing, and holds 65,536 of 64 bits.
    #[test]
    fn many_networks_of_one_customer_are_one_stranger() {
        let (logins, _) = logins();
        let name = TypedName::new("ann");
        let guesses = |networks: std::ops::Range<u128>| {
            let from =
                |network| Source::new(IpAddr::V6(Ipv6Addr::from_bits((0x2001_0db8_u128 << 96) | network)));
            networks.filter(|n| logins.may_try(from(n << 64), LoginName::Typed(&name)).is_ok()).count()
        };
        assert_eq!(guesses(0..1000), 30 + 1);
        assert_eq!(guesses((1 << 16)..(1 << 16) + 2), 1, "another customer");
    }

    /// Guesses at `user` by one of the names; returns how many were compared with the account's
    /// password.
    fn guess_at(logins: &Logins, address: u32, name: &str, user: UserId, times: usize) -> (usize, usize) {
        let (mut taken, mut compared) = (0, 0);
        for _ in 0..times {
            let name = TypedName::new(name);
            if let Ok(mut attempt) = logins.may_try(from(address), LoginName::Typed(&name)) {
                taken += 1;
                compared += usize::from(attempt.may_try_account(user));
            }
        }
        (taken, compared)
    }

    /// The 429 of a name reveals nothing about the other name; the account is guarded as well as
    /// with one.
    #[test]
    fn all_names_of_an_account_count_together_and_nobody_can_tell() {
        let (logins, clock) = logins();
        let ann = UserId::new(uuid::Uuid::from_u128(7));
        assert_eq!(guess_at(&logins, 1, "ann", ann, 9), (5, 5));
        assert_eq!(guess_at(&logins, 1, "ann@example.org", ann, 9), (5, 0), "refused behind the same answer");
        assert_eq!(guess(&logins, 1, "bob@example.org", 9), 5, "as with an address of nobody");
        wait(&clock, 10);
        assert_eq!(guess_at(&logins, 1, "ann@example.org", ann, 9), (1, 1));

        let compared = (10..110).map(|address| {
            guess_at(&logins, address, "ann", ann, 1).1
                + guess_at(&logins, address, "ann@example.org", ann, 1).1
        });
        let compared = compared.sum::<usize>();
        assert!((100..=130).contains(&compared), "one for each address, and the account's own: {compared}");
    }

    #[test]
    fn the_owner_is_let_in_by_either_name() {
        let (logins, _) = logins();
        let ann = UserId::new(uuid::Uuid::from_u128(7));
        let by = |address, name: &str| {
            let name = TypedName::new(name);
            let mut attempt =
                logins.may_try(from(address), LoginName::Typed(&name)).unwrap_or_else(|_| panic!());
            assert!(attempt.may_try_account(ann));
            attempt.good();
        };
        by(0, "ann");
        (1..=100).for_each(|address| _ = guess_at(&logins, address, "ann@example.org", ann, 9));
        by(0, "ann@example.org");
        by(200, "ann");
        assert_eq!(guess_at(&logins, 0, "ann", ann, 9), (5, 5), "right ones are paid back");
    }
}
