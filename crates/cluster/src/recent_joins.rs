//! Recent `room_added` events, so that a resynchronization from the store does not repeat them.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use domain::id::{ChatId, ParticipantId};
use domain::time::Timestamp;

/// The maximum age and number of remembered events. At worst, a forgotten event is sent twice.
const MAX_AGE: Duration = Duration::from_secs(180);
const CAPACITY: usize = 64 * 1024;

/// The participants that were recently sent `room_added`, by chat.
#[derive(Default)]
pub(crate) struct RecentJoins {
    sent_at: HashMap<(ParticipantId, ChatId), Timestamp>,
    order: VecDeque<(Timestamp, ParticipantId, ChatId)>,
}

impl RecentJoins {
    /// Records that the event was sent. The clocks of nodes differ, so the time of the join may be in the
    /// future.
    pub(crate) fn record(&mut self, who: ParticipantId, chat: ChatId, entered_at: Timestamp, now: Timestamp) {
        let sent_at = now.max(entered_at);
        while let Some((at, who, chat)) = self.order.front().copied() {
            if at.plus(MAX_AGE) > now && self.order.len() < CAPACITY {
                break;
            }
            self.order.pop_front();
            // An entry that was renewed since stays longer.
            if self.sent_at.get(&(who, chat)) == Some(&at) {
                self.sent_at.remove(&(who, chat));
            }
        }
        self.sent_at.insert((who, chat), sent_at);
        self.order.push_back((sent_at, who, chat));
    }

    /// Forgets the join when the participant leaves, so that the next join is sent again.
    pub(crate) fn forget(&mut self, who: ParticipantId, chat: ChatId) {
        self.sent_at.remove(&(who, chat));
    }

    pub(crate) fn was_sent(&self, who: ParticipantId, chat: ChatId, entered_at: Timestamp) -> bool {
        self.sent_at.get(&(who, chat)).is_some_and(|sent| *sent >= entered_at)
    }
}

#[cfg(test)]
mod tests {
    use domain::id::AgentId;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn sent_events_are_remembered_for_a_while() {
        let at = |seconds: i64| Timestamp::from_micros(seconds * 1_000_000);
        let who = ParticipantId::Agent(AgentId::new(Uuid::from_u128(1)));
        let room = |number| ChatId::new(Uuid::from_u128(number));
        let mut joins = RecentJoins::default();
        joins.record(who, room(1), at(10), at(10));
        assert!(joins.was_sent(who, room(1), at(10)));
        assert!(!joins.was_sent(who, room(1), at(11)), "they have left and come again");
        assert!(!joins.was_sent(who, room(2), at(10)));
        joins.record(who, room(4), at(60), at(10));
        assert!(joins.was_sent(who, room(4), at(60)), "by the clock of another node");
        joins.record(who, room(1), at(100), at(100));
        joins.record(who, room(2), at(191), at(191));
        assert!(joins.was_sent(who, room(1), at(100)));
        joins.record(who, room(3), at(320), at(320));
        assert!(!joins.was_sent(who, room(1), at(100)));
        for number in 0..2 * CAPACITY {
            joins.record(who, room(number as u128), at(261), at(261));
        }
        assert!(joins.sent_at.len() <= CAPACITY && joins.order.len() <= CAPACITY);
    }
}
