use std::collections::BTreeSet;
use std::sync::Mutex;

use uuid::Uuid;

use super::invalidation::change_of;
use super::*;
use crate::account::{AgentHandle, AgentKind, KeyScope};
use crate::caller::{AgentCaller, Caller, UserCaller};
use crate::chat::Named;
use crate::event::DomainEvent;
use crate::id::{ApiKeyId, ChatId, MessageId, NodeId, SessionId};
use crate::plan::Permits;
use crate::ports::EventPublisher;

/// Milliseconds after an arbitrary instant.
fn at(millis: i64) -> Timestamp {
    Timestamp::from_micros(1_700_000_000_000_000 + millis * 1000)
}

fn id(number: u8) -> Uuid {
    Uuid::from_u128(number.into())
}

fn digest(number: u8) -> KeyDigest {
    KeyDigest::new([number; 32])
}

fn user(number: u8) -> UserId {
    UserId::new(id(number))
}

fn agent(number: u8) -> AgentId {
    AgentId::new(id(number))
}

/// Ann is 1 and belongs to 1, Ben is 2 and belongs to 2.
fn organization(of: u8) -> OrganizationId {
    OrganizationId::new(id(of))
}

/// The key with this number: of a user, or of an agent that the user owns.
fn key(number: u8, owner: u8, of_agent: bool) -> StoredKey {
    let (user, organization) = (user(owner), organization(owner));
    let holder = if of_agent {
        Caller::from(AgentCaller {
            agent: agent(number),
            owner: user,
            organization,
            claims: crate::delivery::Claims::Shared,
        })
    } else {
        Caller::from(UserCaller { user, organization })
    };
    StoredKey {
        id: ApiKeyId::new(id(number)),
        digest: digest(number),
        holder,
        permits: Permits::ALL,
        is_disabled: false,
        scope: KeyScope::default(),
        expires_at: None,
        last_used_at: None,
    }
}

fn standing(of: u8) -> AccountStatus {
    let organization = organization(of);
    AccountStatus { organization, permits: Permits::ALL, password_set_at: None, is_disabled: false }
}

fn record(number: u8) -> Agent {
    Agent {
        id: agent(number),
        owner: user(1),
        name: format!("Agent {number}"),
        handle: AgentHandle::from_stored(format!("ann/agent-{number}")),
        description: "Does things".to_owned(),
        kind: AgentKind::External,
        model_type: None,
        bio: None,
        tags: Vec::new(),
        listed_in_directory: false,
        registry_access: false,
        shared_with_organization: false,
        foreign_access: false,
        max_attempts: None,
        claims: crate::delivery::Claims::Shared,
        a2a: false,
        is_global: false,
        created_at: at(0),
        updated_at: at(0),
        disabled_at: None,
        pause: None,
    }
}

fn room(number: u8) -> ChatId {
    ChatId::new(id(100 + number))
}

/// In chat 1 are Ann and one of her agents, in chat 2 is Ben.
fn names(number: u8) -> Names {
    let named =
        |id: ParticipantId| Named { id, handle: id.to_string(), name: id.to_string(), is_external: None };
    let owner = ParticipantId::User(user(number));
    let bot = (number == 1).then_some(ParticipantId::Agent(agent(11)));
    Names([owner].into_iter().chain(bot).map(named).collect())
}

/// All keys.
fn keys() -> [StoredKey; 4] {
    [key(1, 1, false), key(2, 2, false), key(11, 1, true), key(12, 1, true)]
}

/// The session with this number, of the user with the same number.
fn session(number: u8) -> SessionId {
    SessionId::new(id(number))
}

fn open(number: u8) -> OpenSession {
    OpenSession { user: user(number), began_at: at(0) }
}

/// A cache whose log was just read, at `at(0)`.
fn followed() -> CallerCache {
    let cache = CallerCache::default();
    cache.confirm(at(0));
    cache
}

