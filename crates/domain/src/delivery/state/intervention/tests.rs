//! Limits of attempts, retries, and dead letters.

use uuid::Uuid;

use super::*;
use crate::delivery::{DeliveryStep, FailureText, NoActiveAttempt, StepRefused};
use crate::id::{AgentId, MessageId};

const AGENT: AgentId = AgentId::new(Uuid::from_u128(7));

/// No attempt that began after this time is stuck.
const STUCK_SINCE: i64 = 50;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000)
}

fn max(number: u32) -> Option<MaxAttempts> {
    MaxAttempts::new(number)
}

fn reason() -> DeadLetterReason {
    DeadLetterReason::new("no key".to_owned()).unwrap()
}

fn failure() -> DeliveryStep {
    DeliveryStep::Fail(FailureText::new("no model".to_owned()).unwrap())
}

/// Takes steps a second apart from `from`.
fn after(delivery: Delivery, steps: &[DeliveryStep], max: Option<MaxAttempts>, from: i64) -> Delivery {
    let numbered = (from..).zip(steps);
    numbered.fold(delivery, |delivery, (second, step)| delivery.step(step, max, at(second)).unwrap())
}

/// Attempts that fail.
fn failures(times: usize) -> Vec<DeliveryStep> {
    std::iter::repeat_with(|| [DeliveryStep::Begin, failure()]).take(times).flatten().collect()
}

fn new() -> Delivery {
    Delivery::new(AGENT)
}

fn failed(times: usize) -> Delivery {
    after(new(), &failures(times), None, 1)
}

fn retried(delivery: Delivery, now: i64) -> Result<Delivery, InterventionRefused> {
    delivery.retry(at(STUCK_SINCE), at(now))
}

#[test]
fn the_last_attempt_that_fails_ends_the_delivery() {
    for number in 1..=3 {
        let steps = failures(3);
        let last = 2 * number as usize - 1;
        let before = after(new(), &steps[..last], max(number), 1);
        assert_eq!(before.status(), DeliveryStatus::Processing);
        let dead = before.step(&failure(), max(number), at(20)).unwrap();
        assert_eq!((dead.status(), dead.dead().unwrap().at), (DeliveryStatus::Dead, at(20)));
        assert_eq!(dead.attempts().last().unwrap().error(), Some("no model"));
        for step in [DeliveryStep::Succeed, failure()] {
            let refused = dead.clone().step(&step, max(number), at(21));
            assert_eq!(refused, Err(StepRefused::from(NoActiveAttempt)));
        }
        assert_eq!(dead.step(&DeliveryStep::Begin, None, at(21)), Err(StepRefused::Dead));
    }
}

/// An agent that crashes at a message never closes its attempt.
#[test]
fn no_attempt_follows_the_last_one() {
    let crashed = after(new(), &[DeliveryStep::Begin, DeliveryStep::Begin], max(2), 1);
    let dead = crashed.step(&DeliveryStep::Begin, max(2), at(9)).unwrap();
    assert_eq!((dead.status(), dead.attempts().len()), (DeliveryStatus::Dead, 2));
    assert_eq!(dead.attempts()[1].error(), Some(NO_RESULT));
    assert_eq!(dead.dead().unwrap().reason, "not processed after 2 attempts");
}

#[test]
fn success_within_the_limit_ends_nothing() {
    let done = after(new(), &[DeliveryStep::Begin, DeliveryStep::Succeed], max(1), 1);
    assert_eq!(done.status(), DeliveryStatus::Processed);
    let again = done.step(&DeliveryStep::Begin, max(1), at(5)).unwrap();
    assert_eq!(again.status(), DeliveryStatus::Processing);
}

#[test]
fn a_lower_limit_holds_from_the_next_attempt() {
    let failed = failed(3);
    assert_eq!(failed.status(), DeliveryStatus::Failed);
    let dead = failed.step(&DeliveryStep::Begin, max(2), at(9)).unwrap();
    assert_eq!((dead.status(), dead.attempts().len()), (DeliveryStatus::Dead, 3));
}

