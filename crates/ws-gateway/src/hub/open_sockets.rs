//! The open sockets: who holds them, what they depend on, and how they are ended.
//!
//! An agent has one live socket: a newer one supersedes it in the critical section that claims its
//! place. A new socket is checked in that section as well, so that one whose caller or credential
//! has ended since it was authenticated is never opened.

mod ended;
mod opened_with;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::account::{EndReason, Presented};
use domain::caller::Caller;
use domain::change::Change;
use domain::id::{AgentId, ApiKeyId, ParticipantId, SessionId, UserId};
use domain::node::{OnConflict, SocketNumber};
use domain::operator::OpenSocket;
use domain::time::Timestamp;

use super::end_reason::Endings;
use super::figures::Figures;
use super::quotas::{Quotas, SocketPermit};
use crate::inbox::{Inbox, InboxItem, Reader, SocketId};
use crate::payload;
use ended::{Ended, is_older};
use opened_with::OpenedWith;

/// Why a socket cannot be opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClaimRefused {
    /// The agent was deleted, the caller disabled, the key revoked, or the token ended, after the caller was
    /// authenticated.
    Ended,
    /// The agent has a live socket.
    Conflict,
    /// The caller has too many sockets.
    TooMany,
    /// The server is shutting down.
    Stopping,
    /// The store did not answer the claim of the agent.
    Unavailable,
}

/// What decides between two sockets of an agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Precedence {
    /// There are no other nodes.
    Local(OnConflict),
    /// The store has granted the claim under this number.
    Granted(SocketNumber),
    /// The store has granted a later claim since.
    Overtaken,
}

/// A socket that was opened.
pub(super) struct Opened {
    pub(super) id: SocketId,
    pub(super) inbox: Inbox,
    pub(super) reader: Reader,
    /// Set if it is the only one of the caller.
    pub(super) is_first: bool,
}

/// The last socket of a caller, which has gone.
pub(super) struct Last {
    /// Set if the caller was deleted or disabled.
    pub(super) is_out: bool,
}

/// The open sockets of this process.
pub(super) struct OpenSockets {
    queue_bytes: usize,
    max_per_caller: usize,
    quotas: Arc<Quotas>,
    sockets: Mutex<Sockets>,
    endings: Endings,
}

#[derive(Default)]
struct Sockets {
    newest: SocketId,
    /// By number, so that a list reads only its page.
    open: BTreeMap<SocketId, Open>,
    agents: HashMap<AgentId, SocketId>,
    /// The numbers of the claims that the store has granted, if there are other nodes.
    numbers: HashMap<AgentId, SocketNumber>,
    users: HashMap<UserId, usize>,
    ended: Ended,
    opened_with: OpenedWith,
    is_stopping: bool,
}

/// An open socket.
struct Open {
    inbox: Inbox,
    who: ParticipantId,
    began_at: Timestamp,
}

impl Sockets {
    fn may_enter(&self, caller: Caller, presented: Presented) -> Result<(), ClaimRefused> {
        if self.is_stopping {
            return Err(ClaimRefused::Stopping);
        }
        if self.ended.is_out(caller) || self.ended.has_ended(presented) {
            return Err(ClaimRefused::Ended);
        }
        Ok(())
    }

    fn send_command(&self, sockets: impl IntoIterator<Item = SocketId>, command: impl Fn() -> InboxItem) {
        let open = sockets.into_iter().filter_map(|socket| self.open.get(&socket));
        open.for_each(|open| open.inbox.send_command(command()));
    }

    fn revoke(&self, sockets: impl IntoIterator<Item = SocketId>) {
        self.send_command(sockets, || InboxItem::Revoked);
    }

    /// Ends the older socket of an agent, which the one with this number supersedes.
    fn supersede(&self, agent: AgentId, older: Option<SocketId>, number: u64) {
        let payload = || Arc::new(payload::supersede(agent, number));
        self.send_command(older, || InboxItem::Superseded { payload: payload() });
    }
}

impl OpenSockets {
    pub(super) fn new(queue_bytes: usize, max_per_caller: usize) -> Self {
        let (quotas, sockets, endings) = Default::default();
        Self { queue_bytes, max_per_caller, quotas, sockets, endings }
    }

    /// Takes the permit of one more connection, if the caller may have one.
    pub(super) fn permit(&self, who: ParticipantId) -> Result<SocketPermit, ClaimRefused> {
        self.quotas.permit(who, self.max_per_caller).ok_or(ClaimRefused::TooMany)
    }

