//! Callers who are known: what was read of them, kept for as long as it is certainly true, so that a request of
//! somebody who is known asks the store nothing.
//!
//! Kept are keys by their digest, where users stand by user and open sessions by session (for tokens, whose signature
//! and time are looked at each time), agents' own records, and what those in a room are called, for whoever sends a message there; never the
//! text of a key, and nothing of a key that is unknown. What this process changes is told by events before its answer
//! leaves, see [`CacheInvalidation`]; what others change, by the log of changes ([`crate::change`]). That log has to
//! be read to its end once within [`LOG_LEASE`]: while it is not, nobody is known and the store is asked. So whatever
//! was changed anywhere holds for requests that begin [`LOG_LEASE`] later, also where the store or the reader of the
//! log is stuck.
//!
//! Invariant: an entry was read from the store after every change that was told before, and is dropped by every
//! change that is told of it after ([`read_through`]).

mod invalidation;
mod read_through;
#[cfg(test)]
mod tests;

use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use super::agent::Agent;
use super::key::{KeyDigest, StoredKey};
use super::port::{OpenSession, UserStanding};
use crate::change::Change;
use crate::chat::Names;
use crate::id::{AgentId, ChatId, OrganizationId, ParticipantId, SessionId, UserId};
use crate::store::StoreError;
use crate::time::Timestamp;
pub use invalidation::CacheInvalidation;
use read_through::{ReadThroughCache, Ticket};

/// For how long callers are known after a read of the log of changes began that came to its end.
pub const LOG_LEASE: Duration = Duration::from_secs(1);

/// How old an entry may be, though nothing was told of it: what somebody writes into the tables by hand counts then.
const LONGEST: Duration = Duration::from_secs(60);

/// The most keys, users, and sessions: six megabytes, three, and two, if there are so many.
const MOST_CALLERS: usize = 16 * 1024;

/// The most records of agents: with the longest texts that there may be sixteen megabytes, in practice one.
const MOST_RECORDS: usize = 1024;

/// The most rooms, and the most people of one that is kept: a few megabytes, thirty if all are as large as they may be.
const MOST_ROOMS: usize = 4096;
const MOST_PEOPLE: usize = 48;

/// Before the log was read for the first time.
const NEVER: i64 = i64::MIN;

/// Callers who are known; one for all workers of a server. One whose log nobody follows knows nobody.
pub struct CallerCache {
    keys: ReadThroughCache<KeyDigest, Entry<KnownKey>>,
    standings: ReadThroughCache<UserId, Entry<UserStanding>>,
    sessions: ReadThroughCache<SessionId, Entry<OpenSession>>,
    agents: ReadThroughCache<AgentId, Entry<Arc<Agent>>>,
    rooms: ReadThroughCache<ChatId, Entry<Names>>,
    /// When the last read of the log began that came to its end: a steady instant, in microseconds.
    followed_at: AtomicI64,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// How often callers were known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CacheCounts {
    /// How often what was asked was known.
    pub hits: u64,
    /// How often the store was asked.
    pub misses: u64,
}

/// What was read, and when: a steady instant, so that a clock that is set ages nothing.
struct Entry<V> {
    value: V,
    read_at: Timestamp,
}

/// A key, and until when its use need not be noted again.
struct KnownKey {
    key: StoredKey,
    /// When its use was noted last, in microseconds.
    used_at: AtomicI64,
}

impl KnownKey {
    fn new(key: StoredKey) -> Self {
        Self { key, used_at: AtomicI64::new(key.last_used_at.map_or(NEVER, Timestamp::micros)) }
    }

    /// As it would be read now, were its uses written down at once.
    fn stored(&self) -> StoredKey {
        let used_at = self.used_at.load(Ordering::Relaxed);
        StoredKey { last_used_at: (used_at != NEVER).then(|| Timestamp::from_micros(used_at)), ..self.key }
    }
}

impl Default for CallerCache {
    fn default() -> Self {
        Self {
            keys: ReadThroughCache::new(MOST_CALLERS),
            standings: ReadThroughCache::new(MOST_CALLERS),
            sessions: ReadThroughCache::new(MOST_CALLERS),
            agents: ReadThroughCache::new(MOST_RECORDS),
            rooms: ReadThroughCache::new(MOST_ROOMS),
            followed_at: AtomicI64::new(NEVER),
            hits: AtomicU64::default(),
            misses: AtomicU64::default(),
        }
    }
}

