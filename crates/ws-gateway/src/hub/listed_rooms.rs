//! The rooms of the humans who listen for changes of their list, and which of these rooms have changed.
//!
//! The rooms only say what to read: whether a human still sees a room is decided when it is read
//! ([`crate::room_changes`]). Without listeners, a message costs one load of a number.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::id::{ChatId, UserId};

use crate::other_nodes::InterestGuard;

/// The maximum number of rooms in the lists of all humans together; those beyond it are not listed.
const MAX_ENTRIES: usize = 1_000_000;

/// The maximum number of reads of one human's rooms that fail in a row; the rooms then wait for their next change.
pub(super) const MAX_FAILURES: u32 = 60;

/// The rooms that listeners see in their lists.
#[derive(Default)]
pub(super) struct ListedRooms {
    /// The number of rooms in `state`.
    count: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    people: HashMap<UserId, Listener>,
    rooms: HashMap<ChatId, Room>,
    /// The number of rooms of all people.
    entries: usize,
    changed: HashSet<ChatId>,
    /// Changed rooms that could not be read for one human.
    unread: HashMap<UserId, Vec<ChatId>>,
    /// Set while changed rooms are read.
    is_reading: bool,
}

/// A human who listens.
#[derive(Default)]
struct Listener {
    subscriptions: usize,
    rooms: HashSet<ChatId>,
    /// The number of reads that have failed in a row.
    failures: u32,
}

/// A room, and the interest in its events of other nodes.
struct Room {
    people: HashSet<UserId>,
    _interest: Option<InterestGuard>,
}

/// A subscription of a human, until it is dropped.
pub(super) struct ListSubscription {
    of: Arc<ListedRooms>,
    user: UserId,
}

impl ListedRooms {
    /// Counts one more subscription of a human.
    pub(super) fn subscribe(self: &Arc<Self>, user: UserId) -> ListSubscription {
        self.state().people.entry(user).or_default().subscriptions += 1;
        ListSubscription { of: self.clone(), user }
    }

    /// Adds rooms to the list of a human, unless that one has left.
    pub(super) fn add(
        &self,
        user: UserId,
        rooms: impl IntoIterator<Item = ChatId>,
        interest: impl Fn(ChatId) -> Option<InterestGuard>,
    ) {
        let new = {
            let state = self.state();
            let Some(listener) = state.people.get(&user) else { return };
            let new = rooms.into_iter().filter(|chat| !listener.rooms.contains(chat));
            new.take(MAX_ENTRIES.saturating_sub(state.entries)).collect::<Vec<_>>()
        };
        // Without the lock; those that are not needed are dropped after it, too.
        let mut interests = new.into_iter().map(|chat| (chat, interest(chat))).collect::<Vec<_>>();
        let mut state = self.state();
        let State { people, rooms: listed, entries, .. } = &mut *state;
        let Some(listener) = people.get_mut(&user) else { return };
        for (chat, interest) in &mut interests {
            if listener.rooms.insert(*chat) {
                *entries += 1;
                let make = || Room { people: HashSet::new(), _interest: interest.take() };
                listed.entry(*chat).or_insert_with(make).people.insert(user);
            }
        }
        self.count.store(listed.len(), Ordering::Relaxed);
    }

    /// Removes a room that a human no longer sees.
    pub(super) fn remove(&self, user: UserId, chat: ChatId) {
        let mut state = self.state();
        let was_listed = state.people.get_mut(&user).is_some_and(|listener| listener.rooms.remove(&chat));
        let empty = if was_listed { state.vacate(user, chat) } else { None };
        self.count.store(state.rooms.len(), Ordering::Relaxed);
        drop(state);
        drop(empty);
    }

    /// Returns whether a room is in the list of a human.
    pub(super) fn is_listed(&self, user: UserId, chat: ChatId) -> bool {
        self.state().people.get(&user).is_some_and(|listener| listener.rooms.contains(&chat))
    }

    /// Notes that something has happened in a room.
    pub(super) fn note(&self, chat: ChatId) {
        if self.is_empty() {
            return;
        }
        let mut state = self.state();
        if state.rooms.contains_key(&chat) {
            state.changed.insert(chat);
        }
    }

    /// Notes that a mark has moved: what is being read may be outdated. Otherwise, the listeners know it.
    pub(super) fn note_mark(&self, chat: ChatId) {
        if !self.is_empty() && self.state().is_reading {
            self.note(chat);
        }
    }

    /// Takes the changed rooms by human, in the order of their ids, to be read until [`Self::finish`].
    pub(super) fn take(&self) -> HashMap<UserId, Vec<ChatId>> {
        let mut by_user: HashMap<UserId, Vec<ChatId>> = HashMap::new();
        if self.is_empty() {
            return by_user;
        }
        let mut state = self.state();
        state.is_reading = true;
        let mut rooms = std::mem::take(&mut state.changed).into_iter().collect::<Vec<_>>();
        rooms.sort_unstable();
        for chat in rooms {
            for user in state.rooms.get(&chat).into_iter().flat_map(|room| &room.people) {
                by_user.entry(*user).or_default().push(chat);
            }
        }
        for (user, mut rooms) in std::mem::take(&mut state.unread) {
            let Some(listener) = state.people.get(&user) else { continue };
            rooms.retain(|chat| listener.rooms.contains(chat));
            if !rooms.is_empty() {
                let all = by_user.entry(user).or_default();
                all.append(&mut rooms);
                all.sort_unstable();
                all.dedup();
            }
        }
        by_user
    }

    /// Keeps rooms that could not be read for the next [`Self::take`], unless this has failed too often.
    pub(super) fn note_unread(&self, user: UserId, rooms: &[ChatId]) {
        let mut state = self.state();
        let Some(listener) = state.people.get_mut(&user) else { return };
        listener.failures = if rooms.is_empty() { 0 } else { listener.failures + 1 };
        if (1..MAX_FAILURES).contains(&listener.failures) {
            state.unread.insert(user, rooms.to_vec());
        } else {
            listener.failures = 0;
        }
    }

    /// Ends what [`Self::take`] began.
    pub(super) fn finish(&self) {
        self.state().is_reading = false;
    }

    fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Removes a human from a room. If that was its last one, returns the room, to be dropped without the lock.
    fn vacate(&mut self, user: UserId, chat: ChatId) -> Option<Room> {
        let room = self.rooms.get_mut(&chat)?;
        self.entries -= usize::from(room.people.remove(&user));
        if !room.people.is_empty() {
            return None;
        }
        self.changed.remove(&chat);
        self.rooms.remove(&chat)
    }
}

impl Drop for ListSubscription {
    fn drop(&mut self) {
        let mut state = self.of.state();
        let Some(listener) = state.people.get_mut(&self.user) else { return };
        listener.subscriptions -= 1;
        let mut empty = Vec::new();
        if listener.subscriptions == 0 {
            let rooms = state.people.remove(&self.user).map(|listener| listener.rooms).unwrap_or_default();
            empty.extend(rooms.into_iter().filter_map(|chat| state.vacate(self.user, chat)));
            state.unread.remove(&self.user);
        }
        self.of.count.store(state.rooms.len(), Ordering::Relaxed);
        drop(state);
        drop(empty);
    }
}
