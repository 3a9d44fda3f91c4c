//! Redelivery: decides when an unacknowledged message is pushed again. Pure; the caller reads the
//! store and the clock.
//!
//! A push can be lost between the commit and the socket. A delivery that is still *new* some time
//! after the message was written is therefore pushed again. The delay doubles with each push of the
//! same message, and at most [`RedeliveryPolicy::in_flight`] messages are outstanding for a
//! listener, the oldest ones.
//!
//! Messages that were written before the agent joined the chat's topic are its *backlog*, which most clients
//! fetch. It is left to them for [`RedeliveryPolicy::quiet`] after the join, and while they work through it;
//! after that, what is still *new* of it is pushed like any other message.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Duration;

use super::quiet_chats::QuietChats;
use crate::id::{AgentId, ChatId, Sequence};
use crate::time::Timestamp;

/// Identifies one subscription of a socket to a topic during the life of the process: a later
/// subscription to the same topic has another number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
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
    /// The sequence of the chat's newest message when the subscription began: up to it, messages
    /// are part of the backlog.
    pub since: Sequence,
    /// The time at which the subscription began.
    pub joined_at: Timestamp,
}

/// The latest work of an agent on its backlog in a chat.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct BacklogWork {
    /// The beginning of the newest attempt that is open.
    pub begun_at: Option<Timestamp>,
    /// The end of the newest attempt that is closed. Of the processed messages, only the one before the oldest
    /// open message counts, which is the last one of an agent that takes the oldest first.
    pub ended_at: Option<Timestamp>,
}

/// The result of a search of the store for one subscription.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Searched {
    /// The oldest unacknowledged deliveries after the given sequence, in the order of their sequences.
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
    /// The time for which a backlog is left to its agent after the join, and after each attempt at it.
    pub quiet: Duration,
    /// The time after which an open attempt no longer shows that the agent works through its backlog.
    pub stuck_after: Duration,
}

impl RedeliveryPolicy {
    /// The usual policy with this first delay and this longest time of an attempt.
    pub fn usual(after: Duration, stuck_after: Duration) -> Self {
        let (longest, quiet) = (after.saturating_mul(8), after.saturating_mul(3));
        Self { after, longest, in_flight: 8, quiet, stuck_after }
    }

    /// Returns whether an agent that joined at `joined_at` works through its backlog. An attempt
    /// that was open before may be that of a process that has ended.
    fn is_draining(&self, work: BacklogWork, joined_at: Timestamp, now: Timestamp) -> bool {
        let begun = work.begun_at.filter(|begun| *begun >= joined_at);
        begun.is_some_and(|begun| now.minus(self.stuck_after) < begun)
            || work.ended_at.is_some_and(|ended| now.minus(self.quiet) < ended)
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
    /// The chats of which nothing is done any more in this round.
    retried: HashSet<ChatId>,
    quiet: QuietChats,
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
    /// The same, of the messages after the backlog.
    done_since_join: Option<Sequence>,
    /// Until then, the backlog is left to the agent, who works through it.
    backlog_left_until: Option<Timestamp>,
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
        let (retried, quiet) = (HashSet::new(), QuietChats::default());
        Self { policy, subscriptions: HashMap::new(), retried, quiet, round: 0 }
    }

    /// The policy.
    pub fn policy(&self) -> &RedeliveryPolicy {
        &self.policy
    }

    /// Lets the next round search all chats.
    pub fn search_all(&mut self) {
        self.quiet.wake_all();
    }

    /// Begins a round in which the chats `retried` are searched from their beginning: work in them was retried,
    /// so what was acknowledged may be new again. The agents of the chats `resumed` play again.
    pub fn begin_round(&mut self, retried: HashSet<ChatId>, resumed: &HashSet<ChatId>) {
        for chat in retried.iter().chain(resumed) {
            self.quiet.wake(*chat);
        }
        self.retried = retried;
    }

    /// Returns whether nothing is found for this subscription, which is kept in this round. `last` is the newest
    /// message of its chat, read before any search of this round.
    pub fn is_quiet(&mut self, listening: &Listening, last: Option<Sequence>) -> bool {
        let is_quiet = self.quiet.contain(listening, last);
        if is_quiet {
            self.keep(listening);
        }
        is_quiet
    }

    /// Keeps a subscription in this round that is not searched for, although something may be found.
    pub fn pass_over(&mut self, listening: &Listening) {
        self.quiet.busy(listening.chat);
        self.keep(listening);
    }

    fn keep(&mut self, listening: &Listening) {
        if let Some(outstanding) = self.subscriptions.get_mut(&listening.subscription) {
            outstanding.round = self.round;
            if self.retried.contains(&listening.chat) {
                outstanding.done_to = None;
                outstanding.done_since_join = None;
            }
        }
    }

