//! The pair rule of the loop guard, for clients that open no attempts.
//!
//! A text without a known cause begins a tree, so hops do not show that two such clients reply to each other endlessly.
//! When two agents of a chat have sent each other too many of these texts within [`PAIR_WINDOW`], the next ones between
//! them are held for the same time, and the humans of the chat get an event. After a release, the two may send as many
//! texts within that time again.
//!
//! Like the texts of a tree, they are not counted in the store with each text ([`super::guard`]).

use std::time::Duration;

use super::cause::Cause;
use super::guard::Counts;
use super::model::Message;
use super::port::Appended;
use super::service::MessageService;
use crate::id::{AgentId, ChatId, MessageId, SubjectId};
use crate::time::Timestamp;

/// The time within which the texts of two agents are counted, and for which the next ones are held.
pub const PAIR_WINDOW: Duration = Duration::from_secs(600);

/// The largest number of texts without a known cause that two agents of a chat may send each other within
/// [`PAIR_WINDOW`]: at most 10,000, and no limit if it is 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MaxPairMessages(u32);

impl MaxPairMessages {
    /// The largest number.
    pub const MAX: u32 = 10_000;

    /// `None` if it is more than [`Self::MAX`].
    pub const fn new(number: u32) -> Option<Self> {
        if number > Self::MAX { None } else { Some(Self(number)) }
    }

    /// The number itself; 0 for no limit.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Counts the texts of pairs. The true number is read after a quarter of the limit, and often enough for an
    /// organization with a stricter one: honest agents send fewer texts within the time.
    pub(super) fn counts(self) -> Counts {
        Counts::new(if self.0 == 0 { 50 } else { (self.0 / 4).clamp(1, 50) }, PAIR_WINDOW)
    }
}

impl Default for MaxPairMessages {
    /// 200, one every three seconds.
    fn default() -> Self {
        Self(200)
    }
}

/// Two agents of a chat.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pair {
    /// The chat.
    pub chat: ChatId,
    /// The agents, in any order.
    pub agents: [AgentId; 2],
}

impl Pair {
    /// What its holds are recorded for.
    pub const fn subject(&self) -> SubjectId {
        SubjectId::of_pair(self.chat, self.agents)
    }
}

/// The check of the number of texts of a pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CheckPair {
    /// The agents.
    pub pair: Pair,
    /// The newest text between them.
    pub message: MessageId,
    /// Its time.
    pub now: Timestamp,
    /// The limit of organizations that have none of their own.
    pub server: MaxPairMessages,
}

impl CheckPair {
    /// The limit; `None` if there is none.
    pub fn limit(&self, organization: Option<MaxPairMessages>) -> Option<u32> {
        Some(organization.unwrap_or(self.server).get()).filter(|limit| *limit > 0)
    }

    /// Returns whether a pair that may send `bound` has sent too many: this number by each of the agents. An agent that
    /// gets hardly any reply is not in a loop.
    pub fn is_over(bound: u32, by_one: u32, by_other: u32) -> bool {
        by_one.saturating_add(by_other) > bound && !Self::is_below(bound, by_one.min(by_other))
    }

    /// Returns whether one agent has sent so little that there are not too many, whatever the other has sent.
    pub const fn is_below(bound: u32, by_one: u32) -> bool {
        by_one <= bound / 4
    }

    /// The time before which texts do not count.
    pub fn since(&self) -> Timestamp {
        pair_since(self.now)
    }
}

/// The earliest time that is within [`PAIR_WINDOW`]: a hold from before does not hold a text of `now`.
pub fn pair_since(now: Timestamp) -> Timestamp {
    now.minus(PAIR_WINDOW)
}

impl Message {
    /// The pairs between which it is a text without a known cause.
    pub fn pairs(&self) -> impl Iterator<Item = Pair> {
        let sender = self.sender.agent().filter(|_| !matches!(self.cause, Cause::Known(_)));
        let chat = self.chat_id;
        let pair = move |sender, to| Pair { chat, agents: [sender, to] };
        sender.into_iter().flat_map(move |sender| {
            self.deliveries.iter().map(move |delivery| pair(sender, delivery.agent()))
        })
    }
}

impl Appended {
    /// Its [pairs](Message::pairs), if its deliveries may be held. On PostgreSQL, its cause may be found later.
    pub fn pairs(&self) -> impl Iterator<Item = Pair> {
        self.message.pairs().filter(move |_| self.hop_limit.is_some())
    }
}

impl MessageService {
    /// Counts a stored text of an agent, and checks periodically whether a pair has too many.
    pub(super) async fn count_in_pairs(&self, stored: &Message) {
        let (message, now, server) = (stored.id, stored.created_at, self.max_pair_messages);
        for pair in stored.pairs().filter(|pair| self.pairs.count(pair.subject(), now)) {
            // If it fails, the number is read after as many more texts.
            drop(self.messages.check_pair(CheckPair { pair, message, now, server }).await);
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_pair_is_the_same_in_both_orders() {
        let agent = |number| AgentId::new(Uuid::from_u128(number));
        let pair = |chat, one, other| {
            Pair { chat: ChatId::new(Uuid::from_u128(chat)), agents: [agent(one), agent(other)] }.subject()
        };
        assert_eq!(pair(1, 20, 300), pair(1, 300, 20));
        assert_ne!(pair(1, 20, 300), pair(2, 20, 300));
        assert_ne!(pair(1, 20, 300), pair(1, 20, 301));
        assert_ne!(pair(1, 20, 20), pair(1, 300, 300), "those that remind themselves");
    }

    #[test]
    fn both_agents_must_write() {
        for (bound, by_one, by_other, is_over) in [
            (200, 101, 100, true),
            (200, 100, 100, false),
            (200, 150, 51, true),
            (200, 500, 50, false),
            (1, 1, 1, true),
            (1, 2, 0, false),
        ] {
            assert_eq!(CheckPair::is_over(bound, by_one, by_other), is_over, "{bound} {by_one} {by_other}");
            assert_eq!(CheckPair::is_over(bound, by_other, by_one), is_over, "{bound} {by_other} {by_one}");
        }
    }

    #[test]
    fn an_organization_has_its_own_limit() {
        let limit = |number| MaxPairMessages::new(number).unwrap();
        let id = Uuid::nil();
        let pair = Pair { chat: ChatId::new(id), agents: [AgentId::new(id); 2] };
        let check = |server| CheckPair {
            pair,
            message: MessageId::new(id),
            now: Timestamp::from_micros(700_000_000),
            server: limit(server),
        };
        for (server, organization, found) in [
            (200, None, Some(200)),
            (0, None, None),
            (200, Some(0), None),
            (0, Some(5), Some(5)),
            (200, Some(500), Some(500)),
        ] {
            assert_eq!(check(server).limit(organization.map(limit)), found, "{server} {organization:?}");
        }
        assert_eq!(check(1).since(), Timestamp::from_micros(100_000_000));
        assert_eq!(MaxPairMessages::new(MaxPairMessages::MAX + 1), None);
    }
}
