//! Optimistic appends: a batch is decided on cached chats, and written by one statement that writes
//! nothing unless the cached versions are still current.
//!
//! Every change of a chat, of its participants, or of the number of its messages writes the row of
//! the chat. The version of that row (`xmin`, the transaction that last wrote it) therefore shows
//! whether anything has changed. Limits of the plan and pauses are stored elsewhere, so the statement
//! reads them itself. The only changes that it can miss are a membership that became active, which makes no
//! difference (an active sender stays active), and what a human has read, which no append depends on.
//!
//! Versions are only comparable within one database. The cache is cleared with the first new
//! connection, since a database that was restored or replaced by a standby may assign the numbers
//! of lost transactions again.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use domain::attention::AttentionEffect;
use domain::chat::MemberState;
use domain::id::{AgentId, ChatId};
use domain::message::{ChatState, NewMessage};
use tokio::time::Instant;
use uuid::Uuid;

use super::batch::{BatchChat, DecidedAppends, MemberKey, wanted};
use super::foreign;
use super::one_statement::ShortBatches;

/// The maximum size of the cache, in chats and memberships; about thirty megabytes.
const CAPACITY: usize = 200_000;

/// The longest age of an entry: a manual change of the tables takes effect within this time.
const MAX_AGE: Duration = Duration::from_secs(60);

/// The number of batches that avoid the optimistic path for a chat after a conflict: where several
/// servers write to a chat in turns, each conflict costs a round trip.
const BACKOFF_BATCHES: u8 = 8;

/// Chats as the last batch has left them, with their versions.
#[derive(Default)]
pub(super) struct VersionCache {
    chats: HashMap<ChatId, CachedChat>,
    /// The agents of organizations with the policy `hold`: the statement writes nothing that is addressed to them.
    holding: HashSet<AgentId>,
    /// Number of chats, memberships, and these agents.
    size: usize,
    /// Number of connections made when the first entry was stored.
    connections: u64,
    short: ShortBatches,
}

struct CachedChat {
    state: ChatState,
    version: String,
    members: HashMap<Uuid, MemberState>,
    read_at: Instant,
    /// The number of batches that still avoid the optimistic path.
    backoff: u8,
}

impl VersionCache {
    /// Decides the batch; `None` if the cache lacks what it needs, or if more than messages and deliveries
    /// must be written.
    pub(super) fn decide(&mut self, news: &[NewMessage], connections: u64) -> Option<DecidedAppends> {
        if self.connections != connections {
            *self = Self { connections, ..Self::default() };
        }
        // Only the other path knows the cause of a message before its deliveries are held by a budget.
        let of_chat = |chat: &ChatId| self.chats.get(chat).and_then(|chat| chat.state.organization);
        if news.iter().any(|new| {
            new.keyed.is_some()
                || !new.attachments.is_empty()
                || AttentionEffect::of(new).is_some()
                || new.may_be_over_budget(of_chat(&new.chat))
        }) {
            return None;
        }
        let mut addressed = foreign::addressed(news.iter().flat_map(|new| &new.mentions)).into_iter();
        if !self.holding.is_empty() && addressed.any(|agent| self.holding.contains(&AgentId::new(agent))) {
            return None;
        }
        for MemberKey { chat, .. } in wanted(news) {
            if self.chats.get(&chat).is_some_and(|chat| chat.read_at.elapsed() >= MAX_AGE) {
                self.evict(chat);
            }
        }
        if self.backs_off(news) {
            return None;
        }
        let (mut chats, mut members) = (HashMap::new(), HashMap::new());
        for key in wanted(news) {
            let chat = self.chats.get(&key.chat)?;
            members.insert(key, *chat.members.get(&key.who)?);
            chats.entry(key.chat).or_insert_with(|| BatchChat::at(chat.state.clone(), chat.version.clone()));
        }
        let mut decided = DecidedAppends::on(chats, members);
        for (index, new) in news.iter().enumerate() {
            let outcome = decided.decide(index, new);
            decided.outcomes.push(outcome);
        }
        if !decided.is_plain() {
            return None;
        }
        decided.statement = self.short.next(decided.outcomes.iter().flatten());
        Some(decided)
    }