/// Reads everything at a time; returns the names of the values that were not cached.
async fn read(cache: &CallerCache, now: Timestamp) -> BTreeSet<String> {
    let all = Mutex::new(BTreeSet::new());
    let note = |name: String| assert!(all.lock().unwrap().insert(name));
    for key in keys() {
        let reading = async {
            note(format!("key {}", key.id.uuid().as_u128()));
            Ok(Some(key))
        };
        assert_eq!(cache.key(key.digest, now, reading).await.unwrap(), Some(key));
    }
    for number in [1, 2] {
        let reading = async {
            note(format!("standing {number}"));
            Ok(Some(standing(number)))
        };
        assert_eq!(cache.status(user(number), now, |_| true, reading).await.unwrap(), Some(standing(number)));
    }
    for number in [1, 2] {
        let reading = async {
            note(format!("session {number}"));
            Ok(Some(open(number)))
        };
        assert_eq!(cache.session(session(number), now, reading).await.unwrap(), Some(open(number)));
    }
    for number in [11, 12] {
        let reading = async {
            note(format!("record {number}"));
            Ok(Some(record(number)))
        };
        assert_eq!(*cache.agent(agent(number), now, reading).await.unwrap().unwrap(), record(number));
    }
    for number in [1, 2] {
        let reading = async {
            note(format!("room {number}"));
            Ok(Some(names(number)))
        };
        let seen = cache.names(room(number), now, Names::clone, |_| true, reading).await.unwrap();
        assert_eq!(seen, Some(names(number)));
    }
    all.into_inner().unwrap()
}

const ALL: usize = 12;

#[tokio::test]
async fn cached_entries_are_not_read_again() {
    let cache = followed();
    assert_eq!(read(&cache, at(0)).await.len(), ALL);
    assert!(read(&cache, at(999)).await.is_empty());
    assert_eq!(cache.counts(), CacheCounts { hits: 12, misses: 12 });
}

/// The cache is bypassed while the log is not followed, and used again after the next read.
#[tokio::test]
async fn the_cache_is_bypassed_while_the_log_is_not_followed() {
    let cache = CallerCache::default();
    assert_eq!((read(&cache, at(0)).await.len(), read(&cache, at(0)).await.len()), (ALL, ALL));
    cache.confirm(at(0));
    assert_eq!(read(&cache, at(0)).await.len(), ALL, "nothing was kept for a log that nobody follows");
    assert!(read(&cache, at(999)).await.is_empty());
    assert_eq!(read(&cache, at(1000)).await.len(), ALL);
    assert_eq!(read(&cache, at(-1)).await.len(), ALL, "a clock that was set back counts for nothing");
    cache.confirm(at(5000));
    read(&cache, at(5000)).await;
    assert!(read(&cache, at(5999)).await.is_empty());
    assert_eq!(read(&cache, at(6000)).await.len(), ALL);
    cache.forget_all();
    assert_eq!(read(&cache, at(5999)).await.len(), ALL);
}

/// A change of another process arrives within a second; until then a credential that is valid there
/// is not refused here.
#[tokio::test]
async fn refusals_are_read_from_the_store() {
    let cache = followed();
    let kept_out = StoredKey { is_disabled: true, ..key(1, 1, false) };
    for stored in [kept_out, kept_out, key(1, 1, false)] {
        let found = cache.key(digest(1), at(1), async { Ok(Some(stored)) }).await.unwrap();
        assert_eq!(found, Some(stored));
    }
    let before = standing(1);
    let moved = AccountStatus { organization: organization(2), ..before };
    let is_moved = |known: &AccountStatus| known.organization == moved.organization;
    for (stored, seen) in [(before, before), (moved, moved), (before, moved)] {
        let reading = async { Ok(Some(stored)) };
        let found = cache.status(user(1), at(1), is_moved, reading).await.unwrap();
        assert_eq!(found, Some(seen));
    }
}

#[tokio::test]
async fn old_entries_are_read_again() {
    let cache = followed();
    read(&cache, at(0)).await;
    cache.confirm(at(59_900));
    assert!(read(&cache, at(59_999)).await.is_empty());
    assert_eq!(read(&cache, at(60_000)).await.len(), ALL);
}

/// The entries that each change outdates. A new kind of change needs a decision here.
fn forgotten(change: Change) -> &'static [&'static str] {
    match change {
        Change::KeyRevoked(_) => &["key 12"],
        Change::AgentDeleted(_) | Change::AgentUpdated(_) => &["key 11", "record 11", "room 1"],
        Change::Disabled(ParticipantId::Agent(_)) | Change::Enabled(ParticipantId::Agent(_)) => {
            &["key 11", "record 11"]
        }
        Change::Disabled(ParticipantId::User(_))
        | Change::Enabled(ParticipantId::User(_))
        | Change::UserMoved(_)
        | Change::PlanAssigned(_) => &["key 1", "key 11", "key 12", "standing 1"],
        Change::TokensEnded { .. } => &["standing 1", "session 1"],
        Change::SessionEnded(_) => &["session 1"],
        Change::AgentPauseChanged(_) => &["record 11"],
        Change::UserUpdated(_) | Change::ParticipantsRemoved(_) => &["room 1"],
        Change::PlansConfigured => &["key 1", "key 11", "key 12", "key 2", "standing 1", "standing 2"],
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
        | Change::EventsLost { .. } => &[],
    }
}

