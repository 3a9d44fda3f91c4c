//! How long messages are kept. By itself for ever; an operator may set an age for texts and one for events.
//!
//! What has reached its age is erased, whatever became of it: nothing of it is left, work that no agent has
//! begun neither. Its place in the room stays empty, as that of a deleted text, and nobody is told.
//!
//! The age is that of the id, which holds the time at which it was made (UUID version 7). So the old ones are
//! the first in the order of ids, and a walk along it finds them.

use std::time::Duration;

use uuid::Uuid;

use super::model::MessageKind;
use super::service::MessageService;
use crate::id::MessageId;
use crate::store::StoreError;
use crate::time::Timestamp;

/// The shortest age: idempotency records are kept for a day ([`crate::idempotency::LIFETIME`]), and what they
/// tell of is to be there so long.
pub const MIN_AGE_DAYS: u32 = 2;

/// How many messages a step looks at.
const STEP: u32 = 200;

/// How many attempts a step erases: an agent may have made any number of a message.
pub const ATTEMPTS_A_STEP: u32 = 5000;

/// What ages together.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Ageing {
    /// What was said to somebody.
    Texts,
    /// The records of work.
    Events,
}

impl Ageing {
    /// Whether messages of this kind are meant.
    pub fn includes(self, kind: MessageKind) -> bool {
        (self == Self::Texts) == (kind == MessageKind::Text)
    }
}

/// A step of the walk along the ids.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EraseOld {
    /// What is to go.
    pub which: Ageing,
    /// Where the walk is: only what comes after this message.
    pub after: Option<MessageId>,
    /// Where it ends: only what comes before this id, which is no message's.
    pub before: MessageId,
    /// How many messages are looked at, of any kind. Of their attempts at most [`ATTEMPTS_A_STEP`] are erased.
    pub limit: u32,
}

/// What a step came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ErasedOld {
    /// The last message that was looked at; `None` if there was none, and the walk is over.
    pub last: Option<MessageId>,
    /// How many were erased.
    pub erased: u64,
}

impl ErasedOld {
    /// Nothing but attempts was erased, as there were so many; the same step is to be taken again.
    pub fn attempts_only(step: EraseOld) -> Self {
        Self { last: Some(step.after.unwrap_or(MessageId::new(Uuid::nil()))), erased: 0 }
    }
}

/// The walk of one process along what ages together. It goes on where it was; from the beginning after a
/// start.
#[derive(Clone, Debug)]
pub struct Retention {
    which: Ageing,
    age: Duration,
    after: Option<MessageId>,
}

impl Retention {
    /// Keeps these for so many days, [`MIN_AGE_DAYS`] at least.
    pub fn days(which: Ageing, days: u32) -> Self {
        let days = days.max(MIN_AGE_DAYS);
        Self { which, age: Duration::from_secs(u64::from(days) * 24 * 60 * 60), after: None }
    }
}

/// The first id that could be made at `at`.
fn first_id_at(at: Timestamp) -> MessageId {
    let millis = at.micros().div_euclid(1000).max(0).cast_unsigned();
    MessageId::new(uuid::Builder::from_unix_timestamp_millis(millis, &[0; 10]).into_uuid())
}

impl MessageService {
    /// Takes the next step of erasing what is too old. Gives how many that were, or `None` when there is no
    /// more for now.
    pub async fn erase_old(&self, walk: &mut Retention) -> Result<Option<u64>, StoreError> {
        let before = first_id_at(self.clock.now().minus(walk.age));
        let step = EraseOld { which: walk.which, after: walk.after, before, limit: STEP };
        let ErasedOld { last, erased } = self.messages.erase_old(step).await?;
        walk.after = last.or(walk.after);
        Ok(last.map(|_| erased))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_a_time_come_after_its_first_and_before_that_of_the_next_millisecond() {
        let at = |micros: i64| Timestamp::from_micros(1_790_000_000_000_000 + micros);
        let made = uuid::Builder::from_unix_timestamp_millis(1_790_000_000_000, &[0xff; 10]).into_uuid();
        assert!(first_id_at(at(0)) < MessageId::new(made) && MessageId::new(made) < first_id_at(at(1000)));
        assert_eq!(first_id_at(at(0)), first_id_at(at(999)));
        assert_eq!(first_id_at(Timestamp::from_micros(-1)), first_id_at(Timestamp::from_micros(0)));
        assert!(first_id_at(at(0)).uuid() > Uuid::nil());
    }

    #[test]
    fn every_kind_ages_with_one_of_the_two() {
        for kind in MessageKind::ALL {
            assert_ne!(Ageing::Texts.includes(kind), Ageing::Events.includes(kind), "{kind:?}");
        }
        assert!(Ageing::Texts.includes(MessageKind::Text));
    }
}
