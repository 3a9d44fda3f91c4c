use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicI64, Ordering};

use actix_web::test::TestRequest;
use domain::id::{AgentId, UserId};
use domain::login::TypedName;
use domain::time::Timestamp;
use futures_util::FutureExt;
use uuid::Uuid;

use super::*;

/// The elapsed time, and the offset of the clock.
#[derive(Default)]
struct ManualClock {
    passed: AtomicI64,
    jumped: AtomicI64,
}

const START: i64 = 1_700_000_000_000_000;

impl ManualClock {
    fn advance(&self, seconds: i64) {
        self.passed.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
    }

    /// Sets the clock without time passing.
    fn jump(&self, seconds: i64) {
        self.jumped.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        let since = self.passed.load(Ordering::SeqCst) + self.jumped.load(Ordering::SeqCst);
        Timestamp::from_micros(START + since)
    }

    fn steady(&self) -> Timestamp {
        Timestamp::from_micros(self.passed.load(Ordering::SeqCst))
    }
}

fn limits(config: RateLimitConfig) -> (RateLimits, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::default());
    (RateLimits::new(config, clock.clone()), clock)
}

fn request_from(last: u8) -> HttpRequest {
    TestRequest::default()
        .peer_addr(SocketAddr::from((Ipv4Addr::new(192, 0, 2, last), 4711)))
        .to_http_request()
}

fn from(last: u8, limits: &RateLimits) -> Option<Source> {
    limits.source(&request_from(last))
}

/// Presents `key`, with a valid or invalid result.
async fn tried(limits: &RateLimits, source: Option<Source>, key: &str, good: bool) -> Result<(), NotTried> {
    let attempt = limits.may_try(source, Credential::Key(key)).await?;
    if good {
        attempt.good();
    } else {
        attempt.bad();
    }
    Ok(())
}

/// Returns whether `key` would be checked; this costs nothing.
async fn looked_at(limits: &RateLimits, source: Option<Source>, key: &str) -> Result<(), NotTried> {
    limits.may_try(source, Credential::Key(key)).await.map(CredentialCheck::undecided)
}

fn guarded(failures: Option<Quota>) -> (RateLimits, Arc<ManualClock>) {
    limits(RateLimitConfig { failures, ..RateLimitConfig::off() })
}

/// Guesses from one address are blocked there, and affect no others.
#[actix_web::test]
async fn guesses_are_blocked_and_known_credentials_are_not() {
    let (limits, clock) = guarded(Quota::new(1, 3));
    let (here, there) = (from(1, &limits), from(2, &limits));
    assert_eq!(tried(&limits, here, "good", true).await, Ok(()));
    for guess in ["a", "b", "c"] {
        assert_eq!(tried(&limits, here, guess, false).await, Ok(()));
    }
    let Err(NotTried::ShutOut(shut)) = looked_at(&limits, here, "d").await else { panic!("it is looked at") };
    assert_eq!((shut.limit, shut.remaining, shut.retry_after_seconds()), (3, 0, 1));
    assert!(looked_at(&limits, here, "good").await.is_ok(), "it was good a moment ago");
    assert!(looked_at(&limits, there, "d").await.is_ok());
    assert!(looked_at(&limits, None, "d").await.is_ok(), "without an address nothing is counted");
    clock.advance(1);
    assert_eq!(tried(&limits, here, "d", false).await, Ok(()));
    assert!(looked_at(&limits, here, "e").await.is_err());
    // A known credential that is no longer valid is a guess like any other.
    assert_eq!(tried(&limits, here, "good", false).await, Ok(()));
    assert!(looked_at(&limits, here, "good").await.is_err());
    clock.advance(1);
    assert!(looked_at(&limits, here, "e").await.is_err(), "and is paid for later");
}

/// The count in the log shows the size of a flood, though most of it is refused unchecked.
#[actix_web::test]
async fn attempts_refused_unchecked_count_as_failed() {
    let (limits, _) = guarded(Quota::new(1, 3));
    let (request, here) = (request_from(1), from(1, &limits));
    for guess in 0..20 {
        let guess = format!("guess-{guess}");
        let unknown = async { Err::<(), _>(unauthorized()) };
        assert!(limits.try_out(&request, Credential::Key(&guess), unknown).await.is_err());
        assert!(guess == "guess-0" || looked_at(&limits, here, "guess-0").await == Err(NotTried::KnownBad));
    }
    let [ann, ben] = ["ann", "ben"].map(TypedName::new);
    let wrong = async |name| {
        limits.check_password(&request, LoginName::Typed(name), async |_| (), |()| Proof::Bad).await
    };
    let mut refused = 0;
    for _ in 0..9 {
        refused += usize::from(wrong(&ann).await.is_err());
    }
    assert_eq!(refused, 4);
    // Two are being checked while a third arrives.
    let undecided = |_: &_| Proof::Undecided;
    let second = async |_: &mut dyn FnMut(UserId, Guess) -> bool| {
        let third = async |_: &mut dyn FnMut(UserId, Guess) -> bool| wrong(&ben).await.is_err();
        limits.check_password(&request, LoginName::Typed(&ben), third, |_| Proof::Undecided).await
    };
    let held = limits.check_password(&request, LoginName::Typed(&ben), second, undecided).await;
    assert!(matches!(held, Ok(Ok(true))), "who waits for a turn did not fail");
    let each = limits.failures.tally.rest().each;
    assert_eq!(each, [(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 20 + 19 + 9)]);
}