impl CallerCache {
    /// The log of changes was read to its end, and all of it was told here; the read began at `begun`, a steady
    /// instant.
    pub fn confirm(&self, begun: Timestamp) {
        self.followed_at.store(begun.micros(), Ordering::Release);
    }

    /// What is known may be wrong: changes were missed.
    pub fn forget_all(&self) {
        self.followed_at.store(NEVER, Ordering::Release);
        self.keys.forget_all(|_| true);
        self.standings.forget_all(|_| true);
        self.sessions.forget_all(|_| true);
        self.agents.forget_all(|_| true);
        self.rooms.forget_all(|_| true);
    }

    /// Forgets whatever a committed change may have made untrue.
    pub fn follow(&self, change: Change) {
        match change {
            Change::KeyRevoked(id) => self.keys.forget_all(|known| known.value.key.id == id),
            Change::AgentDeleted(agent) => {
                self.forget_agent(agent);
                self.forget_name(ParticipantId::Agent(agent));
            }
            Change::Disabled(ParticipantId::Agent(agent)) | Change::Enabled(ParticipantId::Agent(agent)) => {
                self.forget_agent(agent);
            }
            // The agents of a user come in only if the user may, and belong where the user does.
            Change::Disabled(ParticipantId::User(user))
            | Change::Enabled(ParticipantId::User(user))
            | Change::UserMoved(user) => {
                self.keys.forget_all(|known| known.value.key.holder.accountable_user() == user);
                self.standings.forget(&user);
            }
            Change::TokensEnded { user, .. } => {
                self.standings.forget(&user);
                self.sessions.forget_all(|known| known.value.user == user);
            }
            Change::SessionEnded(session) => self.sessions.forget(&session),
            Change::AgentUpdated(agent) => {
                self.agents.forget(&agent);
                self.forget_name(ParticipantId::Agent(agent));
            }
            Change::UserUpdated(user) => self.forget_name(ParticipantId::User(user)),
            Change::PlanAssigned(organization) => self.forget_permits(|of| of == organization),
            Change::PlansConfigured => self.forget_permits(|_| true),
            // Nothing of it is believed.
            Change::SessionMoved(_) | Change::NodeCleared(_) | Change::EventsLost { .. } => {}
            Change::ParticipantsRemoved(chat) => self.forget_room(chat),
        }
    }

    fn forget_agent(&self, agent: AgentId) {
        let who = ParticipantId::Agent(agent);
        self.keys.forget_all(|known| known.value.key.holder.participant() == who);
        self.agents.forget(&agent);
    }

    fn forget_name(&self, who: ParticipantId) {
        self.rooms.forget_all(|names| names.value.find(who).is_some());
    }

    /// Somebody came into a room or is gone from it. Who came by what others did is not told; it need not be, as a
    /// message is stored only if its sender and all whom it mentions are in the room then.
    pub(crate) fn forget_room(&self, chat: ChatId) {
        self.rooms.forget(&chat);
    }

    fn forget_permits(&self, of: impl Fn(OrganizationId) -> bool) {
        self.keys.forget_all(|known| of(known.value.key.holder.organization()));
        self.standings.forget_all(|known| of(known.value.organization));
    }

    /// How often callers were known so far.
    pub fn counts(&self) -> CacheCounts {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        CacheCounts { hits: read(&self.hits), misses: read(&self.misses) }
    }

    /// The key with this digest: known, or as `read` gives it.
    pub(super) async fn key(
        &self,
        digest: KeyDigest,
        now: Timestamp,
        read: impl Future<Output = Result<Option<StoredKey>, StoreError>>,
    ) -> Result<Option<StoredKey>, StoreError> {
        let read = async { Ok(read.await?.map(KnownKey::new)) };
        let admits = |key: &StoredKey| !key.is_disabled;
        self.known_or(&self.keys, digest, now, KnownKey::stored, admits, read).await
    }

    /// The use of a key was noted, and will be written down.
    pub(super) fn used(&self, digest: KeyDigest, now: Timestamp) {
        self.keys.look(&digest, |known| {
            known.value.used_at.fetch_max(now.micros(), Ordering::Relaxed);
            Some(())
        });
    }