fn changes() -> [Change; 14] {
    let (ann, bot) = (ParticipantId::User(user(1)), ParticipantId::Agent(agent(11)));
    [
        Change::KeyRevoked(ApiKeyId::new(id(12))),
        Change::AgentDeleted(agent(11)),
        Change::TokensEnded { user: user(1), password_set_at: at(0) },
        Change::SessionEnded(session(1)),
        Change::Disabled(ann),
        Change::Disabled(bot),
        Change::Enabled(ann),
        Change::Enabled(bot),
        Change::UserMoved(user(1)),
        Change::AgentUpdated(agent(11)),
        Change::AgentPauseChanged(agent(11)),
        Change::UserUpdated(user(1)),
        Change::PlanAssigned(organization(1)),
        Change::ParticipantsRemoved(room(1)),
    ]
}

#[tokio::test]
async fn each_change_drops_only_outdated_entries() {
    let (ann, bot) = (ParticipantId::User(user(1)), ParticipantId::Agent(agent(11)));
    let others = [
        Change::PlansConfigured,
        Change::ConnectionsChanged(ann),
        Change::ConnectionsChanged(bot),
        Change::NodeCleared(NodeId::new(id(1))),
        Change::WorkRetried(room(1)),
        Change::MessageSent(MessageId::new(Uuid::from_u128(1))),
        Change::MessageUpdated(MessageId::new(Uuid::from_u128(1))),
        Change::AgentsStopped(room(1)),
        Change::AgentsPlaying(room(1)),
        Change::PauseChanged(organization(1)),
    ];
    for change in changes().into_iter().chain(others) {
        let cache = followed();
        read(&cache, at(0)).await;
        cache.follow(change);
        let expected = forgotten(change).iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(read(&cache, at(1)).await, expected, "{change:?}");
        assert!(read(&cache, at(1)).await.is_empty(), "{change:?}: known again");
    }
}

/// The read began before the change and ends after it, so it may have the old value.
#[tokio::test]
async fn a_read_that_raced_a_change_is_not_cached() {
    for change in changes().into_iter().chain([Change::PlansConfigured]) {
        let cache = followed();
        for key in keys() {
            let reading = async {
                cache.follow(change);
                Ok(Some(key))
            };
            assert!(cache.key(key.digest, at(0), reading).await.unwrap().is_some());
        }
        let reading = async {
            cache.follow(change);
            Ok(Some(standing(1)))
        };
        assert!(cache.status(user(1), at(0), |_| true, reading).await.unwrap().is_some());
        let reading = async {
            cache.follow(change);
            Ok(Some(open(1)))
        };
        assert!(cache.session(session(1), at(0), reading).await.unwrap().is_some());
        let reading = async {
            cache.follow(change);
            Ok(Some(record(11)))
        };
        assert!(cache.agent(agent(11), at(0), reading).await.unwrap().is_some());
        let reading = async {
            cache.follow(change);
            Ok(Some(names(1)))
        };
        assert!(cache.names(room(1), at(0), |_| (), |()| true, reading).await.unwrap().is_some());
        let again = read(&cache, at(0)).await;
        for name in forgotten(change) {
            assert!(again.contains(*name), "{change:?} leaves {name}");
        }
    }
}

/// Joins through other processes are not cached; a request that needs them reads the store.
#[tokio::test]
async fn a_room_is_read_again_for_what_is_not_known_of_it() {
    let cache = followed();
    let ben = ParticipantId::User(user(2));
    let is_there = |names: &Names| names.find(ben).is_some();
    let ask = async |now: Names| {
        cache.names(room(1), at(1), is_there, |there| *there, async { Ok(Some(now)) }).await.unwrap()
    };
    assert_eq!(ask(names(1)).await, Some(false));
    assert_eq!(ask(names(2)).await, Some(true), "what is known does not refuse");
    assert_eq!(ask(names(1)).await, Some(true), "known from then on");
    cache.forget_chat(room(1));
    assert_eq!(ask(names(1)).await, Some(false));
}

