use uuid::Uuid;

use super::super::port::SetPushConfig;
use super::*;
use crate::webhook::WebhookUrl;

const START: i64 = 1_000_000_000;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(START + seconds * 1_000_000)
}

fn target(url: &str) -> PushTarget {
    PushTarget { url: WebhookUrl::checked(url.to_owned()), token: None, authentication: None }
}

fn config() -> PushConfig {
    let id = Uuid::from_u128;
    let command = SetPushConfig {
        id: PushConfigId::new(id(1)),
        task: PushTask { chat: ChatId::new(id(2)), first: MessageId::new(id(3)), agent: AgentId::new(id(4)) },
        name: PushName::new("one").unwrap(),
        caller: ParticipantId::User(UserId::new(id(5))),
        user: UserId::new(id(5)),
        credential: PushCredential::default(),
        target: target("https://a.example/"),
        now: at(0),
    };
    command.apply(Vec::new(), 0).unwrap().config
}

fn sent(sequence: i64, state: &str, is_final: Option<bool>) -> PushStep {
    PushStep::Sent { known: Known { sequence: Sequence::new(sequence), state: state.to_owned() }, is_final }
}

fn failed(status: u16) -> PushStep {
    PushStep::Failed(Reply::Answered { status, retry_after: None })
}

fn rest(config: &PushConfig, now: Timestamp) -> u64 {
    assert_eq!(config.leased_until, None);
    config.next_at.since(now).as_secs()
}

#[test]
fn a_quiet_task_is_read_less_and_less_often() {
    let mut config = config();
    assert!(config.is_due(at(0)));
    config.begin(at(0));
    assert!(!config.is_due(at(1)) && config.is_due(at(20)), "until the lease ends");
    assert_eq!(config.apply(&sent(1, "working", None), at(10)), None);
    assert_eq!(config.leased_until, Some(at(30)), "renewed");
    assert_eq!(config.apply(&PushStep::Done, at(11)), None);
    for (now, pause) in [(11, 5), (50, 10), (1_210, 300), (100_000, 300)] {
        config.begin(at(now));
        assert_eq!(config.apply(&PushStep::Done, at(now)), None);
        assert_eq!(rest(&config, at(now)), pause, "after {now} s");
    }
}

#[test]
fn what_happens_meanwhile_is_looked_at_at_once() {
    let mut config = config();
    config.begin(at(0));
    config.next_at = at(1);
    assert_eq!(config.apply(&sent(1, "working", None), at(2)), None);
    assert!(!config.is_due(at(3)), "on a lease");
    assert_eq!(config.apply(&PushStep::Done, at(3)), None);
    assert_eq!(rest(&config, at(3)), 0);
}

#[test]
fn a_configuration_stays_for_a_day_after_the_end() {
    let day = 24 * 60 * 60_i64;
    let mut config = config();
    config.begin(at(0));
    config.apply(&sent(1, "failed", Some(false)), at(0));
    assert_eq!(config.ended, Some(PushEnd { at: at(0), is_final: false }));
    config.apply(&PushStep::Done, at(10));
    assert_eq!(rest(&config, at(10)), 5, "it can go on, which no event may tell");
    config.begin(at(20));
    config.apply(&sent(2, "failed", Some(false)), at(20));
    assert_eq!(config.ended.map(|end| end.at), Some(at(0)), "an answer does not end it again");
    config.apply(&sent(2, "working", None), at(30));
    assert_eq!(config.ended, None, "it was tried again");
    config.apply(&sent(2, "completed", Some(true)), at(40));
    assert_eq!(config.ended, Some(PushEnd { at: at(40), is_final: true }));
    config.apply(&PushStep::Done, at(50));
    assert_eq!(rest(&config, at(40)), day.unsigned_abs());
    config.begin(at(40 + day));
    assert_eq!(config.apply(&PushStep::Done, at(40 + day)), Some(PushRemoval::Ended));
}

#[test]
fn failures_are_repeated_for_a_day() {
    let mut config = config();
    config.begin(at(0));
    assert_eq!(config.apply(&failed(410), at(0)), Some(PushRemoval::Gone));
    let mut config = self::config();
    let mut now = at(0);
    let mut failures = 0;
    loop {
        config.begin(now);
        let removed = config.apply(&failed(500), now);
        failures += 1;
        if removed.is_some() {
            assert_eq!(removed, Some(PushRemoval::Failing));
            break;
        }
        assert_eq!(config.failing_since, Some(at(0)));
        now = config.next_at;
    }
    assert!(now.since(at(0)) >= FAILING_FOR && (10..20).contains(&failures), "{failures}");
    let mut config = self::config();
    config.begin(at(0));
    let asked = Reply::Answered { status: 429, retry_after: Some(Duration::from_secs(77)) };
    config.apply(&PushStep::Failed(asked), at(0));
    assert_eq!((rest(&config, at(0)), config.error.as_deref()), (77, Some("status 429")));
    config.begin(at(77));
    config.apply(&sent(1, "working", None), at(78));
    assert_eq!((config.failures, config.failing_since, config.error), (0, None, None));
}

#[test]
fn a_task_that_cannot_be_read_is_given_up_after_a_day() {
    let mut config = config();
    let (mut now, mut reads) = (at(0), 0);
    loop {
        config.begin(now);
        let removed = config.apply(&PushStep::Unread, now);
        reads += 1;
        if removed.is_some() {
            assert_eq!(removed, Some(PushRemoval::Unreadable));
            break;
        }
        now = config.next_at;
    }
    assert!(now.since(at(0)) >= FAILING_FOR && (280..350).contains(&reads), "{reads}");
    let mut config = self::config();
    config.begin(at(0));
    config.apply(&PushStep::Unread, at(0));
    assert_eq!((rest(&config, at(0)), config.failing_since), (5, Some(at(0))));
    config.begin(at(5));
    config.apply(&PushStep::Done, at(5));
    assert_eq!((config.failing_since, config.failures), (None, 0), "it was read");
}

#[test]
fn another_target_begins_anew_and_the_same_one_does_not() {
    let mut config = config();
    config.begin(at(0));
    config.apply(&sent(1, "completed", Some(true)), at(0));
    let before = config.clone();
    assert!(!config.replace(&target("https://a.example/"), PushCredential::default(), at(1)));
    assert_eq!(config, before);
    assert!(config.replace(&target("https://b.example/"), PushCredential::default(), at(2)));
    assert_eq!((&config.known, config.ended, config.attempts), (&None, None, before.attempts + 1));
    assert!(config.is_due(at(2)), "the lease of the sender before has ended");
    config.begin(at(2));
    config.apply(&failed(500), at(2));
    assert!(!config.is_due(at(3)));
    assert!(!config.replace(&target("https://b.example/"), PushCredential::default(), at(3)));
    assert!(config.is_due(at(3)), "tried at once");
}
