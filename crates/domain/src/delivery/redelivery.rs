//! Redelivery: decides when an unacknowledged message is pushed again. Pure; the caller reads the
//! store and the clock.
//!
//! A push can be lost between the commit and the socket. A delivery that is still *new* some time
//! after the message was written is therefore pushed again, to agents that joined the chat's topic
//! before the message was written; older messages are left to the client to fetch. The delay
//! doubles with each push of the same message, and at most [`RedeliveryPolicy::in_flight`] messages
//! are outstanding for a listener, the oldest ones.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use crate::id::{AgentId, ChatId, Sequence};
use crate::time::Timestamp;

/// Identifies one subscription of a socket to a topic during the life of the process: a later
/// subscription to the same topic has another number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SubscriptionId(u64);

impl SubscriptionId {
    /// The subscription with this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }
}

/// A subscription of an agent to a chat.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Listening {
    /// The subscription.
    pub subscription: SubscriptionId,
    /// The agent.
    pub agent: AgentId,
    /// The chat.
    pub chat: ChatId,
    /// The sequence of the chat's newest message when the subscription began.
    pub since: Sequence,
}

/// The result of a search of the store for one subscription.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Searched {
    /// The oldest unacknowledged deliveries after [`Listening::since`], in the order of their sequences.
    pub found: Vec<Unacknowledged>,
    /// If nothing was found, the sequence of the last open delivery that was examined: up to it, nothing is
    /// unacknowledged. `None` if none is open.
    pub examined_to: Option<Sequence>,
}

/// A delivery that no socket has acknowledged: its status is *new*.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unacknowledged {
    /// The message's sequence in the chat.
    pub sequence: Sequence,
    /// The time at which the message was written.
    pub written_at: Timestamp,
}

/// The maximum number of open deliveries that one search examines for a subscription.
pub const EXAMINED: u32 = 4096;

/// The number of sequences that a subscription must have behind it before the schedule remembers its progress.
///
/// Acknowledged deliveries that their agent has not processed stay open, and a search passes over them. The
/// subscription of an agent that keeps up takes memory only once that much has been written in its chat.
const REMEMBERED_PROGRESS: i64 = 64;

/// Times and limits of redelivery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RedeliveryPolicy {
    /// The delay from the writing of a message to its first redelivery. Each further delay is twice as long.
    pub after: Duration,
    /// The longest delay between two pushes.
    pub longest: Duration,
    /// The maximum number of outstanding messages of one subscription.
    pub in_flight: u32,
}

impl RedeliveryPolicy {
    /// The usual policy with this first delay.
    pub fn after(after: Duration) -> Self {
        Self { after, longest: after.saturating_mul(8), in_flight: 8 }
    }

    /// The delay after a message has been redelivered `times`.
    fn delay(&self, times: u32) -> Duration {
        let factor = 1_u32.checked_shl(times).unwrap_or(u32::MAX);
        self.after.saturating_mul(factor).min(self.longest)
    }
}

/// The redeliveries so far, and the time at which each is due again.
#[derive(Debug)]
pub struct RedeliverySchedule {
    policy: RedeliveryPolicy,
    /// By subscription; only those with outstanding messages, or with progress to remember.
    subscriptions: HashMap<SubscriptionId, Outstanding>,
    round: u64,
}

#[derive(Debug, Default)]
struct Outstanding {
    /// Redelivered and still unacknowledged, by sequence.
    pushed: BTreeMap<Sequence, Pushed>,
    /// Never to be pushed, by sequence.
    skipped: BTreeSet<Sequence>,
    /// The store need not be searched up to this sequence, because all of it was acknowledged or skipped.
    done_to: Option<Sequence>,
    /// The last round that the subscription was part of.
    round: u64,
}

#[derive(Clone, Copy, Debug)]
struct Pushed {
    times: u32,
    next: Timestamp,
}

impl RedeliverySchedule {
    /// An empty schedule.
    pub fn new(policy: RedeliveryPolicy) -> Self {
        Self { policy, subscriptions: HashMap::new(), round: 0 }
    }

    /// The policy.
    pub fn policy(&self) -> &RedeliveryPolicy {
        &self.policy
    }