/// A client that repeats a revoked key is refused without a check, and does not affect others from
/// the same address.
#[actix_web::test]
async fn a_credential_that_was_bad_is_bad_for_a_moment() {
    let (limits, clock) = guarded(Quota::new(1, 3));
    let here = from(1, &limits);
    assert_eq!(tried(&limits, here, "old", false).await, Ok(()));
    for _ in 0..100 {
        assert_eq!(tried(&limits, here, "old", false).await, Err(NotTried::KnownBad));
    }
    assert_eq!(looked_at(&limits, here, "new").await, Ok(()));
    assert!(limits.may_try(here, Credential::Token("old")).await.map(CredentialCheck::undecided).is_ok());
    clock.advance(10);
    assert_eq!(looked_at(&limits, here, "old").await, Ok(()), "then it is looked at again");
}

/// The clock jumps forward by a day and is set back again: a refused client is checked ten seconds
/// later, as always, and no client is blocked for longer or gets more than the quota.
#[actix_web::test]
async fn a_clock_that_jumps_changes_no_limit() {
    const DAY: i64 = 24 * 60 * 60;
    for jump in [DAY, -DAY] {
        let (limits, clock) = limits(RateLimitConfig {
            failures: Quota::new(1, 3),
            general: Quota::new(1, 2),
            ..RateLimitConfig::off()
        });
        let here = from(1, &limits);
        let who = ParticipantId::User(UserId::new(Uuid::from_u128(1)));
        assert_eq!(tried(&limits, here, "good", true).await, Ok(()));
        clock.jump(jump);
        // Like a key that expires in between.
        assert_eq!(tried(&limits, here, "expired meanwhile", false).await, Ok(()));
        assert_eq!(tried(&limits, here, "expired meanwhile", false).await, Err(NotTried::KnownBad));
        let used = (0..5).filter(|_| limits.spend(who, Class::General).unwrap().is_ok()).count();
        assert_eq!(used, 2);
        clock.jump(-jump);
        assert!(limits.spend(who, Class::General).unwrap().is_err(), "no quota is given again");
        clock.advance(1);
        let rate = limits.spend(who, Class::General).unwrap().expect("one a second, as always");
        assert_eq!(rate.reset, clock.now().plus(Duration::from_secs(2)), "the reset is a point in time");
        clock.advance(9);
        assert_eq!(tried(&limits, here, "expired meanwhile", true).await, Ok(()), "it is looked at again");
        for guess in ["a", "b", "c"] {
            assert_eq!(tried(&limits, here, guess, false).await, Ok(()));
        }
        clock.jump(jump);
        assert!(looked_at(&limits, here, "d").await.is_err(), "still shut out");
        assert!(looked_at(&limits, here, "good").await.is_ok(), "still known");
        clock.jump(-jump);
        clock.advance(1);
        assert!(looked_at(&limits, here, "d").await.is_ok(), "and let in when it is time");
    }
}

#[actix_web::test]
async fn a_credential_is_known_for_a_while() {
    let (limits, clock) = guarded(Quota::new(1, 1));
    let here = from(1, &limits);
    let names = (0..100).map(|number| format!("fired-{number}")).collect::<Vec<_>>();
    assert_eq!(tried(&limits, here, "good", true).await, Ok(()));
    for name in &names {
        assert_eq!(tried(&limits, here, name, true).await, Ok(()));
    }
    clock.advance(14 * 60);
    for name in &names {
        assert_eq!(tried(&limits, here, name, false).await, Ok(()));
    }
    assert!(looked_at(&limits, here, "good").await.is_ok());
    clock.advance(59);
    assert!(looked_at(&limits, here, "other").await.is_err(), "sixty seconds at the most");
    assert!(looked_at(&limits, here, "good").await.is_ok());
    clock.advance(2);
    assert_eq!(tried(&limits, here, "other", false).await, Ok(()));
    assert!(looked_at(&limits, here, "good").await.is_err());
}

