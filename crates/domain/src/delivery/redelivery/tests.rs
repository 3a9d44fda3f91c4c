//! Times and numbers of redeliveries.

use super::*;

const SUBSCRIPTION: SubscriptionId = SubscriptionId::new(7);
const ANOTHER: SubscriptionId = SubscriptionId::new(8);
/// When the listeners joined.
const JOINED: i64 = 0;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000)
}

/// The first after five seconds, the longest interval twenty, at most three outstanding; a backlog after
/// ten, and an attempt is stuck after a hundred.
fn policy() -> RedeliveryPolicy {
    let [after, longest, quiet, stuck_after] = [5, 20, 10, 100].map(Duration::from_secs);
    RedeliveryPolicy { after, longest, in_flight: 3, quiet, stuck_after }
}

/// Messages with these sequences, each written at that second.
fn new<const N: usize>(sequences: [i64; N]) -> [Unacknowledged; N] {
    sequences.map(|sequence| Unacknowledged { sequence: Sequence::new(sequence), written_at: at(sequence) })
}

fn listening(subscription: SubscriptionId, since: i64) -> Listening {
    let (id, since) = (uuid::Uuid::from_u128(1), Sequence::new(since));
    let (agent, chat) = (AgentId::new(id), ChatId::new(id));
    Listening { subscription, agent, chat, since, joined_at: at(JOINED) }
}

/// The sequence after which the store is searched.
fn since(schedule: &mut RedeliverySchedule, listening: Listening, now: i64) -> i64 {
    schedule.meet(listening, at(now)).since.get()
}

fn searched(found: &[Unacknowledged], examined_to: Option<i64>) -> Searched {
    Searched { found: found.to_vec(), examined_to: examined_to.map(Sequence::new) }
}

/// The messages to push to this listener, after a search with this result.
fn search(
    schedule: &mut RedeliverySchedule,
    listening: Listening,
    searched: &Searched,
    now: i64,
) -> Vec<i64> {
    let met = schedule.meet(listening, at(now));
    schedule.due(listening, met, searched, at(now)).into_iter().map(Sequence::get).collect()
}

/// The messages to push, after a search that found these.
fn due(
    schedule: &mut RedeliverySchedule,
    subscription: SubscriptionId,
    found: &[Unacknowledged],
    now: i64,
) -> Vec<i64> {
    search(schedule, listening(subscription, 0), &searched(found, None), now)
}

/// One round, in which all due messages are pushed; returns them.
fn push(schedule: &mut RedeliverySchedule, found: &[Unacknowledged], now: i64) -> Vec<i64> {
    let due = due(schedule, SUBSCRIPTION, found, now);
    for sequence in &due {
        schedule.pushed(SUBSCRIPTION, Sequence::new(*sequence), at(now));
    }
    due
}

#[test]
fn the_time_to_the_next_push_grows_up_to_the_longest() {
    let mut schedule = RedeliverySchedule::new(policy());
    // Written at second 1: due after 5 seconds, then after 10, and then after 20 each.
    let pushed = (0..=100).filter(|now| !push(&mut schedule, &new([1]), *now).is_empty());
    assert_eq!(pushed.collect::<Vec<_>>(), [6, 16, 36, 56, 76, 96]);
    let usual = RedeliveryPolicy::usual(Duration::from_secs(5), Duration::MAX);
    assert_eq!([1, 2, 3, 4, 40, 400].map(|times| usual.delay(times).as_secs()), [10, 20, 40, 40, 40, 40]);
    let enormous = RedeliveryPolicy { after: Duration::MAX, ..policy() };
    assert_eq!(enormous.delay(31), policy().longest, "nothing overflows");
}

#[test]
fn what_was_pushed_late_is_not_pushed_in_a_hurry() {
    let mut schedule = RedeliverySchedule::new(policy());
    assert_eq!(push(&mut schedule, &new([1]), 60), [1], "the look came late");
    assert!(push(&mut schedule, &new([1]), 69).is_empty());
    assert_eq!(push(&mut schedule, &new([1]), 70), [1]);
}

