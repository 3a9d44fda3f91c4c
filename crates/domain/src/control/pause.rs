//! The effect of a pause of an organization or an agent on the agents of one node.

use std::collections::BTreeSet;

use super::service::ControlService;
use super::signal::ControlSignal;
use crate::id::{AgentId, ChatId, OrganizationId, SignalId};
use crate::ports::EventPublisher;
use crate::store::StoreError;

/// What was paused or resumed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Paused {
    /// An organization: all agents in its chats.
    Organization(OrganizationId),
    /// An agent, in all of its chats.
    Agent(AgentId),
}

impl Paused {
    /// Returns whether it may concern this agent.
    fn concerns(self, agent: AgentId) -> bool {
        self == Self::Agent(agent) || matches!(self, Self::Organization(_))
    }
}

/// The number of agents in chats that are looked up at once.
const AT_ONCE: usize = 256;

impl ControlService {
    /// Turns off the indicators of agents that a pause has stopped, and returns the signals for those of `listening`
    /// that it concerns. They are for the sockets of this node only.
    pub async fn signals_of_pause(
        &self,
        paused: Paused,
        listening: Vec<(AgentId, ChatId)>,
    ) -> Result<Vec<(AgentId, ControlSignal)>, StoreError> {
        let listening = listening.into_iter().collect::<BTreeSet<_>>();
        let all = listening.iter().copied().chain(self.activity.working());
        let all = all.filter(|(agent, _)| paused.concerns(*agent)).collect::<BTreeSet<_>>();
        let organization = match paused {
            Paused::Organization(organization) => Some(organization),
            Paused::Agent(_) => None,
        };
        let (now, mut signals) = (self.clock.now(), Vec::new());
        for part in all.into_iter().collect::<Vec<_>>().chunks(AT_ONCE) {
            for found in self.control.memberships_among(organization, part.to_vec()).await? {
                if found.is_stopped {
                    self.activity.clear_agent(found.chat, found.agent);
                }
                if listening.contains(&(found.agent, found.chat)) {
                    let signal = ControlSignal::of(found, true, SignalId::new(self.ids.generate(now)));
                    signals.push((found.agent, signal));
                }
            }
        }
        Ok(signals)
    }

    /// Turns off the indicators of those who have left a chat, for the sockets of this node.
    ///
    /// # Errors
    /// [`StoreError`] if the memberships could not be read.
    pub async fn clear_left(&self, chat: ChatId, sockets: &dyn EventPublisher) -> Result<(), StoreError> {
        self.activity.clear_left(chat, sockets).await
    }

    /// Turns off the indicators of a chat whose agents were stopped on another node.
    pub fn clear_indicators(&self, chat: ChatId) {
        self.activity.clear(chat);
    }
}
