//! Presence on other nodes, as far as this node knows.

use std::collections::HashMap;

use domain::id::{AgentId, NodeId, ParticipantId, UserId};
use domain::node::{Connected, SocketNumber};

/// The users and agents that are connected to other nodes, with the nodes.
#[derive(Default)]
pub(super) struct RemotePresence {
    /// With the number of the socket there.
    agents: HashMap<AgentId, (NodeId, Option<SocketNumber>)>,
    users: HashMap<UserId, Vec<NodeId>>,
}

impl RemotePresence {
    pub(super) fn holds(&self, who: ParticipantId) -> bool {
        match who {
            ParticipantId::Agent(agent) => self.agents.contains_key(&agent),
            ParticipantId::User(user) => self.users.contains_key(&user),
        }
    }

    /// Returns whether an agent has a remote socket that is newer than the one with this number.
    pub(super) fn has_newer(&self, who: ParticipantId, number: SocketNumber) -> bool {
        let there = who.agent().and_then(|agent| self.agents.get(&agent));
        there.is_some_and(|(_, there)| *there > Some(number))
    }

    /// Replaces the connections of a user or agent by those in the store.
    pub(super) fn set(&mut self, who: ParticipantId, connected: &[Connected]) {
        match (who, connected.first()) {
            (ParticipantId::Agent(agent), Some(there)) => {
                self.agents.insert(agent, (there.node, there.number));
            }
            (ParticipantId::User(user), Some(_)) => {
                self.users.insert(user, connected.iter().map(|there| there.node).collect());
            }
            (_, None) => self.forget(who),
        }
    }

    /// Removes all remote connections of a user or agent.
    pub(super) fn forget(&mut self, who: ParticipantId) {
        match who {
            ParticipantId::Agent(agent) => _ = self.agents.remove(&agent),
            ParticipantId::User(user) => _ = self.users.remove(&user),
        }
    }

    /// Removes the connection of a user or agent to a node.
    pub(super) fn forget_on(&mut self, who: ParticipantId, node: NodeId) {
        match who {
            ParticipantId::Agent(agent) => {
                if self.agents.get(&agent).is_some_and(|(there, _)| *there == node) {
                    self.agents.remove(&agent);
                }
            }
            ParticipantId::User(user) => {
                let Some(nodes) = self.users.get_mut(&user) else { return };
                nodes.retain(|there| *there != node);
                if nodes.is_empty() {
                    self.users.remove(&user);
                }
            }
        }
    }

    pub(super) fn everybody(&self) -> impl Iterator<Item = ParticipantId> {
        let agents = self.agents.keys().copied().map(ParticipantId::Agent);
        agents.chain(self.users.keys().copied().map(ParticipantId::User))
    }

    pub(super) fn everybody_on(&self, node: NodeId) -> Vec<ParticipantId> {
        let agents = self.agents.iter().filter(|(_, (on, _))| *on == node);
        let agents = agents.map(|(agent, _)| ParticipantId::Agent(*agent));
        let users = self.users.iter().filter(|(_, on)| on.contains(&node));
        agents.chain(users.map(|(user, _)| ParticipantId::User(*user))).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.agents.len() + self.users.len()
    }
}
