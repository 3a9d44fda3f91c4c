//! What sockets of agents took, until it is written down.
//!
//! Connections say so when a frame has left its queue; one task writes it to the store in batches,
//! so that no request and no socket waits for that. What waits is bounded: if the store cannot
//! keep up, the rest is not noted, and these messages are pushed once more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::delivery::{DeliveryKey, DeliveryService};
use domain::id::{AgentId, MessageId};
use domain::store::StoreError;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

/// For how long more is waited for before a batch is written.
const PAUSE: Duration = Duration::from_millis(50);

/// The most deliveries of a batch. They are one change of the store, which others wait for.
const BATCH: usize = 256;

/// The most bytes of a batch's frames, but for one frame: its messages are read when humans are told.
const BATCH_BYTES: usize = 4 * 1024 * 1024;

/// The most that may wait, about two megabytes.
const MAX_WAITING: usize = 20_000;

/// How long the store is left alone after it could not write.
const RETRY: Duration = Duration::from_secs(1);

/// The deliveries that are to be written down.
#[derive(Default)]
pub(crate) struct Taken {
    waiting: Mutex<Waiting>,
    /// Something waits, or nothing will come any more.
    some: Notify,
    /// A batch is complete, or nothing will come any more.
    enough: Notify,
}

#[derive(Default)]
struct Waiting {
    /// Each with the bytes of its frame.
    keys: BTreeMap<DeliveryKey, usize>,
    /// What was written since the last look at the store began, which may not have seen it.
    written: BTreeSet<DeliveryKey>,
    /// How many there was no room for since the last look.
    passed_over: usize,
    /// Nothing will come any more.
    ends: bool,
}

impl Taken {
    /// Notes a delivery; never waits.
    fn note(&self, key: DeliveryKey, frame_bytes: usize) {
        let mut waiting = self.waiting();
        if waiting.keys.len() >= MAX_WAITING {
            waiting.passed_over += 1;
            return;
        }
        waiting.keys.insert(key, frame_bytes);
        match waiting.keys.len() {
            1 => self.some.notify_one(),
            BATCH => self.enough.notify_one(),
            _ => {}
        }
    }

    /// The store is about to be looked at.
    pub(crate) fn look_begins(&self) {
        self.waiting().written.clear();
    }

    /// Whether the delivery was taken, though the look at the store that began last may say that it
    /// is new.
    pub(crate) fn holds(&self, key: DeliveryKey) -> bool {
        let waiting = self.waiting();
        waiting.keys.contains_key(&key) || waiting.written.contains(&key)
    }

    /// Lets [`Self::run`] write what is there and end.
    pub(crate) fn end(&self) {
        self.waiting().ends = true;
        self.some.notify_one();
        self.enough.notify_one();
    }

    /// Writes batch after batch.
    pub(crate) async fn run(&self, deliveries: &DeliveryService) {
        loop {
            self.some.notified().await;
            // Whether a batch is complete or time is up is the same.
            let _ = timeout(PAUSE, self.enough.notified()).await;
            let written = self.write_complete(deliveries).await;
            if self.waiting().ends {
                return;
            }
            if let Err(error) = written {
                tracing::warn!(error = %error, "delivery receipts could not be stored");
                sleep(RETRY).await;
                self.some.notify_one();
            }
        }
    }

    /// Writes a batch, and more while they are complete, or nothing will come any more: what comes while they are
    /// written waits for others to share a change with.
    async fn write_complete(&self, deliveries: &DeliveryService) -> Result<(), StoreError> {
        while self.write_batch(deliveries).await? {
            let waiting = self.waiting();
            if !waiting.ends && waiting.keys.len() < BATCH {
                break;
            }
        }
        if !self.waiting().keys.is_empty() {
            self.some.notify_one();
        }
        Ok(())
    }

    /// Writes all that waits. What the store does not take now goes on waiting; what it cannot take is
    /// given up, so that nothing waits behind it.
    pub(crate) async fn write(&self, deliveries: &DeliveryService) -> Result<(), StoreError> {
        while self.write_batch(deliveries).await? {}
        Ok(())
    }

    /// Whether there was anything to write.
    async fn write_batch(&self, deliveries: &DeliveryService) -> Result<bool, StoreError> {
        let batch = self.batch();
        if batch.is_empty() {
            return Ok(false);
        }
        match deliveries.mark_delivered(batch.clone()).await {
            Err(StoreError::Broken(_)) => self.write_one_by_one(deliveries, batch).await?,
            written => written.map(|()| self.done(batch))?,
        }
        Ok(true)
    }

    async fn write_one_by_one(
        &self,
        deliveries: &DeliveryService,
        batch: Vec<DeliveryKey>,
    ) -> Result<(), StoreError> {
        for key in batch {
            match deliveries.mark_delivered(vec![key]).await {
                Err(error @ StoreError::Broken(_)) => {
                    let (message, agent) = (key.message, key.agent);
                    tracing::warn!(%message, participant = %agent, error = ?error, "delivery receipt cannot be stored");
                }
                written => written?,
            }
            self.done(vec![key]);
        }
        Ok(())
    }

