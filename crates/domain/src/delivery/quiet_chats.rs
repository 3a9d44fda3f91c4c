//! Chats in which a search for redelivery would find nothing, so that none is made.
//!
//! If nothing was found for any listener of a chat, nothing is found until a message is written there, an agent joins, or
//! work is retried or resumed. To learn whether a message was written takes one row per chat; a search takes two reads
//! of an index per listener. Whatever is known of a chat, it is searched once in [`SWEEP`] rounds.

use std::collections::HashMap;

use super::redelivery::{Listening, SubscriptionId};
use crate::id::{ChatId, Sequence};

/// The number of rounds in which each chat is searched at least once: a minute, if nothing else is configured.
const SWEEP: u128 = 24;

/// What the last round found, and this one.
#[derive(Debug, Default)]
pub(super) struct QuietChats {
    /// The chats in which the last round found nothing.
    known: HashMap<ChatId, Met>,
    met: HashMap<ChatId, Met>,
    round: u128,
}

/// A chat with listeners.
#[derive(Debug, Default)]
struct Met {
    /// The newest message before the search.
    last: Option<Sequence>,
    newest: SubscriptionId,
    /// Set if something may be left to push.
    is_busy: bool,
}

impl QuietChats {
    /// Makes the next round search this chat.
    pub(super) fn wake(&mut self, chat: ChatId) {
        self.known.remove(&chat);
    }

    /// Makes the next round search every chat.
    pub(super) fn wake_all(&mut self) {
        self.known.clear();
    }

    /// Returns whether this listener need not be searched for, where `last` is the chat's newest message.
    pub(super) fn contain(&mut self, listening: &Listening, last: Option<Sequence>) -> bool {
        let Listening { chat, subscription, .. } = *listening;
        let met = self.met.entry(chat).or_default();
        met.last = last;
        met.newest = met.newest.max(subscription);
        let is_swept = chat.uuid().as_u128() % SWEEP == self.round % SWEEP;
        !is_swept
            && self.known.get(&chat).is_some_and(|known| known.last == last && subscription <= known.newest)
    }

    /// Records that something in this chat is left to push, or may be.
    pub(super) fn busy(&mut self, chat: ChatId) {
        self.met.entry(chat).or_default().is_busy = true;
    }

    /// Ends the round.
    pub(super) fn end_round(&mut self) {
        self.known = std::mem::take(&mut self.met);
        self.known.retain(|_, met| !met.is_busy && met.last.is_some());
        self.round += 1;
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::id::AgentId;
    use crate::time::Timestamp;

    const CHAT: ChatId = ChatId::new(Uuid::from_u128(5));

    fn listener(subscription: u64) -> Listening {
        Listening {
            subscription: SubscriptionId::new(subscription),
            agent: AgentId::new(Uuid::from_u128(1)),
            chat: CHAT,
            since: Sequence::default(),
            joined_at: Timestamp::from_micros(0),
        }
    }

    /// One round with these listeners; returns those that are searched.
    fn round(chats: &mut QuietChats, subscriptions: &[u64], last: Option<i64>) -> Vec<u64> {
        let last = last.map(Sequence::new);
        let searched = subscriptions.iter().copied().filter(|one| !chats.contain(&listener(*one), last));
        let searched = searched.collect();
        chats.end_round();
        searched
    }

    #[test]
    fn a_chat_is_searched_again_when_something_has_happened_in_it() {
        let mut chats = QuietChats::default();
        assert_eq!(round(&mut chats, &[1, 2], Some(7)), [1, 2], "nothing is known");
        assert_eq!(round(&mut chats, &[1, 2], Some(7)), [0; 0]);
        assert_eq!(round(&mut chats, &[1, 2, 3], Some(7)), [3], "an agent has joined");
        assert_eq!(round(&mut chats, &[1, 2, 3], Some(8)), [1, 2, 3], "a message was written");
        assert_eq!(round(&mut chats, &[1, 2, 3], Some(8)), [0; 0]);
    }

    #[test]
    fn a_chat_is_searched_while_something_is_left_in_it() {
        let mut chats = QuietChats::default();
        chats.busy(CHAT);
        assert_eq!(round(&mut chats, &[1, 2], Some(7)), [1, 2]);
        assert_eq!(round(&mut chats, &[1, 2], Some(7)), [1, 2]);
        assert_eq!(round(&mut chats, &[1, 2], Some(7)), [0; 0]);
        chats.wake(CHAT);
        assert_eq!(round(&mut chats, &[1, 2], Some(7)), [1, 2], "work was retried");
    }

    #[test]
    fn what_the_store_does_not_say_is_not_known() {
        let mut chats = QuietChats::default();
        assert_eq!(round(&mut chats, &[1], None), [1]);
        assert_eq!(round(&mut chats, &[1], None), [1]);
        assert_eq!(round(&mut chats, &[], None), [0; 0]);
        assert!(chats.known.is_empty() && chats.met.is_empty(), "chats without listeners take no memory");
    }

    #[test]
    fn every_chat_is_searched_now_and_then() {
        let mut chats = QuietChats::default();
        let searched = (0..3 * SWEEP).filter(|_| !round(&mut chats, &[1], Some(7)).is_empty());
        assert_eq!(searched.collect::<Vec<_>>(), [0, 5, 29, 53]);
    }
}