    /// Keeps the subscription in this round. The result contains the sequence from which the store
    /// must be searched for it.
    pub fn meet(&mut self, listening: Listening) -> Listening {
        let Some(outstanding) = self.subscriptions.get_mut(&listening.subscription) else { return listening };
        outstanding.round = self.round;
        Listening { since: outstanding.done_to.unwrap_or(listening.since), ..listening }
    }

    /// Ends the round: subscriptions that were not met in it have ended, and are forgotten.
    pub fn end_round(&mut self) {
        let round = self.round;
        self.subscriptions.retain(|_, outstanding| outstanding.round == round);
        self.round += 1;
    }

    /// Decides which messages to push now, by sequence. `met` is the result of [`Self::meet`]; the unacknowledged
    /// deliveries that were pushed before and are no longer in `searched` have arrived.
    pub fn due(&mut self, met: Listening, searched: &Searched, now: Timestamp) -> Vec<Sequence> {
        let (subscription, found) = (met.subscription, &searched.found);
        let window = &found[..found.len().min(self.policy.in_flight as usize)];
        if let Some(outstanding) = self.subscriptions.get_mut(&subscription) {
            outstanding.keep(window);
            if outstanding.is_empty() {
                self.subscriptions.remove(&subscription);
            }
        }
        let acknowledged_to = found.first().map(|first| first.sequence.previous()).or(searched.examined_to);
        if let Some(to) = acknowledged_to
            && to.get().saturating_sub(met.since.get()) >= REMEMBERED_PROGRESS
        {
            let done_to = &mut self.outstanding(subscription).done_to;
            *done_to = (*done_to).max(Some(to));
        }
        let outstanding = self.subscriptions.get(&subscription);
        let is_due = |new: &&Unacknowledged| {
            let pushed = outstanding.and_then(|outstanding| outstanding.pushed.get(&new.sequence));
            let next = pushed.map_or_else(|| new.written_at.plus(self.policy.after), |pushed| pushed.next);
            next <= now && !outstanding.is_some_and(|outstanding| outstanding.skips(new.sequence))
        };
        window.iter().filter(is_due).map(|new| new.sequence).collect()
    }

    /// Records a redelivery.
    pub fn pushed(&mut self, subscription: SubscriptionId, sequence: Sequence, now: Timestamp) {
        let policy = self.policy;
        let pushed =
            self.outstanding(subscription).pushed.entry(sequence).or_insert(Pushed { times: 0, next: now });
        pushed.times += 1;
        pushed.next = now.plus(policy.delay(pushed.times));
    }

    /// Records that the message is never to be pushed to this subscription.
    pub fn skip(&mut self, subscription: SubscriptionId, sequence: Sequence) {
        self.outstanding(subscription).skipped.insert(sequence);
    }

    fn outstanding(&mut self, subscription: SubscriptionId) -> &mut Outstanding {
        let round = self.round;
        self.subscriptions
            .entry(subscription)
            .or_insert_with(|| Outstanding { round, ..Outstanding::default() })
    }
}

impl Outstanding {
    /// Forgets acknowledged messages, and moves [`Self::done_to`] past skipped messages at the beginning of the
    /// window, so that they do not block those that follow.
    fn keep(&mut self, window: &[Unacknowledged]) {
        self.pushed.retain(|sequence, _| window.iter().any(|new| new.sequence == *sequence));
        let first_wanted = window.iter().position(|new| !self.skipped.contains(&new.sequence));
        if let Some(last_skipped) = window[..first_wanted.unwrap_or(window.len())].last() {
            self.done_to = Some(last_skipped.sequence);
        }
        let done_to = self.done_to;
        let is_open = |sequence: Sequence| window.iter().any(|new| new.sequence == sequence);
        self.skipped.retain(|sequence| Some(*sequence) > done_to && is_open(*sequence));
    }

    fn skips(&self, sequence: Sequence) -> bool {
        self.skipped.contains(&sequence) || Some(sequence) <= self.done_to
    }

    fn is_empty(&self) -> bool {
        self.pushed.is_empty() && self.skipped.is_empty() && self.done_to.is_none()
    }
}

#[cfg(test)]
mod tests;
