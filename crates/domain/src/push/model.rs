//! A configuration, and what becomes of it.

use std::time::Duration;

use super::target::{MAX_NAME_CHARS, PushFault, PushTarget};
use crate::id::{
    AgentId, ApiKeyId, ChatId, MessageId, ParticipantId, PushConfigId, Sequence, SessionId, UserId,
};
use crate::time::Timestamp;
use crate::webhook::Reply;
use crate::words::words;

/// How long a lease lasts. It is renewed with each notification that was delivered, and is longer than a read of the task and a
/// request take together.
pub const LEASE: Duration = Duration::from_secs(20);

/// The time with nothing but failures, of requests or of reading the task, after which a configuration is removed.
pub const FAILING_FOR: Duration = Duration::from_secs(24 * 60 * 60);

/// How long a configuration stays after its task has ended. A task that has failed can still be completed.
pub const KEPT_FOR: Duration = Duration::from_secs(24 * 60 * 60);

/// The shortest time until a task without events is read again. It is longer, the longer nothing is new.
pub const SHORTEST_REST: Duration = Duration::from_secs(5);
/// The longest time until a task without events is read again.
pub const LONGEST_REST: Duration = Duration::from_secs(5 * 60);

/// A task at an agent: its first message and the chat.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PushTask {
    /// The chat.
    pub chat: ChatId,
    /// The first message.
    pub first: MessageId,
    /// The agent.
    pub agent: AgentId,
}

/// The id of a configuration, as its caller gave it: no other of the task has it. Every one can be part of a path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PushName(String);

impl PushName {
    /// Checks it.
    ///
    /// # Errors
    /// [`PushFault::Name`].
    pub fn new(text: &str) -> Result<Self, PushFault> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:@".contains(&byte);
        if text.is_empty() || text.len() > MAX_NAME_CHARS || !text.bytes().all(is_plain) {
            return Err(PushFault::Name);
        }
        Ok(Self(text.to_owned()))
    }

    /// One that a store has kept.
    pub const fn checked(text: String) -> Self {
        Self(text)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The credential with which a configuration was made, which ends with it: a key, a session, or one that is not recorded.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PushCredential {
    /// The key.
    pub key: Option<ApiKeyId>,
    /// The session.
    pub session: Option<SessionId>,
}

/// What a receiver knows of the task.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Known {
    /// The sequence up to which it knows the answers.
    pub sequence: Sequence,
    /// The state, as the sender of notifications writes it.
    pub state: String,
}

/// The end of a task of which the receiver knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PushEnd {
    /// The time of the notification.
    pub at: Timestamp,
    /// Set if the task does not go on: events do not make the configuration due any more.
    pub is_final: bool,
}

words! {
    /// The reason why the server has removed a configuration.
    PushRemoval {
        /// The receiver answered 410.
        Gone = "gone",
        /// No request has succeeded for a day.
        Failing = "failing",
        /// The caller can no longer read the task, or no read of it has succeeded for a day.
        Unreadable = "unreadable",
        /// The credential that made it is no longer valid.
        Revoked = "revoked",
        /// The task ended some time ago.
        Ended = "ended",
    }
}

/// What a sender has done with a configuration, or has found out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PushStep {
    /// It has delivered a notification; the lease is renewed.
    Sent {
        /// What the receiver knows since then.
        known: Known,
        /// Set if the task has ended in this state; whether it does not go on from it.
        is_final: Option<bool>,
    },
    /// A request has failed.
    Failed(Reply),
    /// There is nothing to be sent now.
    Done,
    /// There is more to be sent, in another turn.
    More,
    /// Nothing can be sent now.
    Later(Duration),
    /// The task could not be read.
    Unread,
    /// Nothing will be sent any more.
    Remove(PushRemoval),
}

