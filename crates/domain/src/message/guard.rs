//! The loop guard: it stops agents that reply to each other endlessly.
//!
//! Each answer of an agent is a hop further from the message that began the tree, or from the last text of a human in
//! it. A text of an agent that is more hops away than allowed is stored and shown as every other, but its deliveries
//! are *held*: nothing is offered until a human releases it. So is every text of an agent in a tree that has too many
//! texts. The humans of the chat get one event for each tree and limit. After a release, the tree may grow by as many
//! hops, or texts, again. Texts of humans are never held.
//!
//! A text with an ambiguous cause begins a tree of its own, with the largest hop that it could have. Its hold is recorded
//! for the chat, so that the humans do not get an event for each such text. A release counts for all of them in the chat.
//!
//! The messages of a tree are not counted with each one: every process counts those that it has stored, and reads the
//! true number each time that these are a sixteenth of the limit.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::append::ChatState;
use super::cause::Cause;
use super::model::Message;
use super::pair::pair_since;
use super::port::{Appended, NewMessage};
use super::service::MessageService;
use crate::chat::Participant;
use crate::delivery::{Delivery, HeldBy};
use crate::event::DomainEvent;
use crate::id::{AgentId, ChatId, MessageId, ParticipantId, SubjectId};
use crate::store::{OnCommit, StoreError};
use crate::time::Timestamp;

/// The usual number of messages that may follow from one.
pub const MAX_TREE_MESSAGES: u32 = 10_000;

/// The number of holds that a step notices.
const STEP: u32 = 100;

/// The largest number of hops from the root of a tree at which a text of an agent is offered: at most 1,000,000, and
/// no limit if it is 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MaxHops(u32);

impl MaxHops {
    /// The largest number.
    pub const MAX: u32 = 1_000_000;

    /// No limit.
    pub const OFF: Self = Self(0);

    /// `None` if it is more than [`Self::MAX`].
    pub const fn new(number: u32) -> Option<Self> {
        if number > Self::MAX { None } else { Some(Self(number)) }
    }

    /// The number itself; 0 for no limit.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The limit that is in force in a chat; `None` without one. That of the organization replaces that of the server;
    /// the chat may have a stricter one.
    fn in_force(server: Self, organization: Option<Self>, chat: Option<Self>) -> Option<u32> {
        let limits = [Some(organization.unwrap_or(server)), chat];
        limits.into_iter().flatten().map(Self::get).filter(|limit| *limit > 0).min()
    }
}

impl Default for MaxHops {
    /// 64, far beyond honest work.
    fn default() -> Self {
        Self(64)
    }
}

impl ChatState {
    /// The number of hops above which the deliveries of a message are held; `None` if no limit holds them.
    pub(super) fn hop_limit(&self, new: &NewMessage) -> Option<u32> {
        let is_addressed = new.mentions.iter().any(|mention| mention.addressed_agent().is_some());
        if new.sender.agent().is_none() || !is_addressed {
            return None;
        }
        let limit = MaxHops::in_force(new.max_hops, self.organization_max_hops, self.max_hops);
        Some(limit.unwrap_or(u32::MAX))
    }
}

impl Appended {
    /// What limits its deliveries, if they may be held.
    pub const fn guarded(&self) -> Option<Guarded> {
        let Some(max_hops) = self.hop_limit else { return None };
        Some(Guarded { hop: self.message.place().hop, max_hops })
    }

    /// The subjects of the holds that may apply to it, of pairs only if some in its chat may be held.
    pub fn hold_subjects(&self, has_held_pairs: bool) -> Vec<SubjectId> {
        let own =
            self.hop_limit.filter(|_| !self.message.cause.is_none()).map(|_| self.message.hold_subject());
        let pairs = self.pairs().filter(|_| has_held_pairs);
        own.into_iter().chain(pairs.map(|pair| pair.subject())).collect()
    }

    /// Holds those of its deliveries that are not held yet, and for whose agent `held_by` returns a limit.
    pub fn hold(&mut self, held_by: impl Fn(AgentId) -> Option<HeldBy>) {
        let now = self.message.created_at;
        let new = std::mem::take(&mut self.message.deliveries).into_iter();
        let hold = |delivery: Delivery| match held_by(delivery.agent()) {
            Some(by) if delivery.held_by().is_none() => delivery.held(by, now),
            _ => delivery,
        };
        self.message.deliveries = new.map(hold).collect();
        self.recipients.retain(|agent| held_by(*agent).is_none());
    }
}

impl Message {
    /// What a hold of its deliveries is recorded for because of its originator.
    pub const fn origin_subject(&self) -> SubjectId {
        SubjectId::of_originator(self.chat_id, self.place().originator)
    }