    fn done(&self, batch: Vec<DeliveryKey>) {
        let mut waiting = self.waiting();
        for key in &batch {
            waiting.keys.remove(key);
        }
        if waiting.written.len() < MAX_WAITING {
            waiting.written.extend(batch);
        }
    }

    /// The oldest that wait.
    fn batch(&self) -> Vec<DeliveryKey> {
        let mut waiting = self.waiting();
        let passed_over = std::mem::take(&mut waiting.passed_over);
        if passed_over > 0 {
            tracing::warn!(deliveries = passed_over, "queue of delivery receipts full");
        }
        let mut bytes = 0;
        let fits = |(_, frame_bytes): &(&DeliveryKey, &usize)| {
            let before = bytes;
            bytes += **frame_bytes;
            before < BATCH_BYTES
        };
        waiting.keys.iter().take(BATCH).take_while(fits).map(|(key, _)| *key).collect()
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How the connection of an agent says what it took.
#[derive(Clone)]
pub(crate) struct Receipts {
    agent: AgentId,
    taken: Arc<Taken>,
}

impl Receipts {
    pub(crate) fn new(agent: AgentId, taken: Arc<Taken>) -> Self {
        Self { agent, taken }
    }

    /// The frame of so many bytes that holds the message has left the queue.
    pub(crate) fn took(&self, message: MessageId, frame_bytes: usize) {
        self.taken.note(DeliveryKey { message, agent: self.agent }, frame_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    use crate::again::tests::Damaged;

    fn key(number: usize) -> DeliveryKey {
        let message = MessageId::new(Uuid::from_u128(number as u128));
        DeliveryKey { message, agent: AgentId::new(Uuid::from_u128(1)) }
    }

    #[test]
    fn what_waits_is_bounded_and_noted_once() {
        let taken = Taken::default();
        for number in 0..MAX_WAITING + 10 {
            taken.note(key(number), 100);
            taken.note(key(number / 2), 100);
        }
        let kept = taken.waiting().keys.len();
        assert_eq!(kept, MAX_WAITING);
        assert!(taken.holds(key(MAX_WAITING - 1)) && !taken.holds(key(MAX_WAITING)));
        assert_eq!(taken.batch(), (0..BATCH).map(key).collect::<Vec<_>>(), "the oldest first");
        assert_eq!(taken.waiting().keys.len(), MAX_WAITING, "until they are written they wait");
    }

    #[test]
    fn a_batch_of_large_messages_is_small() {
        let taken = Taken::default();
        for number in 0..BATCH {
            taken.note(key(number), 1_000_000);
        }
        assert_eq!(taken.batch().len(), 5, "the one that reaches the bound is the last");
        let taken = Taken::default();
        taken.note(key(1), 2 * BATCH_BYTES);
        assert_eq!(taken.batch(), [key(1)], "however large it is, it is written");
    }

    #[tokio::test]
    async fn batches_are_written_until_nothing_waits() {
        let world = testkit::World::new();
        let ann = world.user("ann").await;
        let bot = world.agent(&ann, "Bot").await;
        let chat = world.chat(ann.caller, &[bot.id.uuid()]).await;
        let taken = Arc::new(Taken::default());
        let receipts = Receipts::new(bot.id, taken.clone());
        for number in 0..BATCH + 5 {
            let to = [domain::id::ParticipantId::Agent(bot.id)];
            receipts.took(world.send(ann.caller, chat, &format!("message {number}"), &to).await.id, 100);
        }
        world.publisher.take();
        // The end does not wait for the pause, and what is there is written before it.
        taken.end();
        let first = taken.batch()[0];
        timeout(PAUSE * 200, taken.run(&world.deliveries)).await.unwrap();
        assert_eq!(taken.batch(), []);
        assert!(taken.holds(first), "who looked before that may take it for new");
        taken.look_begins();
        assert!(!taken.holds(first));
        assert_eq!(world.publisher.take().len(), BATCH + 5);
    }

    #[tokio::test]
    async fn what_the_store_cannot_take_keeps_nothing_else_waiting() {
        let (world, store) = (testkit::World::new(), Arc::new(Damaged::default()));
        let deliveries = store.service(&world);
        let taken = Taken::default();
        for number in 0..BATCH + 2 {
            taken.note(key(number), 100);
        }
        *store.delivery.lock().unwrap() = Some(key(3).message);
        taken.write(&deliveries).await.unwrap();
        assert_eq!(taken.batch(), []);
        let others = (0..BATCH + 2).filter(|number| *number != 3).map(key).collect::<Vec<_>>();
        assert_eq!(*store.marked.lock().unwrap(), others);
    }

    #[tokio::test]
    async fn what_the_store_does_not_take_goes_on_waiting() {
        let world = testkit::World::new();
        let taken = Taken::default();
        taken.note(key(1), 100);
        (world.stores.close)();
        assert!(taken.write(&world.deliveries).await.is_err());
        assert!(taken.holds(key(1)));
        // At the end there is no other try.
        taken.end();
        timeout(PAUSE * 200, taken.run(&world.deliveries)).await.unwrap();
    }
}
