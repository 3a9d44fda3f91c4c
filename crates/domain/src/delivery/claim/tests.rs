//! The rules of claims.

use uuid::Uuid;

use super::*;
use crate::delivery::state::SUPERSEDED;
use crate::delivery::{DeadLetterReason, Delivery, DeliveryStatus, DeliveryStep, FailureText, StepRefused};
use crate::id::AgentId;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000)
}

fn number(number: u32) -> AttemptNumber {
    AttemptNumber::new(number).unwrap()
}

fn fail() -> DeliveryStep {
    DeliveryStep::Fail(FailureText::new("no model".to_owned()).unwrap())
}

/// Ten seconds.
const EXCLUSIVE: StepTerms =
    StepTerms { max_attempts: None, lease: Some(ClaimLease::new(Duration::from_secs(10))), attempt: None };

fn named(attempt: u32) -> StepTerms {
    StepTerms { attempt: AttemptNumber::new(attempt), ..EXCLUSIVE }
}

fn claimed(seconds: i64) -> Delivery {
    let new = Delivery::new(AgentId::new(Uuid::from_u128(7)));
    new.step(&DeliveryStep::Begin, EXCLUSIVE, at(seconds)).unwrap()
}

#[test]
fn one_attempt_claims_a_message_until_its_lease_ends() {
    let first = claimed(0);
    assert_eq!(first.claimed_until(), Some(at(10)));
    for seconds in [0, 9] {
        let refused = first.clone().step(&DeliveryStep::Begin, EXCLUSIVE, at(seconds));
        let claim = Claim { attempt: AttemptNumber::FIRST, until: at(10) };
        assert_eq!(refused, Err(StepRefused::AlreadyClaimed(claim)));
    }
    let second = first.step(&DeliveryStep::Begin, EXCLUSIVE, at(10)).unwrap();
    assert_eq!((second.current_attempt(), second.claimed_until()), (Some(number(2)), Some(at(20))));
    assert_eq!(second.attempts()[0].error(), Some(SUPERSEDED));
}

#[test]
fn shared_attempts_claim_nothing_but_wait_for_the_claims_that_were_made() {
    let shared = StepTerms::default();
    let open = Delivery::new(AgentId::new(Uuid::from_u128(7)));
    let open = open.step(&DeliveryStep::Begin, shared, at(0)).unwrap();
    assert_eq!(open.claimed_until(), None);
    let taken_over = open.step(&DeliveryStep::Begin, EXCLUSIVE, at(1)).unwrap();
    assert_eq!((taken_over.current_attempt(), taken_over.claimed_until()), (Some(number(2)), Some(at(11))));
    assert!(taken_over.clone().step(&DeliveryStep::Begin, shared, at(2)).is_err());
    let shared_again = taken_over.step(&DeliveryStep::Begin, shared, at(11)).unwrap();
    assert_eq!(shared_again.claimed_until(), None);
}

#[test]
fn every_end_of_an_attempt_ends_its_claim() {
    let reason = DeadLetterReason::new("no key".to_owned()).unwrap();
    let last = StepTerms { max_attempts: MaxAttempts::new(1), ..EXCLUSIVE };
    let by = MessageId::new(Uuid::from_u128(9));
    for ended in [
        claimed(0).step(&DeliveryStep::Succeed, EXCLUSIVE, at(1)).unwrap(),
        claimed(0).step(&fail(), EXCLUSIVE, at(1)).unwrap(),
        claimed(0).step(&fail(), last, at(1)).unwrap(),
        claimed(0).step(&DeliveryStep::Begin, last, at(11)).unwrap(),
        claimed(0).dead_letter(&reason, at(1)).unwrap(),
        claimed(0).retry(at(0), at(1)).unwrap(),
        claimed(0).replace(by, String::new(), at(0), at(1)).unwrap(),
    ] {
        assert_eq!(ended.claimed_until(), None, "{ended:?}");
    }
    let failed = claimed(0).step(&fail(), EXCLUSIVE, at(1)).unwrap();
    let again = failed.step(&DeliveryStep::Begin, EXCLUSIVE, at(1)).unwrap();
    assert_eq!(again.claimed_until(), Some(at(11)), "a failed message can be claimed at once");
}

#[test]
fn a_processed_message_is_opened_again_by_shared_attempts_only() {
    let done = claimed(0).step(&DeliveryStep::Succeed, EXCLUSIVE, at(1)).unwrap();
    let refused = done.clone().step(&DeliveryStep::Begin, EXCLUSIVE, at(99));
    assert_eq!(refused, Err(StepRefused::AlreadyProcessed(at(1))));
    assert!(done.step(&DeliveryStep::Begin, None, at(99)).is_ok());
}

#[test]
fn a_named_attempt_must_be_the_open_one() {
    let second = claimed(0).step(&DeliveryStep::Begin, EXCLUSIVE, at(10)).unwrap();
    for step in [DeliveryStep::Succeed, fail(), DeliveryStep::Renew] {
        for other in [1, 3] {
            let late = second.clone().step(&step, named(other), at(11));
            assert_eq!(late, Err(StepRefused::NoActiveAttempt), "{step:?} of {other}");
        }
        assert!(second.clone().step(&step, named(2), at(11)).is_ok(), "{step:?}");
    }
    // Without a name, a late worker closes the attempt of the other one.
    let done = second.step(&DeliveryStep::Succeed, EXCLUSIVE, at(11)).unwrap();
    assert_eq!((done.status(), done.current_attempt()), (DeliveryStatus::Processed, Some(number(2))));
    assert_eq!(done.step(&DeliveryStep::Renew, named(2), at(12)), Err(StepRefused::NoActiveAttempt));
}

#[test]
fn a_claim_that_has_ended_can_be_renewed_or_closed_until_another_is_made() {
    let renewed = claimed(0).step(&DeliveryStep::Renew, named(1), at(50)).unwrap();
    assert_eq!((renewed.claimed_until(), renewed.attempts().len()), (Some(at(60)), 1));
    let late = claimed(0).step(&DeliveryStep::Succeed, named(1), at(50)).unwrap();
    assert_eq!(late.status(), DeliveryStatus::Processed);
}

#[test]
fn an_attempt_that_an_earlier_version_has_closed_has_no_claim() {
    let failed = claimed(0).step(&fail(), EXCLUSIVE, at(1)).unwrap();
    assert_eq!(failed.clone().with_claim(Some(at(10))), failed);
    let read = serde_json::from_str::<Delivery>(&serde_json::to_string(&claimed(0)).unwrap()).unwrap();
    assert_eq!(read, claimed(0));
}

#[test]
fn a_renewal_is_written_once_in_a_quarter_of_the_lease() {
    let lease = ClaimLease::new(Duration::from_secs(8));
    assert_eq!((lease.end(at(0)), lease.fresh_after(at(0)), lease.fresh_after(at(2))), (at(8), at(6), at(8)));
    assert_eq!(Claims::of(Claims::Exclusive.is_exclusive()), Claims::Exclusive);
    assert_eq!(Claims::of(false), Claims::default());
}