/// Concurrent guesses get no more checks than the same number in sequence.
#[actix_web::test]
async fn concurrent_guesses_are_charged_one_by_one() {
    let (limits, _) = guarded(Quota::new(1, 5));
    let here = from(1, &limits);
    let names = (0..20).map(|number| format!("guess-{number}")).collect::<Vec<_>>();
    let all = names.iter().map(|name| async {
        let attempt = limits.may_try(here, Credential::Key(name)).await?;
        tokio::task::yield_now().await;
        attempt.bad();
        Ok::<_, NotTried>(())
    });
    let looked = futures_util::future::join_all(all).await.into_iter().flatten().count();
    assert_eq!(looked, 5);
}

/// Clients that arrive together with valid credentials are all admitted, a few at a time.
#[actix_web::test]
async fn concurrent_valid_clients_are_admitted() {
    let (limits, _) = guarded(Quota::new(1, 5));
    let here = from(1, &limits);
    let names = (0..20).map(|number| format!("good-{number}")).collect::<Vec<_>>();
    let all = names.iter().map(|name| async {
        let attempt = limits.may_try(here, Credential::Key(name)).await?;
        tokio::task::yield_now().await;
        attempt.good();
        Ok::<_, NotTried>(())
    });
    assert!(futures_util::future::join_all(all).await.iter().all(Result::is_ok));
    for _ in 0..20 {
        assert_eq!(looked_at(&limits, here, "undecided").await, Ok(()), "a fault of ours is nobody's guess");
    }
}

/// An abandoned attempt stays charged, and blocks no others.
#[actix_web::test]
async fn an_attempt_that_is_given_up_stays_paid() {
    let (limits, _) = guarded(Quota::new(1, 2));
    let here = from(1, &limits);
    for guess in ["a", "b"] {
        drop(limits.may_try(here, Credential::Key(guess)).await);
    }
    assert!(matches!(looked_at(&limits, here, "c").await, Err(NotTried::ShutOut(_))));
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
    let rate = RateState {
        limit: 10,
        remaining: 0,
        reset: Timestamp::from_micros(1_700_000_000_000_001),
        retry_after: Duration::from_micros(1_000_001),
    };
    let answer = actix_web::ResponseError::error_response(&refused(rate));
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

/// Large responses are charged after they are made; a few small ones cost nothing, and others are
/// not affected.
#[actix_web::test]
async fn large_responses_delay_the_next_read() {
    let responses = Quota::new(1000, 4000);
    let (limits, clock) = limits(RateLimitConfig { responses, ..RateLimitConfig::off() });
    let [ann, ben] = [1, 2].map(|number| ParticipantId::User(UserId::new(Uuid::from_u128(number))));
    let may_read = async |who| {
        let error = limits.may_read(who, Class::General).await.err()?;
        let answer = actix_web::ResponseError::error_response(&error);
        Some((error.code(), answer.headers().get("retry-after").unwrap().to_str().unwrap().to_owned()))
    };
    for _ in 0..100_000 {
        limits.count_response(ann, FREE_BYTES);
    }
    assert_eq!(may_read(ann).await, None);
    for kib in [2000, 1999, 2001] {
        assert_eq!(may_read(ann).await, None);
        limits.count_response(ann, kib * 1024);
    }
    assert_eq!(may_read(ann).await, Some((ErrorCode::RateLimited, "3".to_owned())), "it owes 2000 KiB");
    assert_eq!(may_read(ben).await, None);
    clock.advance(3);
    assert_eq!(may_read(ann).await, None);
    for _ in 0..100 {
        limits.count_response(ann, 8 * 1024 * 1024);
    }
    assert_eq!(
        may_read(ann).await,
        Some((ErrorCode::RateLimited, "11".to_owned())),
        "what is owed is bounded"
    );
}

/// A caller that loads pages, and the pages of all callers, do not delay requests for the next message if these have
/// permits of their own; the other way round likewise.
#[actix_web::test]
async fn requests_for_the_next_message_may_have_permits_of_their_own() {
    let agents = [1, 2, 3].map(|number| ParticipantId::Agent(AgentId::new(Uuid::from_u128(number))));
    let few = ReadLimit { at_work: 2, per_caller: 1, ..ReadLimit::default() };
    for next_reads in [Some(few), None] {
        let config = RateLimitConfig { reads: few, next_reads, ..RateLimitConfig::off() };
        let (limits, _) = limits(config);
        let begin = |who, class| {
            let read = async { limits.may_read(who, class).await.unwrap().permit().await.unwrap() };
            read.now_or_never()
        };
        for (class, other) in [(Class::General, Class::Next), (Class::Next, Class::Work)] {
            let running = [begin(agents[0], class), begin(agents[1], class)];
            assert!(running.iter().all(Option::is_some));
            assert!(begin(agents[0], class).is_none(), "a second of the same caller");
            assert!(begin(agents[2], class).is_none(), "one more than run at once");
            for who in agents {
                assert_eq!(begin(who, other).is_some(), next_reads.is_some(), "{other:?} beside {class:?}");
            }
        }
    }
}
