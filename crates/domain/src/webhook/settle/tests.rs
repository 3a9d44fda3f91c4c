use uuid::Uuid;

use super::super::model::{WebhookSecret, WebhookUrl};
use super::*;
use crate::delivery::{ClaimLease, DeliveryStep, FailureText, StepTerms};
use crate::id::{AgentId, ChatId, MessageId, Sequence, WebhookDeliveryId};

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_micros(0).plus(Duration::from_secs(seconds))
}

const DAY: u64 = 24 * 60 * 60;

fn delivery() -> WebhookDelivery {
    let id = WebhookDeliveryId::new(Uuid::from_u128(7));
    let mut delivery =
        WebhookDelivery::new(id, AgentId::NIL, ChatId::NIL, MessageId::NIL, Sequence::new(1), at(0));
    delivery.begin(at(20), at(0));
    delivery
}

fn answer(status: u16) -> Reply {
    Reply::Answered { status, retry_after: None }
}

fn silence() -> Reply {
    Reply::Unanswered { error: "timed out".to_owned() }
}

fn webhook() -> Webhook {
    let (url, secret) =
        (WebhookUrl::checked("https://a.example/".to_owned()), WebhookSecret::new("whsec_a".to_owned()));
    Webhook::new(url, secret, at(0))
}

#[test]
fn two_hundreds_deliver_and_nothing_else_does() {
    for status in [200, 201, 202, 204, 299] {
        let mut one = delivery();
        one.settle(&answer(status), None, at(1));
        assert_eq!(one.ended.map(|ended| ended.outcome), Some(WebhookOutcome::Delivered));
        assert_eq!((one.leased_until, one.status), (None, Some(status)));
    }
    for reply in [answer(199), answer(301), answer(404), answer(410), answer(500), silence()] {
        let mut one = delivery();
        one.settle(&reply, None, at(1));
        assert_eq!((one.ended, one.leased_until), (None, None), "{reply:?}");
        let wait = one.next_attempt_at.since(at(1)).as_millis();
        assert!((5_000..=6_000).contains(&wait), "{wait}");
    }
}

#[test]
fn a_receiver_may_ask_for_another_pause_within_bounds() {
    for (asked, waits) in [(0, 5), (3, 5), (90, 90), (2 * DAY, DAY)] {
        let mut one = delivery();
        let retry_after = Some(Duration::from_secs(asked));
        one.settle(&Reply::Answered { status: 503, retry_after }, None, at(1));
        assert_eq!(one.next_attempt_at, at(1 + waits), "{asked}");
    }
}

#[test]
fn a_delivery_is_repeated_until_it_succeeds() {
    let mut one = delivery();
    let mut now = at(0);
    for requests in 1..=40 {
        assert_eq!((one.ended, one.attempts), (None, requests));
        one.settle(&silence(), None, now);
        assert!(one.next_attempt_at.since(now) <= Duration::from_secs(5 * 60 * 60));
        now = one.next_attempt_at;
        one.begin(now.plus(Duration::from_secs(20)), now);
    }
    assert!(one.is_overdue(now) && !one.is_overdue(at(DAY - 1)));
    one.settle(&answer(200), None, now);
    assert_eq!(one.ended.map(|ended| ended.outcome), Some(WebhookOutcome::Delivered));
    one.restart(now);
    assert_eq!(
        (one.ended, one.attempts, one.next_attempt_at),
        (None, 41, now),
        "its requests are counted on"
    );
    one.begin(now.plus(Duration::from_secs(20)), now);
    one.settle(&answer(500), None, now);
    assert!(one.next_attempt_at.since(now) <= Duration::from_secs(6), "the pauses begin again");
}

#[test]
fn a_success_ends_nothing_while_the_agent_is_not_done() {
    let begun = Delivery::new(AgentId::NIL).step(&DeliveryStep::Begin, None, at(1)).unwrap();
    let failed = begun.clone().fail(&FailureText::new("no".to_owned()).unwrap(), at(2)).unwrap();
    for ledger in [&begun, &failed] {
        let mut one = delivery();
        one.settle(&answer(200), Some(ledger), at(3));
        assert_eq!((one.ended, one.status), (None, Some(200)));
        assert!(one.next_attempt_at >= at(8));
    }
    for ledger in [begun.clone().succeed(at(2)).unwrap(), Delivery::new(AgentId::NIL).delivered(at(2))] {
        let mut one = delivery();
        one.settle(&answer(200), Some(&ledger), at(3));
        assert_eq!(one.ended.map(|ended| ended.outcome), Some(WebhookOutcome::Delivered));
    }
}