#[test]
fn a_small_number_is_on_its_way_and_the_oldest_come_first() {
    let mut schedule = RedeliverySchedule::new(policy());
    assert_eq!(push(&mut schedule, &new([1, 2, 3, 4, 5]), 60), [1, 2, 3]);
    assert!(push(&mut schedule, &new([1, 2, 3, 4, 5]), 61).is_empty(), "none of them has arrived");
    assert_eq!(push(&mut schedule, &new([2, 4, 5, 6]), 62), [4, 5], "two have");
    assert!(push(&mut schedule, &new([2, 4, 5, 6]), 63).is_empty());
    assert_eq!(schedule.subscriptions[&SUBSCRIPTION].pushed.len(), 3);
    // A push to one subscription does not affect another.
    assert_eq!(due(&mut schedule, ANOTHER, &new([2, 4]), 63), [2, 4]);
}

#[test]
fn what_is_young_waits() {
    let mut schedule = RedeliverySchedule::new(policy());
    assert_eq!(push(&mut schedule, &new([1, 9]), 7), [1]);
    assert_eq!(push(&mut schedule, &new([9]), 13), [0_i64; 0]);
    assert_eq!(push(&mut schedule, &new([9]), 14), [9]);
}

#[test]
fn nothing_is_kept_of_what_arrived() {
    let mut schedule = RedeliverySchedule::new(policy());
    assert!(
        due(&mut schedule, SUBSCRIPTION, &[], 60).is_empty()
            && due(&mut schedule, SUBSCRIPTION, &new([58]), 60).is_empty()
    );
    assert!(schedule.subscriptions.is_empty(), "nothing was pushed, nothing is kept");
    push(&mut schedule, &new([1, 2]), 60);
    assert_eq!(schedule.subscriptions.len(), 1);
    assert!(due(&mut schedule, SUBSCRIPTION, &[], 61).is_empty());
    assert!(schedule.subscriptions.is_empty());
}

#[test]
fn what_is_left_does_not_stand_in_the_way() {
    let mut schedule = RedeliverySchedule::new(policy());
    assert_eq!(due(&mut schedule, SUBSCRIPTION, &new([1, 2, 3]), 60), [1, 2, 3]);
    schedule.skip(SUBSCRIPTION, Sequence::new(1));
    schedule.pushed(SUBSCRIPTION, Sequence::new(2), at(60));
    schedule.skip(SUBSCRIPTION, Sequence::new(3));
    // The first is skipped from now on; the third only when the second has arrived.
    assert!(due(&mut schedule, SUBSCRIPTION, &new([1, 2, 3]), 61).is_empty());
    assert_eq!(since(&mut schedule, listening(SUBSCRIPTION, 0), 61), 1);
    assert_eq!(due(&mut schedule, SUBSCRIPTION, &new([2, 3, 4]), 62), [4]);
    assert_eq!(due(&mut schedule, SUBSCRIPTION, &new([3, 4, 5]), 63), [4, 5]);
    assert_eq!(since(&mut schedule, listening(SUBSCRIPTION, 0), 63), 3);
    assert!(
        schedule.subscriptions[&SUBSCRIPTION].skipped.is_empty(),
        "what is passed over need not be remembered"
    );
    // The result survives a round that finds nothing, or the same rows would be searched in each
    // round.
    assert!(due(&mut schedule, SUBSCRIPTION, &[], 64).is_empty());
    assert_eq!(since(&mut schedule, listening(SUBSCRIPTION, 0), 64), 3);
    assert_eq!(since(&mut schedule, listening(ANOTHER, 0), 64), 0);
}

/// What was acknowledged may be new again after a retry, also for a client that does not read at the moment.
#[test]
fn a_chat_with_retried_work_is_searched_from_its_beginning() {
    let mut schedule = RedeliverySchedule::new(policy());
    let (one, other) = (listening(SUBSCRIPTION, 0), listening(ANOTHER, 0));
    for listening in [one, other] {
        search(&mut schedule, listening, &searched(&[], Some(100)), 60);
        assert_eq!(since(&mut schedule, listening, 60), 100);
    }
    schedule.end_round();
    schedule.begin_round(HashSet::from([ChatId::new(uuid::Uuid::from_u128(2))]), &HashSet::new());
    assert_eq!(since(&mut schedule, one, 61), 100, "another chat");
    schedule.keep(&other);
    schedule.end_round();
    schedule.begin_round(HashSet::from([one.chat]), &HashSet::new());
    assert_eq!(since(&mut schedule, one, 62), 0);
    schedule.keep(&other);
    schedule.end_round();
    schedule.begin_round(HashSet::new(), &HashSet::new());
    assert_eq!(since(&mut schedule, other, 63), 0);
}