/// A configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PushConfig {
    /// Identifier of the record.
    pub id: PushConfigId,
    /// The task.
    pub task: PushTask,
    /// Its name in the task.
    pub name: PushName,
    /// The caller.
    pub caller: ParticipantId,
    /// The caller, or the owner of the agent that it is.
    pub user: UserId,
    /// The credential with which it was made.
    pub credential: PushCredential,
    /// Where notifications go.
    pub target: PushTarget,
    /// What the receiver knows; `None` if nothing was delivered.
    pub known: Option<Known>,
    /// The end of the task, if the receiver knows of it.
    pub ended: Option<PushEnd>,
    /// The time of its creation.
    pub created_at: Timestamp,
    /// The time of the last notification that was delivered, or at which it was made.
    pub news_at: Timestamp,
    /// The number of leases and of changes.
    pub attempts: u32,
    /// The number of failures since the last success.
    pub failures: u32,
    /// The first of them.
    pub failing_since: Option<Timestamp>,
    /// Why the last request failed.
    pub error: Option<String>,
    /// It is due then; if that is before the end of the lease, something has happened meanwhile.
    pub next_at: Timestamp,
    /// Set while a sender works on it; once this time has passed, the sender counts as dead.
    pub leased_until: Option<Timestamp>,
}

impl PushConfig {
    /// Returns whether a sender may work on it.
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.next_at <= now && self.leased_until.is_none_or(|until| until <= now)
    }

    /// Begins to work on it, on a lease.
    pub fn begin(&mut self, now: Timestamp) {
        self.attempts = self.attempts.saturating_add(1);
        let until = now.plus(LEASE);
        (self.leased_until, self.next_at) = (Some(until), until);
    }

    /// Replaces the target, unless it is the same. A new receiver knows nothing. One that has failed is tried at once.
    pub fn replace(&mut self, target: &PushTarget, credential: PushCredential, now: Timestamp) -> bool {
        self.credential = credential;
        let is_other = self.target != *target;
        if is_other {
            self.target = target.clone();
            (self.known, self.ended) = (None, None);
            // Ends the lease of a sender that works for the one before.
            (self.attempts, self.leased_until) = (self.attempts.saturating_add(1), None);
            self.news_at = now;
        }
        if is_other || self.failing_since.is_some() {
            self.succeed();
            self.next_at = now;
        }
        is_other
    }

    /// Records a failure; returns how long there have been nothing but failures.
    fn fail(&mut self, error: String, now: Timestamp) -> Duration {
        self.failures = self.failures.saturating_add(1);
        self.error = Some(error);
        now.since(*self.failing_since.get_or_insert(now))
    }

    fn succeed(&mut self) {
        (self.failures, self.failing_since, self.error) = (0, None, None);
    }

    /// Records a step of its sender; the reason if it is to be removed.
    pub fn apply(&mut self, step: &PushStep, now: Timestamp) -> Option<PushRemoval> {
        let was_woken = self.leased_until.is_some_and(|until| self.next_at < until);
        self.leased_until = None;
        let pause = match step {
            PushStep::Sent { known, is_final } => {
                if self.known.as_ref().is_none_or(|before| before.state != known.state) {
                    self.ended = is_final.map(|is_final| PushEnd { at: now, is_final });
                }
                self.known = Some(known.clone());
                self.news_at = now;
                self.succeed();
                self.leased_until = Some(now.plus(LEASE));
                if was_woken {
                    return None;
                }
                LEASE
            }
            PushStep::More => Duration::ZERO,
            PushStep::Failed(reply) => {
                let failing_for = self.fail(reply.to_string(), now);
                if reply.is_gone() {
                    return Some(PushRemoval::Gone);
                }
                if failing_for >= FAILING_FOR {
                    return Some(PushRemoval::Failing);
                }
                reply.pause(self.id.into(), self.failures)
            }
            PushStep::Unread => {
                let failing_for = self.fail("the task could not be read".to_owned(), now);
                if failing_for >= FAILING_FOR {
                    return Some(PushRemoval::Unreadable);
                }
                (failing_for / 4).clamp(SHORTEST_REST, LONGEST_REST)
            }
            PushStep::Done => {
                // The task was read, and the receiver knows it.
                self.succeed();
                match self.ended {
                    _ if was_woken => Duration::ZERO,
                    Some(end) if now.since(end.at) >= KEPT_FOR => return Some(PushRemoval::Ended),
                    Some(end) if end.is_final => end.at.plus(KEPT_FOR).since(now),
                    // One that has failed can go on.
                    _ => (now.since(self.news_at) / 4).clamp(SHORTEST_REST, LONGEST_REST),
                }
            }
            PushStep::Later(pause) => *pause,
            PushStep::Remove(reason) => return Some(*reason),
        };
        self.next_at = now.plus(pause);
        None
    }
}

#[cfg(test)]
mod tests;