    /// Records by which statement the batch was written.
    pub(super) fn record_statement(&mut self, decided: &DecidedAppends) {
        self.short.learn(decided.statement);
    }

    /// Returns whether the batch avoids the optimistic path because of a recent conflict in one of
    /// its chats.
    fn backs_off(&mut self, news: &[NewMessage]) -> bool {
        let chats = news.iter().map(|new| new.chat).collect::<HashSet<_>>();
        let mut backs_off = false;
        for chat in chats {
            if let Some(chat) = self.chats.get_mut(&chat).filter(|chat| chat.backoff > 0) {
                chat.backoff -= 1;
                backs_off = true;
            }
        }
        backs_off
    }

    /// Records that another transaction writes to one of the chats of the batch. Which one is
    /// unknown, so all of them back off.
    pub(super) fn record_conflict(&mut self, decided: &DecidedAppends) {
        for (id, _) in decided.written() {
            if let Some(chat) = self.chats.get_mut(&id) {
                chat.backoff = BACKOFF_BATCHES;
            }
        }
    }

    /// Stores the chats of a committed batch.
    pub(super) fn store(&mut self, decided: &DecidedAppends, connections: u64) {
        let Some(version) = decided.version.as_ref().filter(|_| self.connections == connections) else {
            return;
        };
        if self.size >= CAPACITY {
            self.clear();
        }
        for (id, chat) in decided.written() {
            if chat.state.plan.is_none() {
                self.store_chat(id, chat, version);
            } else {
                self.evict(id);
            }
        }
        for (MemberKey { chat, who }, state) in decided.members() {
            if let Some(chat) = self.chats.get_mut(&chat)
                && chat.version == *version
                && chat.members.insert(who, state).is_none()
            {
                self.size += 1;
            }
        }
        self.store_holding(decided);
    }

    /// Every batch that is not decided on cached chats has read this again for the agents that it addresses.
    fn store_holding(&mut self, decided: &DecidedAppends) {
        let messages = decided.outcomes.iter().flatten().map(|appended| &appended.message);
        let addressed = foreign::addressed(messages.flat_map(|message| &message.mentions));
        for agent in addressed.into_iter().map(AgentId::new) {
            if decided.holding.contains(agent) {
                self.size += usize::from(self.holding.insert(agent));
            } else {
                self.size -= usize::from(self.holding.remove(&agent));
            }
        }
    }

    /// The cached members stay valid if no other transaction has written in between.
    fn store_chat(&mut self, id: ChatId, chat: &BatchChat, version: &str) {
        let state = chat.state.clone();
        if let Some(known) = self.chats.get_mut(&id).filter(|known| known.version == chat.version) {
            known.state = state;
            version.clone_into(&mut known.version);
            return;
        }
        let backoff = self.chats.get(&id).map_or(0, |known| known.backoff);
        self.evict(id);
        let (version, members) = (version.to_owned(), HashMap::new());
        self.chats.insert(id, CachedChat { state, version, members, read_at: Instant::now(), backoff });
        self.size += 1;
    }

    fn evict(&mut self, id: ChatId) {
        if let Some(before) = self.chats.remove(&id) {
            self.size -= 1 + before.members.len();
        }
    }

    /// Drops all entries, as some may be wrong.
    pub(super) fn clear(&mut self) {
        self.chats.clear();
        self.holding.clear();
        self.size = 0;
    }
}

#[cfg(test)]
mod tests {
    use domain::chat::{Named, ParticipantStatus};
    use domain::foreign::ForeignPolicy;
    use domain::id::{MessageId, OrganizationId, ParticipantId, Sequence, UserId};
    use domain::idempotency::{Fingerprint, IdempotencyKey, IdempotentRequest, KeyedRequest, Operation};
    use domain::message::{ChatPlan, MaxHops, Mention, MentionKind, MessageKind};
    use domain::time::Timestamp;

    use super::*;

