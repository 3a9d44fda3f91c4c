//! Tasks that write side by side, each for rooms of its own: while one waits for its commit to be on the disk another
//! has its statements done.

use domain::id::ChatId;

/// How many there are. One core has as much to do with the statements of one as another with everything else.
const LANES: usize = 2;

/// What there is one of for each task.
#[derive(Clone)]
pub(crate) struct Lanes<T>([T; LANES]);

impl<T> Lanes<T> {
    /// Starts each; told how many there are.
    pub(crate) fn start(mut one: impl FnMut(usize) -> T) -> Self {
        Self(std::array::from_fn(|_| one(LANES)))
    }

    /// That of a room: always the same. The last byte of an id is random.
    pub(crate) fn of(&self, room: ChatId) -> &T {
        let [.., last] = room.uuid().into_bytes();
        &self.0[usize::from(last) % LANES]
    }
}
