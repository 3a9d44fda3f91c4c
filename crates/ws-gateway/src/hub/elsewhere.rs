//! Who is connected to other nodes, as far as this one has heard; and what becomes of a socket here whose agent
//! has a newer one there.

use std::collections::HashMap;
use std::sync::Arc;

use domain::id::{AgentId, NodeId, ParticipantId, UserId};
use domain::node::{Connected, Granted, Note, SocketNumber};

use super::presence::Sockets;
use super::{ClaimRefused, Hub, OnConflict};
use crate::inbox::Told;
use crate::payload;
use crate::registry::{Asked, Registry};

/// Who is connected to other nodes, and to which.
#[derive(Default)]
pub(super) struct Elsewhere {
    /// With the number of the socket there.
    agents: HashMap<AgentId, (NodeId, Option<SocketNumber>)>,
    users: HashMap<UserId, Vec<NodeId>>,
}

impl Elsewhere {
    pub(super) fn holds(&self, who: ParticipantId) -> bool {
        match who {
            ParticipantId::Agent(agent) => self.agents.contains_key(&agent),
            ParticipantId::User(user) => self.users.contains_key(&user),
        }
    }

    /// Whether an agent has a socket there that is newer than the one with this number.
    pub(super) fn has_newer(&self, agent: AgentId, number: SocketNumber) -> bool {
        self.agents.get(&agent).is_some_and(|(_, there)| *there > Some(number))
    }

    /// From now on somebody is connected there, as the store has said.
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

    /// From now on somebody is connected nowhere else.
    pub(super) fn forget(&mut self, who: ParticipantId) {
        match who {
            ParticipantId::Agent(agent) => _ = self.agents.remove(&agent),
            ParticipantId::User(user) => _ = self.users.remove(&user),
        }
    }

    /// From now on somebody is not connected to this node.
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
    /// An agent has a newer socket on another node: the one here, if there is one, is told so.
    fn give_up(&mut self, agent: AgentId, number: SocketNumber) {
        self.numbers.remove(&agent);
        self.forget_lingering(ParticipantId::Agent(agent));
        if let Some(older) = self.agents.remove(&agent).and_then(|older| self.inboxes.get(&older)) {
            let number = number.0.unsigned_abs();
            older.order(Told::Superseded { payload: Arc::new(payload::supersede(agent, number)) });
        }
    }
}

impl Hub {
    /// From now on it is the hub of a node.
    pub(crate) fn become_one_of_several(&self, node: NodeId) -> Arc<Registry> {
        self.registry.get_or_init(|| Arc::new(Registry::of(node))).clone()
    }

    /// How somebody stands here is another than before.
    pub(super) fn note(&self, who: ParticipantId) {
        if let Some(registry) = self.registry.get() {
            registry.note(who);
        }
    }

    /// How these stand here now.
    pub(crate) fn notes(&self, of: &[ParticipantId]) -> Vec<Note> {
        let sockets = self.sockets();
        let note = |who: &ParticipantId| match who {
            ParticipantId::User(user) if sockets.is_here(*who) => Some(Note::UserCame(*user)),
            ParticipantId::User(user) => Some(Note::UserWent(*user)),
            // It was claimed.
            ParticipantId::Agent(agent) if sockets.agents.contains_key(agent) => None,
            ParticipantId::Agent(agent) if sockets.is_here(*who) => Some(Note::AgentLost(*agent)),
            ParticipantId::Agent(agent) => Some(Note::AgentWent(*agent)),
        };
        of.iter().filter_map(note).collect()
    }

    /// The agents that have a live socket here, and all others who count as being here.
    pub(crate) fn who_is_here(&self) -> (Vec<AgentId>, Vec<ParticipantId>) {
        let sockets = self.sockets();
        let agents = sockets.agents.keys().copied().collect();
        let users = sockets.users.keys().copied().map(ParticipantId::User);
        (agents, users.chain(sockets.lingering()).collect())
    }

    /// Opens what was granted, or says why it is not opened.
    pub(crate) fn settle_claim(self: &Arc<Self>, asked: Asked, granted: Granted) {
        let Asked { caller, presented, slot, answer, .. } = asked;
        let agent = caller.agent;
        let opened = match granted {
            Some(_) => self.admit(caller.into(), presented, OnConflict::Supersede, slot, granted),
            None => Err(ClaimRefused::Conflict),
        };
        // It has the place in the store, and not here.
        if granted.is_some() && opened.is_err() {
            self.note(ParticipantId::Agent(agent));
        }
        // Who has stopped waiting gives the place up by this.
        drop(answer.send(opened));
    }

    /// An agent's socket here goes by another number, if there is one.
    pub(crate) fn renumber(&self, agent: AgentId, number: SocketNumber) {
        let mut sockets = self.sockets();
        if sockets.agents.contains_key(&agent) {
            sockets.numbers.insert(agent, number);
        }
    }

    /// Takes up where somebody is connected, of what the store has said of several.
    pub(crate) fn observe(&self, who: ParticipantId, connected: &[Connected]) {
        let own = self.registry.get().map(|registry| registry.node());
        let elsewhere = connected.iter().filter(|one| one.who == who && Some(one.node) != own);
        let elsewhere = elsewhere.copied().collect::<Vec<_>>();
        let turn = self.turn(who);
        let mut sockets = self.sockets();
        let before = sockets.counts(who);
        if let ([Connected { number: Some(number), .. }], Some(agent)) = (&elsewhere[..], who.agent()) {
            // What was read may be older than a claim of this node that was granted meanwhile.
            if sockets.numbers.get(&agent).is_some_and(|own| own > number) {
                return;
            }
            sockets.give_up(agent, *number);
        }
        sockets.elsewhere.set(who, &elsewhere);
        let after = sockets.counts(who);
        drop(sockets);
        if before != after {
            self.tell_presence(who, after);
        }
        drop(turn);
    }

    /// Takes up who is connected to other nodes; nobody else is.
    pub(crate) fn observe_all(&self, connected: &[Connected]) {
        let mut by_person = HashMap::<_, Vec<_>>::new();
        for one in connected {
            by_person.entry(one.who).or_default().push(*one);
        }
        let known = self.sockets().elsewhere.everybody().collect::<Vec<_>>();
        for who in known {
            by_person.entry(who).or_default();
        }
        for (who, connected) in by_person {
            self.observe(who, &connected);
        }
    }

    /// Nobody is connected to a node any more.
    pub(super) fn node_cleared(&self, node: NodeId) {
        if let Some(registry) = self.registry.get() {
            registry.cleared(node);
        }
        let left = self.sockets().elsewhere.everybody_on(node);
        for who in left {
            let turn = self.turn(who);
            let mut sockets = self.sockets();
            let before = sockets.counts(who);
            sockets.elsewhere.forget_on(who, node);
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

    /// A newer socket elsewhere is heard of while the claim of an older one is still on its way back.
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

    /// Its client may be connected elsewhere by now.
    #[tokio::test]
    async fn a_claim_that_nobody_waits_for_any_more_is_not_made() {
        let hub = hub();
        let registry = hub.become_one_of_several(HERE);
        assert!(hub.open(agent(1), BARE, OnConflict::Supersede).now_or_never().is_none());
        assert!(registry.take().is_none());
        let mut waits = Box::pin(hub.open(agent(1), BARE, OnConflict::Supersede));
        assert!((&mut waits).now_or_never().is_none());
        assert_eq!(registry.take().map(|batch| batch.claims.len()), Some(1));
    }
}
