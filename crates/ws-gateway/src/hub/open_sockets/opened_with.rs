//! Sockets by what they depend on: the accountable user, and the credential that opened them.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::Hash;

use domain::account::{Presented, PresentedToken};
use domain::caller::Caller;
use domain::id::{ApiKeyId, SessionId, UserId};
use domain::time::Timestamp;

use crate::inbox::SocketId;

/// Sets of sockets; an empty set has no entry.
type SocketsBy<K> = HashMap<K, HashSet<SocketId>>;

/// The open sockets by what they depend on.
#[derive(Default)]
pub(super) struct OpenedWith {
    /// A user is accountable for own sockets, and for those of own agents.
    users: SocketsBy<UserId>,
    keys: SocketsBy<ApiKeyId>,
    sessions: SocketsBy<SessionId>,
    tokens: HashMap<UserId, HashMap<SocketId, PresentedToken>>,
    /// The expiry of keys and tokens, for those that expire.
    expiring: BTreeSet<(Timestamp, SocketId)>,
}

impl OpenedWith {
    pub(super) fn add(&mut self, caller: Caller, presented: Presented, socket: SocketId) {
        self.users.entry(caller.accountable_user()).or_default().insert(socket);
        self.expiring.extend(presented.expires_at().map(|until| (until, socket)));
        match presented {
            Presented::Key(key) => _ = self.keys.entry(key.id).or_default().insert(socket),
            Presented::Token(token) => {
                self.tokens.entry(token.user).or_default().insert(socket, token);
                if let Some(session) = token.session {
                    self.sessions.entry(session.id).or_default().insert(socket);
                }
            }
        }
    }

    pub(super) fn remove(&mut self, caller: Caller, presented: Presented, socket: SocketId) {
        remove(&mut self.users, &caller.accountable_user(), socket);
        if let Some(until) = presented.expires_at() {
            self.expiring.remove(&(until, socket));
        }
        match presented {
            Presented::Key(key) => remove(&mut self.keys, &key.id, socket),
            Presented::Token(token) => {
                if let Some(sockets) = self.tokens.get_mut(&token.user) {
                    sockets.remove(&socket);
                    if sockets.is_empty() {
                        self.tokens.remove(&token.user);
                    }
                }
                if let Some(session) = token.session {
                    remove(&mut self.sessions, &session.id, socket);
                }
            }
        }
    }

    /// The sockets that this user is accountable for.
    pub(super) fn of_user(&self, user: UserId) -> impl Iterator<Item = SocketId> {
        of(&self.users, user)
    }

    /// The sockets that a key has opened.
    pub(super) fn with_key(&self, key: ApiKeyId) -> impl Iterator<Item = SocketId> {
        of(&self.keys, key)
    }

    /// The sockets that access tokens of a session have opened.
    pub(super) fn with_session(&self, session: SessionId) -> impl Iterator<Item = SocketId> {
        of(&self.sessions, session)
    }

    /// The sockets that tokens of a user have opened, with the tokens.
    pub(super) fn with_tokens(&self, user: UserId) -> impl Iterator<Item = (SocketId, PresentedToken)> {
        self.tokens.get(&user).into_iter().flatten().map(|(socket, token)| (*socket, *token))
    }

    /// Takes a socket whose key or token has expired by `now`.
    pub(super) fn take_expired(&mut self, now: Timestamp) -> Option<SocketId> {
        self.expiring.first().filter(|(until, _)| *until <= now)?;
        self.expiring.pop_first().map(|(_, socket)| socket)
    }
}

fn of<K: Eq + Hash>(all: &SocketsBy<K>, key: K) -> impl Iterator<Item = SocketId> {
    all.get(&key).into_iter().flatten().copied()
}

fn remove<K: Eq + Hash>(all: &mut SocketsBy<K>, key: &K, socket: SocketId) {
    if let Some(sockets) = all.get_mut(key) {
        sockets.remove(&socket);
        if sockets.is_empty() {
            all.remove(key);
        }
    }
}
