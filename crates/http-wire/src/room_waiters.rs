//! Requests that wait for something to happen in a room.
//!
//! A [`Waiter`] is woken by the events of its room, including those of other servers, in which its server takes an interest
//! meanwhile. Events are only a hint, because one from another server can be lost, so a waiter also reads the store from time
//! to time.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use domain::event::DomainEvent;
use domain::id::ChatId;
use domain::ports::EventPublisher;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// The time after which a room is read again without an event.
const READ_AGAIN: Duration = Duration::from_secs(5);

/// How often a waiter checks whether the server is stopping.
const GLANCE: Duration = Duration::from_millis(500);

/// Tells whether the server is about to stop: nothing waits for anything then.
pub type IsStopping = Arc<dyn Fn() -> bool + Send + Sync>;

/// The interest of one waiter in the events of other servers, until it is dropped.
pub type InterestGuard = Box<dyn Send + Sync>;

/// Takes an interest in the events of a room on other servers, if there are any.
type TakeInterest = Box<dyn Fn(ChatId) -> Option<InterestGuard> + Send + Sync>;

/// The rooms in which somebody waits. One for all workers of a server.
#[derive(Default)]
pub struct RoomWaiters {
    rooms: Mutex<HashMap<ChatId, Room>>,
    /// The number of rooms, so that an event costs nothing while nobody waits.
    count: AtomicUsize,
    take_interest: OnceLock<TakeInterest>,
}

struct Room {
    waiters: usize,
    woken: watch::Sender<()>,
}

impl RoomWaiters {
    /// Sets how an interest in the events of other servers is taken; once.
    pub fn on_interest(&self, take: impl Fn(ChatId) -> Option<InterestGuard> + Send + Sync + 'static) {
        // A second call would be a fault of the wiring, and waiters would only be woken late.
        let _ = self.take_interest.set(Box::new(take));
    }

    /// Begins to wait for events of a room.
    pub fn waiter(self: &Arc<Self>, room: ChatId) -> Waiter {
        let interest = self.take_interest.get().and_then(|take| take(room));
        let mut rooms = self.rooms();
        let waiting = rooms.entry(room).or_insert_with(|| Room { waiters: 0, woken: watch::Sender::new(()) });
        waiting.waiters += 1;
        let woken = waiting.woken.subscribe();
        self.count.store(rooms.len(), Ordering::Release);
        Waiter { of: self.clone(), room, woken, _interest: interest }
    }

    /// Wakes those who wait in the room of an event.
    fn note(&self, event: &DomainEvent) {
        if self.is_idle() {
            return;
        }
        if let Some(room) = event.changed_chat()
            && let Some(room) = self.rooms().get(&room)
        {
            room.woken.send_replace(());
        }
    }

    fn waits_in(&self, room: ChatId) -> bool {
        !self.is_idle() && self.rooms().contains_key(&room)
    }

    fn is_idle(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    fn rooms(&self) -> MutexGuard<'_, HashMap<ChatId, Room>> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody who waits for events of a room, until it is dropped.
pub struct Waiter {
    of: Arc<RoomWaiters>,
    room: ChatId,
    woken: watch::Receiver<()>,
    _interest: Option<InterestGuard>,
}

impl Waiter {
    /// Waits until the room should be read again, which was read last at `read_at`: after an event, but not before `pause`
    /// has passed since then, or without one after five seconds. Returns `false` at `until`, and if the server is stopping.
    pub async fn wait(
        &mut self,
        read_at: Instant,
        pause: Duration,
        until: Instant,
        is_stopping: impl Fn() -> bool,
    ) -> bool {
        let again = read_at + READ_AGAIN;
        while !is_stopping() {
            let now = Instant::now();
            if now >= until {
                return false;
            }
            if now >= again {
                return true;
            }
            tokio::select! {
                () = self.woken() => {
                    sleep_until(read_at + pause).await;
                    return true;
                }
                () = sleep_until(until.min(again).min(now + GLANCE)) => {}
            }
        }
        false
    }

    /// Waits for an event since the beginning, or since the last one.
    async fn woken(&mut self) {
        // The sender is in the table as long as this waiter is.
        let _ = self.woken.changed().await;
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let mut rooms = self.of.rooms();
        if let Entry::Occupied(mut waiting) = rooms.entry(self.room) {
            waiting.get_mut().waiters -= 1;
            if waiting.get().waiters == 0 {
                waiting.remove();
            }
        }
        self.of.count.store(rooms.len(), Ordering::Release);
    }
}

/// A publisher that passes all events on, and then wakes those who wait in their rooms.
pub struct RoomEvents {
    waiters: Arc<RoomWaiters>,
    next: Arc<dyn EventPublisher>,
}

impl RoomEvents {
    /// Passes all events on to `next`.
    pub fn new(waiters: Arc<RoomWaiters>, next: Arc<dyn EventPublisher>) -> Self {
        Self { waiters, next }
    }
}

impl EventPublisher for RoomEvents {
    fn publish(&self, event: DomainEvent) {
        self.waiters.note(&event);
        self.next.publish(event);
    }

    fn has_human_subscribers(&self, chat: ChatId) -> bool {
        self.waiters.waits_in(chat) || self.next.has_human_subscribers(chat)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicI32;

    use futures_util::FutureExt;
    use uuid::Uuid;

    use super::*;

    /// An interest of a waiter; counted.
    struct Guard(Arc<AtomicI32>);

    impl Drop for Guard {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::Relaxed);
        }
    }

    struct Nobody;

    impl EventPublisher for Nobody {
        fn publish(&self, _: DomainEvent) {}

        fn has_human_subscribers(&self, _: ChatId) -> bool {
            false
        }
    }

    fn room(number: u128) -> ChatId {
        ChatId::new(Uuid::from_u128(number))
    }

    #[test]
    fn events_of_a_room_wake_those_who_wait_there() {
        let waiters = Arc::<RoomWaiters>::default();
        let interests = Arc::<AtomicI32>::default();
        let taken = interests.clone();
        waiters.on_interest(move |_| {
            taken.fetch_add(1, Ordering::Relaxed);
            Some(Box::new(Guard(taken.clone())))
        });
        let events = RoomEvents::new(waiters.clone(), Arc::new(Nobody));
        events.publish(DomainEvent::RoomDeleted { chat_id: room(1) });
        let (mut one, mut other, mut elsewhere) =
            (waiters.waiter(room(1)), waiters.waiter(room(1)), waiters.waiter(room(2)));
        assert!(one.woken().now_or_never().is_none(), "only what happens from now on counts");
        assert!(events.has_human_subscribers(room(1)) && !events.has_human_subscribers(room(3)));
        events.publish(DomainEvent::RoomDeleted { chat_id: room(1) });
        events.publish(DomainEvent::RoomTitleChanged { chat_id: room(2), title: "b".to_owned() });
        for woken in [&mut one, &mut other] {
            assert!(woken.woken().now_or_never().is_some());
            assert!(woken.woken().now_or_never().is_none(), "once");
        }
        assert!(elsewhere.woken().now_or_never().is_none());
        assert_eq!(interests.load(Ordering::Relaxed), 3);
        drop((one, elsewhere));
        assert!(events.has_human_subscribers(room(1)) && !events.has_human_subscribers(room(2)));
        drop(other);
        assert!(waiters.is_idle() && interests.load(Ordering::Relaxed) == 0);
    }
}
