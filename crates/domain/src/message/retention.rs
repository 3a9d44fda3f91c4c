//! Retention of messages. By default they are kept without limit; an operator can set a maximum age
//! for texts and one for events.
//!
//! A message of that age is erased whatever its state: nothing of it is left, including work that
//! no agent has begun. Its sequence is not used again, as for a deleted text, and there is no
//! event.
//!
//! The age is that of the id, which contains the time of its creation (UUID version 7). The oldest
//! messages are therefore the first in the order of ids, and a walk along the ids finds them.

use std::time::Duration;

use super::model::MessageKind;
use super::service::MessageService;
use crate::id::MessageId;
use crate::store::StoreError;
use crate::time::Timestamp;

/// The minimum age: idempotency records are kept for a day ([`crate::idempotency::LIFETIME`]), and
/// their messages must exist for as long.
pub const MIN_AGE_DAYS: u32 = 2;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The number of messages that a step reads.
const STEP: u32 = 200;

/// The number of attempts that a step erases: an agent may have made any number for a message.
pub const ATTEMPTS_A_STEP: u32 = 5000;

/// The messages that share a maximum age.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Ageing {
    /// Texts.
    Texts,
    /// Events.
    Events,
}

impl Ageing {
    /// Returns whether messages of this kind are included.
    pub fn includes(self, kind: MessageKind) -> bool {
        (self == Self::Texts) == (kind == MessageKind::Text)
    }
}

/// A step of the walk along the ids.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EraseOld {
    /// The messages to erase.
    pub which: Ageing,
    /// The position of the walk: only messages after this one.
    pub after: Option<MessageId>,
    /// The end of the walk: only messages before this id, which belongs to no message.
    pub before: MessageId,
    /// The current time.
    pub now: Timestamp,
    /// The time after which files that no message shows any more expire.
    pub unattached: Duration,
    /// The number of messages to read, of any kind. At most [`ATTEMPTS_A_STEP`] of their attempts
    /// are erased.
    pub limit: u32,
}

/// The result of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ErasedOld {
    /// The last message that was read; `None` if there was none, and the walk is over.
    pub last: Option<MessageId>,
    /// The number of erased messages.
    pub erased: u64,
    /// Whether a [legal hold](crate::legal_hold) kept some that would have been erased.
    pub kept: bool,
}

impl ErasedOld {
    /// Only attempts were erased, since there were too many; the same step must be repeated.
    pub fn attempts_only(step: EraseOld) -> Self {
        Self { last: Some(step.after.unwrap_or(MessageId::NIL)), erased: 0, kept: false }
    }
}

/// The walk of one process. It continues at its position, and starts over after a restart; also a day after it has passed
/// something that a [legal hold](crate::legal_hold) kept, since the hold may be released.
#[derive(Clone, Debug)]
pub struct Retention {
    which: Ageing,
    age: Duration,
    after: Option<MessageId>,
    /// The position before the first message that a hold kept, and when to go back to it.
    kept: Option<(Option<MessageId>, Timestamp)>,
}

impl Retention {
    /// Keeps these messages for `days`, at least [`MIN_AGE_DAYS`].
    pub fn days(which: Ageing, days: u32) -> Self {
        let days = days.max(MIN_AGE_DAYS);
        Self { which, age: days * DAY, after: None, kept: None }
    }
}

/// The lowest id that can be made at `at`.
fn first_id_at(at: Timestamp) -> MessageId {
    let millis = at.micros().div_euclid(1000).max(0).cast_unsigned();
    MessageId::new(uuid::Builder::from_unix_timestamp_millis(millis, &[0; 10]).into_uuid())
}

impl MessageService {
    /// Takes the next step of erasing messages that are old at `now`. Returns the number of erased
    /// ones, or `None` if there are no more for now.
    pub async fn erase_old(&self, walk: &mut Retention, now: Timestamp) -> Result<Option<u64>, StoreError> {
        let before = first_id_at(now.minus(walk.age));
        let (which, after, unattached) = (walk.which, walk.after, self.unattached);
        let step = EraseOld { which, after, before, now, unattached, limit: STEP };
        let ErasedOld { last, erased, kept } = self.messages.erase_old(step).await?;
        if kept && walk.kept.is_none() {
            walk.kept = Some((after, now.plus(DAY)));
        }
        walk.after = last.or(walk.after);
        if last.is_none()
            && let Some((before, _)) = walk.kept.take_if(|(_, again_at)| *again_at <= now)
        {
            walk.after = before;
        }
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
        assert!(first_id_at(at(0)).uuid() > MessageId::NIL.uuid());
    }

    #[test]
    fn every_kind_ages_with_one_of_the_two() {
        for kind in MessageKind::ALL {
            assert_ne!(Ageing::Texts.includes(kind), Ageing::Events.includes(kind), "{kind:?}");
        }
        assert!(Ageing::Texts.includes(MessageKind::Text));
    }
}
