//! Chance that can be repeated.

/// Throws that follow from a number (splitmix64).
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn throw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.throw() % u64::try_from(end).unwrap()).unwrap()
    }

    /// Once in `times`.
    pub(super) fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of several.
    pub(super) fn of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }

    /// One of several, or nothing.
    pub(super) fn maybe<T: Clone>(&mut self, all: &[T]) -> Option<T> {
        if self.one_in(2) { None } else { Some(self.of(all)) }
    }

    /// Yes, no, or nothing.
    pub(super) fn flag(&mut self) -> Option<bool> {
        self.maybe(&[true, false])
    }
}
