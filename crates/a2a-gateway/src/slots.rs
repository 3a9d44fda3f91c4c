//! Limits on the requests that wait at the same time: blocking ones and streams.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::id::{ParticipantId, UserId};

/// The maximum for one caller.
const PER_CALLER: usize = 50;

/// The maximum for one user and all agents of the user.
const PER_USER: usize = 200;

/// The maximum in total.
const TOTAL: usize = 2_000;

/// The waiting requests; one for all workers of a server.
#[derive(Default)]
pub(crate) struct Slots(Mutex<Taken>);

#[derive(Default)]
struct Taken {
    callers: HashMap<ParticipantId, usize>,
    users: HashMap<UserId, usize>,
    total: usize,
}

impl Slots {
    /// A slot for a request of `who`, if one is free; `user` is accountable for `who`.
    pub(crate) fn take(self: &Arc<Self>, who: ParticipantId, user: UserId) -> Option<Slot> {
        let mut taken = self.taken();
        let of_caller = taken.callers.get(&who).copied().unwrap_or(0);
        let of_user = taken.users.get(&user).copied().unwrap_or(0);
        if taken.total >= TOTAL || of_caller >= PER_CALLER || of_user >= PER_USER {
            return None;
        }
        taken.callers.insert(who, of_caller + 1);
        taken.users.insert(user, of_user + 1);
        taken.total += 1;
        Some(Slot { of: self.clone(), who, user })
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The slot of one request, until it is dropped.
pub(crate) struct Slot {
    of: Arc<Slots>,
    who: ParticipantId,
    user: UserId,
}

/// Subtracts one from a count.
fn release<K: Eq + Hash>(counts: &mut HashMap<K, usize>, key: K) {
    if let Entry::Occupied(mut count) = counts.entry(key) {
        *count.get_mut() -= 1;
        if *count.get() == 0 {
            count.remove();
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut taken = self.of.taken();
        taken.total -= 1;
        release(&mut taken.callers, self.who);
        release(&mut taken.users, self.user);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_cannot_take_all_slots() {
        let slots = Arc::<Slots>::default();
        let user = |number: usize| UserId::parse(&format!("0190c5a4-0000-7000-8000-{number:012}")).unwrap();
        let take = |number: usize, of: usize| slots.take(ParticipantId::User(user(number)), user(of));
        let mut held = (0..PER_CALLER).map(|_| take(1, 1).unwrap()).collect::<Vec<_>>();
        assert!(take(1, 1).is_none());
        held.pop();
        held.push(take(1, 1).unwrap());
        let others = (2..).map_while(|number| take(number, 1)).collect::<Vec<_>>();
        assert_eq!(others.len(), PER_USER - PER_CALLER);
        let strangers = (1000..).map_while(|number| take(number, number)).collect::<Vec<_>>();
        assert_eq!(strangers.len(), TOTAL - PER_USER);
        drop((held, others, strangers));
        let taken = slots.taken();
        assert!(taken.callers.is_empty() && taken.users.is_empty() && taken.total == 0);
    }
}
