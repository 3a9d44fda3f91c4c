//! Filters of a chat's history. Pure.

use super::model::MessageKind;
use crate::id::{MessageId, Sequence};
use crate::time::Timestamp;

/// A set of message kinds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Kinds(u8);

impl Kinds {
    /// Every kind.
    pub const ALL: Self = Self((1 << MessageKind::ALL.len()) - 1);

    /// No kind.
    pub const NONE: Self = Self(0);

    /// These kinds.
    pub fn of(kinds: &[MessageKind]) -> Self {
        kinds.iter().fold(Self::NONE, |set, kind| Self(set.0 | Self::bit(*kind)))
    }

    /// These kinds without those of `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns whether the set contains `kind`.
    pub fn contains(self, kind: MessageKind) -> bool {
        self.0 & Self::bit(kind) != 0
    }

    /// The kinds of the set, in the order of [`MessageKind::ALL`].
    pub fn iter(self) -> impl Iterator<Item = MessageKind> {
        MessageKind::ALL.into_iter().filter(move |kind| self.contains(*kind))
    }

    fn bit(kind: MessageKind) -> u8 {
        let index = MessageKind::ALL.iter().position(|known| *known == kind).unwrap_or(0);
        1 << index
    }
}

/// The number of messages of each kind that occurs in a chat of `all` messages, by the names of the
/// kinds. `events` are the numbers of the kinds other than text.
pub fn counts_by_kind(all: u64, mut events: Vec<(MessageKind, u64)>) -> Vec<(MessageKind, u64)> {
    let texts = all.saturating_sub(events.iter().map(|(_, count)| count).sum());
    if texts > 0 {
        events.push((MessageKind::Text, texts));
    }
    events.sort_unstable_by_key(|(kind, _)| kind.as_str());
    events
}

impl Default for Kinds {
    fn default() -> Self {
        Self::ALL
    }
}

/// The messages of a chat that a human requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HistoryFilter {
    /// Only these kinds.
    pub kinds: Kinds,
    /// Only messages stored after this time.
    pub since: Option<Timestamp>,
    /// Only the tree that this message began.
    pub root: Option<MessageId>,
    /// The oldest message first, instead of the newest.
    pub oldest_first: bool,
}

/// The position around which messages are listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Anchor {
    /// The messages after it, oldest first.
    After(MessageId),
    /// The messages before it, newest first.
    Before(MessageId),
    /// The message itself and both sides, newest first.
    Around(MessageId),
    /// As [`Self::Around`] the first message that was stored at this time or later, among those of the
    /// requested kinds; around the newest one if there is none.
    At(Timestamp),
    /// As [`Self::At`], but the first one with this sequence or a later one.
    From(Sequence),
}

/// The number of messages before and after an anchor that are shown, if there are `older` and
/// `newer` ones and `limit` for both sides together: half each, and one side gets what the other
/// does not use.
pub fn share(limit: usize, older: usize, newer: usize) -> (usize, usize) {
    let half = limit / 2;
    let newer_shown = newer.min(half.max(limit.saturating_sub(older)));
    (older.min(limit - newer_shown), newer_shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_kinds() {
        let some = Kinds::of(&[MessageKind::Thought, MessageKind::Text, MessageKind::Thought]);
        assert_eq!(some.iter().collect::<Vec<_>>(), [MessageKind::Text, MessageKind::Thought]);
        assert_eq!(Kinds::ALL.iter().count(), MessageKind::ALL.len());
        assert_eq!(Kinds::ALL, Kinds::of(&MessageKind::ALL));
        assert_eq!(Kinds::ALL.without(some).iter().count(), 5);
        assert!(!some.without(some).contains(MessageKind::Text));
        assert_eq!(some.without(some), Kinds::NONE);
    }

    #[test]
    fn texts_are_what_is_left_of_all_messages() {
        let events = vec![(MessageKind::Thought, 2), (MessageKind::Error, 1)];
        let (error, thought) = ((MessageKind::Error, 1), (MessageKind::Thought, 2));
        assert_eq!(counts_by_kind(10, events.clone()), [error, (MessageKind::Text, 7), thought]);
        assert_eq!(counts_by_kind(3, events), [error, thought], "a kind that does not occur is left out");
        assert_eq!(counts_by_kind(0, Vec::new()), []);
    }

    #[test]
    fn both_sides_of_an_anchor_share_the_limit() {
        // Limit, older, newer; shown of each.
        for (limit, older, newer, shown) in [
            (10, 100, 100, (5, 5)),
            (9, 100, 100, (5, 4)),
            (10, 100, 2, (8, 2)),
            (10, 3, 100, (3, 7)),
            (10, 3, 2, (3, 2)),
            (1, 100, 100, (1, 0)),
            (1, 0, 100, (0, 1)),
            (0, 5, 5, (0, 0)),
        ] {
            assert_eq!(share(limit, older, newer), shown, "{limit} {older} {newer}");
        }
    }
}
