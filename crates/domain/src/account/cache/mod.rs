//! Cache of authenticated callers: a cache hit avoids a store round trip.
//!
//! The cache holds keys by their digest, the status of users, open sessions (for tokens, whose
//! signature and time are checked each time), agents' own records, and the names of the
//! participants of a chat, for senders; never the text of a key, and nothing of an unknown key.
//! Changes of this process invalidate it through events before their answer leaves, see
//! [`CacheInvalidation`]; changes of others do so through the change log ([`crate::change`]). That
//! log must be read to its end once within [`LOG_TRUSTED_FOR`]: otherwise the cache is bypassed, and the
//! store is asked. A change made anywhere therefore holds for requests that begin [`LOG_TRUSTED_FOR`]
//! later, even if the store or the reader of the log is stuck.
//!
//! Invariant: an entry was read from the store after every earlier invalidation of it, and is
//! dropped by every later one (`read_through`).

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
use super::port::{AccountStatus, OpenSession};
use crate::change::Change;
use crate::chat::Names;
use crate::id::{AgentId, ChatId, OrganizationId, ParticipantId, SessionId, UserId};
use crate::store::StoreError;
use crate::time::Timestamp;
pub use invalidation::CacheInvalidation;
use read_through::{ReadThroughCache, Ticket};

/// How long the cache is valid after the beginning of a complete read of the change log.
pub const LOG_TRUSTED_FOR: Duration = Duration::from_secs(1);

/// The maximum age of an entry without an invalidation, after which manual changes of the tables
/// count.
const MAX_AGE: Duration = Duration::from_secs(60);

/// The maximum number of keys, users, and sessions: six megabytes, three, and two, if there are so
/// many.
const MAX_CALLERS: usize = 16 * 1024;

/// The maximum number of agents: at most sixteen megabytes, with the longest texts; in practice
/// one.
const MAX_AGENTS: usize = 1024;

/// The maximum number of chats, and of participants of a cached one: a few megabytes, thirty if all
/// are as large as possible.
const MAX_CHATS: usize = 4096;
const MAX_PARTICIPANTS: usize = 48;

/// Before the first read of the log.
const NEVER: i64 = i64::MIN;

/// The cache of callers; one for all workers of a server. It is bypassed while the log is not
/// followed.
pub struct CallerCache {
    keys: ReadThroughCache<KeyDigest, Entry<KnownKey>>,
    account_statuses: ReadThroughCache<UserId, Entry<AccountStatus>>,
    sessions: ReadThroughCache<SessionId, Entry<OpenSession>>,
    agents: ReadThroughCache<AgentId, Entry<Arc<Agent>>>,
    chats: ReadThroughCache<ChatId, Entry<Names>>,
    /// The beginning of the last complete read of the log: a steady time, in microseconds.
    followed_at: AtomicI64,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// Hits and misses of the cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CacheCounts {
    /// The number of hits.
    pub hits: u64,
    /// The number of reads from the store.
    pub misses: u64,
}

/// A value and the time of its read, which is steady, so that setting the clock ages nothing.
struct Entry<V> {
    value: V,
    read_at: Timestamp,
}

/// A key with the last recorded time of its use.
struct KnownKey {
    key: StoredKey,
    /// The time of the last recorded use, in microseconds.
    used_at: AtomicI64,
}

impl KnownKey {
    fn new(key: StoredKey) -> Self {
        Self { key, used_at: AtomicI64::new(key.last_used_at.map_or(NEVER, Timestamp::micros)) }
    }

    /// The key as the store would return it after writing its uses.
    fn stored(&self) -> StoredKey {
        let used_at = self.used_at.load(Ordering::Relaxed);
        StoredKey { last_used_at: (used_at != NEVER).then(|| Timestamp::from_micros(used_at)), ..self.key }
    }
}

impl Default for CallerCache {
    fn default() -> Self {
        Self {
            keys: ReadThroughCache::new(MAX_CALLERS),
            account_statuses: ReadThroughCache::new(MAX_CALLERS),
            sessions: ReadThroughCache::new(MAX_CALLERS),
            agents: ReadThroughCache::new(MAX_AGENTS),
            chats: ReadThroughCache::new(MAX_CHATS)
                .with_limit(|names| names.value.0.len() <= MAX_PARTICIPANTS),
            followed_at: AtomicI64::new(NEVER),
            hits: AtomicU64::default(),
            misses: AtomicU64::default(),
        }
    }
}

impl CallerCache {
    /// Records that the change log was read to its end and applied here; the read began at `begun`,
    /// a steady time.
    pub fn confirm(&self, begun: Timestamp) {
        self.followed_at.store(begun.micros(), Ordering::Release);
    }

    /// Drops everything, since changes were missed.
    pub fn forget_all(&self) {
        self.followed_at.store(NEVER, Ordering::Release);
        self.keys.forget_all(|_| true);
        self.account_statuses.forget_all(|_| true);
        self.sessions.forget_all(|_| true);
        self.agents.forget_all(|_| true);
        self.chats.forget_all(|_| true);
    }