    /// Returns whether a socket could be opened now, as far as other nodes do not matter.
    pub(super) fn may_enter(&self, caller: Caller, presented: Presented) -> Result<(), ClaimRefused> {
        self.sockets().may_enter(caller, presented)
    }

    /// Opens a socket for the caller, who presented `presented`, at `now`.
    pub(super) fn open(
        &self,
        caller: Caller,
        presented: Presented,
        precedence: Precedence,
        now: Timestamp,
    ) -> Result<Opened, ClaimRefused> {
        let mut sockets = self.sockets();
        sockets.may_enter(caller, presented)?;
        let id = sockets.newest.next();
        let is_first = match caller {
            Caller::User(user) => {
                let open = sockets.users.entry(user.user).or_default();
                *open += 1;
                *open == 1
            }
            Caller::Agent(agent) => {
                let is_taken = sockets.agents.contains_key(&agent.agent);
                match precedence {
                    Precedence::Local(OnConflict::Reject) if is_taken => return Err(ClaimRefused::Conflict),
                    Precedence::Overtaken => return Err(ClaimRefused::Conflict),
                    Precedence::Local(_) => {}
                    Precedence::Granted(number) => _ = sockets.numbers.insert(agent.agent, number),
                }
                let older = sockets.agents.insert(agent.agent, id);
                sockets.supersede(agent.agent, older, id.get());
                !is_taken
            }
        };
        let (inbox, reader) = Inbox::new(self.queue_bytes);
        sockets.newest = id;
        let open = Open { inbox: inbox.clone(), who: caller.participant(), began_at: now };
        sockets.open.insert(id, open);
        sockets.opened_with.add(caller, presented, id);
        Ok(Opened { id, inbox, reader, is_first })
    }

    /// Removes a socket, if it is still there; `None` unless it was the live one of its caller, or the last.
    pub(super) fn close(&self, id: SocketId, caller: Caller, presented: Presented) -> Option<Last> {
        let mut sockets = self.sockets();
        sockets.open.remove(&id)?;
        sockets.opened_with.remove(caller, presented, id);
        match caller {
            Caller::Agent(agent) => {
                sockets.agents.get(&agent.agent).filter(|live| **live == id)?;
                sockets.agents.remove(&agent.agent);
                sockets.numbers.remove(&agent.agent);
            }
            Caller::User(user) => {
                let open = sockets.users.get_mut(&user.user)?;
                *open -= 1;
                if *open > 0 {
                    return None;
                }
                sockets.users.remove(&user.user);
            }
        }
        Some(Last { is_out: sockets.ended.is_out(caller) })
    }

    /// Supersedes the socket of an agent, if there is one, since the agent has a newer one on another node.
    /// Returns `false` if the one here is newer.
    pub(super) fn give_up(&self, agent: AgentId, number: SocketNumber) -> bool {
        let mut sockets = self.sockets();
        if sockets.numbers.get(&agent).is_some_and(|own| *own > number) {
            return false;
        }
        sockets.numbers.remove(&agent);
        let older = sockets.agents.remove(&agent);
        sockets.supersede(agent, older, number.0.unsigned_abs());
        true
    }

    /// Gives the socket of an agent another number, if there is one.
    pub(super) fn renumber(&self, agent: AgentId, number: SocketNumber) {
        let mut sockets = self.sockets();
        if sockets.agents.contains_key(&agent) {
            sockets.numbers.insert(agent, number);
        }
    }

    /// Ends the sockets that a change concerns, including any that is being opened.
    pub(super) fn follow(&self, change: Change) {
        match change {
            Change::AgentDeleted(agent) | Change::Disabled(ParticipantId::Agent(agent)) => {
                self.end_agent(agent);
            }
            Change::Disabled(ParticipantId::User(user)) => self.end_user(user),
            Change::Enabled(ParticipantId::Agent(agent)) => self.sockets().ended.agents.forget(&agent),
            Change::Enabled(ParticipantId::User(user)) => self.sockets().ended.users.forget(&user),
            Change::KeyRevoked(key) => self.end_key(key),
            Change::TokensEnded { user, password_set_at } => self.end_tokens(user, password_set_at),
            Change::SessionEnded(session) => self.end_session(session),
            Change::UserMoved(user) => self.end_all_tokens(user),
            // These end no socket, or need a read from the store first.
            Change::NodeCleared(_)
            | Change::ConnectionsChanged(_)
            | Change::AgentUpdated(_)
            | Change::UserUpdated(_)
            | Change::PlanAssigned(_)
            | Change::PlansConfigured
            | Change::ParticipantsRemoved(_)
            | Change::WorkRetried(_)
            | Change::MessageSent(_)
            | Change::MessageUpdated(_)
            | Change::AgentsStopped(_)
            | Change::AgentsPlaying(_)
            | Change::PauseChanged(_)
            | Change::AgentPauseChanged(_)
            | Change::WebhookChanged(_)
            | Change::OrganizationWebhookChanged(_)
            | Change::PushConfigured(_)
            | Change::EventsLost { .. } => {}
        }
    }

