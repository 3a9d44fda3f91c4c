//! Every transition and every refusal of the state machine.

use super::*;
use crate::delivery::DeliveryStep;

const AGENT: AgentId = AgentId::new(uuid::Uuid::from_u128(7));

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000)
}

fn failure() -> FailureText {
    FailureText::new("no model".to_owned()).unwrap()
}

fn max(number: u32) -> Option<MaxAttempts> {
    MaxAttempts::new(number)
}

fn reason() -> DeadLetterReason {
    DeadLetterReason::new("no key".to_owned()).unwrap()
}

/// The states in which no attempt is opened.
const OVER: [DeliveryStatus; 2] = [DeliveryStatus::Dead, DeliveryStatus::Held];

/// A delivery in each of the states, reached as an agent and its owner reach it.
fn in_state(status: DeliveryStatus) -> Delivery {
    let new = Delivery::new(AGENT);
    let delivery = match status {
        DeliveryStatus::New => new,
        DeliveryStatus::Delivered => new.delivered(at(1)),
        DeliveryStatus::Processing => new.begin_attempt(at(1)),
        DeliveryStatus::Processed => new.begin_attempt(at(1)).succeed(at(2)).unwrap(),
        DeliveryStatus::Failed => new.begin_attempt(at(1)).fail(&failure(), at(2)).unwrap(),
        DeliveryStatus::Dead => new.begin_attempt(at(1)).dead_letter(&reason(), at(2)).unwrap(),
        DeliveryStatus::Held => new.held(HeldBy::MaxHops, at(1)),
    };
    assert_eq!(delivery.status(), status);
    delivery
}

#[test]
fn a_socket_taking_it_changes_only_a_new_delivery() {
    let taken = in_state(DeliveryStatus::New).delivered(at(9));
    assert_eq!((taken.status(), taken.delivered_at()), (DeliveryStatus::Delivered, Some(at(9))));
    for status in DeliveryStatus::ALL.into_iter().filter(|s| *s != DeliveryStatus::New) {
        let before = in_state(status);
        assert_eq!(before.clone().delivered(at(9)), before, "{status:?}");
    }
}

#[test]
fn an_attempt_can_be_opened_in_every_state_but_dead_and_held() {
    for over in OVER {
        assert_eq!(in_state(over).step(&DeliveryStep::Begin, None, at(9)), Err(StepRefused::Dead));
    }
    for status in DeliveryStatus::ALL.into_iter().filter(|status| !OVER.contains(status)) {
        let before = in_state(status);
        let after = before.clone().step(&DeliveryStep::Begin, max(9), at(9)).unwrap();
        assert_eq!(after.status(), DeliveryStatus::Processing, "{status:?}");
        let number = before.attempts().len() + 1;
        assert_eq!(after.current_attempt().map(AttemptNumber::get), u32::try_from(number).ok(), "{status:?}");
        let open = after.attempts.last().unwrap();
        assert_eq!((open.status(), open.started_at), (AttemptStatus::Processing, at(9)), "{status:?}");
        assert_eq!((open.completed_at(), open.error()), (None, None), "{status:?}");
        assert_eq!(after.processed_at(), None, "{status:?}");
        let open = after.attempts.iter().filter(|attempt| attempt.state == AttemptState::Open).count();
        assert_eq!(open, 1, "{status:?}");
    }
}

#[test]
fn opening_a_second_attempt_closes_the_first_as_superseded() {
    let delivery = in_state(DeliveryStatus::Processing).begin_attempt(at(5));
    let first = &delivery.attempts[0];
    assert_eq!(first.status(), AttemptStatus::Failed);
    assert_eq!((first.completed_at(), first.error()), (Some(at(5)), Some(SUPERSEDED)));
}

#[test]
fn only_an_open_attempt_can_be_closed() {
    for status in DeliveryStatus::ALL {
        let before = in_state(status);
        let (done, failed) = (before.clone().succeed(at(9)), before.fail(&failure(), at(9)));
        if status == DeliveryStatus::Processing {
            assert!(done.is_ok() && failed.is_ok());
        } else {
            assert_eq!(done, Err(NoActiveAttempt), "{status:?}");
            assert_eq!(failed, Err(NoActiveAttempt), "{status:?}");
        }
    }
}

