//! What a process has stored since the last check, and the exceeded budgets.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::exceeded::ExceededBudgets;
use crate::id::{ChatId, MessageId, ParticipantId};
use crate::message::{Cause, Message, MessageKind};
use crate::usage::{Day, UsageReport};

/// The largest number of places of which a process notes what it has stored. Beyond it, new places do not count.
const NOTED: usize = 50_000;

/// Where something was stored: the day, the chat, the sender, and the root of its tree. The tree of a message that
/// begins one counts from the next message on.
type Place = (Day, ChatId, ParticipantId, Option<MessageId>);

/// What was stored in one place since the last check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spent {
    /// The day.
    pub day: Day,
    /// The chat.
    pub chat: ChatId,
    /// The sender.
    pub sender: ParticipantId,
    /// The root of the tree, of a message that follows from another.
    pub root: Option<MessageId>,
    /// The number of texts.
    pub texts: u32,
    /// Set if tokens were reported.
    pub has_tokens: bool,
    /// The last message.
    pub message: MessageId,
}

/// Notes what a process stores, and knows the exceeded budgets.
#[derive(Debug, Default)]
pub struct BudgetWatch {
    /// `None` while no organization has budgets.
    noted: Mutex<Option<HashMap<Place, Spent>>>,
    exceeded: RwLock<Option<Arc<ExceededBudgets>>>,
    /// The events that this process has posted: about budgets that are nearly used up, and about exceeded ones.
    posted: [AtomicU64; 2],
}

impl BudgetWatch {
    /// Notes a stored text or report, if any organization has budgets.
    pub fn note(&self, message: &Message) {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(noted) = &mut *noted else { return };
        let texts = u32::from(message.kind == MessageKind::Text);
        let has_tokens = texts == 0 && UsageReport::of(message).is_some();
        if texts == 0 && !has_tokens {
            return;
        }
        let root = match message.cause {
            Cause::Known(place) => Some(place.root),
            Cause::None | Cause::Ambiguous { .. } => None,
        };
        let root = root.or_else(|| has_tokens.then(|| message.place().root));
        let (day, chat, sender) = (Day::of(message.created_at), message.chat_id, message.sender);
        add(noted, Spent { day, chat, sender, root, texts, has_tokens, message: message.id });
    }

    /// Takes what was noted.
    pub fn take(&self) -> Vec<Spent> {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        noted.as_mut().map(std::mem::take).into_iter().flat_map(HashMap::into_values).collect()
    }

    /// Notes again what could not be counted.
    pub fn put_back(&self, spent: Vec<Spent>) {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(noted) = &mut *noted else { return };
        for spent in spent {
            add(noted, spent);
        }
    }

    /// Loads the exceeded budgets; `None` if no organization has budgets.
    pub fn update(&self, exceeded: Option<ExceededBudgets>) {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        match &exceeded {
            Some(_) => drop(noted.get_or_insert_default()),
            None => *noted = None,
        }
        let exceeded = exceeded.filter(|exceeded| !exceeded.is_empty()).map(Arc::new);
        *self.exceeded.write().unwrap_or_else(PoisonError::into_inner) = exceeded;
    }

    /// Counts an event about a budget.
    pub fn count_event(&self, is_warning: bool) {
        let [warned, exceeded] = &self.posted;
        let counter = if is_warning { warned } else { exceeded };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// The number of events that this process has posted about budgets: warnings, and those about exceeded ones.
    pub fn events(&self) -> [u64; 2] {
        self.posted.each_ref().map(|number| number.load(Ordering::Relaxed))
    }

    /// The exceeded budgets; `None` if there are none.
    pub fn exceeded(&self) -> Option<Arc<ExceededBudgets>> {
        self.exceeded.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn add(noted: &mut HashMap<Place, Spent>, spent: Spent) {
    let place = (spent.day, spent.chat, spent.sender, spent.root);
    if noted.len() >= NOTED && !noted.contains_key(&place) {
        return;
    }
    let before = noted.entry(place).or_insert(Spent { texts: 0, ..spent });
    before.texts = before.texts.saturating_add(spent.texts);
    before.has_tokens |= spent.has_tokens;
    before.message = before.message.max(spent.message);
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::message::sample;

    fn text(number: u128) -> Message {
        Message { id: MessageId::new(Uuid::from_u128(number)), ..sample::text("hello") }
    }

    #[test]
    fn texts_are_noted_while_there_are_budgets() {
        let watch = BudgetWatch::default();
        watch.note(&text(5));
        assert_eq!(watch.take(), []);
        watch.update(Some(ExceededBudgets::none(Day::new(0))));
        assert_eq!(watch.exceeded(), None, "none is exceeded");
        watch.note(&text(6));
        watch.note(&text(5));
        watch.note(&Message { kind: MessageKind::Thought, ..text(7) });
        let taken = watch.take();
        let [spent] = taken[..] else { panic!("one place: {taken:?}") };
        assert_eq!((spent.texts, spent.message, spent.has_tokens), (2, text(6).id, false));
        assert_eq!(watch.take(), []);
        watch.note(&text(8));
        watch.put_back(taken);
        let [spent] = watch.take()[..] else { panic!("one place") };
        assert_eq!((spent.texts, spent.message), (3, text(8).id));
        watch.update(None);
        watch.note(&text(9));
        assert_eq!(watch.take(), []);
    }
}
