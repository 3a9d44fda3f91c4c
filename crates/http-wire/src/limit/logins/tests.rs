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
    (Logins::new(true, clock.clone()), clock)
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
        let from = |network| Source::new(IpAddr::V6(Ipv6Addr::from_bits((0x2001_0db8_u128 << 96) | network)));
        networks.filter(|n| logins.may_try(from(n << 64), LoginName::Typed(&name)).is_ok()).count()
    };
    assert_eq!(guesses(0..1000), 30 + 1);
    assert_eq!(guesses((1 << 16)..(1 << 16) + 2), 1, "another customer");
}

/// From however many addresses, also where the owner is known; right codes cost nothing.
#[test]
fn an_account_has_few_guesses_at_codes() {
    let (logins, clock) = logins();
    let (ann, ben) = (UserId::new(uuid::Uuid::from_u128(7)), UserId::new(uuid::Uuid::from_u128(8)));
    let name = TypedName::new("ann");
    let begin = |address| {
        let attempt = logins.may_try(from(address), LoginName::Typed(&name));
        let mut attempt = attempt.unwrap_or_else(|_| panic!("refused"));
        assert!(attempt.may_try_account(ann));
        attempt
    };
    for _ in 0..20 {
        let mut attempt = begin(1);
        assert!(attempt.may_try_code(ann));
        attempt.good();
    }
    let guessed = (1..30).filter(|address| begin(*address).may_try_code(ann)).count();
    assert_eq!(guessed, 10);
    assert!(!logins.may_try_code(ann) && logins.may_try_code(ben));
    wait(&clock, 299);
    assert!(!begin(1).may_try_code(ann));
    wait(&clock, 1);
    assert!(begin(2).may_try_code(ann) && !begin(3).may_try_code(ann));
}

#[test]
fn codes_are_limited_where_passwords_are_not() {
    let (limited, clock) = logins();
    let unlimited = Logins::new(false, clock);
    let ann = UserId::new(uuid::Uuid::from_u128(7));
    let name = TypedName::new("ann");
    for (logins, source) in [(&unlimited, Some(from(1))), (&limited, None)] {
        let begin = || {
            let attempt = logins.may_try(source, LoginName::Typed(&name));
            attempt.unwrap_or_else(|_| panic!("refused"))
        };
        for _ in 0..200 {
            let mut attempt = begin();
            assert!(attempt.may_try_account(ann) && attempt.may_try_code(ann));
            attempt.good();
        }
        assert_eq!((0..99).filter(|_| begin().may_try_code(ann)).count(), 10, "right ones cost nothing");
        assert!(begin().may_try_account(ann));
    }
    assert!((0..99).all(|_| unlimited.may_refresh(from(1)).is_ok()));
}

/// Somebody with the password alone may guess no more passwords from there than from elsewhere.
#[test]
fn an_address_without_a_code_does_not_become_known() {
    let (logins, _) = logins();
    let name = TypedName::new("ann");
    for _ in 0..40 {
        let attempt = logins.may_try(from(0), LoginName::Typed(&name));
        attempt.unwrap_or_else(|_| panic!("refused")).incomplete();
    }
    (1..=100).for_each(|address| _ = guess(&logins, address, "ann", 50));
    assert_eq!(guess(&logins, 0, "ann", 50), 1, "a stranger");
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
        guess_at(&logins, address, "ann", ann, 1).1 + guess_at(&logins, address, "ann@example.org", ann, 1).1
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
        let mut attempt = logins.may_try(from(address), LoginName::Typed(&name)).unwrap_or_else(|_| panic!());
        assert!(attempt.may_try_account(ann));
        attempt.good();
    };
    by(0, "ann");
    (1..=100).for_each(|address| _ = guess_at(&logins, address, "ann@example.org", ann, 9));
    by(0, "ann@example.org");
    by(200, "ann");
    assert_eq!(guess_at(&logins, 0, "ann", ann, 9), (5, 5), "right ones are paid back");
}
