//! Who was told of which room, so that what is looked up in the store is not told again.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use domain::id::{ChatId, ParticipantId};
use domain::node::Entrant;
use domain::time::Timestamp;

use super::Hub;
use crate::topic::Topic;

/// For how long it is remembered, and of how many at most; whoever is forgotten is told twice at worst.
const REMEMBERED: Duration = Duration::from_secs(180);
const MOST: usize = 64 * 1024;

/// Who was told of late that they came into a room.
#[derive(Default)]
pub(super) struct Entered {
    told_at: HashMap<(ParticipantId, ChatId), Timestamp>,
    order: VecDeque<(Timestamp, ParticipantId, ChatId)>,
}

impl Entered {
    /// Whoever came in then has been told by now. The clocks of nodes are not the same, so that may be in the future.
    fn tell(&mut self, who: ParticipantId, chat: ChatId, entered_at: Timestamp, now: Timestamp) {
        let told_at = now.max(entered_at);
        while let Some((at, who, chat)) = self.order.front().copied() {
            if at.plus(REMEMBERED) > now && self.order.len() < MOST {
                break;
            }
            self.order.pop_front();
            // Told again since, it is remembered for longer.
            if self.told_at.get(&(who, chat)) == Some(&at) {
                self.told_at.remove(&(who, chat));
            }
        }
        self.told_at.insert((who, chat), told_at);
        self.order.push_back((told_at, who, chat));
    }

    fn has_heard(&self, who: ParticipantId, chat: ChatId, entered_at: Timestamp) -> bool {
        self.told_at.get(&(who, chat)).is_some_and(|told| *told >= entered_at)
    }
}

impl Hub {
    /// Somebody is told to have come into a room.
    pub(super) fn remember_entered(&self, who: ParticipantId, chat: ChatId) {
        // Nothing is lost where there is one server.
        if self.registry.get().is_some() {
            let now = self.clock.now();
            self.entered().tell(who, chat, now, now);
        }
    }

    /// Somebody is told to have left a room: if they come again they are told again.
    pub(super) fn forget_entered(&self, who: ParticipantId, chat: ChatId) {
        if self.registry.get().is_some() {
            self.entered().told_at.remove(&(who, chat));
        }
    }

    /// Somebody has come into a room, as the store says; tells it to their sockets unless they were told, and holds the
    /// room against the store if somebody listens there.
    pub(crate) fn has_entered(&self, entrant: Entrant) {
        let Entrant { entered_at, who, chat, role } = entrant;
        let (is_for_here, is_heard) = (self.is_listening_for_rooms(who), self.is_listened_to(chat.id));
        if !(is_for_here || is_heard) || self.entered().has_heard(who, chat.id, entered_at) {
            return;
        }
        let room = chat.id;
        if is_for_here {
            self.tell_entered(who, &chat, role);
        }
        if is_heard {
            self.doubts.add(room);
        }
        self.entered().tell(who, room, entered_at, self.clock.now());
    }

    fn is_listened_to(&self, chat: ChatId) -> bool {
        Topic::of_room(chat).into_iter().any(|topic| self.shard(topic).contains_key(&topic))
    }
}

#[cfg(test)]
mod tests {
    use domain::id::AgentId;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn what_was_told_is_remembered_for_a_while() {
        let at = |seconds: i64| Timestamp::from_micros(seconds * 1_000_000);
        let who = ParticipantId::Agent(AgentId::new(Uuid::from_u128(1)));
        let room = |number| ChatId::new(Uuid::from_u128(number));
        let mut entered = Entered::default();
        entered.tell(who, room(1), at(10), at(10));
        assert!(entered.has_heard(who, room(1), at(10)));
        assert!(!entered.has_heard(who, room(1), at(11)), "they have left and come again");
        assert!(!entered.has_heard(who, room(2), at(10)));
        entered.tell(who, room(4), at(60), at(10));
        assert!(entered.has_heard(who, room(4), at(60)), "by the clock of another node");
        entered.tell(who, room(1), at(100), at(100));
        entered.tell(who, room(2), at(191), at(191));
        assert!(entered.has_heard(who, room(1), at(100)));
        entered.tell(who, room(3), at(320), at(320));
        assert!(!entered.has_heard(who, room(1), at(100)));
        for number in 0..2 * MOST {
            entered.tell(who, room(number as u128), at(261), at(261));
        }
        assert!(entered.told_at.len() <= MOST && entered.order.len() <= MOST);
    }
}
