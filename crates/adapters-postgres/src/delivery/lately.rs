//! Of which messages steps were told a moment ago.
//!
//! A batch of steps takes its turn before its statement has locked anything. So who holds a message before that and
//! only looks at it may have a later turn, though it has seen the message as it was before the step. Whoever writes need not
//! care: the steps do not fit then. Whoever only looks leaves out of what it has to tell what was told meanwhile.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use domain::id::MessageId;
use domain::message::Message;

/// How many are remembered: far more than there are while somebody looks.
const MOST: usize = 8192;

/// The messages of the steps that were told last.
#[derive(Default)]
pub(crate) struct Lately(Mutex<Steps>);

#[derive(Default)]
struct Steps {
    /// How many there were.
    count: u64,
    /// Of the last ones.
    messages: VecDeque<MessageId>,
}

/// How many steps had been told when somebody began to look.
#[derive(Clone, Copy)]
pub(super) struct Begun(u64);

impl Lately {
    /// Somebody begins to look.
    pub(super) fn begin(&self) -> Begun {
        Begun(self.steps().count)
    }

    /// A step is told, in its turn.
    pub(super) fn told(&self, message: MessageId) {
        let mut steps = self.steps();
        steps.count += 1;
        if steps.messages.len() == MOST {
            steps.messages.pop_front();
        }
        steps.messages.push_back(message);
    }

    /// What is left to be told, in its turn, by whoever has begun to look then; `None` if that is all of it.
    pub(super) fn left(&self, begun: Begun, seen: &[Message]) -> Option<Vec<Message>> {
        let steps = self.steps();
        let meanwhile = usize::try_from(steps.count - begun.0).unwrap_or(usize::MAX);
        // Too many to know: what is not told now will be by whoever looks next.
        let Some(forgotten) = steps.messages.len().checked_sub(meanwhile) else { return Some(Vec::new()) };
        let told = steps.messages.range(forgotten..).copied().collect::<HashSet<_>>();
        drop(steps);
        let is_left = |message: &&Message| !told.contains(&message.id);
        (!seen.iter().all(|message| is_left(&message)))
            .then(|| seen.iter().filter(is_left).cloned().collect())
    }

    fn steps(&self) -> MutexGuard<'_, Steps> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use domain::id::{AgentId, ChatId, ParticipantId};
    use domain::message::MessageKind;
    use domain::time::Timestamp;
    use uuid::Uuid;

    use super::*;

    fn id(number: u128) -> MessageId {
        MessageId::new(Uuid::from_u128(number))
    }

    fn message(number: u128) -> Message {
        Message {
            id: id(number),
            chat_id: ChatId::new(Uuid::nil()),
            sequence: 1,
            kind: MessageKind::Text,
            content: String::new(),
            sender: ParticipantId::Agent(AgentId::new(Uuid::nil())),
            sender_name: String::new(),
            mentions: Vec::new(),
            metadata: None,
            created_at: Timestamp::from_micros(1),
            updated_at: Timestamp::from_micros(1),
            deliveries: Vec::new(),
        }
    }

    fn left(lately: &Lately, begun: Begun) -> Vec<MessageId> {
        let seen = vec![message(1), message(2)];
        let left = lately.left(begun, &seen).unwrap_or(seen);
        left.iter().map(|message| message.id).collect()
    }

    #[test]
    fn what_was_told_while_somebody_looked_is_left_out() {
        let lately = Lately::default();
        lately.told(id(1));
        let begun = lately.begin();
        assert_eq!(left(&lately, begun), [id(1), id(2)], "what was told before has been seen");
        lately.told(id(2));
        lately.told(id(7));
        assert_eq!(left(&lately, begun), [id(1)]);
    }

    #[test]
    fn who_has_looked_for_too_long_tells_nothing() {
        let lately = Lately::default();
        let begun = lately.begin();
        (0..MOST).for_each(|_| lately.told(id(7)));
        assert_eq!(left(&lately, begun), [id(1), id(2)]);
        lately.told(id(7));
        assert_eq!(left(&lately, begun), []);
        assert_eq!(lately.steps().messages.len(), MOST);
    }
}