#[test]
fn success_and_failure_write_their_times() {
    let done = in_state(DeliveryStatus::Processing).succeed(at(9)).unwrap();
    let attempt = &done.attempts[0];
    assert_eq!((done.status(), done.processed_at()), (DeliveryStatus::Processed, Some(at(9))));
    assert_eq!((attempt.status(), attempt.completed_at()), (AttemptStatus::Success, Some(at(9))));
    assert_eq!(attempt.error(), None);

    let failed = in_state(DeliveryStatus::Processing).fail(&failure(), at(9)).unwrap();
    let attempt = &failed.attempts[0];
    assert_eq!((failed.status(), failed.processed_at()), (DeliveryStatus::Failed, None));
    assert_eq!((attempt.status(), attempt.completed_at()), (AttemptStatus::Failed, Some(at(9))));
    assert_eq!(attempt.error(), Some("no model"));
}

#[test]
fn numbers_go_on_from_the_newest_attempt_even_if_older_ones_are_not_loaded() {
    let mut delivery = in_state(DeliveryStatus::Processing).begin_attempt(at(3)).begin_attempt(at(4));
    delivery.attempts.drain(..2);
    assert_eq!(delivery.begin_attempt(at(5)).current_attempt(), AttemptNumber::new(4));
}

#[test]
fn only_attempts_that_steps_lead_to_are_restored() {
    let restore = |attempts: Vec<Attempt>| Delivery::restore(AGENT, true, Some(at(1)), attempts);
    assert_eq!(restore(Vec::new()), Ok(in_state(DeliveryStatus::Delivered)));
    for status in DeliveryStatus::ALL.into_iter().filter(|status| !OVER.contains(status)) {
        let Delivery { agent, addressed, delivered_at, attempts, .. } = in_state(status).begin_attempt(at(3));
        let [first, open] = &attempts[..] else {
            assert_eq!(attempts.len(), 1);
            continue;
        };
        let whole = Delivery::restore(agent, addressed, delivered_at, attempts.clone()).unwrap();
        assert_eq!((whole.status(), whole.attempts()), (DeliveryStatus::Processing, &attempts[..]));
        assert_eq!(restore(vec![open.clone(), first.clone()]), Err(Inconsistent));
        assert_eq!(restore(vec![first.clone(), first.clone()]), Err(Inconsistent));
        let reopened = Attempt { state: AttemptState::Open, ..first.clone() };
        assert_eq!(restore(vec![reopened, open.clone()]), Err(Inconsistent));
        // Retention may have erased the attempts in between.
        let later = Attempt { number: AttemptNumber::new(9).unwrap(), ..open.clone() };
        assert!(restore(vec![first.clone(), later]).is_ok());
    }
}

#[test]
fn the_columns_of_an_attempt_fit_its_status() {
    assert_eq!(AttemptNumber::new(0), None);
    let restore = |status, completed_at, error: Option<&str>| {
        Attempt::restore(AttemptNumber::FIRST, status, at(1), completed_at, error.map(str::to_owned))
    };
    let fits = |status, end: Option<Timestamp>, error: Option<&str>| match status {
        AttemptStatus::Processing => end.is_none() && error.is_none(),
        AttemptStatus::Success => end.is_some() && error.is_none(),
        AttemptStatus::Failed => end.is_some() && error.is_some(),
    };
    for status in AttemptStatus::ALL {
        for end in [None, Some(at(2)), Some(at(0))] {
            for error in [None, Some("no model")] {
                let restored = restore(status, end, error);
                assert_eq!(restored.is_ok(), fits(status, end, error), "{status:?} {end:?} {error:?}");
                let Ok(attempt) = restored else { continue };
                assert_eq!((attempt.status(), attempt.completed_at(), attempt.error()), (status, end, error));
                let json = serde_json::to_value(&attempt).unwrap();
                assert_eq!(serde_json::from_value::<Attempt>(json).unwrap(), attempt);
            }
        }
    }
    let contradicting = r#"{"number":1,"status":"success","started_at":1,"completed_at":null,"error":null}"#;
    assert!(serde_json::from_str::<Attempt>(contradicting).is_err());
}

#[test]
fn failure_texts() {
    assert_eq!(FailureText::new(" \n".to_owned()), Err(TextFault::Blank));
    assert_eq!(FailureText::new("a\0".to_owned()), Err(TextFault::Nul));
    assert!(FailureText::new("x".repeat(FailureText::MAX_CHARS)).is_ok());
    let too_long = FailureText::new("x".repeat(FailureText::MAX_CHARS + 1));
    assert_eq!(too_long, Err(TextFault::TooManyChars { max: FailureText::MAX_CHARS }));
}
