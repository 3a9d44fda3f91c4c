//! Numbers of work items.

use super::flag::WorkFlag;
use crate::account::LastDisconnect;
use crate::delivery::DeliveryStatus;
use crate::id::AgentId;
use crate::time::Timestamp;

/// The number of work items that are open, dead, or held, by state and by flag. A message for two agents counts
/// twice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WorkTotals {
    /// Not yet taken by a socket of the agent.
    pub new: u64,
    /// Taken by the agent, and not begun.
    pub delivered: u64,
    /// In processing.
    pub processing: u64,
    /// The last attempt failed; they are offered again.
    pub failed: u64,
    /// Taken out of the queue, and not replaced by another message.
    pub dead: u64,
    /// Held by a limit.
    pub held: u64,
    /// The open ones that are unanswered.
    pub unanswered: u64,
    /// The open ones that are stuck.
    pub stuck: u64,
    /// The open ones that are failing.
    pub failing: u64,
    /// The time of the oldest message of an open one.
    pub oldest: Option<Timestamp>,
}

/// The number of items in one state, with those that have a flag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StateTotals {
    /// The state.
    pub state: DeliveryStatus,
    /// The number of items.
    pub number: u64,
    /// The time of the oldest message.
    pub oldest: Option<Timestamp>,
    /// The unanswered ones.
    pub unanswered: u64,
    /// The stuck ones.
    pub stuck: u64,
    /// The failing ones.
    pub failing: u64,
}

impl StateTotals {
    /// Adds items in the same state.
    pub(super) fn merge(&mut self, other: Self) {
        self.number += other.number;
        self.oldest = self.oldest.into_iter().chain(other.oldest).min();
        self.unanswered += other.unanswered;
        self.stuck += other.stuck;
        self.failing += other.failing;
    }
}

impl WorkTotals {
    /// Adds the items in one state.
    pub fn add(&mut self, items: StateTotals) {
        let of_state = match items.state {
            DeliveryStatus::New => &mut self.new,
            DeliveryStatus::Delivered => &mut self.delivered,
            DeliveryStatus::Processing => &mut self.processing,
            DeliveryStatus::Failed => &mut self.failed,
            DeliveryStatus::Dead => {
                self.dead += items.number;
                return;
            }
            DeliveryStatus::Held => {
                self.held += items.number;
                return;
            }
            DeliveryStatus::Processed => return,
        };
        *of_state += items.number;
        self.unanswered += items.unanswered;
        self.stuck += items.stuck;
        self.failing += items.failing;
        self.oldest = self.oldest.into_iter().chain(items.oldest).min();
    }

    /// The number of open items.
    pub fn open(self) -> u64 {
        self.new + self.delivered + self.processing + self.failed
    }

    /// The number of items in each state that is not *processed*.
    pub const fn by_state(self) -> [(DeliveryStatus, u64); 6] {
        [
            (DeliveryStatus::New, self.new),
            (DeliveryStatus::Delivered, self.delivered),
            (DeliveryStatus::Processing, self.processing),
            (DeliveryStatus::Failed, self.failed),
            (DeliveryStatus::Dead, self.dead),
            (DeliveryStatus::Held, self.held),
        ]
    }

    /// The number of items with each flag.
    pub const fn by_flag(self) -> [(WorkFlag, u64); 5] {
        [
            (WorkFlag::Unanswered, self.unanswered),
            (WorkFlag::Stuck, self.stuck),
            (WorkFlag::Failing, self.failing),
            (WorkFlag::Dead, self.dead),
            (WorkFlag::Held, self.held),
        ]
    }
}

/// The work of one agent, and what the store knows about its connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AgentWork {
    /// The agent.
    pub agent: AgentId,
    /// Its items.
    pub totals: WorkTotals,
    /// Whether it has a socket on a server of a cluster; `None` if no such server runs, since a single
    /// server records no connections.
    pub is_connected: Option<bool>,
    /// The last recorded use of one of its keys.
    pub seen_at: Option<Timestamp>,
    /// The end of its last socket.
    pub disconnect: Option<LastDisconnect>,
    /// The last time at which it began to process a message, as far as its open and dead items and the
    /// newest processed one of each chat show.
    pub taken_at: Option<Timestamp>,
    /// The last time at which it reported a message as processed, as far as the newest processed one of
    /// each chat shows.
    pub finished_at: Option<Timestamp>,
}

impl AgentWork {
    /// An agent without work, of whose connection nothing is known.
    pub fn none(agent: AgentId) -> Self {
        let totals = WorkTotals::default();
        Self {
            agent,
            totals,
            is_connected: None,
            seen_at: None,
            disconnect: None,
            taken_at: None,
            finished_at: None,
        }
    }
}
