//! The interests of this node's own sockets, as they are sent to others.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use super::peer_message::PeerMessage;
use super::route::{Address, Interest};
use crate::time::Timestamp;

/// How long an interest outlives its last holder, since most return with a new socket or a new
/// join.
pub const LINGER: Duration = Duration::from_secs(5);

/// The maximum number of interests per message, some hundred kilobytes.
const MOST: usize = 4096;

/// The interests of this node.
#[derive(Debug, Default)]
pub struct OwnInterests {
    /// Each interest; if it has no holder any more, with the time until which it lingers.
    all: HashMap<Interest, Option<Timestamp>>,
    lingering: VecDeque<(Timestamp, Interest)>,
    revision: u64,
}

impl OwnInterests {
    /// Records a holder. Returns whether the interest is new to others.
    pub fn begin(&mut self, interest: Interest) -> bool {
        self.all.insert(interest, None).is_none()
    }

    /// Records that the last holder has gone.
    pub fn end(&mut self, interest: Interest, now: Timestamp) {
        if let Some(until) = self.all.get_mut(&interest) {
            let end = now.plus(LINGER);
            *until = Some(end);
            self.lingering.push_back((end, interest));
        }
    }

    /// Removes and returns the interests that have lingered long enough.
    pub fn over(&mut self, now: Timestamp) -> Vec<Interest> {
        let mut over = Vec::new();
        while let Some((end, interest)) = self.lingering.front().copied().filter(|(end, _)| *end <= now) {
            self.lingering.pop_front();
            // It may have a holder again.
            if self.all.get(&interest) == Some(&Some(end)) {
                self.all.remove(&interest);
                over.push(interest);
            }
        }
        over
    }

    /// The messages for the changes, with at most `most` interests each.
    pub fn changed(&mut self, begun: &[Interest], over: &[Interest], most: usize) -> Vec<PeerMessage> {
        let most = most.clamp(1, MOST);
        let begun = begun.chunks(most).map(|some| (some.to_vec(), Vec::new()));
        let over = over.chunks(most).map(|some| (Vec::new(), some.to_vec()));
        let numbered = |(begun, over)| {
            self.revision += 1;
            PeerMessage::InterestsChanged { revision: self.revision, begun, over }
        };
        begun.chain(over).map(numbered).collect()
    }

    /// The heartbeat.
    pub fn here(&self) -> PeerMessage {
        PeerMessage::Heartbeat { revision: self.revision }
    }

    /// The messages for all interests, with at most `most` in each.
    pub fn whole(&self, most: usize) -> Vec<PeerMessage> {
        let most = most.clamp(1, MOST);
        let all = self.all.keys().copied().collect::<Vec<_>>();
        let parts = u32::try_from(all.len().div_ceil(most).max(1)).unwrap_or(u32::MAX);
        let revision = self.revision;
        if all.is_empty() {
            return vec![PeerMessage::AllInterests { revision, part: 0, parts, interests: all }];
        }
        let part = |(part, interests): (u32, &[Interest])| PeerMessage::AllInterests {
            revision,
            part,
            parts,
            interests: interests.to_vec(),
        };
        (0..).zip(all.chunks(most)).map(part).collect()
    }

    /// Returns whether it is an interest, held or lingering.
    pub fn has(&self, interest: Interest) -> bool {
        self.all.contains_key(&interest)
    }

    /// Returns whether events for an address are needed, or were a moment ago.
    pub fn take(&self, address: Address) -> bool {
        match address {
            Address::Room(chat) => self.has(Interest::Room(chat)) || self.has(Interest::RoomAsHuman(chat)),
            Address::User(user) => self.has(Interest::User(user)),
            Address::Agent(agent) => self.has(Interest::Agent(agent)),
            Address::Everywhere => true,
        }
    }

    /// The number of interests.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::ChatId;
    use uuid::Uuid;

    fn room(number: u128) -> Interest {
        Interest::Room(ChatId::new(Uuid::from_u128(number)))
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn interests_linger_and_come_back() {
        let mut own = OwnInterests::default();
        assert!(own.begin(room(1)) && own.begin(room(2)));
        own.end(room(1), at(0));
        own.end(room(2), at(1));
        assert!(!own.begin(room(1)), "it was not over yet");
        own.end(room(3), at(1));
        assert_eq!(own.over(at(5)), []);
        assert!(own.has(room(1)) && own.has(room(2)));
        assert_eq!(own.over(at(6)), [room(2)]);
        own.end(room(1), at(7));
        own.begin(room(1));
        own.end(room(1), at(9));
        assert_eq!(own.over(at(13)), [], "it counts from the last end on");
        assert_eq!(own.over(at(14)), [room(1)]);
        assert!(own.is_empty());
    }

    #[test]
    fn changes_are_numbered_and_the_whole_is_told_in_parts() {
        let mut own = OwnInterests::default();
        assert_eq!(own.changed(&[], &[], 10), []);
        assert_eq!(
            own.whole(10),
            [PeerMessage::AllInterests { revision: 0, part: 0, parts: 1, interests: vec![] }]
        );
        for number in 0..5000 {
            own.begin(room(number));
        }
        let messages = own.changed(&[room(1)], &[], 10);
        assert_eq!(
            messages,
            [PeerMessage::InterestsChanged { revision: 1, begun: vec![room(1)], over: vec![] }]
        );
        assert_eq!(own.here(), PeerMessage::Heartbeat { revision: 1 });
        let parts = |most| {
            let parts = own.whole(most).into_iter().map(|message| match message {
                PeerMessage::AllInterests { revision, part, parts, interests } => {
                    (revision, part, parts, interests.len())
                }
                other => panic!("{other:?}"),
            });
            parts.collect::<Vec<_>>()
        };
        assert_eq!(parts(usize::MAX), [(1, 0, 2, 4096), (1, 1, 2, 904)]);
        assert_eq!(parts(2_000), [(1, 0, 3, 2_000), (1, 1, 3, 2_000), (1, 2, 3, 1_000)]);
    }

    /// A receiver of all messages knows the interests; one that misses a message detects it.
    #[test]
    fn a_large_change_is_several() {
        let mut own = OwnInterests::default();
        let (begun, over) = ([1, 2, 3].map(room), [4, 5].map(room));
        let of = |revision, begun: &[Interest], over: &[Interest]| PeerMessage::InterestsChanged {
            revision,
            begun: begun.to_vec(),
            over: over.to_vec(),
        };
        let expected = [of(1, &begun[..2], &[]), of(2, &begun[2..], &[]), of(3, &[], &over)];
        assert_eq!(own.changed(&begun, &over, 2), expected);
        assert_eq!(own.here(), PeerMessage::Heartbeat { revision: 3 });
        assert_eq!(own.changed(&begun, &[], 0).len(), 3, "one at least");
        let many = (0..10_000).map(room).collect::<Vec<_>>();
        assert_eq!(own.changed(&many, &[], usize::MAX).len(), 3);
    }
}