    /// What a hold of its deliveries is recorded for that is not one of a pair or an originator: its tree, or its chat
    /// if its cause is ambiguous.
    pub const fn hold_subject(&self) -> SubjectId {
        SubjectId::new(match self.cause {
            Cause::Ambiguous { .. } => self.chat_id.uuid(),
            Cause::None | Cause::Known(_) => self.place().root.uuid(),
        })
    }
}

/// What limits a text of an agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Guarded {
    /// Its hop.
    pub hop: u32,
    /// The largest that is offered.
    pub max_hops: u32,
}

/// What is known about the limits that a tree has reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TreeHolds {
    /// The hops that releases allow.
    pub allowed_hops: Option<u32>,
    /// Set if the tree has too many messages.
    pub is_full: bool,
    /// Set if two agents have sent each other too many texts.
    pub is_of_held_pair: bool,
}

impl TreeHolds {
    /// Adds a hold that may count for a message of `now`: what releases allow, and since when something is held.
    pub fn add(&mut self, by: HeldBy, allowed: Option<u32>, held_at: Option<Timestamp>, now: Timestamp) {
        match by {
            HeldBy::MaxHops => self.allowed_hops = allowed,
            HeldBy::MaxTreeMessages => self.is_full = held_at.is_some(),
            HeldBy::MaxPairMessages => self.is_of_held_pair |= held_at.is_some_and(|at| at > pair_since(now)),
            // The others hold single deliveries: `ForeignPolicy` and `ExceededBudgets` know them.
            _ => {}
        }
    }

    /// The limit that holds a message.
    pub fn decide(self, guarded: Guarded) -> Option<HeldBy> {
        let Guarded { hop, max_hops } = guarded;
        if hop > max_hops && self.allowed_hops.is_none_or(|allowed| hop > allowed) {
            return Some(HeldBy::MaxHops);
        }
        if self.is_full {
            return Some(HeldBy::MaxTreeMessages);
        }
        self.is_of_held_pair.then_some(HeldBy::MaxPairMessages)
    }
}

/// The end of a hold of deliveries: somebody changed one of them. One because of an originator ends without a trace:
/// the next delivery is held again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EndedHold {
    /// The limit.
    pub by: HeldBy,
    /// Set if the tree, pair, or chat may grow by as many hops, or messages, again. If not, the next hold posts another
    /// event.
    pub is_released: bool,
}

impl EndedHold {
    /// Returns whether only the operator and users of the organization of the chat end it; if not, everybody does who
    /// may change the delivery.
    pub fn is_of_chat(self) -> bool {
        self.by != HeldBy::Foreign
    }
}

/// The check of the number of texts of a tree. Events do not count, since they ask nobody.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CheckTree {
    /// Its root.
    pub root: MessageId,
    /// The limit.
    pub limit: u32,
    /// The chat of a message of the tree.
    pub chat: ChatId,
    /// This message.
    pub message: MessageId,
    /// The current time.
    pub now: Timestamp,
}

impl CheckTree {
    /// The largest number of messages, of which releases allow `allowed`.
    pub fn bound(&self, allowed: Option<u32>) -> u32 {
        self.limit.max(allowed.unwrap_or(0))
    }
}

/// The messages of trees, or of pairs, that this process has stored since it last read their true number.
#[derive(Debug)]
pub(super) struct Counts {
    /// The number of messages after which the true number is read.
    step: u32,
    /// The time after which a count restarts.
    window: Duration,
    /// The numbers, and since when they are counted.
    stored: Mutex<HashMap<SubjectId, (u32, Timestamp)>>,
}

/// The largest number of trees, or pairs, of which a process counts the messages. Beyond it, all counts restart.
const COUNTED: usize = 10_000;

impl Counts {
    pub(super) fn new(step: u32, window: Duration) -> Self {
        Self { step, window, stored: Mutex::default() }
    }

    /// Counts a message that was stored now; returns whether the true number is to be read.
    pub(super) fn count(&self, subject: SubjectId, now: Timestamp) -> bool {
        let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        if stored.len() >= COUNTED && !stored.contains_key(&subject) {
            stored.clear();
        }
        let (number, since) = stored.entry(subject).or_insert((0, now));
        if *since < now.minus(self.window) {
            (*number, *since) = (0, now);
        }
        *number += 1;
        let is_due = *number >= self.step;
        if is_due {
            stored.remove(&subject);
        }
        is_due
    }
}

/// Counts the messages of trees with this limit.
pub(super) fn tree_counts(limit: u32) -> Counts {
    Counts::new((limit / 16).max(1), Duration::MAX)
}

