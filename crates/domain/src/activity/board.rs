//! The board of activity indicators. Pure.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::id::{AgentId, ChatId};
use crate::time::Timestamp;

/// How long an indicator stays on without being renewed.
const INDICATOR_TTL: Duration = Duration::from_secs(10);

/// One agent's indicator.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AgentActivity {
    /// The agent.
    pub agent: AgentId,
    /// Set while it works.
    pub working: bool,
}

/// All indicators that are on.
#[derive(Debug, Default)]
pub struct ActivityBoard {
    leases: HashMap<ChatId, BTreeMap<AgentId, Timestamp>>,
}

impl ActivityBoard {
    /// Sets or renews (`working`) or clears an indicator. Returns whether it changed.
    pub fn report(&mut self, chat: ChatId, agent: AgentId, working: bool, now: Timestamp) -> bool {
        if working {
            let lease = self.leases.entry(chat).or_default().insert(agent, now.plus(INDICATOR_TTL));
            return lease.is_none_or(|until| until <= now);
        }
        let Some(leases) = self.leases.get_mut(&chat) else { return false };
        let lease = leases.remove(&agent);
        if leases.is_empty() {
            self.leases.remove(&chat);
        }
        lease.is_some_and(|until| until > now)
    }

    /// Clears every indicator whose lease has expired, and returns them in the order of chats and
    /// agents.
    pub fn expire(&mut self, now: Timestamp) -> Vec<(ChatId, AgentId)> {
        let mut ended = Vec::new();
        self.leases.retain(|chat, leases| {
            leases.retain(|agent, until| {
                let alive = *until > now;
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

    /// The agents at work in a chat, by id.
    pub fn working_in(&self, chat: ChatId, now: Timestamp) -> Vec<AgentId> {
        self.leases.get(&chat).map_or_else(Vec::new, |leases| {
            leases.iter().filter(|(_, until)| **until > now).map(|(agent, _)| *agent).collect()
        })
    }
}

#[cfg(test)]
mod tests;