    /// Where a user stands: known, if that `admits` what was presented, or as `read` gives it.
    pub(super) async fn standing(
        &self,
        user: UserId,
        now: Timestamp,
        admits: impl Fn(&UserStanding) -> bool,
        read: impl Future<Output = Result<Option<UserStanding>, StoreError>>,
    ) -> Result<Option<UserStanding>, StoreError> {
        self.known_or(&self.standings, user, now, |standing| *standing, admits, read).await
    }

    /// A session that has not ended: known, or as `read` gives it.
    pub(super) async fn session(
        &self,
        session: SessionId,
        now: Timestamp,
        read: impl Future<Output = Result<Option<OpenSession>, StoreError>>,
    ) -> Result<Option<OpenSession>, StoreError> {
        self.known_or(&self.sessions, session, now, |session| *session, |_| true, read).await
    }

    /// The record of an agent: known, or as `read` gives it.
    pub(super) async fn agent(
        &self,
        agent: AgentId,
        now: Timestamp,
        read: impl Future<Output = Result<Option<Agent>, StoreError>>,
    ) -> Result<Option<Arc<Agent>>, StoreError> {
        let read = async { Ok(read.await?.map(Arc::new)) };
        self.known_or(&self.agents, agent, now, Arc::clone, |_| true, read).await
    }

    /// What `see` makes of what those in a room are called: as far as it is known, if that `admits` something, or as
    /// `read` gives it.
    pub(crate) async fn names<R>(
        &self,
        chat: ChatId,
        now: Timestamp,
        see: impl Fn(&Names) -> R,
        admits: impl Fn(&R) -> bool,
        read: impl Future<Output = Result<Option<Names>, StoreError>>,
    ) -> Result<Option<R>, StoreError> {
        let (found, ticket) = self.look(&self.rooms, &chat, now, &see, admits);
        if found.is_some() {
            return Ok(found);
        }
        let Some(names) = read.await? else { return Ok(None) };
        let seen = see(&names);
        if let Some(ticket) = ticket.filter(|_| names.0.len() <= MOST_PEOPLE) {
            self.rooms.put(ticket, chat, Entry { value: names, read_at: now });
        }
        Ok(Some(seen))
    }

    /// What `see` makes of what is known, or of what `read` gives, which is known from then on. That there is nothing
    /// is not kept, so that whoever guesses takes nobody's place. What is known may let somebody in, but turns nobody
    /// away: who was let in elsewhere a moment ago is not refused until that is heard of here.
    async fn known_or<K: Eq + Hash, V, R>(
        &self,
        entries: &ReadThroughCache<K, Entry<V>>,
        key: K,
        now: Timestamp,
        see: impl Fn(&V) -> R,
        admits: impl Fn(&R) -> bool,
        read: impl Future<Output = Result<Option<V>, StoreError>>,
    ) -> Result<Option<R>, StoreError> {
        let (found, ticket) = self.look(entries, &key, now, &see, admits);
        if let Some(found) = found {
            self.hits.fetch_add(1, Ordering::Relaxed);
            return Ok(Some(found));
        }
        self.misses.fetch_add(1, Ordering::Relaxed);
        let Some(value) = read.await? else { return Ok(None) };
        let seen = see(&value);
        if let Some(ticket) = ticket {
            entries.put(ticket, key, Entry { value, read_at: now });
        }
        Ok(Some(seen))
    }

    /// What `see` makes of what is known, if that `admits` something; and the ticket to put in what is read, which
    /// there is only if the log is followed.
    fn look<K: Eq + Hash, V, R>(
        &self,
        entries: &ReadThroughCache<K, Entry<V>>,
        key: &K,
        now: Timestamp,
        see: impl Fn(&V) -> R,
        admits: impl Fn(&R) -> bool,
    ) -> (Option<R>, Option<Ticket>) {
        let followed_at = self.followed_at.load(Ordering::Acquire);
        let is_followed = followed_at != NEVER;
        let is_current = is_followed && is_within(LOG_LEASE, Timestamp::from_micros(followed_at), now);
        let known = |entry: &Entry<V>| {
            let is_believed = is_current && is_within(LONGEST, entry.read_at, now);
            is_believed.then(|| see(&entry.value)).filter(&admits)
        };
        let (found, ticket) = entries.look(key, known);
        (found, is_followed.then_some(ticket))
    }
}

/// Whether it is at most so long after `from`, both steady instants.
fn is_within(longest: Duration, from: Timestamp, now: Timestamp) -> bool {
    from <= now && now < from.plus(longest)
}