#[test]
fn a_record_that_is_not_addressed_has_no_limit() {
    let steps = failures(3);
    let failed = after(Delivery::unaddressed(AGENT), &steps, max(1), 1);
    assert_eq!((failed.status(), failed.dead()), (DeliveryStatus::Failed, None));
    assert_eq!(failed.clone().dead_letter(&reason(), at(9)), Err(InterventionRefused::NotAddressed));
    assert_eq!(retried(failed, 9), Err(InterventionRefused::NotAddressed));
}

#[test]
fn a_retry_offers_a_delivery_as_if_it_were_new() {
    let taken = new().delivered(at(1));
    let stuck = failed(1).step(&DeliveryStep::Begin, None, at(STUCK_SINCE)).unwrap();
    let dead = failed(2).dead_letter(&reason(), at(9)).unwrap();
    for (before, attempts) in [(taken, 0), (failed(3), 3), (stuck, 2), (dead, 2)] {
        let retried = retried(before, 60).unwrap();
        assert_eq!((retried.status(), retried.delivered_at()), (DeliveryStatus::New, None));
        assert_eq!((retried.attempts().len(), retried.dead()), (attempts, None));
        assert_eq!(retried.restart().unwrap().at, at(60));
        let taken = retried.delivered(at(61));
        assert_eq!(taken.status(), DeliveryStatus::Delivered);
        // The numbers go on, and the limit counts from the restart.
        let begun = taken.step(&DeliveryStep::Begin, max(1), at(62)).unwrap();
        assert_eq!(begun.current_attempt().map(AttemptNumber::get), u32::try_from(attempts + 1).ok());
        assert_eq!(begun.status(), DeliveryStatus::Processing);
        assert_eq!(begun.step(&failure(), max(1), at(63)).unwrap().status(), DeliveryStatus::Dead);
    }
}

#[test]
fn a_retry_ends_an_attempt_only_if_it_is_stuck() {
    let begun = |second| new().step(&DeliveryStep::Begin, None, at(second)).unwrap();
    assert_eq!(retried(begun(STUCK_SINCE + 1), 60), Err(InterventionRefused::InProgress));
    let retried = retried(begun(STUCK_SINCE), 60).unwrap();
    assert_eq!(retried.attempts()[0].error(), Some(ENDED_BY_RETRY));
}

#[test]
fn what_is_offered_or_done_is_not_retried() {
    let done = after(new(), &[DeliveryStep::Begin, DeliveryStep::Succeed], None, 1);
    for (delivery, status) in [(new(), DeliveryStatus::New), (done, DeliveryStatus::Processed)] {
        assert_eq!(retried(delivery, 60), Err(InterventionRefused::Status(status)));
    }
    let again = retried(failed(1), 60).unwrap();
    assert_eq!(retried(again, 61), Err(InterventionRefused::Status(DeliveryStatus::New)));
}

#[test]
fn every_open_delivery_can_be_taken_out_of_the_queue() {
    let begun = new().step(&DeliveryStep::Begin, None, at(1)).unwrap();
    for before in [new(), new().delivered(at(1)), begun, failed(2)] {
        let count = before.attempts().len();
        let dead = before.dead_letter(&reason(), at(9)).unwrap();
        let end = DeadLetter { at: at(9), reason: "no key".to_owned(), replaced_by: None, held_by: None };
        assert_eq!((dead.status(), dead.dead()), (DeliveryStatus::Dead, Some(&end)));
        assert_eq!(dead.attempts().len(), count);
        assert!(dead.attempts().iter().all(|attempt| attempt.status() == AttemptStatus::Failed));
        assert_eq!(dead.clone().delivered(at(10)), dead, "no socket takes it");
        assert_eq!(
            dead.dead_letter(&reason(), at(10)),
            Err(InterventionRefused::Status(DeliveryStatus::Dead))
        );
    }
    let done = after(new(), &[DeliveryStep::Begin, DeliveryStep::Succeed], None, 1);
    assert_eq!(
        done.dead_letter(&reason(), at(9)),
        Err(InterventionRefused::Status(DeliveryStatus::Processed))
    );
}

