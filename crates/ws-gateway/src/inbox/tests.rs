//! Order, wake-ups, and limits of the queue.

use std::task::Wake;

use domain::id::{ChatId, MessageId};
use uuid::Uuid;

use super::*;

const TOPIC: Topic = Topic::ChatRoom(ChatId::new(Uuid::nil()));

fn payload(size: usize) -> Arc<Payload> {
    Arc::new(Payload::new("message_created", "x".repeat(size)))
}

/// Counts its wake-ups.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Woken {
    fn times(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

#[test]
fn a_budget_is_for_what_waits() {
    let budget = Budget::new(100);
    assert!(budget.take(1_000), "nothing waited before it");
    budget.give_back(1_000);
    assert!(budget.take(60) && budget.take(40));
    assert!(!budget.take(1));
    budget.give_back(101);
    assert!(!budget.take(1), "once over the limit is over it for ever");
}

#[test]
fn deferrable_events_use_half_of_the_budget() {
    let (inbox, mut reader) = Inbox::new(4_000);
    let offer = |bytes: usize| {
        let payload = Payload::new("x", "x".repeat(bytes - EVENT_OVERHEAD_BYTES));
        inbox.offer(TOPIC, SubscriptionId::new(1), payload)
    };
    assert!(inbox.is_idle());
    assert!(offer(1_500) && !inbox.is_idle());
    assert!(!offer(501), "more than half would wait");
    assert!(offer(500) && !offer(300));
    let events = [reader.next_event(true).unwrap(), reader.next_event(true).unwrap()];
    assert!(!inbox.is_idle(), "it is not with the client yet");
    for event in events {
        reader.budget().give_back(cost(&event.payload));
    }
    assert!(inbox.is_idle() && offer(5_000), "nothing waits, so anything may");
    assert!(reader.next_event(true).is_some() && reader.next_event(true).is_none());
}

#[test]
fn the_connection_stops_before_a_command() {
    let (inbox, mut reader) = Inbox::new(100_000);
    let subscription = SubscriptionId::new(1);
    inbox.event(TOPIC, subscription, &payload(1));
    inbox.send_command(InboxItem::End { topic: TOPIC, subscription });
    inbox.event(TOPIC, subscription, &payload(2));
    assert!(reader.next_event(true).is_some() && reader.next_event(true).is_none());
    assert!(reader.next_event(true).is_none(), "it stays where it is");
    assert!(matches!(reader.next(), Some(InboxItem::End { .. })));
    assert!(matches!(reader.next_event(true), Some(event) if event.payload.json.len() == 2));
    assert!(reader.next().is_none());
}

#[test]
fn the_last_state_of_a_message_takes_the_place_of_older_ones() {
    let (inbox, mut reader) = Inbox::new(6 * EVENT_OVERHEAD_BYTES);
    let state = |message: u128, json: &str| {
        let updates = Some(MessageId::new(Uuid::from_u128(message)));
        Arc::new(Payload { updates, ..Payload::new("message_updated", json.to_owned()) })
    };
    for (subscription, message, json) in
        [(1, 1, "a"), (1, 2, "b"), (2, 1, "c"), (1, 1, "d"), (1, 1, "e"), (1, 2, "f")]
    {
        inbox.event(TOPIC, SubscriptionId::new(subscription), &state(message, json));
        if json == "d" {
            inbox.event(TOPIC, SubscriptionId::new(1), &payload(1));
        }
    }
    let mut left = Vec::new();
    while let Some(event) = reader.next_event(true) {
        reader.budget().give_back(cost(&event.payload));
        left.push(event.payload.json.clone());
    }
    assert_eq!(left, ["c", "x", "e", "f"], "each behind all that came before it");
    assert!(inbox.is_idle() && reader.next().is_none(), "no room was missing");
}

#[test]
fn items_of_an_earlier_subscription_can_be_told_apart() {
    let (inbox, mut reader) = Inbox::new(100_000);
    inbox.event(TOPIC, SubscriptionId::new(1), &payload(1));
    inbox.send_command(InboxItem::End { topic: TOPIC, subscription: SubscriptionId::new(1) });
    inbox.event(TOPIC, SubscriptionId::new(2), &payload(2));
    inbox.event(TOPIC, SubscriptionId::new(1), &payload(3));
    assert!(matches!(reader.next_before(SubscriptionId::new(2)), Some(InboxItem::Event(_))));
    assert!(matches!(reader.next_before(SubscriptionId::new(2)), Some(InboxItem::End { .. })));
    assert!(
        reader.next_before(SubscriptionId::new(2)).is_none()
            && reader.next_before(SubscriptionId::new(2)).is_none()
    );
    assert!(matches!(reader.next_event(true), Some(event) if event.subscription == SubscriptionId::new(2)));
}

/// A reader that decides a join does not know its subscription yet, and would take its end for that
/// of another.
#[test]
fn the_end_of_a_subscription_waits_until_it_has_begun() {
    let (inbox, mut reader) = Inbox::new(100_000);
    inbox.event(TOPIC, SubscriptionId::new(1), &payload(1));
    inbox.send_command(InboxItem::End { topic: TOPIC, subscription: SubscriptionId::new(2) });
    inbox.send_command(InboxItem::Stop);
    assert!(matches!(reader.next_before(SubscriptionId::new(2)), Some(InboxItem::Event(_))));
    assert!(reader.next_before(SubscriptionId::new(2)).is_none());
    assert!(
        matches!(reader.next(), Some(InboxItem::End { subscription, .. }) if subscription == SubscriptionId::new(2))
    );
    assert!(matches!(reader.next(), Some(InboxItem::Stop)));
}

#[test]
fn events_wake_the_connection_and_commands_wake_both() {
    let (inbox, mut reader) = Inbox::new(100_000);
    let (connection, task) = (Arc::new(Woken::default()), Arc::new(Woken::default()));
    let (waker, task_waker) = (connection.clone().into(), task.clone().into());
    let (of_connection, mut of_task) = (Context::from_waker(&waker), Context::from_waker(&task_waker));
    let commands = reader.command_signal();
    let mut came = Box::pin(commands.came());
    assert!(!reader.wake_connection_later(&of_connection) && came.as_mut().poll(&mut of_task).is_pending());

    inbox.event(TOPIC, SubscriptionId::new(1), &payload(1));
    inbox.event(TOPIC, SubscriptionId::new(1), &payload(1));
    assert_eq!((connection.times(), task.times()), (1, 0), "once until it looks again");
    assert!(reader.wake_connection_later(&of_connection), "something is there already");
    assert!(came.as_mut().poll(&mut of_task).is_pending());
    while reader.next_event(true).is_some() {}

    assert!(!reader.wake_connection_later(&of_connection));
    inbox.send_command(InboxItem::Stop);
    assert_eq!((connection.times(), task.times()), (2, 1));
    assert!(came.as_mut().poll(&mut of_task).is_ready());
    assert!(
        Box::pin(commands.came()).as_mut().poll(&mut of_task).is_pending(),
        "each command is signaled once"
    );
}

#[test]
fn items_without_a_reader_are_dropped() {
    let (inbox, reader) = Inbox::new(100_000);
    let payload = payload(1);
    inbox.event(TOPIC, SubscriptionId::new(1), &payload);
    drop(reader);
    inbox.event(TOPIC, SubscriptionId::new(1), &payload);
    inbox.send_command(InboxItem::Stop);
    assert_eq!(Arc::strong_count(&payload), 1);
}

#[test]
fn a_long_list_is_not_held_on_to() {
    let (inbox, mut reader) = Inbox::new(10_000_000);
    for _ in 0..3 {
        for _ in 0..1_000 {
            inbox.event(TOPIC, SubscriptionId::new(1), &payload(1));
        }
        while reader.next().is_some() {}
    }
    assert!(reader.next().is_none() && reader.next().is_none());
    assert!(
        reader.taken.capacity() <= KEPT_CAPACITY
            && reader.mailbox.waiting().queued.capacity() <= KEPT_CAPACITY
    );
}
