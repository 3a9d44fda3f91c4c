//! Ending the sockets of agents that are no more, and those that a key has opened which is good no longer.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::Hash;
use std::time::{Duration, Instant};

use domain::account::PresentedKey;
use domain::change::Change;
use domain::id::{AgentId, ApiKeyId};
use domain::time::Timestamp;

use super::presence::Sockets;
use super::{Hub, SocketId};
use crate::inbox::Told;

/// How long a newcomer may take from being authenticated to its claim, at the very most.
const LONGEST_ADMISSION: Duration = Duration::from_secs(10 * 60);

/// What came to its end a moment ago, and when: a newcomer may have been authenticated before that.
pub(super) struct Ended<T>(HashMap<T, Instant>);

impl<T> Default for Ended<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T: Eq + Hash> Ended<T> {
    fn note(&mut self, one: T) {
        self.0.retain(|_, at| at.elapsed() < LONGEST_ADMISSION);
        self.0.insert(one, Instant::now());
    }

    pub(super) fn holds(&self, one: &T) -> bool {
        self.0.contains_key(one)
    }
}

/// Which sockets were opened with which key.
#[derive(Default)]
pub(super) struct OpenedWith {
    sockets: HashMap<ApiKeyId, HashSet<SocketId>>,
    /// Until when the keys are good, of those that expire.
    expiring: BTreeSet<(Timestamp, SocketId)>,
}

impl OpenedWith {
    pub(super) fn add(&mut self, key: PresentedKey, socket: SocketId) {
        self.sockets.entry(key.id).or_default().insert(socket);
        self.expiring.extend(key.expires_at.map(|until| (until, socket)));
    }

    pub(super) fn remove(&mut self, key: PresentedKey, socket: SocketId) {
        if let Some(sockets) = self.sockets.get_mut(&key.id) {
            sockets.remove(&socket);
            if sockets.is_empty() {
                self.sockets.remove(&key.id);
            }
        }
        if let Some(until) = key.expires_at {
            self.expiring.remove(&(until, socket));
        }
    }
}

impl Sockets {
    fn revoke(&self, socket: SocketId) {
        if let Some(inbox) = self.inboxes.get(&socket) {
            inbox.order(Told::Revoked);
        }
    }
}

impl Hub {
    /// Does what a change asks for that this process or another has made.
    pub fn follow(&self, change: Change) {
        match change {
            Change::AgentDeleted(agent) => self.end_agent(agent),
            Change::KeyRevoked(key) => self.end_key(key),
        }
    }

    /// Ends the socket of an agent that is no more, and of one that is just about to connect.
    pub(super) fn end_agent(&self, agent: AgentId) {
        let mut sockets = self.sockets();
        sockets.ended_agents.note(agent);
        if let Some(socket) = sockets.agents.get(&agent) {
            sockets.revoke(*socket);
        }
    }

    /// Ends the sockets that a key has opened, and one that it is just about to open.
    pub(super) fn end_key(&self, key: ApiKeyId) {
        let mut sockets = self.sockets();
        sockets.ended_keys.note(key);
        let opened = sockets.opened_with.sockets.get(&key);
        opened.into_iter().flatten().for_each(|socket| sockets.revoke(*socket));
    }

    /// Ends the sockets whose keys have expired; to be called about once a second.
    pub fn expire_keys(&self) {
        let now = self.clock.now();
        let mut sockets = self.sockets();
        while let Some((_, socket)) = sockets.opened_with.expiring.first().filter(|(until, _)| *until <= now)
        {
            let socket = *socket;
            sockets.opened_with.expiring.pop_first();
            sockets.revoke(socket);
        }
    }
}
