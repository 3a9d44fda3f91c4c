//! Presence on other nodes, as far as this node knows, and superseding a local socket by a newer one there.

use std::collections::HashMap;
use std::sync::Arc;

use domain::id::{AgentId, NodeId, ParticipantId, UserId};
use domain::node::{Connected, Granted, Note, SocketNumber};

use super::presence::Sockets;
use super::{ClaimRefused, Hub, OnConflict};
use crate::claim_queue::{Asked, ClaimQueue};
use crate::inbox::SocketCommand;
use crate::payload;

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
    pub(super) fn has_newer(&self, agent: AgentId, number: SocketNumber) -> bool {
        self.agents.get(&agent).is_some_and(|(_, there)| *there > Some(number))
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
    fn forget_on(&mut self, who: ParticipantId, node: NodeId) {
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

    fn everybody(&self) -> impl Iterator<Item = ParticipantId> {
        let agents = self.agents.keys().copied().map(ParticipantId::Agent);
        agents.chain(self.users.keys().copied().map(ParticipantId::User))
    }

    fn everybody_on(&self, node: NodeId) -> Vec<ParticipantId> {
        let agents = self.agents.iter().filter(|(_, (on, _))| *on == node);
        let agents = agents.map(|(agent, _)| ParticipantId::Agent(*agent));
        let users = self.users.iter().filter(|(_, on)| on.contains(&node));
        agents.chain(users.map(|(user, _)| ParticipantId::User(*user))).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.agents.len() + self.users.len()
    }
}

impl Sockets {
    /// Supersedes the local socket of an agent, if there is one, since the agent has a newer one on another node.
    fn give_up(&mut self, agent: AgentId, number: SocketNumber) {
        self.numbers.remove(&agent);
        self.forget_lingering(ParticipantId::Agent(agent));
        if let Some(older) = self.agents.remove(&agent).and_then(|older| self.inboxes.get(&older)) {
            let number = number.0.unsigned_abs();
            older.order(SocketCommand::Superseded { payload: Arc::new(payload::supersede(agent, number)) });
        }
    }
}

impl Hub {
    /// Makes this the hub of one of several nodes.
    pub(crate) fn become_one_of_several(&self, node: NodeId) -> Arc<ClaimQueue> {
        self.claim_queue.get_or_init(|| Arc::new(ClaimQueue::of(node))).clone()
    }

    /// Reports a change of the local presence of a user or agent.
    pub(super) fn note(&self, who: ParticipantId) {
        if let Some(claim_queue) = self.claim_queue.get() {
            claim_queue.note(who);
        }
    }

    /// The local presence of these users and agents.
    pub(crate) fn notes(&self, of: &[ParticipantId]) -> Vec<Note> {
        let sockets = self.sockets();
        let note = |who: &ParticipantId| match who {
            ParticipantId::User(user) if sockets.is_here(*who) => Some(Note::UserCame(*user)),
            ParticipantId::User(user) => Some(Note::UserWent(*user)),
            // The claim has reported it.
            ParticipantId::Agent(agent) if sockets.agents.contains_key(agent) => None,
            ParticipantId::Agent(agent) if sockets.is_here(*who) => Some(Note::AgentLost(*agent)),
            ParticipantId::Agent(agent) => Some(Note::AgentWent(*agent)),
        };
        of.iter().filter_map(note).collect()
    }

    /// The agents with a live local socket, and all others that are present on this node.
    pub(crate) fn who_is_here(&self) -> (Vec<AgentId>, Vec<ParticipantId>) {
        let sockets = self.sockets();
        let agents = sockets.agents.keys().copied().collect();
        let users = sockets.users.keys().copied().map(ParticipantId::User);
        (agents, users.chain(sockets.lingering()).collect())
    }

    /// Opens the socket of a granted claim, or answers with the reason of the refusal.
    pub(crate) fn settle_claim(self: &Arc<Self>, asked: Asked, granted: Granted) {
        let Asked { caller, presented, slot, answer, .. } = asked;
        let agent = caller.agent;
        let opened = match granted {
            Some(_) => self.admit(caller.into(), presented, OnConflict::Supersede, slot, granted),
            None => Err(ClaimRefused::Conflict),
        };
        // The store has granted a socket that was not opened.
        if granted.is_some() && opened.is_err() {
            self.note(ParticipantId::Agent(agent));
        }
        // If the receiver is gone, dropping the answer releases the socket.
        drop(answer.send(opened));
    }

    /// Gives the local socket of an agent another number, if there is one.
    pub(crate) fn renumber(&self, agent: AgentId, number: SocketNumber) {
        let mut sockets = self.sockets();
        if sockets.agents.contains_key(&agent) {
            sockets.numbers.insert(agent, number);
        }
    }

    /// Applies the connections of one user or agent, out of a list from the store.
    pub(crate) fn observe(&self, who: ParticipantId, connected: &[Connected]) {
        let own = self.claim_queue.get().map(|claim_queue| claim_queue.node());
        let remote = connected.iter().filter(|one| one.who == who && Some(one.node) != own);
        let remote = remote.copied().collect::<Vec<_>>();
        let turn = self.turn(who);
        let mut sockets = self.sockets();
        let before = sockets.counts(who);
        if let ([Connected { number: Some(number), .. }], Some(agent)) = (&remote[..], who.agent()) {
            // The list may be older than a claim of this node that was granted meanwhile.
            if sockets.numbers.get(&agent).is_some_and(|own| own > number) {
                return;
            }
            sockets.give_up(agent, *number);
        }
        sockets.remote.set(who, &remote);
        let after = sockets.counts(who);
        drop(sockets);
        if before != after {
            self.tell_presence(who, after);
        }
        drop(turn);
    }

    /// Applies a complete list of the connections to other nodes.
    pub(crate) fn observe_all(&self, connected: &[Connected]) {
        let mut by_person = HashMap::<_, Vec<_>>::new();
        for one in connected {
            by_person.entry(one.who).or_default().push(*one);
        }
        let known = self.sockets().remote.everybody().collect::<Vec<_>>();
        for who in known {
            by_person.entry(who).or_default();
        }
        for (who, connected) in by_person {
            self.observe(who, &connected);
        }
    }

    /// Removes all connections to a node that was cleared.
    pub(super) fn node_cleared(&self, node: NodeId) {
        if let Some(claim_queue) = self.claim_queue.get() {
            claim_queue.cleared(node);
        }
        let left = self.sockets().remote.everybody_on(node);
        for who in left {
            let turn = self.turn(who);
            let mut sockets = self.sockets();
            let before = sockets.counts(who);
            sockets.remote.forget_on(who, node);
            let after = sockets.counts(who);
            drop(sockets);
            if before != after {
                self.tell_presence(who, after);
            }
            drop(turn);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use uuid::Uuid;

    use super::super::tests::{BARE, agent, agent_id, hub};
    use super::*;

    const HERE: NodeId = NodeId::new(Uuid::from_u128(1));
    const THERE: NodeId = NodeId::new(Uuid::from_u128(2));

    /// A newer remote socket becomes known while the claim of an older one is still under way.
    #[tokio::test]
    async fn a_claim_that_is_overtaken_opens_nothing() {
        let hub = hub();
        hub.become_one_of_several(HERE);
        let who = ParticipantId::Agent(agent_id(1));
        hub.observe(who, &[Connected { who, node: THERE, number: Some(SocketNumber(11)) }]);
        let settle = |number| {
            let slot = hub.slot(who).map_err(|why| format!("{why:?}")).unwrap();
            hub.admit(agent(1), BARE, OnConflict::Supersede, slot, Some(SocketNumber(number))).map(|_| ())
        };
        assert_eq!(settle(10), Err(ClaimRefused::Conflict));
        assert!(hub.who_is_here().0.is_empty());
        assert_eq!(settle(12), Ok(()));
    }

    /// Its client may be connected to another node by now.
    #[tokio::test]
    async fn a_claim_that_nobody_waits_for_any_more_is_not_made() {
        let hub = hub();
        let claim_queue = hub.become_one_of_several(HERE);
        assert!(hub.open(agent(1), BARE, OnConflict::Supersede).now_or_never().is_none());
        assert!(claim_queue.take().is_none());
        let mut waits = Box::pin(hub.open(agent(1), BARE, OnConflict::Supersede));
        assert!((&mut waits).now_or_never().is_none());
        assert_eq!(claim_queue.take().map(|batch| batch.claims.len()), Some(1));
    }
}