#[test]
fn a_webhook_that_only_fails_is_disabled_after_three_days() {
    let mut hook = webhook();
    assert_eq!(hook.settle(&answer(500), at(10)), None);
    assert_eq!(hook.settle(&silence(), at(9 + DAY)), None);
    assert_eq!(hook.settle(&silence(), at(10 + DAY)), Some(Notice::Failing { since: at(10) }));
    assert_eq!(hook.settle(&silence(), at(11 + DAY)), None, "once");
    assert_eq!(hook.settle(&silence(), at(9 + 3 * DAY)), None);
    let mut seldom = webhook();
    seldom.settle(&silence(), at(10));
    let warned = seldom.settle(&silence(), at(10 + 30 * DAY));
    assert_eq!(warned, Some(Notice::Failing { since: at(10) }), "with a warning before");
    assert_eq!(seldom.settle(&silence(), at(9 + 32 * DAY)), None);
    assert!(seldom.settle(&silence(), at(10 + 32 * DAY)).is_some());
    let disabled = hook.settle(&silence(), at(10 + 3 * DAY));
    assert_eq!(disabled, Some(Notice::Disabled(DisabledReason::Failing)));
    assert_eq!(hook.settle(&silence(), at(11 + 3 * DAY)), None);
    hook.enable(at(20 + 3 * DAY));
    assert_eq!((hook.disabled, hook.failing_since, hook.warned_at), (None, None, None));
}

#[test]
fn a_success_ends_a_series_of_failures() {
    let mut hook = webhook();
    hook.settle(&silence(), at(0));
    hook.settle(&answer(204), at(DAY - 1));
    assert_eq!(hook.settle(&silence(), at(DAY)), None);
    assert_eq!(hook.failing_since, Some(at(DAY)));
}

#[test]
fn gone_disables_at_once() {
    let mut hook = webhook();
    assert_eq!(hook.settle(&answer(410), at(1)), Some(Notice::Disabled(DisabledReason::Gone)));
    let same = hook.url.clone();
    hook.set_url(same, at(2));
    assert!(hook.disabled.is_some(), "the same address stays disabled");
    hook.set_url(WebhookUrl::checked("https://b.example/".to_owned()), at(2));
    assert!(hook.disabled.is_none(), "another one is tried");
}

#[test]
fn a_rotation_keeps_the_secrets_that_the_receiver_may_have() {
    let mut hook = webhook();
    let reveal = |hook: &Webhook, now| {
        hook.secrets(now).into_iter().map(|secret| secret.reveal().to_owned()).collect::<Vec<_>>()
    };
    let rotate = |hook: &mut Webhook, fresh: &str, revoke_previous, now| {
        hook.rotate(WebhookSecret::new(fresh.to_owned()), revoke_previous, now);
    };
    rotate(&mut hook, "whsec_b", false, at(10));
    assert_eq!(reveal(&hook, at(11)), ["whsec_b", "whsec_a"]);
    rotate(&mut hook, "whsec_c", false, at(20));
    assert_eq!(reveal(&hook, at(21)), ["whsec_c", "whsec_b", "whsec_a"], "a repetition");
    rotate(&mut hook, "whsec_d", false, at(30));
    assert_eq!(reveal(&hook, at(31)), ["whsec_d", "whsec_c", "whsec_b"]);
    assert_eq!(reveal(&hook, at(20 + DAY)), ["whsec_d", "whsec_c"]);
    assert_eq!(reveal(&hook, at(30 + DAY)), ["whsec_d"]);
    rotate(&mut hook, "whsec_e", true, at(40));
    assert_eq!(reveal(&hook, at(41)), ["whsec_e"], "what has leaked is worth nothing");
}

