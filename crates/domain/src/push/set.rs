//! In which chats there are configurations, as this server knows it, and what has happened there.
//!
//! An event in any other chat costs a look at this set, and nothing if it is empty. What is missed here is found when the
//! configuration is looked at next.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::change::Change;
use crate::event::DomainEvent;
use crate::id::ChatId;
use crate::ports::EventPublisher;

/// What a sender has to look at.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct PushWakes {
    /// Chats in which something has happened.
    pub chats: HashSet<ChatId>,
    /// Set if the chats are to be read again.
    pub reload: bool,
}

/// The chats with configurations.
#[derive(Default)]
pub struct PushSet {
    has_any: AtomicBool,
    chats: RwLock<Chats>,
    wakes: Mutex<PushWakes>,
    waker: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

#[derive(Default)]
struct Chats {
    known: HashSet<ChatId>,
    /// Those of them that were added since the store was last asked for all.
    added: HashSet<ChatId>,
}

impl PushSet {
    /// Sets what is called when there is something to look at; once.
    pub fn on_wake(&self, waker: impl Fn() + Send + Sync + 'static) {
        // A second sender would be a fault of the wiring, and its calls would only be missing.
        let _ = self.waker.set(Box::new(waker));
    }

    /// Returns whether there are no configurations.
    pub fn is_empty(&self) -> bool {
        !self.has_any.load(Ordering::Acquire)
    }

    /// Returns whether there are configurations in a chat.
    pub fn holds(&self, chat: ChatId) -> bool {
        !self.is_empty() && self.read().known.contains(&chat)
    }

    /// Adds a chat, before or after its first configuration is stored.
    pub fn add(&self, chat: ChatId) {
        let mut chats = self.write();
        chats.known.insert(chat);
        chats.added.insert(chat);
        self.has_any.store(true, Ordering::Release);
    }

    /// The store is about to be asked for all chats.
    pub fn begin_reload(&self) {
        self.write().added.clear();
    }

    /// Replaces the chats by those of the store, and those that were added meanwhile.
    pub fn replace(&self, found: Vec<ChatId>) {
        let mut chats = self.write();
        let Chats { known, added } = &mut *chats;
        *known = found.into_iter().chain(added.iter().copied()).collect();
        self.has_any.store(!known.is_empty(), Ordering::Release);
    }

    /// Takes what is to be looked at.
    pub fn take_wakes(&self) -> PushWakes {
        std::mem::take(&mut *self.wakes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts back what could not be looked at.
    pub fn put_back(&self, missed: PushWakes) {
        self.wake(|wakes| {
            wakes.reload |= missed.reload;
            wakes.chats.extend(missed.chats);
        });
    }

    /// Has the chats read again, after changes were missed.
    pub fn request_reload(&self) {
        self.wake(|wakes| wakes.reload = true);
    }

    /// Follows the change log.
    pub fn follow(&self, change: Change) {
        match change {
            Change::PushConfigured(chat) => {
                self.add(chat);
                self.note(chat);
            }
            Change::WorkRetried(chat)
            | Change::AgentsStopped(chat)
            | Change::AgentsPlaying(chat)
            | Change::ParticipantsRemoved(chat) => self.note(chat),
            // A command has made a message or changed one, and does not say in which chat.
            Change::MessageSent(_) | Change::MessageUpdated(_) if !self.is_empty() => {
                let chats = self.read().known.clone();
                self.wake(|wakes| wakes.chats.extend(chats));
            }
            _ => {}
        }
    }

    /// Notes that something has happened in a chat.
    pub fn note(&self, chat: ChatId) {
        if self.holds(chat) {
            self.wake(|wakes| _ = wakes.chats.insert(chat));
        }
    }

    fn wake(&self, note: impl FnOnce(&mut PushWakes)) {
        note(&mut self.wakes.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(waker) = self.waker.get() {
            waker();
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Chats> {
        self.chats.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Chats> {
        self.chats.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A publisher that first notes events in chats with configurations.
pub struct PushEvents {
    set: Arc<PushSet>,
    next: Arc<dyn EventPublisher>,
}

impl PushEvents {
    /// Passes all events on to `next`.
    pub fn new(set: Arc<PushSet>, next: Arc<dyn EventPublisher>) -> Self {
        Self { set, next }
    }
}

impl EventPublisher for PushEvents {
    fn publish(&self, event: DomainEvent) {
        if !self.set.is_empty()
            && let Some(chat) = event.changed_chat()
        {
            self.set.note(chat);
        }
        self.next.publish(event);
    }

    fn has_human_subscribers(&self, chat: ChatId) -> bool {
        self.set.holds(chat) || self.next.has_human_subscribers(chat)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use uuid::Uuid;

    use super::*;
    use crate::id::MessageId;

    struct Nobody;

    impl EventPublisher for Nobody {
        fn publish(&self, _: DomainEvent) {}

        fn has_human_subscribers(&self, _: ChatId) -> bool {
            false
        }
    }

    fn chat(number: u128) -> ChatId {
        ChatId::new(Uuid::from_u128(number))
    }

    #[test]
    fn only_what_happens_in_chats_with_configurations_wakes_the_sender() {
        let (set, woken) = (Arc::<PushSet>::default(), Arc::new(AtomicUsize::new(0)));
        let count = woken.clone();
        set.on_wake(move || _ = count.fetch_add(1, Ordering::Relaxed));
        let events = PushEvents::new(set.clone(), Arc::new(Nobody));
        let deleted = |number| DomainEvent::RoomDeleted { chat_id: chat(number) };
        events.publish(deleted(1));
        set.follow(Change::MessageSent(MessageId::NIL));
        assert_eq!((set.take_wakes(), woken.load(Ordering::Relaxed)), (PushWakes::default(), 0));
        set.follow(Change::PushConfigured(chat(1)));
        assert_eq!(set.take_wakes().chats, HashSet::from([chat(1)]));
        assert!(events.has_human_subscribers(chat(1)) && !events.has_human_subscribers(chat(2)));
        events.publish(deleted(2));
        assert_eq!((set.take_wakes(), woken.load(Ordering::Relaxed)), (PushWakes::default(), 1));
        events.publish(deleted(1));
        set.follow(Change::WorkRetried(chat(2)));
        assert_eq!(set.take_wakes().chats, HashSet::from([chat(1)]));
        set.add(chat(2));
        set.follow(Change::MessageUpdated(MessageId::NIL));
        let missed = set.take_wakes();
        assert_eq!(missed.chats, HashSet::from([chat(1), chat(2)]));
        set.request_reload();
        set.put_back(missed.clone());
        assert_eq!(set.take_wakes(), PushWakes { reload: true, ..missed });
    }

    #[test]
    fn what_is_added_while_the_store_is_read_stays() {
        let set = PushSet::default();
        set.add(chat(1));
        set.begin_reload();
        set.add(chat(2));
        set.replace(vec![chat(3)]);
        assert_eq!([1, 2, 3].map(|number| set.holds(chat(number))), [false, true, true]);
        set.begin_reload();
        set.replace(Vec::new());
        assert!(set.is_empty() && !set.holds(chat(2)));
    }
}