    const ROOM: ChatId = ChatId::new(Uuid::from_u128(1));
    const ANN: Uuid = Uuid::from_u128(2);

    fn state(awaits_title: bool) -> ChatState {
        ChatState {
            awaits_title,
            last_sequence: Sequence::new(4),
            deleted_messages: 0,
            newest: None,
            content_bytes: 0,
            texts: 0,
            is_paused: false,
            respond_within: None,
            max_hops: None,
            organization_max_hops: None,
            organization: None,
            foreign: ForeignPolicy::default(),
            plan: None,
        }
    }

    fn message(mentions: &[Uuid]) -> NewMessage {
        let mention = |id: &Uuid| Mention {
            id: ParticipantId::User(UserId::new(*id)),
            handle: String::new(),
            name: String::new(),
            kind: MentionKind::Mention,
        };
        let id = ParticipantId::User(UserId::new(ANN));
        let ann = Named { id, handle: "ann".to_owned(), name: "Ann".to_owned(), is_external: None };
        let (id, now) = (MessageId::new(Uuid::from_u128(9)), Timestamp::from_micros(100));
        let text = NewMessage::new(id, ROOM, ann, MessageKind::Text, "hello".to_owned(), now);
        NewMessage { mentions: mentions.iter().map(mention).collect(), max_hops: MaxHops::default(), ..text }
    }

    fn member(who: Uuid) -> MemberKey {
        MemberKey { chat: ROOM, who }
    }

    /// A batch with one message of Ann's, in a chat that was read in this version.
    fn committed(state: ChatState, read: &str, now: &str, status: ParticipantStatus) -> DecidedAppends {
        let chats = HashMap::from([(ROOM, BatchChat::at(state, read.to_owned()))]);
        let mut decided =
            DecidedAppends::on(chats, HashMap::from([(member(ANN), MemberState::playing(status))]));
        let outcome = decided.decide(0, &message(&[]));
        decided.outcomes.push(outcome);
        decided.version = Some(now.to_owned());
        decided
    }

    fn cached(state: ChatState, status: ParticipantStatus) -> VersionCache {
        let mut cache = VersionCache::default();
        assert!(cache.decide(&[message(&[])], 1).is_none(), "nothing is cached yet");
        cache.store(&committed(state, "7", "8", status), 1);
        cache
    }

    fn sequences(decided: Option<DecidedAppends>) -> Vec<i64> {
        let decided = decided.unwrap();
        let all = decided.outcomes.into_iter().map(|outcome| outcome.unwrap().message.sequence.get());
        all.collect()
    }

    #[test]
    fn a_chat_is_cached_as_the_batch_left_it() {
        let mut cache = cached(state(true), ParticipantStatus::Inactive);
        // The first message has given the title and made its sender active.
        assert_eq!(sequences(cache.decide(&[message(&[]), message(&[])], 1)), [6, 7]);
        assert_eq!(sequences(cache.decide(&[message(&[])], 1)), [6], "what is only decided is not cached");
    }

    #[test]
    fn what_is_not_known_is_not_decided() {
        let known = || cached(state(false), ParticipantStatus::Active);
        assert!(known().decide(&[message(&[])], 1).is_some());
        assert!(known().decide(&[message(&[Uuid::from_u128(3)])], 1).is_none(), "whom it mentions");
        let elsewhere = NewMessage { chat: ChatId::new(Uuid::from_u128(5)), ..message(&[]) };
        assert!(known().decide(&[message(&[]), elsewhere], 1).is_none(), "another chat");
        let once = IdempotentRequest {
            key: IdempotencyKey::new("once").unwrap(),
            fingerprint: Fingerprint::new([1; 32]),
        };
        let sender = message(&[]).sender;
        let keyed = KeyedRequest::of(sender, Operation::SendMessage, None, Some(once));
        let keyed = NewMessage { keyed, ..message(&[]) };
        assert!(known().decide(&[keyed], 1).is_none(), "whether it was sent before");
        assert!(known().decide(&[message(&[])], 2).is_none(), "another connection");
        let mut forgotten = known();
        forgotten.clear();
        assert!(forgotten.decide(&[message(&[])], 1).is_none());
    }

