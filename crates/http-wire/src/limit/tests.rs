use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicI64, Ordering};

use domain::id::{AgentId, UserId};
use domain::time::Timestamp;
use uuid::Uuid;

use super::*;

struct Hand(AtomicI64);

impl Hand {
    fn advance(&self, seconds: i64) {
        self.0.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
    }
}

impl Clock for Hand {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

fn limits(config: RateLimitConfig) -> (RateLimits, Arc<Hand>) {
    let clock = Arc::new(Hand(AtomicI64::new(1_700_000_000_000_000)));
    (RateLimits::new(config, clock.clone()), clock)
}

fn from(last: u8, limits: &RateLimits) -> Option<Source> {
    let peer = SocketAddr::from((Ipv4Addr::new(192, 0, 2, last), 4711));
    limits.source(Some(peer), &HeaderMap::new())
}

/// Guesses from one address are shut out there, and nobody else is.
#[test]
fn who_guesses_is_shut_out_and_who_is_known_is_not() {
    let (limits, clock) = limits(RateLimitConfig { failures: Quota::new(1, 3), ..RateLimitConfig::off() });
    let (here, there) = (from(1, &limits), from(2, &limits));
    limits.tried(here, Credential::Key("good"), true);
    for guess in ["a", "b", "c"] {
        assert!(limits.may_try(here, Credential::Key(guess)).is_ok());
        limits.tried(here, Credential::Key(guess), false);
    }
    let Err(NotTried::ShutOut(shut)) = limits.may_try(here, Credential::Key("d")) else {
        panic!("it is looked at")
    };
    assert_eq!((shut.limit, shut.remaining, shut.retry_after_seconds()), (3, 0, 1));
    assert!(limits.may_try(here, Credential::Key("good")).is_ok(), "it was good a moment ago");
    assert!(limits.may_try(there, Credential::Key("d")).is_ok());
    assert!(limits.may_try(None, Credential::Key("d")).is_ok(), "without an address nothing is counted");
    clock.advance(1);
    assert!(limits.may_try(here, Credential::Key("d")).is_ok());
    limits.tried(here, Credential::Key("d"), false);
    assert!(limits.may_try(here, Credential::Key("e")).is_err());
    // A known credential that is good no more is a guess like any other.
    limits.tried(here, Credential::Key("good"), false);
    assert!(limits.may_try(here, Credential::Key("good")).is_err());
}

/// A client that goes on with a revoked key is told so without being looked at, and without harm
/// to those who come from the same address.
#[test]
fn a_credential_that_was_bad_is_bad_for_a_moment() {
    let (limits, clock) = limits(RateLimitConfig { failures: Quota::new(1, 3), ..RateLimitConfig::off() });
    let here = from(1, &limits);
    limits.tried(here, Credential::Key("old"), false);
    for _ in 0..100 {
        assert_eq!(limits.may_try(here, Credential::Key("old")), Err(NotTried::KnownBad));
    }
    assert_eq!(limits.may_try(here, Credential::Key("new")), Ok(()));
    clock.advance(10);
    assert_eq!(limits.may_try(here, Credential::Key("old")), Ok(()), "then it is looked at again");
}

#[test]
fn a_credential_is_known_for_a_while() {
    let (limits, clock) = limits(RateLimitConfig { failures: Quota::new(1, 1), ..RateLimitConfig::off() });
    let here = from(1, &limits);
    limits.tried(here, Credential::Key("good"), true);
    clock.advance(14 * 60);
    for _ in 0..100 {
        limits.tried(here, Credential::Key("bad"), false);
    }
    assert!(limits.may_try(here, Credential::Key("good")).is_ok());
    clock.advance(59);
    assert!(limits.may_try(here, Credential::Key("other")).is_err(), "sixty seconds at the most");
    assert!(limits.may_try(here, Credential::Key("good")).is_ok());
    clock.advance(1);
    for _ in 0..100 {
        limits.tried(here, Credential::Key("bad"), false);
    }
    assert!(limits.may_try(here, Credential::Key("good")).is_err());
}

#[test]
fn classes_and_callers_are_counted_apart() {
    let config =
        RateLimitConfig { general: Quota::new(1, 2), work: Quota::new(1, 3), ..RateLimitConfig::off() };
    let (limits, _) = limits(config);
    let ann = ParticipantId::User(UserId::new(Uuid::from_u128(1)));
    let bot = ParticipantId::Agent(AgentId::new(Uuid::from_u128(2)));
    let passes = |who: ParticipantId, class: Class| limits.spend(who, class).unwrap().is_ok();
    assert!(passes(ann, Class::General) && passes(ann, Class::General) && !passes(ann, Class::General));
    assert!(passes(ann, Class::Work) && passes(bot, Class::General));
    assert_eq!(limits.spend(ann, Class::Invitation), None);
    assert_eq!(limits.spend(ann, Class::Connect), None);
}

#[test]
fn a_refusal_says_when_to_come_back() {
    let standing = Standing {
        limit: 10,
        remaining: 0,
        reset: Timestamp::from_micros(1_700_000_000_000_001),
        retry_after: Duration::from_micros(1_000_001),
    };
    let answer = actix_web::ResponseError::error_response(&refused(standing));
    assert_eq!(answer.status().as_u16(), 429);
    for (name, value) in [
        ("retry-after", "2"),
        ("x-ratelimit-limit", "10"),
        ("x-ratelimit-remaining", "0"),
        ("x-ratelimit-reset", "1700000001"),
    ] {
        assert_eq!(answer.headers().get(name).unwrap(), value, "{name}");
    }
}