#[tokio::test]
async fn large_rooms_are_not_kept() {
    let cache = followed();
    let one = names(1).0[0].clone();
    for (people, kept) in [(MAX_PARTICIPANTS, 1), (MAX_PARTICIPANTS + 1, 0)] {
        let large = Names(vec![one.clone(); people]);
        cache.forget_all();
        cache.confirm(at(0));
        cache.names(room(1), at(0), |_| (), |()| true, async { Ok(Some(large)) }).await.unwrap();
        assert_eq!(cache.chats.len(), kept);
    }
}

#[tokio::test]
async fn missing_values_are_not_cached() {
    let cache = followed();
    let asked = AtomicU64::default();
    for _ in 0..3 {
        let reading = async {
            asked.fetch_add(1, Ordering::Relaxed);
            Ok(None)
        };
        assert_eq!(cache.key(digest(9), at(0), reading).await.unwrap(), None);
    }
    assert_eq!((asked.into_inner(), cache.keys.len()), (3, 0));
    let failed = async { Err(StoreError::Unavailable("away".into())) };
    assert!(cache.key(digest(9), at(0), failed).await.is_err());
    assert_eq!(cache.keys.len(), 0);
}

/// However many callers there are, the cache is bounded, and the newest are in it.
#[tokio::test]
async fn the_cache_is_bounded() {
    let cache = followed();
    for number in 0..MAX_CALLERS * 2 {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&number.to_be_bytes());
        let key = StoredKey { digest: KeyDigest::new(bytes), ..key(1, 1, false) };
        cache.key(key.digest, at(0), async { Ok(Some(key)) }).await.unwrap();
    }
    assert!(cache.keys.len() <= MAX_CALLERS && cache.keys.len() > MAX_CALLERS / 4, "{}", cache.keys.len());
}

/// A recorded use counts, so that it is not recorded with every request.
#[tokio::test]
async fn the_last_use_is_the_one_that_was_noted() {
    let cache = followed();
    let one = key(1, 1, false);
    let known = async || cache.key(one.digest, at(1), async { Ok(Some(one)) }).await.unwrap().unwrap();
    assert_eq!(known().await.last_used_at, None);
    cache.used(one.digest, at(500));
    cache.used(one.digest, at(400));
    assert_eq!(known().await.last_used_at, Some(at(500)));
    cache.used(digest(99), at(500));
}

/// Collects events, and whether the cache still had the entry before each.
struct Watching {
    cache: Arc<CallerCache>,
    seen: Mutex<Vec<usize>>,
}

impl EventPublisher for Watching {
    fn publish(&self, _: DomainEvent) {
        self.seen.lock().unwrap().push(self.cache.agents.len());
    }

    fn has_human_subscribers(&self, _: ChatId) -> bool {
        false
    }
}

#[tokio::test]
async fn own_changes_invalidate_before_they_are_published() {
    let cache = Arc::new(followed());
    let next = Arc::new(Watching { cache: cache.clone(), seen: Mutex::default() });
    let publisher = CacheInvalidation::new(cache.clone(), next.clone());
    read(&cache, at(0)).await;
    publisher.publish(DomainEvent::MessageDeleted { chat_id: ChatId::new(id(1)), id: MessageId::new(id(2)) });
    publisher.publish(DomainEvent::AgentUpdated { agent: record(11) });
    assert_eq!(*next.seen.lock().unwrap(), [2, 1]);
    assert_eq!(cache.chats.len(), 1, "the agent is called something else there");
    publisher.publish(DomainEvent::RoomDeleted { chat_id: room(2) });
    assert_eq!(cache.chats.len(), 0);
    assert!(!publisher.has_human_subscribers(ChatId::new(id(1))), "what is heard is asked of the next");
}

#[test]
fn events_tell_the_changes_that_they_stand_for() {
    let bot = record(11);
    let key = ApiKeyId::new(id(1));
    let (user, password_set_at) = (user(1), at(0));
    for (event, change) in [
        (DomainEvent::KeyRevoked { key }, Some(Change::KeyRevoked(key))),
        (DomainEvent::AgentDeleted { agent: bot.clone() }, Some(Change::AgentDeleted(bot.id))),
        (DomainEvent::AgentUpdated { agent: bot.clone() }, Some(Change::AgentUpdated(bot.id))),
        (DomainEvent::AgentCreated { agent: bot }, None),
        (
            DomainEvent::TokensEnded { user, password_set_at },
            Some(Change::TokensEnded { user, password_set_at }),
        ),
        (DomainEvent::SessionEnded { session: session(1) }, Some(Change::SessionEnded(session(1)))),
        (DomainEvent::UserMoved { user }, Some(Change::UserMoved(user))),
    ] {
        assert_eq!(change_of(&event), change, "{event:?}");
    }
}