    fn end_user(&self, user: UserId) {
        let mut sockets = self.sockets();
        sockets.ended.users.note(user, ());
        sockets.revoke(sockets.opened_with.of_user(user));
    }

    fn end_agent(&self, agent: AgentId) {
        let mut sockets = self.sockets();
        sockets.ended.agents.note(agent, ());
        sockets.revoke(sockets.agents.get(&agent).copied());
    }

    fn end_key(&self, key: ApiKeyId) {
        let mut sockets = self.sockets();
        sockets.ended.keys.note(key, ());
        sockets.revoke(sockets.opened_with.with_key(key));
    }

    /// Ends the sockets that were opened with tokens issued under passwords older than the one set
    /// at `set_at`.
    fn end_tokens(&self, user: UserId, set_at: Timestamp) {
        let mut sockets = self.sockets();
        sockets.ended.tokens.note(user, set_at);
        let opened = sockets.opened_with.with_tokens(user);
        sockets.revoke(opened.filter(|(_, token)| is_older(*token, set_at)).map(|(socket, _)| socket));
    }

    fn end_session(&self, session: SessionId) {
        let mut sockets = self.sockets();
        sockets.ended.sessions.note(session, ());
        sockets.revoke(sockets.opened_with.with_session(session));
    }

    /// Ends the sockets that any token of a user has opened: a user who was moved to another
    /// organization reconnects with a new one.
    fn end_all_tokens(&self, user: UserId) {
        let sockets = self.sockets();
        sockets.revoke(sockets.opened_with.with_tokens(user).map(|(socket, _)| socket));
    }

    /// Ends the sockets whose keys and tokens have expired.
    pub(super) fn expire(&self, now: Timestamp) {
        let mut sockets = self.sockets();
        while let Some(socket) = sockets.opened_with.take_expired(now) {
            sockets.revoke([socket]);
        }
    }

    /// Closes every open socket, so that its client reconnects.
    pub(super) fn stop_all(&self) {
        self.sockets().open.values().for_each(|open| open.inbox.send_command(InboxItem::Stop));
    }

    /// Closes these sockets, as far as they are open.
    pub(super) fn stop(&self, some: &[SocketId]) {
        self.sockets().send_command(some.iter().copied(), || InboxItem::Stop);
    }

    /// Refuses new sockets from now on, and returns the open ones.
    pub(super) fn refuse_new(&self) -> Vec<SocketId> {
        let mut sockets = self.sockets();
        sockets.is_stopping = true;
        sockets.open.keys().copied().collect()
    }

    /// Returns whether the caller was disabled or deleted.
    pub(super) fn is_out(&self, caller: Caller) -> bool {
        self.sockets().ended.is_out(caller)
    }

    /// Counts a socket that ends.
    pub(super) fn count_end(&self, reason: EndReason) {
        self.endings.count(reason);
    }

    /// Adds the figures of the sockets.
    pub(super) fn measure(&self, figures: &mut Figures) {
        figures.ended = self.endings.read();
        let sockets = self.sockets();
        figures.user_sockets = sockets.users.values().sum();
        figures.agent_sockets = sockets.agents.len();
        for bytes in sockets.open.values().map(|open| open.inbox.queued_bytes()) {
            figures.queued_bytes += bytes;
            figures.queued_bytes_max = figures.queued_bytes_max.max(bytes);
        }
    }

    /// The open sockets with smaller numbers than this one, newest first: at most `limit`.
    pub(super) fn list(&self, before: u64, limit: usize) -> Vec<OpenSocket> {
        let sockets = self.sockets();
        let socket = |(id, open): (&SocketId, &Open)| OpenSocket {
            number: id.get(),
            who: open.who,
            began_at: open.began_at,
            queued_bytes: open.inbox.queued_bytes() as u64,
        };
        sockets.open.range(..SocketId::numbered(before)).rev().take(limit).map(socket).collect()
    }

    fn sockets(&self) -> MutexGuard<'_, Sockets> {
        self.sockets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
