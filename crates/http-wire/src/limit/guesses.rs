//! Guesses: failed authentication, counted for each address.
//!
//! Who is not known pays before the credential is looked at, so that many guesses at once buy no
//! more than the same number one after the other; what was no guess is paid back. What is paid for
//! credentials that are being looked at may still come back, so the next one waits for the verdict
//! instead of being refused: a fleet that comes at once from one address is let in.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::ports::Clock;
use tokio::sync::Notify;

use super::NotTried;
use super::address::Source;
use super::memory::Memory;
use super::meter::{Meter, Quota};
use crate::auth::Credential;

/// How long a credential counts as known after it was last good.
const KNOWN: Duration = Duration::from_secs(15 * 60);

/// How long a credential that was bad is not looked at again.
const KNOWN_BAD: Duration = Duration::from_secs(10);

/// How long an address may be shut out for what it failed at, beyond its burst.
const LONGEST_BAN: Duration = Duration::from_secs(60);

/// Counts guesses, and remembers which credentials are none.
pub(super) struct Guesses {
    clock: Arc<dyn Clock>,
    failures: Meter,
    known: Memory,
    known_bad: Memory,
    hasher: RandomState,
    /// How many have paid and wait for their verdict, by source.
    looking: Mutex<HashMap<u128, u32>>,
    decided: Notify,
}

impl Guesses {
    pub(super) fn new(quota: Quota, clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            failures: Meter::new(quota, LONGEST_BAN),
            known: Memory::new(),
            known_bad: Memory::new(),
            hasher: RandomState::new(),
            looking: Mutex::default(),
            decided: Notify::new(),
        }
    }

    pub(super) async fn may_try(
        &self,
        source: Option<Source>,
        credential: Credential<'_>,
    ) -> Result<Attempt<'_>, NotTried> {
        let name = self.name(credential);
        let attempt = |paid: bool| Attempt(Some(Looking { guesses: self, name, source, paid }));
        let Some(payer) = source.map(Source::key) else { return Ok(attempt(false)) };
        loop {
            // A verdict from here on is not missed.
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

    /// The name under which a credential is known: a hash that nobody outside can foresee. What is
    /// bad as a token may be good as a key, so the kind goes in.
    fn name(&self, credential: Credential<'_>) -> u128 {
        u128::from(self.hasher.hash_one(credential))
    }
}

/// A credential that is being looked at; whoever looks tells the verdict. Without one, as when the
/// client has gone, what was paid stays paid.
#[must_use]
pub struct Attempt<'a>(Option<Looking<'a>>);

struct Looking<'a> {
    guesses: &'a Guesses,
    name: u128,
    source: Option<Source>,
    paid: bool,
}

impl Attempt<'_> {
    /// Where guesses are not counted.
    pub(super) fn uncounted() -> Self {
        Self(None)
    }

    /// The credential is good.
    pub fn good(self) {
        let Some(looking) = self.0 else { return };
        looking.pay_back();
        let now = looking.guesses.clock.steady();
        looking.guesses.known.keep(looking.name, now.plus(KNOWN), now);
    }

    /// The credential is bad.
    pub fn bad(self) {
        let Some(looking) = self.0 else { return };
        let (guesses, now) = (looking.guesses, looking.guesses.clock.steady());
        guesses.known.forget(looking.name);
        guesses.known_bad.keep(looking.name, now.plus(KNOWN_BAD), now);
        // Who was known has not paid yet.
        if let (false, Some(source)) = (looking.paid, looking.source) {
            guesses.failures.charge(source.key(), now);
        }
    }

    /// Nobody could tell: that is no guess.
    pub fn undecided(self) {
        if let Some(looking) = self.0 {
            looking.pay_back();
        }
    }
}

impl Looking<'_> {
    fn pay_back(&self) {
        if let (true, Some(source)) = (self.paid, self.source) {
            self.guesses.failures.pay_back(source.key(), self.guesses.clock.steady());
        }
    }
}

impl Drop for Looking<'_> {
    fn drop(&mut self) {
        let (true, Some(source)) = (self.paid, self.source) else { return };
        let mut looking = self.guesses.looking();
        if let Some(count) = looking.get_mut(&source.key()) {
            *count -= 1;
            if *count == 0 {
                looking.remove(&source.key());
            }
        }
        drop(looking);
        self.guesses.decided.notify_waiters();
    }
}
