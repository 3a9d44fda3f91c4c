//! Quotas and the rate limiter that enforces them.
//!
//! The generic cell rate algorithm (GCRA): the limiter stores one instant per key, when the burst
//! of the key is full again. That instant replaces the state of a token bucket, and a key whose
//! instant has passed need not be stored. docs/dependencies.md says why this is no crate: memory is
//! bounded, failures are charged afterwards, and tests set the clock.

use std::time::Duration;

use domain::time::Timestamp;

use super::expiring_map::ExpiringMap;

/// A burst, and the steady rate after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Quota {
    /// The requests of the steady rate …
    requests: u32,
    /// … in this number of seconds.
    seconds: u32,
    burst: u32,
}

impl Quota {
    /// The highest rate per second, and the largest burst. Configure no limit instead of more.
    pub const MOST: u32 = 100_000;

    /// `None` unless both are 1 to [`Self::MOST`].
    pub fn new(per_second: u32, burst: u32) -> Option<Self> {
        let sane = |number: u32| (1..=Self::MOST).contains(&number);
        (sane(per_second) && sane(burst)).then_some(Self { requests: per_second, seconds: 1, burst })
    }

    /// One request in so many seconds.
    pub(super) const fn one_in(seconds: u32, burst: u32) -> Self {
        Self { requests: 1, seconds, burst }
    }

    /// A rate per hour, with a burst of the same size; `None` unless it is 1 to [`Self::MOST`].
    pub fn per_hour(requests: u32) -> Option<Self> {
        let sane = (1..=Self::MOST).contains(&requests);
        sane.then_some(Self { requests, seconds: 60 * 60, burst: requests })
    }

    /// The time for this number of requests at the steady rate, rounded up.
    fn time_of(self, requests: u32) -> Duration {
        let micros =
            (u64::from(requests) * u64::from(self.seconds) * 1_000_000).div_ceil(u64::from(self.requests));
        Duration::from_micros(micros)
    }
}

/// The state of a key against its quota.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RateState {
    /// The burst.
    pub limit: u32,
    /// The requests that are allowed now.
    pub remaining: u32,
    /// The time at which the burst is full again.
    pub reset: Timestamp,
    /// The time until a request is allowed; zero when one is.
    pub retry_after: Duration,
}

impl RateState {
    /// Whole seconds, rounded up, at least one.
    pub fn retry_after_seconds(self) -> u32 {
        let seconds = self.retry_after.as_micros().div_ceil(1_000_000);
        u32::try_from(seconds).unwrap_or(u32::MAX).max(1)
    }

    /// Whole seconds of Unix time, rounded up.
    pub fn reset_unix_seconds(self) -> u64 {
        u64::try_from(self.reset.micros()).unwrap_or(0).div_ceil(1_000_000)
    }
}

/// Enforces one quota for every key.
pub(super) struct RateLimiter {
    quota: Quota,
    /// The amount by which charges may exceed the burst of a key.
    debt: Duration,
    full_at: ExpiringMap,
}

impl RateLimiter {
    pub(super) fn new(quota: Quota, debt: Duration) -> Self {
        Self { quota, debt, full_at: ExpiringMap::new() }
    }

    /// Takes one request if it is allowed; a refused request costs nothing.
    pub(super) fn spend(&self, key: u128, now: Timestamp) -> Result<RateState, RateState> {
        self.full_at.change(key, now, |until| {
            let until = self.sane(until, now);
            let rate = self.rate(until, now);
            if rate.remaining == 0 {
                return (Some(until), Err(rate));
            }
            let next = until.plus(self.quota.time_of(1));
            (Some(next), Ok(RateState { remaining: rate.remaining - 1, reset: next, ..rate }))
        })
    }

    /// The state of a key whose next request would be refused; else `None`.
    pub(super) fn look(&self, key: u128, now: Timestamp) -> Option<RateState> {
        self.full_at.change(key, now, |until| {
            let sane = self.sane(until, now);
            let rate = self.rate(sane, now);
            (until.map(|_| sane), (rate.remaining == 0).then_some(rate))
        })
    }

    /// Gives back a request that was taken.
    pub(super) fn pay_back(&self, key: u128, now: Timestamp) {
        self.full_at.change(key, now, |until| {
            let next = until.map(|until| self.sane(Some(until), now).minus(self.quota.time_of(1)));
            (next.map(|next| next.max(now)), ())
        });
    }

    /// Charges one request, even beyond the burst, because it has happened.
    pub(super) fn charge(&self, key: u128, now: Timestamp) {
        self.charge_many(key, 1, now);
    }

    /// Charges several requests, even beyond the burst, because they have happened.
    pub(super) fn charge_many(&self, key: u128, number: u32, now: Timestamp) {
        self.full_at.change(key, now, |until| {
            let next = self.sane(until, now).plus(self.quota.time_of(number));
            (Some(next.min(self.latest(now))), ())
        });
    }

    /// The stored instant, but never in the past, and never later than charges can put it.
    fn sane(&self, until: Option<Timestamp>, now: Timestamp) -> Timestamp {
        until.map_or(now, |until| until.clamp(now, self.latest(now)))
    }

    fn latest(&self, now: Timestamp) -> Timestamp {
        now.plus(self.quota.time_of(self.quota.burst)).plus(self.debt)
    }