/// Something that is held, and that the humans of the chat were not told of yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DueHold {
    /// See [`Message::hold_subject`].
    pub subject: SubjectId,
    /// The limit.
    pub held_by: HeldBy,
    /// The value of the limit.
    pub bound: u64,
    /// Set for a budget that is only nearly used up: nothing is held.
    pub is_warning: bool,
    /// The chat of the first message that is held, or of the last one that a budget counts.
    pub chat: ChatId,
    /// This message.
    pub message: MessageId,
}

/// Telling the humans of a chat that something is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoticeHold {
    /// What is held.
    pub due: DueHold,
    /// The id of the event.
    pub event: MessageId,
    /// The current time.
    pub now: Timestamp,
}

/// The result of telling the humans.
#[derive(Clone, PartialEq, Debug)]
pub enum NoticeOutcome {
    /// This event was posted.
    Posted(Box<Message>),
    /// There was nothing to post: the message or its chat was deleted, or nobody is left who would read the event.
    Settled,
    /// The humans have been told before, or what was held has been released.
    Gone,
}

impl NoticeHold {
    /// The event to be posted, if anybody would read it. Pure; the stores call this on the message, and on the
    /// participants of its chat, oldest first.
    pub fn event(&self, held: &Message, participants: &[Participant]) -> Option<NewMessage> {
        let sender = notifier(held.sender, participants)?;
        let by = self.due.held_by;
        if let Some(budget) = by.budget() {
            let (content, metadata) = self.due.about_budget(budget, held);
            return Some(self.posted(held, sender, content, metadata));
        }
        // The others hold all deliveries.
        let is_meant = |agent: AgentId| {
            let of = held.deliveries.iter().find(|delivery| delivery.agent() == agent);
            by != HeldBy::Foreign || of.is_some_and(|delivery| delivery.held_by() == Some(by))
        };
        let agents = held.deliveries.iter().map(Delivery::agent).filter(|agent| is_meant(*agent));
        let agents = agents.map(|agent| agent.to_string()).collect::<Vec<_>>();
        let metadata = json!({
            "kind": "failure",
            "blocking": true,
            "message_id": held.id.to_string(),
            "root_id": held.place().root.to_string(),
            "held_by": by.as_str(),
            "agents": agents,
        });
        let to = held.mentions.iter().filter(|mention| mention.addressed_agent().is_some_and(is_meant));
        let handles =
            held.sender_handle.as_deref().into_iter().chain(to.map(|mention| mention.handle.as_str()));
        let handles = handles.map(|handle| format!("@{handle}")).collect::<Vec<_>>().join(", ");
        let (bound, until) =
            (self.due.bound, "until the owner of the addressed agent or an admin retries it");
        let content = match by {
            HeldBy::MaxTreeMessages => format!(
                "Agents have written more than {bound} messages that follow from one message, the last one by: {handles}. \
                 What they go on to write there is stored, but not delivered {until}."
            ),
            HeldBy::Foreign => format!(
                "A message follows from one of another organization: {handles}. It is stored, and so is what else follows \
                 from messages of the same person or agent here, but not delivered {until}."
            ),
            HeldBy::MaxHops => format!(
                "Agents may be replying to each other endlessly: {handles}. More than {bound} messages have followed \
                 from one another. What they go on to write is stored, but not delivered {until}."
            ),
            HeldBy::MaxPairMessages => format!(
                "Agents may be replying to each other endlessly: {handles}. Two of them have sent each other more than \
                 {bound} messages within ten minutes. What they write to each other in the next ten minutes is stored, \
                 but not delivered {until}."
            ),
            // Budgets are told of above.
            _ => return None,
        };
        Some(self.posted(held, sender, content, metadata))
    }

    fn posted(&self, held: &Message, sender: &Participant, content: String, metadata: Value) -> NewMessage {
        NewMessage::notice(self.event, held, sender, content, &metadata, self.now)
    }
}

/// The participant in whose name the server posts an event about a message of `sender`: the sender; if it has left,
/// the human with the highest role, who joined first.
pub(super) fn notifier(sender: ParticipantId, participants: &[Participant]) -> Option<&Participant> {
    let humans = participants.iter().filter(|participant| participant.id.user().is_some());
    let sender = participants.iter().find(|participant| participant.id == sender);
    // Without a human in the chat, nobody would read it.
    sender.or_else(|| humans.min_by_key(|human| Reverse(human.role)))
}

impl MessageService {
    /// Counts a stored text of a tree, and checks periodically whether the tree has too many.
    pub(super) async fn count_in_tree(&self, stored: &Message) {
        let (limit, Cause::Known(place)) = (self.max_tree_messages, stored.cause) else { return };
        let (root, subject) = (place.root, stored.hold_subject());
        if limit == 0 || !self.trees.count(subject, stored.created_at) {
            return;
        }
        let (chat, message, now) = (stored.chat_id, stored.id, stored.created_at);
        // If it fails, the number is read after as many more texts.
        drop(self.messages.check_tree(CheckTree { root, limit, chat, message, now }).await);
    }

