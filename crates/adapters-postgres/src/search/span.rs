//! Spans of time, in which a search looks one after the other. Pure.
//!
//! A search begins with a short span that ends where it begins, and goes on with longer and longer ones, so that few looks
//! reach the oldest message. If a span has too many candidates, it goes on with a shorter one.

use domain::search::{SearchKey, SearchPlace};

/// The length of spans, as powers of two, in places: from about a minute to more than two years.
const LEVELS: [u32; 6] = [37, 41, 45, 49, 53, 57];

/// The keys of the spans of a place.
pub(crate) fn keys(place: SearchPlace) -> impl Iterator<Item = SearchKey> {
    LEVELS.into_iter().map(move |level| SearchKey::span(level, place.number() >> level))
}

/// A part of the index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Span {
    /// The first place.
    pub(super) from: i64,
    /// The place behind the last one.
    pub(super) to: i64,
    /// The key that all entries have; `None` for all that is left.
    pub(super) key: Option<SearchKey>,
    /// Set if there is no shorter span.
    pub(super) is_shortest: bool,
}

/// The spans of a search, newest first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spans {
    /// The first place of the search.
    first: i64,
    /// The index of the length of the next span, beyond the last for all that is left.
    level: usize,
    /// The largest such index.
    longest: usize,
}

impl Spans {
    pub(super) const fn begin(first: SearchPlace) -> Self {
        Self { first: first.number(), level: 0, longest: LEVELS.len() }
    }

    /// The span before this place; `None` if nothing is left.
    pub(super) fn before(&self, place: SearchPlace) -> Option<Span> {
        let to = place.number();
        if to <= self.first {
            return None;
        }
        let span = match LEVELS.get(self.level) {
            None => Span { from: self.first, to, key: None, is_shortest: false },
            Some(level) => {
                let number = (to - 1) >> level;
                let from = (number << level).max(self.first);
                Span { from, to, key: Some(SearchKey::span(*level, number)), is_shortest: self.level == 0 }
            }
        };
        Some(span)
    }

    /// Goes on with a longer span, after one that was not full.
    pub(super) fn lengthen(&mut self) {
        if self.level < self.longest {
            self.level += 1;
        } else {
            // What made a longer one full may be behind.
            self.longest = (self.longest + 1).min(LEVELS.len());
        }
    }

    /// Goes on with shorter spans.
    pub(super) fn shorten(&mut self) {
        self.level = self.level.saturating_sub(1);
        self.longest = self.level;
    }
}

#[cfg(test)]
mod tests {
    use domain::id::Sequence;
    use domain::time::Timestamp;

    use super::*;

    #[test]
    fn spans_follow_one_another_and_have_their_keys() {
        let now = SearchPlace::of(Timestamp::from_micros(1_782_907_200_000_000), Sequence::new(7));
        let (mut spans, mut place, mut looks) = (Spans::begin(SearchPlace::new(0)), now, 0);
        while let Some(span) = spans.before(place) {
            assert!(span.from < span.to && span.to == place.number(), "{span:?}");
            for of in [span.from, span.to - 1] {
                assert!(span.key.is_none_or(|key| keys(SearchPlace::new(of)).any(|own| own == key)));
            }
            place = SearchPlace::new(span.from);
            spans.lengthen();
            looks += 1;
        }
        assert_eq!((place.number(), looks), (0, LEVELS.len() + 1));
    }

    #[test]
    fn a_full_span_is_read_in_shorter_ones() {
        let mut spans = Spans::begin(SearchPlace::new(0));
        (0..9).for_each(|_| spans.lengthen());
        assert_eq!(spans.before(SearchPlace::END).unwrap().key, None);
        spans.shorten();
        let span = spans.before(SearchPlace::new(1 << 60)).unwrap();
        assert_eq!((span.from, span.is_shortest), ((1 << 60) - (1 << 57), false));
        (0..9).for_each(|_| spans.shorten());
        assert!(spans.before(SearchPlace::END).unwrap().is_shortest);
        (0..99).for_each(|_| spans.lengthen());
        assert_eq!(spans.before(SearchPlace::END).unwrap().key, None, "quiet times are passed quickly");
        assert_eq!(Spans::begin(SearchPlace::new(5)).before(SearchPlace::new(5)), None);
    }
}