    fn rate(&self, until: Timestamp, now: Timestamp) -> RateState {
        let micros = |from: Timestamp, to: Timestamp| u64::try_from(to.micros() - from.micros()).unwrap_or(0);
        let whole = now.plus(self.quota.time_of(self.quota.burst));
        let step = u64::from(self.quota.seconds) * 1_000_000;
        let room = micros(until, whole) * u64::from(self.quota.requests) / step;
        let remaining = u32::try_from(room).unwrap_or(u32::MAX).min(self.quota.burst);
        let free = until.plus(self.quota.time_of(1));
        let retry_after = if remaining > 0 { 0 } else { micros(whole, free) };
        RateState {
            limit: self.quota.burst,
            remaining,
            reset: until,
            retry_after: Duration::from_micros(retry_after),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_micros(1_700_000_000_000_000).plus(Duration::from_millis(millis))
    }

    fn limiter(per_second: u32, burst: u32) -> RateLimiter {
        RateLimiter::new(Quota::new(per_second, burst).unwrap(), Duration::ZERO)
    }

    /// The number of `tries` simultaneous requests that pass.
    fn passed(limiter: &RateLimiter, key: u128, now: Timestamp, tries: u32) -> u32 {
        (0..tries).map(|_| u32::from(limiter.spend(key, now).is_ok())).sum()
    }

    #[test]
    fn a_burst_passes_and_then_the_steady_rate() {
        let limiter = limiter(10, 5);
        assert_eq!(passed(&limiter, 1, at(0), 9), 5);
        assert_eq!(passed(&limiter, 1, at(99), 9), 0);
        assert_eq!(passed(&limiter, 1, at(100), 9), 1);
        assert_eq!(passed(&limiter, 1, at(400), 9), 3);
        assert_eq!(passed(&limiter, 1, at(60_000), 9), 5, "no more than the burst is saved up");
        assert_eq!(passed(&limiter, 2, at(400), 9), 5, "everybody has their own");
    }

    #[test]
    fn over_an_hour_no_more_passes_than_the_rate_allows() {
        for (per_second, burst) in [(1, 1), (3, 7), (7, 3), (999, 10), (1000, 1)] {
            let limiter = limiter(per_second, burst);
            let mut count = 0;
            for step in 0..10_000_u64 {
                count += passed(&limiter, 1, at(step), 3);
            }
            let most = burst + per_second * 10;
            assert!(count <= most && count >= most - burst - 10, "{per_second}/{burst}: {count}");
        }
    }

    #[test]
    fn the_state_has_the_remaining_requests_and_the_time_to_retry() {
        let limiter = limiter(2, 3);
        let state = |rate: RateState| (rate.remaining, rate.reset);
        assert_eq!(limiter.spend(1, at(0)).map(state), Ok((2, at(500))));
        assert_eq!(limiter.spend(1, at(0)).map(state), Ok((1, at(1000))));
        assert_eq!(limiter.spend(1, at(0)).map(state), Ok((0, at(1500))));
        let refused = limiter.spend(1, at(100)).unwrap_err();
        assert_eq!((refused.limit, refused.remaining, refused.reset), (3, 0, at(1500)));
        assert_eq!(refused.retry_after, Duration::from_millis(400));
        assert_eq!(refused.retry_after_seconds(), 1);
        assert_eq!(refused.reset_unix_seconds(), 1_700_000_002, "rounded up");
        assert!(limiter.spend(1, at(499)).is_err() && limiter.spend(1, at(500)).is_ok());
    }

    #[test]
    fn what_has_happened_is_charged_beyond_the_burst_up_to_a_bound() {
        let limiter = RateLimiter::new(Quota::new(1, 2).unwrap(), Duration::from_secs(10));
        assert_eq!(limiter.look(1, at(0)), None);
        limiter.charge(1, at(0));
        assert_eq!(limiter.look(1, at(0)), None);
        limiter.charge(1, at(0));
        let shut = |now: u64| limiter.look(1, at(now)).map(RateState::retry_after_seconds);
        assert_eq!((shut(0), shut(999), shut(1000)), (Some(1), Some(1), None));
        for _ in 0..1000 {
            limiter.charge(1, at(0));
        }
        assert_eq!((shut(0), shut(10_999), shut(11_000)), (Some(11), Some(1), None));
    }

    #[test]
    fn what_is_paid_back_can_be_taken_again() {
        let limiter = limiter(10, 5);
        limiter.pay_back(1, at(0));
        assert_eq!(passed(&limiter, 1, at(0), 9), 5, "nothing is given that was not taken");
        limiter.pay_back(1, at(0));
        limiter.pay_back(1, at(0));
        assert_eq!(passed(&limiter, 1, at(0), 9), 2);
        limiter.pay_back(1, at(60_000));
        assert_eq!(passed(&limiter, 1, at(60_000), 9), 5, "nor is it saved up");
    }

    /// A clock that is set back delays a client no longer than its burst takes.
    #[test]
    fn a_clock_set_back_does_little_harm() {
        let limiter = limiter(10, 5);
        assert_eq!(passed(&limiter, 1, at(3_600_000), 5), 5);
        assert_eq!(passed(&limiter, 1, at(0), 5), 0);
        assert_eq!(limiter.look(1, at(0)).map(|rate| rate.retry_after), Some(Duration::from_millis(100)));
        assert_eq!(passed(&limiter, 1, at(100), 5), 1);
        assert_eq!(passed(&limiter, 1, at(600), 9), 5);
    }

    #[test]
    fn a_quota_has_sane_numbers() {
        assert!(Quota::new(1, 1).is_some() && Quota::new(100_000, 100_000).is_some());
        for (per_second, burst) in [(0, 1), (1, 0), (100_001, 1), (1, 100_001)] {
            assert_eq!(Quota::new(per_second, burst), None);
        }
    }
}