    /// Drops the entries that a committed change may have outdated.
    pub fn follow(&self, change: Change) {
        match change {
            Change::KeyRevoked(id) => self.keys.forget_all(|known| known.value.key.id == id),
            // A cached key contains the claims setting of its agent.
            Change::AgentDeleted(agent) | Change::AgentUpdated(agent) => {
                self.forget_agent(agent);
                self.forget_name(ParticipantId::Agent(agent));
            }
            Change::Disabled(ParticipantId::Agent(agent)) | Change::Enabled(ParticipantId::Agent(agent)) => {
                self.forget_agent(agent);
            }
            // The agents of a user depend on whether the user is enabled, and on the user's
            // organization.
            Change::Disabled(ParticipantId::User(user))
            | Change::Enabled(ParticipantId::User(user))
            | Change::UserMoved(user) => {
                self.keys.forget_all(|known| known.value.key.holder.accountable_user() == user);
                self.account_statuses.forget(&user);
            }
            Change::TokensEnded { user, .. } => {
                self.account_statuses.forget(&user);
                self.sessions.forget_all(|known| known.value.user == user);
            }
            Change::SessionEnded(session) => self.sessions.forget(&session),
            Change::UserUpdated(user) => self.forget_name(ParticipantId::User(user)),
            Change::PlanAssigned(organization) => self.forget_permits(|of| of == organization),
            Change::PlansConfigured => self.forget_permits(|_| true),
            Change::AgentPauseChanged(agent) => self.agents.forget(&agent),
            // No entry depends on these.
            Change::ConnectionsChanged(_)
            | Change::NodeCleared(_)
            | Change::WorkRetried(_)
            | Change::MessageSent(_)
            | Change::MessageUpdated(_)
            | Change::AgentsStopped(_)
            | Change::AgentsPlaying(_)
            | Change::PauseChanged(_)
            | Change::WebhookChanged(_)
            | Change::OrganizationWebhookChanged(_)
            | Change::PushConfigured(_)
            | Change::EventsLost { .. } => {}
            Change::ParticipantsRemoved(chat) => self.forget_chat(chat),
        }
    }

    fn forget_agent(&self, agent: AgentId) {
        let who = ParticipantId::Agent(agent);
        self.keys.forget_all(|known| known.value.key.holder.participant() == who);
        self.agents.forget(&agent);
    }

    fn forget_name(&self, who: ParticipantId) {
        self.chats.forget_all(|names| names.value.find(who).is_some());
    }

    /// Drops the names of a chat whose participants have changed. Joins through other processes do
    /// not call this; they need not, since a message is only stored if its sender and all mentioned
    /// participants are in the chat at that time.
    pub(crate) fn forget_chat(&self, chat: ChatId) {
        self.chats.forget(&chat);
    }

    fn forget_permits(&self, of: impl Fn(OrganizationId) -> bool) {
        self.keys.forget_all(|known| of(known.value.key.holder.organization()));
        self.account_statuses.forget_all(|known| of(known.value.organization));
    }

    /// Hits and misses so far.
    pub fn counts(&self) -> CacheCounts {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        CacheCounts { hits: read(&self.hits), misses: read(&self.misses) }
    }

    /// The key with this digest: from the cache, or from `read`.
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

    /// Records that a use of the key will be written.
    pub(super) fn used(&self, digest: KeyDigest, now: Timestamp) {
        self.keys.look(&digest, |known| {
            known.value.used_at.fetch_max(now.micros(), Ordering::Relaxed);
            Some(())
        });
    }

    /// The status of a user: from the cache if that `admits` the credential, or from `read`.
    pub(super) async fn status(
        &self,
        user: UserId,
        now: Timestamp,
        admits: impl Fn(&AccountStatus) -> bool,
        read: impl Future<Output = Result<Option<AccountStatus>, StoreError>>,
    ) -> Result<Option<AccountStatus>, StoreError> {
        self.known_or(&self.account_statuses, user, now, |status| *status, admits, read).await
    }

    /// A session that has not ended: from the cache, or from `read`.
    pub(super) async fn session(
        &self,
        session: SessionId,
        now: Timestamp,
        read: impl Future<Output = Result<Option<OpenSession>, StoreError>>,
    ) -> Result<Option<OpenSession>, StoreError> {
        self.known_or(&self.sessions, session, now, |session| *session, |_| true, read).await
    }

    /// An agent: from the cache, or from `read`.
    pub(super) async fn agent(
        &self,
        agent: AgentId,
        now: Timestamp,
        read: impl Future<Output = Result<Option<Agent>, StoreError>>,
    ) -> Result<Option<Arc<Agent>>, StoreError> {
        let read = async { Ok(read.await?.map(Arc::new)) };
        self.known_or(&self.agents, agent, now, Arc::clone, |_| true, read).await
    }

    /// Applies `see` to the names of a chat's participants: to the cached ones if that `admits` the
    /// result, or to those from `read`.
    pub(crate) async fn names<R>(
        &self,
        chat: ChatId,
        now: Timestamp,
        see: impl Fn(&Names) -> R,
        admits: impl Fn(&R) -> bool,
        read: impl Future<Output = Result<Option<Names>, StoreError>>,
    ) -> Result<Option<R>, StoreError> {
        self.known_or(&self.chats, chat, now, see, admits, read).await
    }

    /// Applies `see` to the cached value, or to the one from `read`, which is then cached. Missing
    /// values are not cached, so that guesses do not evict entries. The cache may admit a caller,
    /// but never refuses one: a caller who was enabled elsewhere a moment ago is not refused until
    /// that is known here.
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

    /// Applies `see` to the cached value, if that `admits` the result; also returns the ticket for
    /// caching a read, which exists only while the log is followed.
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
        let is_current = is_followed && is_within(LOG_TRUSTED_FOR, Timestamp::from_micros(followed_at), now);
        let known = |entry: &Entry<V>| {
            let is_believed = is_current && is_within(MAX_AGE, entry.read_at, now);
            is_believed.then(|| see(&entry.value)).filter(&admits)
        };
        let (found, ticket) = entries.look(key, known);
        (found, is_followed.then_some(ticket))
    }
}

/// Returns whether `now` is at most `longest` after `from`; both are steady times.
fn is_within(longest: Duration, from: Timestamp, now: Timestamp) -> bool {
    from <= now && now < from.plus(longest)
}