    /// Keeps the subscription in this round. The result contains the sequence from which the store
    /// must be searched for it.
    pub fn meet(&mut self, listening: Listening, now: Timestamp) -> Listening {
        self.keep(&listening);
        let mut left_until = listening.joined_at.plus(self.policy.quiet);
        let (mut done_to, mut since_join) = (Sequence::default(), listening.since);
        if let Some(outstanding) = self.subscriptions.get_mut(&listening.subscription) {
            outstanding.backlog_left_until.take_if(|until| *until <= now);
            left_until = left_until.max(outstanding.backlog_left_until.unwrap_or(left_until));
            done_to = outstanding.done_to.unwrap_or(done_to);
            since_join = outstanding.done_since_join.unwrap_or(since_join);
        }
        let is_done = listening.since <= done_to;
        let is_left = now < left_until && !is_done;
        if is_left {
            self.quiet.busy(listening.chat);
        }
        let skips_backlog = is_left || is_done;
        Listening { since: if skips_backlog { since_join.max(done_to) } else { done_to }, ..listening }
    }

    /// Forgets the subscription, which starts again.
    pub fn forget(&mut self, subscription: SubscriptionId) {
        self.subscriptions.remove(&subscription);
    }

    /// Ends the round: subscriptions that were not met in it have ended, and are forgotten.
    pub fn end_round(&mut self) {
        let round = self.round;
        self.subscriptions.retain(|_, outstanding| outstanding.round == round);
        self.quiet.end_round();
        self.round += 1;
    }

    /// Decides which messages to push now, by sequence. `met` is the result of [`Self::meet`] for `listening`;
    /// the unacknowledged deliveries after it that were pushed before and are no longer in `searched` have
    /// arrived.
    pub fn due(
        &mut self,
        listening: Listening,
        met: Listening,
        searched: &Searched,
        now: Timestamp,
    ) -> Vec<Sequence> {
        let (subscription, found) = (met.subscription, &searched.found);
        let examined = searched.examined_to.map_or(0, |to| to.get().saturating_sub(met.since.get()));
        if !found.is_empty() || examined >= i64::from(EXAMINED) {
            self.quiet.busy(met.chat);
        }
        let window = &found[..found.len().min(self.policy.in_flight as usize)];
        let mut skipped_to = met.since;
        if let Some(outstanding) = self.subscriptions.get_mut(&subscription) {
            skipped_to = outstanding.follow(window, listening.since, met.since);
            if outstanding.is_empty() {
                self.subscriptions.remove(&subscription);
            }
        }
        let acknowledged_to = found.first().map(|first| first.sequence.previous()).or(searched.examined_to);
        if let Some(to) = acknowledged_to
            && to.get().saturating_sub(met.since.get()) >= REMEMBERED_PROGRESS
        {
            let done_to = self.outstanding(subscription).done_to(listening.since, met.since);
            *done_to = (*done_to).max(Some(to));
        }
        let outstanding = self.subscriptions.get(&subscription);
        let is_due = |new: &&Unacknowledged| {
            let pushed = outstanding.and_then(|outstanding| outstanding.pushed.get(&new.sequence));
            let next = pushed.map_or_else(|| new.written_at.plus(self.policy.after), |pushed| pushed.next);
            let is_skipped =
                outstanding.is_some_and(|outstanding| outstanding.skipped.contains(&new.sequence));
            next <= now && skipped_to < new.sequence && !is_skipped
        };
        window.iter().filter(is_due).map(|new| new.sequence).collect()
    }

    /// Returns whether the agent works through its backlog. If so, the backlog is left to it until
    /// the usual delay has passed; then the store must be asked again.
    pub fn leaves_backlog(&mut self, listening: Listening, work: BacklogWork, now: Timestamp) -> bool {
        let is_draining = self.policy.is_draining(work, listening.joined_at, now);
        if is_draining {
            let until = now.plus(self.policy.after);
            self.outstanding(listening.subscription).backlog_left_until = Some(until);
        }
        is_draining
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
    /// The progress that a search from `searched_from` moves, of a subscription that began at
    /// `joined_after`: within the backlog or after the join.
    fn done_to(&mut self, joined_after: Sequence, searched_from: Sequence) -> &mut Option<Sequence> {
        if searched_from < joined_after { &mut self.done_to } else { &mut self.done_since_join }
    }

    /// Forgets the messages that were acknowledged, according to a search from `searched_from`, and passes
    /// over skipped messages at the beginning of the window, so that they do not block those that follow.
    /// Returns the sequence up to which messages are skipped.
    fn follow(
        &mut self,
        window: &[Unacknowledged],
        joined_after: Sequence,
        searched_from: Sequence,
    ) -> Sequence {
        let is_open = |sequence: Sequence| {
            sequence <= searched_from || window.iter().any(|new| new.sequence == sequence)
        };
        self.pushed.retain(|sequence, _| is_open(*sequence));
        let first_wanted = window.iter().position(|new| !self.skipped.contains(&new.sequence));
        let mut skipped_to = searched_from;
        if let Some(last_skipped) = window[..first_wanted.unwrap_or(window.len())].last() {
            skipped_to = last_skipped.sequence;
            *self.done_to(joined_after, searched_from) = Some(skipped_to);
        }
        let is_passed = |sequence: Sequence| searched_from < sequence && sequence <= skipped_to;
        self.skipped.retain(|sequence| is_open(*sequence) && !is_passed(*sequence));
        skipped_to
    }

    fn is_empty(&self) -> bool {
        let Self { pushed, skipped, done_to, done_since_join, backlog_left_until, round: _ } = self;
        pushed.is_empty()
            && skipped.is_empty()
            && done_to.is_none()
            && done_since_join.is_none()
            && backlog_left_until.is_none()
    }
}

#[cfg(test)]
mod tests;
