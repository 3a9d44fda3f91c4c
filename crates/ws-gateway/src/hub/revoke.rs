//! Revocation: ends the sockets of deleted or disabled users and agents, and those whose credential
//! has ended.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::Hash;
use std::time::Duration;

use domain::account::{Presented, PresentedToken};
use domain::caller::Caller;
use domain::change::Change;
use domain::id::{AgentId, ApiKeyId, ParticipantId, SessionId, UserId};
use domain::time::Timestamp;
use tokio::time::Instant;

use super::presence::Sockets;
use super::{Hub, SocketId};
use crate::inbox::SocketCommand;

/// The maximum time from the authentication of a socket to its claim, with a wide margin.
const LONGEST_ADMISSION: Duration = Duration::from_secs(10 * 60);

/// What has recently ended, to which extent, and when: a new socket may have been authenticated
/// before that.
pub(super) struct Ended<T, F = ()>(HashMap<T, (F, Instant)>);

impl<T, F> Default for Ended<T, F> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T: Eq + Hash, F: Copy + Ord> Ended<T, F> {
    /// Of two extents, the larger one is kept, so the order of the calls does not matter.
    fn note(&mut self, one: T, far: F) {
        self.0.retain(|_, (_, at)| at.elapsed() < LONGEST_ADMISSION);
        let far = self.0.get(&one).map_or(far, |(known, _)| far.max(*known));
        self.0.insert(one, (far, Instant::now()));
    }

    fn forget(&mut self, one: &T) {
        self.0.remove(one);
    }

    pub(super) fn holds(&self, one: &T) -> bool {
        self.0.contains_key(one)
    }

    fn how_far(&self, one: &T) -> Option<F> {
        self.0.get(one).map(|(far, _)| *far)
    }
}

/// The sockets by the key, the tokens of a user, or the session that opened them.
#[derive(Default)]
pub(super) struct OpenedWith {
    keys: HashMap<ApiKeyId, HashSet<SocketId>>,
    tokens: HashMap<UserId, HashMap<SocketId, PresentedToken>>,
    sessions: HashMap<SessionId, HashSet<SocketId>>,
    /// The expiry of keys and tokens, for those that expire.
    expiring: BTreeSet<(Timestamp, SocketId)>,
}

impl OpenedWith {
    pub(super) fn add(&mut self, presented: Presented, socket: SocketId) {
        self.expiring.extend(presented.expires_at().map(|until| (until, socket)));
        match presented {
            Presented::Key(key) => {
                self.keys.entry(key.id).or_default().insert(socket);
            }
            Presented::Token(token) => {
                self.tokens.entry(token.user).or_default().insert(socket, token);
                if let Some(session) = token.session {
                    self.sessions.entry(session.id).or_default().insert(socket);
                }
            }
        }
    }

    pub(super) fn remove(&mut self, presented: Presented, socket: SocketId) {
        if let Some(until) = presented.expires_at() {
            self.expiring.remove(&(until, socket));
        }
        match presented {
            Presented::Key(key) => {
                if let Some(sockets) = self.keys.get_mut(&key.id) {
                    sockets.remove(&socket);
                    if sockets.is_empty() {
                        self.keys.remove(&key.id);
                    }
                }
            }
            Presented::Token(token) => {
                if let Some(sockets) = self.tokens.get_mut(&token.user) {
                    sockets.remove(&socket);
                    if sockets.is_empty() {
                        self.tokens.remove(&token.user);
                    }
                }
                if let Some(session) = token.session
                    && let Some(sockets) = self.sessions.get_mut(&session.id)
                {
                    sockets.remove(&socket);
                    if sockets.is_empty() {
                        self.sessions.remove(&session.id);
                    }
                }
            }
        }
    }
}

/// Returns whether a token was issued under a password older than the one set at `set_at`.
fn is_older(token: PresentedToken, set_at: Timestamp) -> bool {
    token.password_set_at.is_none_or(|own| own < set_at)
}

impl Sockets {
    /// Returns whether the credential of a new socket has ended since it was authenticated; the
    /// socket would stay open otherwise.
    pub(super) fn has_ended(&self, presented: Presented) -> bool {
        match presented {
            Presented::Key(key) => self.ended_keys.holds(&key.id),
            Presented::Token(token) => {
                self.ended_tokens.how_far(&token.user).is_some_and(|set_at| is_older(token, set_at))
                    || token.session.is_some_and(|session| self.ended_sessions.holds(&session.id))
            }
        }
    }

    /// Returns whether the caller is deleted or disabled, whatever the credential.
    pub(super) fn is_out(&self, caller: Caller) -> bool {
        let agent = caller.participant().agent();
        self.ended_users.holds(&caller.accountable_user())
            || agent.is_some_and(|agent| self.ended_agents.holds(&agent))
    }

