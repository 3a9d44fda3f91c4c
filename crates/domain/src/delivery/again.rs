//! When a message is pushed again. Pure: what is still new comes from the store, the present
//! instant from the caller.
//!
//! A push may be lost between the commit and the socket. So whatever is still *new* some time after
//! it was written is pushed again, to agents that listened to the room before it was written; what
//! is older than that is the client's to ask for. The time until the next push grows with each, and
//! a small number of messages is on its way to a listener at once: the oldest ones.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use crate::id::{AgentId, ChatId};
use crate::time::Timestamp;

/// An agent that listens to a room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Listening {
    /// Names this stay of the agent in the room's channel; a later one has another number.
    pub stay: u64,
    /// Who.
    pub agent: AgentId,
    /// Where.
    pub chat: ChatId,
    /// The place of the room's newest message when the stay began.
    pub since: i64,
}

/// A delivery to a listener that is still new.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StillNew {
    /// The message's place in the room.
    pub sequence: i64,
    /// When the message was written.
    pub written_at: Timestamp,
}

/// How often is pushed again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AgainRule {
    /// How long after it was written a message is pushed again for the first time. The time until
    /// the next push is twice as long, and so on.
    pub after: Duration,
    /// The longest time between two pushes.
    pub longest: Duration,
    /// How many messages are on their way to one listener at the most.
    pub in_flight: u32,
}

impl AgainRule {
    /// Beginning `after` so long, with the usual growth and number.
    pub fn after(after: Duration) -> Self {
        Self { after, longest: after.saturating_mul(8), in_flight: 8 }
    }

    /// How long is waited once a message has been pushed again `times`.
    fn pause(&self, times: u32) -> Duration {
        let factor = 1_u32.checked_shl(times).unwrap_or(u32::MAX);
        self.after.saturating_mul(factor).min(self.longest)
    }
}

/// What has been pushed again, and when that is to be done once more.
#[derive(Debug)]
pub struct PushAgain {
    rule: AgainRule,
    /// Of the stays that something is outstanding for; all others cost nothing.
    stays: HashMap<u64, Outstanding>,
    round: u64,
}

#[derive(Debug, Default)]
struct Outstanding {
    /// Pushed again and still new, by place.
    pushed: BTreeMap<i64, Pushed>,
    /// Not to be pushed, by place.
    left: BTreeSet<i64>,
    /// Up to here nothing is to be looked for, because all of it was left.
    behind: Option<i64>,
    /// The last round of looks that the stay was in.
    round: u64,
}

#[derive(Clone, Copy, Debug)]
struct Pushed {
    times: u32,
    next: Timestamp,
}

impl PushAgain {
    /// Nothing has been pushed again.
    pub fn new(rule: AgainRule) -> Self {
        Self { rule, stays: HashMap::new(), round: 0 }
    }

    /// The rule.
    pub fn rule(&self) -> &AgainRule {
        &self.rule
    }

    /// The listener is still there. From which place on the store is to be looked at for it.
    pub fn meet(&mut self, listening: Listening) -> Listening {
        let Some(outstanding) = self.stays.get_mut(&listening.stay) else { return listening };
        outstanding.round = self.round;
        Listening { since: outstanding.behind.unwrap_or(listening.since), ..listening }
    }

    /// Everybody who still listens has been met: the others have gone.
    pub fn end_round(&mut self) {
        let round = self.round;
        self.stays.retain(|_, outstanding| outstanding.round == round);
        self.round += 1;
    }

    /// Which messages to push now, by place, when `found` are the listener's oldest that are still
    /// new, in their order. Those that are not among them any more have arrived.
    pub fn due(&mut self, stay: u64, found: &[StillNew], now: Timestamp) -> Vec<i64> {
        let window = &found[..found.len().min(self.rule.in_flight as usize)];
        if let Some(outstanding) = self.stays.get_mut(&stay) {
            outstanding.keep(window);
            if outstanding.is_nothing() {
                self.stays.remove(&stay);
            }
        }
        let outstanding = self.stays.get(&stay);
        let is_due = |new: &&StillNew| {
            let pushed = outstanding.and_then(|outstanding| outstanding.pushed.get(&new.sequence));
            let next = pushed.map_or_else(|| new.written_at.plus(self.rule.after), |pushed| pushed.next);
            next <= now && !outstanding.is_some_and(|outstanding| outstanding.leaves(new.sequence))
        };
        window.iter().filter(is_due).map(|new| new.sequence).collect()
    }

    /// It was pushed again.
    pub fn pushed(&mut self, stay: u64, sequence: i64, now: Timestamp) {
        let rule = self.rule;
        let pushed = self.outstanding(stay).pushed.entry(sequence).or_insert(Pushed { times: 0, next: now });
        pushed.times += 1;
        pushed.next = now.plus(rule.pause(pushed.times));
    }

    /// It is never to be pushed to this listener.
    pub fn left(&mut self, stay: u64, sequence: i64) {
        self.outstanding(stay).left.insert(sequence);
    }

    fn outstanding(&mut self, stay: u64) -> &mut Outstanding {
        let round = self.round;
        self.stays.entry(stay).or_insert_with(|| Outstanding { round, ..Outstanding::default() })
    }
}

impl Outstanding {
    /// Forgets what is not new any more, and passes over what was left at the beginning, so that
    /// it does not stand in the way of what comes behind it.
    fn keep(&mut self, window: &[StillNew]) {
        self.pushed.retain(|place, _| window.iter().any(|new| new.sequence == *place));
        let first_wanted = window.iter().position(|new| !self.left.contains(&new.sequence));
        if let Some(last_left) = window[..first_wanted.unwrap_or(window.len())].last() {
            self.behind = Some(last_left.sequence);
        }
        let behind = self.behind;
        self.left.retain(|place| Some(*place) > behind && window.iter().any(|new| new.sequence == *place));
    }

    fn leaves(&self, sequence: i64) -> bool {
        self.left.contains(&sequence) || Some(sequence) <= self.behind
    }

    fn is_nothing(&self) -> bool {
        self.pushed.is_empty() && self.left.is_empty() && self.behind.is_none()
    }
}

#[cfg(test)]
mod tests;