#[test]
fn whoever_has_gone_is_forgotten() {
    let mut schedule = RedeliverySchedule::new(policy());
    push(&mut schedule, &new([1]), 60);
    for _ in 0..3 {
        schedule.keep(&listening(SUBSCRIPTION, 0));
        schedule.end_round();
    }
    assert!(push(&mut schedule, &new([1]), 61).is_empty(), "it is still there");
    schedule.end_round();
    schedule.end_round();
    assert!(schedule.subscriptions.is_empty());
}

/// However long it goes on, whatever arrives: never more on its way than may be, never the same
/// within the first interval, and each of those that do not arrive schedule and schedule.
#[test]
fn in_the_long_run() {
    let mut schedule = RedeliverySchedule::new(policy());
    let (mut last, mut counts) = (HashMap::new(), HashMap::<i64, u32>::new());
    for now in 0..2_000_i64 {
        // One message a second for a while; every seventh arrives without a redelivery, a
        // redelivered one arrives two seconds later, but for every fifth, which arrives after 100
        // seconds.
        let waits = |sequence: &i64| {
            let arrived = last.get(sequence).is_some_and(|at| now - at >= 2) && sequence % 5 != 0;
            sequence % 7 != 0 && !arrived && now - sequence < 100
        };
        let found = (1..now.min(300)).filter(waits).map(|sequence| new([sequence])[0]).collect::<Vec<_>>();
        let due = push(&mut schedule, &found, now);
        assert!(
            due.len() <= 3
                && schedule
                    .subscriptions
                    .get(&SUBSCRIPTION)
                    .is_none_or(|outstanding| outstanding.pushed.len() <= 3)
        );
        for sequence in due {
            assert!(now - sequence >= 5, "{sequence} at {now}");
            assert!(
                last.insert(sequence, now).is_none_or(|before| now - before >= 10),
                "{sequence} at {now}"
            );
            *counts.entry(sequence).or_default() += 1;
        }
    }
    let outstanding = &schedule.subscriptions[&SUBSCRIPTION];
    assert!(outstanding.pushed.is_empty() && outstanding.skipped.is_empty());
    assert!(counts.values().any(|count| *count > 3), "{counts:?}");
}

/// An agent that takes what it is pushed and does not process it leaves all of it open. Each search must begin
/// behind the part that an earlier one has examined.
#[test]
fn acknowledged_deliveries_are_not_examined_again() {
    let mut schedule = RedeliverySchedule::new(policy());
    let mut examine = |found: &[Unacknowledged], examined_to: Option<i64>, now: i64| {
        let listening = listening(SUBSCRIPTION, 100);
        let due = search(&mut schedule, listening, &searched(found, examined_to), now);
        (due, since(&mut schedule, listening, now), schedule.subscriptions.len())
    };
    // While the backlog is left to the agent, and after that from the beginning.
    assert_eq!(examine(&[], Some(163), 1), (vec![], 100, 0), "a short part is examined again");
    assert_eq!(examine(&[], Some(164), 1), (vec![], 164, 1));
    assert_eq!(examine(&[], Some(63), 10), (vec![], 0, 1), "of the backlog, nothing was examined");
    assert_eq!(examine(&[], Some(64), 10), (vec![], 64, 1));
    assert_eq!(examine(&[], Some(140), 10), (vec![], 164, 1), "both parts are done");
    // The search stops before the first message that is still new.
    let new = [Unacknowledged { sequence: Sequence::new(900), written_at: at(300) }];
    assert_eq!(examine(&new, None, 301), (vec![], 899, 1), "it is too young");
    assert_eq!(examine(&new, None, 305), (vec![900], 899, 1));
    assert_eq!(examine(&[], None, 306), (vec![], 899, 1), "an empty search says nothing new");
}