    #[test]
    fn a_plan_that_limits_is_asked_for_each_time() {
        let (name, messages) = ("small".to_owned(), Some(9));
        let plan = Some(ChatPlan { name, messages, bytes: None, organization_bytes: 0 });
        let limited = ChatState { plan, ..state(false) };
        assert!(cached(limited, ParticipantStatus::Active).decide(&[message(&[])], 1).is_none());
    }

    /// Another transaction has written the chat in between, and may have removed participants.
    #[test]
    fn cached_members_are_dropped_when_the_version_changes() {
        let mut known = cached(state(false), ParticipantStatus::Active);
        let mut other = committed(state(false), "10", "11", ParticipantStatus::Active);
        let ben = Uuid::from_u128(3);
        other.members = HashMap::from([(member(ben), MemberState::playing(ParticipantStatus::Active))]);
        known.store(&other, 1);
        assert!(known.decide(&[message(&[])], 1).is_none());
        let mut same = cached(state(false), ParticipantStatus::Active);
        let mut next = committed(state(false), "8", "9", ParticipantStatus::Active);
        next.members = HashMap::from([(member(ben), MemberState::playing(ParticipantStatus::Active))]);
        same.store(&next, 1);
        assert!(same.decide(&[message(&[ben])], 1).is_some());
        assert_eq!(same.size, 3);
    }

    /// Its chat is cached all the same, for what is addressed to others.
    #[test]
    fn what_is_addressed_to_an_agent_that_has_it_held_is_not_decided_here() {
        let bot = Uuid::from_u128(3);
        let mut asked = message(&[bot]);
        asked.mentions[0].id = ParticipantId::Agent(AgentId::new(bot));
        let mut known = cached(state(false), ParticipantStatus::Active);
        let store = |known: &mut VersionCache, holding: &[Uuid], read: &str, now: &str| {
            let mut other = committed(state(false), read, now, ParticipantStatus::Active);
            other.members.insert(member(bot), MemberState::playing(ParticipantStatus::Active));
            let outcome = other.decide(0, &asked);
            other.outcomes = vec![outcome];
            let own = OrganizationId::new(Uuid::from_u128(4));
            other.holding.foreign = holding.iter().map(|agent| (AgentId::new(*agent), own)).collect();
            known.store(&other, 1);
        };
        store(&mut known, &[bot], "8", "9");
        assert!(known.decide(std::slice::from_ref(&asked), 1).is_none());
        assert!(known.decide(&[message(&[])], 1).is_some());
        assert_eq!(known.size, 4);
        store(&mut known, &[], "9", "10");
        assert!(known.decide(std::slice::from_ref(&asked), 1).is_some());
        assert_eq!(known.size, 3);
    }

    /// Another server writes to the same chat: one batch in nine detects it again.
    #[test]
    fn a_chat_with_a_conflict_avoids_the_optimistic_path_for_a_while() {
        let mut known = cached(state(false), ParticipantStatus::Active);
        let decided = known.decide(&[message(&[])], 1).unwrap();
        known.record_conflict(&decided);
        for turn in 0..BACKOFF_BATCHES {
            assert!(known.decide(&[message(&[])], 1).is_none(), "batch {turn}");
            let (read, now) = (format!("{turn} elsewhere"), format!("{turn} here"));
            known.store(&committed(state(false), &read, &now, ParticipantStatus::Active), 1);
        }
        assert!(known.decide(&[message(&[])], 1).is_some());
    }

    #[test]
    fn nothing_is_remembered_for_long() {
        let mut known = cached(state(false), ParticipantStatus::Active);
        known.chats.get_mut(&ROOM).unwrap().read_at -= MAX_AGE;
        assert!(known.decide(&[message(&[])], 1).is_none());
        // The regular path has read it again, in the same version.
        known.store(&committed(state(false), "8", "9", ParticipantStatus::Active), 1);
        assert!(known.decide(&[message(&[])], 1).is_some());
        assert_eq!(known.size, 2);
    }
}
