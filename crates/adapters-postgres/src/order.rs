//! In which order changes are told: in that of their commits.
//!
//! A change takes its turn when all it needs is locked and written, just before it commits. So of two
//! changes that were in each other's way the first to commit has the earlier turn; and what they have to
//! tell is told turn by turn.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{oneshot, watch};

type Tell = Box<dyn FnOnce() + Send>;

/// The turns that were given out and are not over.
#[derive(Default)]
pub(crate) struct Order {
    turns: Mutex<Turns>,
    /// How many changes may have been kept and were not told.
    doubts: watch::Sender<u64>,
}

#[derive(Default)]
struct Turns {
    /// The next turn to be given out.
    next: u64,
    /// The first turn that is not over.
    first: u64,
    /// What is to be told in turns after it that are over.
    waiting: BTreeMap<u64, Option<Tell>>,
    /// Whether somebody is telling.
    telling: bool,
}

/// A place in the order; it must be given back, told or not, which dropping it does too.
pub(crate) struct Turn {
    order: Arc<Order>,
    number: u64,
    over: bool,
}

impl Order {
    /// A change may have been kept, and nobody will be told of it.
    pub(crate) fn doubt(&self) {
        tracing::warn!("commit outcome unknown: connection lost during commit");
        self.doubts.send_modify(|doubts| *doubts += 1);
    }

    /// Changes with every doubt.
    pub(crate) fn doubts(&self) -> watch::Receiver<u64> {
        self.doubts.subscribe()
    }

    /// The turn after all that were given out.
    pub(crate) fn turn(self: &Arc<Self>) -> Turn {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        let number = turns.next;
        turns.next += 1;
        Turn { order: self.clone(), number, over: false }
    }

    /// Ends a turn, and tells what can be told now. The lock is not held meanwhile.
    fn end(&self, number: u64, tell: Option<Tell>) {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        turns.waiting.insert(number, tell);
        if turns.telling {
            return;
        }
        turns.telling = true;
        loop {
            let first = turns.first;
            let Some(tell) = turns.waiting.remove(&first) else { break };
            turns.first += 1;
            drop(turns);
            if let Some(tell) = tell {
                tell();
            }
            turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        }
        turns.telling = false;
    }
}

impl Turn {
    /// The change is committed: `tell` is called with its outcome once all earlier turns are over. Gives the
    /// outcome back when it was.
    pub(crate) async fn tell<T: Send + 'static>(
        mut self,
        outcome: T,
        tell: impl FnOnce(&T) + Send + 'static,
    ) -> T {
        let (told, wait) = oneshot::channel();
        self.over = true;
        let tell = move || {
            if catch_unwind(AssertUnwindSafe(|| tell(&outcome))).is_err() {
                tracing::error!("publishing a change panicked");
            }
            let _ = told.send(outcome);
        };
        self.order.end(self.number, Some(Box::new(tell)));
        wait.await.expect("every turn is told, as each one before it ends")
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if !self.over {
            self.order.end(self.number, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Told = Arc<Mutex<Vec<u8>>>;

    fn telling(told: &Told) -> impl FnOnce(&u8) + Send + use<> {
        let told = told.clone();
        move |what| told.lock().unwrap().push(*what)
    }

    #[tokio::test]
    async fn turns_are_told_in_their_order_however_they_end() {
        let told = Told::default();
        let order = Arc::new(Order::default());
        let (first, second, third) = (order.turn(), order.turn(), order.turn());
        let third = tokio::spawn(third.tell(3, telling(&told)));
        tokio::task::yield_now().await;
        assert!(told.lock().unwrap().is_empty());
        drop(second);
        assert_eq!(first.tell(1, telling(&told)).await, 1);
        third.await.unwrap();
        assert_eq!(*told.lock().unwrap(), [1, 3]);
    }

    #[tokio::test]
    async fn a_panic_while_telling_stops_nobody() {
        let told = Told::default();
        let order = Arc::new(Order::default());
        let (first, second) = (order.turn(), order.turn());
        assert_eq!(first.tell(1, |_| panic!("on purpose")).await, 1);
        second.tell(2, telling(&told)).await;
        assert_eq!(*told.lock().unwrap(), [2]);
    }
}