/// What was written before the join is searched for when the agent has had time to fetch it.
#[test]
fn a_backlog_is_left_to_its_agent_for_a_while() {
    let mut schedule = RedeliverySchedule::new(policy());
    let listening = listening(SUBSCRIPTION, 4);
    for (now, expected) in [(0, 4), (9, 4), (10, 0), (1000, 0)] {
        assert_eq!(since(&mut schedule, listening, now), expected, "at {now}");
    }
    assert!(schedule.subscriptions.is_empty(), "no listener takes memory for it");
    let written = |sequences: &[i64]| {
        let new = |sequence: &i64| Unacknowledged { sequence: Sequence::new(*sequence), written_at: at(-50) };
        searched(&sequences.iter().map(new).collect::<Vec<_>>(), None)
    };
    // Oldest first, a few at once, together with what came later.
    assert_eq!(search(&mut schedule, listening, &written(&[1, 2, 4, 5]), 10), [1, 2, 4]);
    for sequence in [1, 2, 4] {
        schedule.pushed(SUBSCRIPTION, Sequence::new(sequence), at(10));
    }
    assert!(search(&mut schedule, listening, &written(&[1, 2, 4, 5]), 12).is_empty());
    assert_eq!(search(&mut schedule, listening, &written(&[2, 4, 5]), 13), [5]);
    // The agent has begun to work on one of them.
    let work = BacklogWork { begun_at: Some(at(14)), ended_at: None };
    assert!(schedule.leaves_backlog(listening, work, at(20)));
    assert_eq!(since(&mut schedule, listening, 24), 4);
    assert_eq!(search(&mut schedule, listening, &written(&[5]), 24), [5]);
    assert_eq!(since(&mut schedule, listening, 25), 0);
    // What was pushed is not pushed in a hurry.
    schedule.pushed(SUBSCRIPTION, Sequence::new(4), at(25));
    assert_eq!(search(&mut schedule, listening, &written(&[2, 4]), 26), [2]);
    assert!(search(&mut schedule, listening, &searched(&[], None), 27).is_empty());
    assert!(schedule.subscriptions.is_empty());
}

/// Messages that are never pushed are passed over in both parts.
#[test]
fn what_is_skipped_of_a_backlog_stays_skipped() {
    let mut schedule = RedeliverySchedule::new(policy());
    let listening = listening(SUBSCRIPTION, 3);
    assert_eq!(search(&mut schedule, listening, &searched(&new([1, 2, 3]), None), 60), [1, 2, 3]);
    schedule.skip(SUBSCRIPTION, Sequence::new(2));
    let work = BacklogWork { begun_at: Some(at(60)), ended_at: None };
    assert!(schedule.leaves_backlog(listening, work, at(60)));
    assert_eq!(search(&mut schedule, listening, &searched(&new([4]), None), 61), [4]);
    assert_eq!(search(&mut schedule, listening, &searched(&new([1, 2, 3]), None), 70), [1, 3]);
    assert_eq!(search(&mut schedule, listening, &searched(&new([2, 3]), None), 71), [3]);
    assert_eq!(since(&mut schedule, listening, 71), 2);
}

#[test]
fn work_on_a_backlog_shows_that_it_is_being_drained() {
    let cases = [
        (None, None, 1000, false),
        // An open attempt counts until it is stuck, and only if it is not older than the join.
        (Some(0), None, 99, true),
        (Some(0), None, 100, false),
        (Some(-1), None, 20, false),
        // One that has ended counts for a while, also if it began before the join.
        (None, Some(20), 29, true),
        (None, Some(20), 30, false),
        (None, Some(-5), 10, false),
        (Some(25), Some(20), 60, true),
        (Some(-1), Some(20), 60, false),
    ];
    for (begun, ended, now, expected) in cases {
        let mut schedule = RedeliverySchedule::new(policy());
        let (listening, work) =
            (listening(SUBSCRIPTION, 9), BacklogWork { begun_at: begun.map(at), ended_at: ended.map(at) });
        let is_left = schedule.leaves_backlog(listening, work, at(now));
        assert_eq!(is_left, expected, "{begun:?} to {ended:?} at {now}");
        // If so, it is looked at again after the first delay.
        let looks = [now + 4, now + 5].map(|later| since(&mut schedule, listening, later));
        assert_eq!(looks, [if expected { 9 } else { 0 }, 0], "{begun:?} to {ended:?} at {now}");
    }
}