#[test]
fn what_is_neither_processed_nor_in_progress_is_replaced_once() {
    let (by, other) = (MessageId::new(Uuid::from_u128(7)), MessageId::new(Uuid::from_u128(8)));
    let replace = |before: Delivery| before.replace(by, "sent again".to_owned(), at(1), at(9));
    let begun = |time| new().step(&DeliveryStep::Begin, None, at(time)).unwrap();
    let dead = failed(2).dead_letter(&reason(), at(8)).unwrap();
    for before in [new(), new().delivered(at(1)), begun(1), failed(1), dead] {
        let replaced = replace(before).unwrap();
        let end =
            DeadLetter { at: at(9), reason: "sent again".to_owned(), replaced_by: Some(by), held_by: None };
        assert_eq!((replaced.status(), replaced.dead()), (DeliveryStatus::Dead, Some(&end)));
        assert!(replaced.attempts().iter().all(|attempt| attempt.status() == AttemptStatus::Failed));
        let refused = Err(InterventionRefused::Replaced(by));
        assert_eq!(replaced.clone().replace(other, "x".to_owned(), at(9), at(9)), refused);
        assert_eq!(replaced.clone().dead_letter(&reason(), at(9)), refused);
        assert_eq!(replaced.retry(at(9), at(9)), refused);
    }
    assert_eq!(replace(begun(2)), Err(InterventionRefused::InProgress));
    let done = after(new(), &[DeliveryStep::Begin, DeliveryStep::Succeed], None, 1);
    assert_eq!(replace(done), Err(InterventionRefused::Status(DeliveryStatus::Processed)));
    assert_eq!(replace(Delivery::unaddressed(AGENT)), Err(InterventionRefused::NotAddressed));
}

#[test]
fn only_consistent_interventions_are_restored() {
    let dead = Some(DeadLetter { at: at(9), reason: "no key".to_owned(), replaced_by: None, held_by: None });
    let begun = new().step(&DeliveryStep::Begin, None, at(1)).unwrap();
    let done = after(new(), &[DeliveryStep::Begin, DeliveryStep::Succeed], None, 1);
    for delivery in [begun, done] {
        assert_eq!(delivery.with_interventions(None, dead.clone()), Err(Inconsistent));
    }
    let restart = |after| Some(Restart { after, at: at(9) });
    assert_eq!(new().with_interventions(restart(Some(AttemptNumber::FIRST)), None), Err(Inconsistent));
    for restored in [
        new().with_interventions(restart(None), dead.clone()),
        failed(2).with_interventions(restart(AttemptNumber::new(2)), dead),
    ] {
        assert_eq!(restored.unwrap().status(), DeliveryStatus::Dead);
    }
}

#[test]
fn a_held_delivery_is_released_or_ended() {
    let held = new().held(HeldBy::MaxHops, at(5));
    assert_eq!((held.status(), held.held_by()), (DeliveryStatus::Held, Some(HeldBy::MaxHops)));
    let released = retried(held.clone(), 9).unwrap();
    assert_eq!((released.status(), released.dead(), released.held_by()), (DeliveryStatus::New, None, None));
    assert_eq!(released.restart(), Some(Restart { after: None, at: at(9) }));
    let ended = held.clone().dead_letter(&reason(), at(9)).unwrap();
    assert_eq!((ended.status(), ended.held_by()), (DeliveryStatus::Dead, None));
    let by = MessageId::new(Uuid::from_u128(9));
    let replaced = held.clone().replace(by, "sent again".to_owned(), at(0), at(9)).unwrap();
    assert_eq!((replaced.status(), replaced.held_by()), (DeliveryStatus::Dead, None));
    let stored = new().with_interventions(None, held.dead().cloned());
    assert_eq!(stored, Ok(held));
}

#[test]
fn limits_have_bounds() {
    for number in [0, MaxAttempts::MAX + 1] {
        assert_eq!(MaxAttempts::new(number), None);
    }
    assert_eq!(MaxAttempts::new(MaxAttempts::MAX).map(MaxAttempts::get), Some(MaxAttempts::MAX));
}
