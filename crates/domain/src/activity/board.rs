//! The board of activity indicators. Pure.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::kind::{Activity, ReportedWork};
use crate::id::{AgentId, ChatId, ExecutionId};
use crate::time::Timestamp;

/// How long an indicator stays on without being renewed.
const INDICATOR_TTL: Duration = Duration::from_secs(10);

/// An agent at work in a chat.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct WorkingAgent {
    /// The agent.
    pub agent: AgentId,
    /// Its execution in the chat.
    pub execution: ExecutionId,
}

impl WorkingAgent {
    /// Its indicator, which is on if it is doing something.
    pub fn activity(self, doing: Option<Activity>) -> AgentActivity {
        AgentActivity { agent: self.agent, execution: Some(self.execution), working: doing.is_some(), doing }
    }
}

/// One agent's indicator.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AgentActivity {
    /// The agent.
    pub agent: AgentId,
    /// Its execution in the chat; `None` in an event of an older node.
    #[serde(default)]
    pub execution: Option<ExecutionId>,
    /// Set while it works.
    pub working: bool,
    /// What it is doing; `None` in an event of an older node, and while it does not work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doing: Option<Activity>,
}

/// An indicator that is on.
#[derive(Debug)]
struct Lease {
    until: Timestamp,
    doing: Activity,
}

/// All indicators that are on.
#[derive(Debug, Default)]
pub struct ActivityBoard {
    leases: HashMap<ChatId, BTreeMap<WorkingAgent, Lease>>,
    /// The number of times that agents were stopped.
    stops: u64,
}

impl ActivityBoard {
    /// Sets, renews, or clears an indicator. Returns whether it went on or off.
    pub fn report(
        &mut self,
        chat: ChatId,
        who: WorkingAgent,
        work: impl Into<ReportedWork>,
        now: Timestamp,
    ) -> bool {
        if let ReportedWork(Some(doing)) = work.into() {
            let lease = Lease { until: now.plus(INDICATOR_TTL), doing };
            let before = self.leases.entry(chat).or_default().insert(who, lease);
            return before.is_none_or(|lease| lease.until <= now);
        }
        let Some(leases) = self.leases.get_mut(&chat) else { return false };
        let lease = leases.remove(&who);
        if leases.is_empty() {
            self.leases.remove(&chat);
        }
        lease.is_some_and(|lease| lease.until > now)
    }

    /// The number of times that agents were stopped. While it stays the same, a membership that was read is not
    /// outdated by a stop.
    pub const fn stops(&self) -> u64 {
        self.stops
    }

    /// Clears the indicator of an agent that was stopped in a chat; returns it if it was on.
    pub fn stop(&mut self, chat: ChatId, agent: AgentId, now: Timestamp) -> Option<WorkingAgent> {
        self.stops += 1;
        let who = self.working_in(chat, now).into_iter().find(|who| who.agent == agent)?;
        self.report(chat, who, false, now).then_some(who)
    }

    /// Clears every indicator of a chat that was stopped, and returns those that were on, in the order of agents.
    pub fn clear(&mut self, chat: ChatId, now: Timestamp) -> Vec<WorkingAgent> {
        self.stops += 1;
        let working = self.working_in(chat, now);
        self.leases.remove(&chat);
        working
    }

    /// Clears every indicator whose lease has expired, and returns them in the order of chats and
    /// agents.
    pub fn expire(&mut self, now: Timestamp) -> Vec<(ChatId, WorkingAgent)> {
        let mut ended = Vec::new();
        self.leases.retain(|chat, leases| {
            leases.retain(|agent, lease| {
                let alive = lease.until > now;
                if !alive {
                    ended.push((*chat, *agent));
                }
                alive
            });
            !leases.is_empty()
        });
        ended.sort_unstable();
        ended
    }

    /// All agents at work, in the order of chats and agents.
    pub fn working(&self, now: Timestamp) -> Vec<(ChatId, WorkingAgent)> {
        let mut working = Vec::new();
        for chat in self.leases.keys() {
            working.extend(self.working_in(*chat, now).into_iter().map(|who| (*chat, who)));
        }
        working.sort_unstable();
        working
    }

    /// The agents at work in a chat, by id.
    pub fn working_in(&self, chat: ChatId, now: Timestamp) -> Vec<WorkingAgent> {
        self.leases_in(chat, now).map(|(agent, _)| *agent).collect()
    }

    /// The agents at work in a chat, by id, and what they are doing.
    pub fn doing_in(&self, chat: ChatId, now: Timestamp) -> Vec<(WorkingAgent, Activity)> {
        self.leases_in(chat, now).map(|(agent, lease)| (*agent, lease.doing.clone())).collect()
    }

    fn leases_in(&self, chat: ChatId, now: Timestamp) -> impl Iterator<Item = (&WorkingAgent, &Lease)> {
        self.leases.get(&chat).into_iter().flatten().filter(move |(_, lease)| lease.until > now)
    }
}

#[cfg(test)]
mod tests;