#[test]
fn what_the_ledger_says_decides_on_a_repetition() {
    use WebhookOutcome::{Delivered, Dropped};
    let stuck_after = Duration::from_secs(600);
    let new = Delivery::new(AgentId::NIL);
    let begun = new.clone().step(&DeliveryStep::Begin, None, at(5)).unwrap();
    let failure = FailureText::new("no".to_owned()).unwrap();
    let failed = begun.clone().fail(&failure, at(6)).unwrap();
    let done = begun.clone().succeed(at(6)).unwrap();
    let taken = new.clone().delivered(at(6));
    let mut first = delivery();
    first.restart(at(0));
    let lost = delivery();
    let mut refused = delivery();
    refused.settle(&answer(500), None, at(6));
    let decide = |sent: &WebhookDelivery, ledger: &Delivery, seconds| {
        Resumption::of(sent, Some(ledger), stuck_after, at(seconds))
    };
    for sent in [&first, &lost, &refused] {
        assert_eq!(decide(sent, &new, 10), Resumption::Send);
        assert_eq!(decide(sent, &failed, 10), Resumption::Send);
        assert_eq!(decide(sent, &done, 10), Resumption::End(Delivered));
        assert_eq!(Resumption::of(sent, None, stuck_after, at(10)), Resumption::End(Dropped));
        assert_eq!(decide(sent, &Delivery::unaddressed(AgentId::NIL), 10), Resumption::End(Dropped));
    }
    assert_eq!(decide(&first, &taken, 10), Resumption::Send, "the owner asked for it");
    assert_eq!(decide(&lost, &taken, 10), Resumption::End(Delivered));
    for sent in [&first, &lost] {
        assert_eq!(decide(sent, &begun, 10), Resumption::Wait(at(15)), "the agent may be at work");
        assert_eq!(decide(sent, &begun, 602), Resumption::Wait(at(605)));
        assert_eq!(decide(sent, &begun, 605), Resumption::Send);
    }
    assert_eq!(decide(&refused, &begun, 10), Resumption::Send, "it said that it failed");
    let mut resent = delivery();
    resent.restart(at(20));
    resent.begin(at(40), at(20));
    resent.settle(&answer(500), None, at(21));
    assert_eq!(decide(&resent, &taken, 30), Resumption::Send, "it was delivered before it was resent");
    for status in [408, 502, 503, 504, 520, 524] {
        let mut gateway = delivery();
        gateway.settle(&answer(status), None, at(6));
        assert_eq!(decide(&gateway, &begun, 20), Resumption::Wait(at(25)), "{status} of a gateway");
        assert_eq!(decide(&gateway, &begun, 605), Resumption::Send);
        assert_eq!(decide(&gateway, &failed, 20), Resumption::Send);
        assert_eq!(decide(&gateway, &done, 20), Resumption::End(Delivered));
    }
    let mut early = delivery();
    early.settle(&answer(202), Some(&begun), at(6));
    assert_eq!(decide(&early, &begun, 20), Resumption::Wait(at(25)), "it answered before it was done");
    assert_eq!(decide(&early, &begun, 605), Resumption::Send);
    assert!(matches!(decide(&early, &failed, 4), Resumption::Wait(_)), "not at once");
    assert_eq!(decide(&early, &failed, 20), Resumption::Send);
}

#[test]
fn a_claim_is_waited_for() {
    let stuck_after = Duration::from_secs(600);
    let lease = Some(ClaimLease::new(Duration::from_secs(900)));
    let terms = StepTerms { lease, ..StepTerms::default() };
    let claimed = Delivery::new(AgentId::NIL).step(&DeliveryStep::Begin, terms, at(5)).unwrap();
    let renewed = claimed.clone().step(&DeliveryStep::Renew, terms, at(100)).unwrap();
    let mut refused = delivery();
    refused.settle(&answer(500), None, at(6));
    for sent in [&delivery(), &refused] {
        let decide = |ledger, seconds| Resumption::of(sent, Some(ledger), stuck_after, at(seconds));
        assert_eq!(decide(&claimed, 700), Resumption::Wait(at(705)), "longer than until it is stuck");
        assert_eq!(decide(&claimed, 903), Resumption::Wait(at(905)));
        assert_eq!(decide(&claimed, 905), Resumption::Send);
        assert_eq!(decide(&renewed, 905), Resumption::Wait(at(910)));
        assert_eq!(decide(&renewed, 1000), Resumption::Send);
    }
}