    /// Records the user who is accountable for a socket.
    pub(super) fn stand_for(&mut self, user: UserId, socket: SocketId) {
        self.accountable.entry(user).or_default().insert(socket);
    }

    /// Removes that record.
    pub(super) fn stand_down(&mut self, user: UserId, socket: SocketId) {
        if let Some(open) = self.accountable.get_mut(&user) {
            open.remove(&socket);
            if open.is_empty() {
                self.accountable.remove(&user);
            }
        }
    }

    fn revoke(&self, socket: SocketId) {
        if let Some(inbox) = self.inboxes.get(&socket) {
            inbox.order(SocketCommand::Revoked);
        }
    }
}

impl Hub {
    /// Applies a change that this process or another has made.
    pub fn follow(&self, change: Change) {
        match change {
            Change::AgentDeleted(agent) => {
                self.end_agent(agent);
                self.end_observers(agent);
            }
            Change::Disabled(ParticipantId::Agent(agent)) => self.end_agent(agent),
            Change::KeyRevoked(key) => self.end_key(key),
            Change::TokensEnded { user, password_set_at } => self.end_tokens(user, password_set_at),
            Change::SessionEnded(session) => self.end_session(session),
            Change::Disabled(ParticipantId::User(user)) => self.end_user(user),
            Change::Enabled(ParticipantId::Agent(agent)) => self.sockets().ended_agents.forget(&agent),
            Change::Enabled(ParticipantId::User(user)) => self.sockets().ended_users.forget(&user),
            Change::UserMoved(user) => self.end_all_tokens(user),
            Change::NodeCleared(node) => self.node_cleared(node),
            // These need a read from the store (`crate::ClusterMember::look_for`,
            // [`Hub::revalidate`], `crate::ClusterMember::catch_up`); the others end no socket.
            Change::SessionMoved(_)
            | Change::AgentUpdated(_)
            | Change::UserUpdated(_)
            | Change::PlanAssigned(_)
            | Change::PlansConfigured
            | Change::ParticipantsRemoved(_)
            | Change::EventsLost { .. } => {}
        }
    }

    /// Ends the sockets of a disabled user and of the user's agents, including any that is being
    /// opened.
    fn end_user(&self, user: UserId) {
        let mut sockets = self.sockets();
        sockets.ended_users.note(user, ());
        let opened = sockets.accountable.get(&user);
        opened.into_iter().flatten().for_each(|socket| sockets.revoke(*socket));
    }

    /// Ends the socket of a deleted or disabled agent, and one that is being opened.
    pub(super) fn end_agent(&self, agent: AgentId) {
        let mut sockets = self.sockets();
        sockets.ended_agents.note(agent, ());
        if let Some(socket) = sockets.agents.get(&agent) {
            sockets.revoke(*socket);
        }
    }

    /// Ends the sockets that a key has opened, and one that is being opened with it.
    pub(super) fn end_key(&self, key: ApiKeyId) {
        let mut sockets = self.sockets();
        sockets.ended_keys.note(key, ());
        let opened = sockets.opened_with.keys.get(&key);
        opened.into_iter().flatten().for_each(|socket| sockets.revoke(*socket));
    }

    /// Ends the sockets that were opened with tokens issued under passwords older than the one set
    /// at `set_at`, including any that is being opened.
    pub(super) fn end_tokens(&self, user: UserId, set_at: Timestamp) {
        let mut sockets = self.sockets();
        sockets.ended_tokens.note(user, set_at);
        let opened = sockets.opened_with.tokens.get(&user).into_iter().flatten();
        let older = opened.filter(|(_, token)| is_older(**token, set_at));
        older.for_each(|(socket, _)| sockets.revoke(*socket));
    }

    /// Ends the sockets that access tokens of a session have opened, and one that is being opened.
    pub(super) fn end_session(&self, session: SessionId) {
        let mut sockets = self.sockets();
        sockets.ended_sessions.note(session, ());
        let opened = sockets.opened_with.sessions.get(&session);
        opened.into_iter().flatten().for_each(|socket| sockets.revoke(*socket));
    }

    /// Ends the sockets that any token of a user has opened: a user who was moved to another
    /// organization reconnects with a new one.
    pub(super) fn end_all_tokens(&self, user: UserId) {
        let sockets = self.sockets();
        let opened = sockets.opened_with.tokens.get(&user).into_iter().flatten();
        opened.for_each(|(socket, _)| sockets.revoke(*socket));
    }

    /// Ends the sockets whose keys and tokens have expired; must be called about once a second.
    pub fn expire_credentials(&self) {
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
