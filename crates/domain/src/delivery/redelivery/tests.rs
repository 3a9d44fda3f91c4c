//! Times and numbers of redeliveries.

use super::*;

const SUBSCRIPTION: SubscriptionId = SubscriptionId::new(7);
const ANOTHER: SubscriptionId = SubscriptionId::new(8);

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000)
}

/// The first after five seconds, the longest interval twenty, at most three outstanding.
fn policy() -> RedeliveryPolicy {
    RedeliveryPolicy { after: Duration::from_secs(5), longest: Duration::from_secs(20), in_flight: 3 }
}

/// Messages with these sequences, each written at that second.
fn new<const N: usize>(places: [i64; N]) -> [Unacknowledged; N] {
    places.map(|place| Unacknowledged { sequence: Sequence::new(place), written_at: at(place) })
}

fn listening(subscription: SubscriptionId, since: i64) -> Listening {
    let (id, since) = (uuid::Uuid::from_u128(1), Sequence::new(since));
    Listening { subscription, agent: AgentId::new(id), chat: ChatId::new(id), since }
}

/// The sequence after which the store is searched.
fn since(schedule: &mut RedeliverySchedule, listening: Listening) -> i64 {
    schedule.meet(listening).since.get()
}

/// The messages to push, after a search that found these.
fn due(
    schedule: &mut RedeliverySchedule,
    subscription: SubscriptionId,
    found: &[Unacknowledged],
    now: i64,
) -> Vec<i64> {
    let met = schedule.meet(listening(subscription, 0));
    let searched = Searched { found: found.to_vec(), examined_to: None };
    schedule.due(met, &searched, at(now)).into_iter().map(Sequence::get).collect()
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
    let usual = RedeliveryPolicy::after(Duration::from_secs(5));
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
    assert_eq!(since(&mut schedule, listening(SUBSCRIPTION, 0)), 1);
    assert_eq!(due(&mut schedule, SUBSCRIPTION, &new([2, 3, 4]), 62), [4]);
    assert_eq!(due(&mut schedule, SUBSCRIPTION, &new([3, 4, 5]), 63), [4, 5]);
    assert_eq!(since(&mut schedule, listening(SUBSCRIPTION, 0)), 3);
    assert!(
        schedule.subscriptions[&SUBSCRIPTION].skipped.is_empty(),
        "what is passed over need not be remembered"
    );
    // The result survives a round that finds nothing, or the same rows would be searched in each
    // round.
    assert!(due(&mut schedule, SUBSCRIPTION, &[], 64).is_empty());
    assert_eq!(since(&mut schedule, listening(SUBSCRIPTION, 0)), 3);
    assert_eq!(since(&mut schedule, listening(ANOTHER, 2)), 2);
}

#[test]
fn whoever_has_gone_is_forgotten() {
    let mut schedule = RedeliverySchedule::new(policy());
    push(&mut schedule, &new([1]), 60);
    for _ in 0..3 {
        schedule.meet(listening(SUBSCRIPTION, 0));
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
        let waits = |place: &i64| {
            let arrived = last.get(place).is_some_and(|at| now - at >= 2) && place % 5 != 0;
            place % 7 != 0 && !arrived && now - place < 100
        };
        let found = (1..now.min(300)).filter(waits).map(|place| new([place])[0]).collect::<Vec<_>>();
        let due = push(&mut schedule, &found, now);
        assert!(
            due.len() <= 3
                && schedule
                    .subscriptions
                    .get(&SUBSCRIPTION)
                    .is_none_or(|outstanding| outstanding.pushed.len() <= 3)
        );
        for place in due {
            assert!(now - place >= 5, "{place} at {now}");
            assert!(last.insert(place, now).is_none_or(|before| now - before >= 10), "{place} at {now}");
            *counts.entry(place).or_default() += 1;
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
    let searched = |found: &[Unacknowledged], examined_to: Option<i64>| Searched {
        found: found.to_vec(),
        examined_to: examined_to.map(Sequence::new),
    };
    let first = listening(SUBSCRIPTION, 100);
    assert!(schedule.due(first, &searched(&[], Some(163)), at(200)).is_empty());
    assert!(schedule.subscriptions.is_empty(), "a short backlog is examined again");
    assert!(schedule.due(first, &searched(&[], Some(164)), at(200)).is_empty());
    assert_eq!(since(&mut schedule, first), 164);
    // The search stops before the first message that is still new.
    let met = schedule.meet(first);
    let new = [Unacknowledged { sequence: Sequence::new(900), written_at: at(300) }];
    assert!(schedule.due(met, &searched(&new, None), at(301)).is_empty(), "it is too young");
    assert_eq!(since(&mut schedule, first), 899);
    let met = schedule.meet(first);
    assert_eq!(schedule.due(met, &searched(&new, None), at(305)), [Sequence::new(900)]);
    // An empty search says nothing new.
    let met = schedule.meet(first);
    assert!(schedule.due(met, &searched(&[], None), at(306)).is_empty());
    assert_eq!(since(&mut schedule, first), 899);
}