    /// Tells the humans of chats what is held, if they were not told yet. Several processes may do so at the same
    /// time. Returns what failed, after the rest is done.
    pub async fn notice_holds(&self) -> Result<(), StoreError> {
        let now = self.clock.now();
        let mut failed = None;
        for due in self.messages.due_holds(STEP).await? {
            let event = MessageId::new(self.ids.generate(now));
            let (events, budgets) = (self.events.clone(), self.budgets.clone());
            let on_commit = OnCommit::new(move |outcome: &NoticeOutcome| {
                if due.held_by.budget().is_some() && *outcome != NoticeOutcome::Gone {
                    budgets.count_event(due.is_warning);
                }
                if let NoticeOutcome::Posted(message) = outcome {
                    events.publish(DomainEvent::EventCreated { message: (**message).clone() });
                }
            });
            if let Err(error) = self.messages.notice_hold(NoticeHold { due, event, now }, on_commit).await {
                failed = Some(error);
            }
        }
        failed.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chat_is_at_most_as_free_as_its_organization() {
        let (hops, off) = (|number| MaxHops::new(number).unwrap(), Some(MaxHops::OFF));
        for (server, organization, chat, limit) in [
            (64, None, None, Some(64)),
            (0, None, None, None),
            (64, Some(hops(100)), None, Some(100)),
            (64, off, None, None),
            (64, None, Some(hops(10)), Some(10)),
            (64, None, Some(hops(100)), Some(64)),
            (64, off, Some(hops(100)), Some(100)),
            (0, Some(hops(8)), Some(hops(9)), Some(8)),
        ] {
            let found = MaxHops::in_force(hops(server), organization, chat);
            assert_eq!(found, limit, "{server} {organization:?} {chat:?}");
        }
        assert_eq!(MaxHops::new(MaxHops::MAX + 1), None);
    }

    #[test]
    fn a_release_allows_more_hops_and_a_full_tree_holds_all() {
        let (hops, full) = (Some(HeldBy::MaxHops), Some(HeldBy::MaxTreeMessages));
        for (hop, max_hops, allowed_hops, is_full, held_by) in [
            (0, 3, None, false, None),
            (3, 3, None, false, None),
            (4, 3, None, false, hops),
            (4, 3, Some(6), false, None),
            (7, 3, Some(6), false, hops),
            (7, 3, Some(6), true, hops),
            (1, 3, None, true, full),
            (1, u32::MAX, None, false, None),
        ] {
            let (guarded, mut holds) = (Guarded { hop, max_hops }, TreeHolds::default());
            let at = |seconds: i64| Timestamp::from_micros(seconds * 1_000_000);
            holds.add(HeldBy::MaxHops, allowed_hops, None, at(0));
            holds.add(HeldBy::MaxTreeMessages, Some(9), Some(at(0)).filter(|_| is_full), at(0));
            assert_eq!(holds.decide(guarded), held_by, "{hop} {max_hops} {allowed_hops:?} {is_full}");
            for (held_at, is_held) in [(None, false), (Some(at(400)), false), (Some(at(401)), true)] {
                let mut holds = holds;
                holds.add(HeldBy::MaxPairMessages, Some(9), held_at, at(1000));
                let by_pair = Some(HeldBy::MaxPairMessages).filter(|_| is_held);
                assert_eq!(holds.decide(guarded), held_by.or(by_pair), "{held_at:?}");
            }
        }
    }

    #[test]
    fn the_true_number_is_read_now_and_then() {
        let tree = |number| SubjectId::new(uuid::Uuid::from_u128(number));
        let (counts, now) = (tree_counts(64), Timestamp::from_micros(700_000_000));
        for _ in 0..2 {
            let read = (0..5).map(|_| counts.count(tree(1), now)).collect::<Vec<_>>();
            assert_eq!(read, [false, false, false, true, false], "then the count restarts");
            assert!((0..3).any(|_| counts.count(tree(1), now)));
        }
        assert!(!counts.count(tree(2), now));
        assert!(tree_counts(1).count(tree(1), now));
        let newest = Counts::new(2, Duration::from_secs(10));
        for (seconds, is_due) in [(0, false), (11, false), (21, true), (22, false)] {
            let at = Timestamp::from_micros(now.micros() + seconds * 1_000_000);
            assert_eq!(newest.count(tree(1), at), is_due, "{seconds}");
        }
    }
}
