//! Buffers acknowledgements and stores them in batches.
//!
//! A connection records an acknowledgement when a frame has left its queue. One task stores the
//! acknowledgements, so no request or socket waits for it. The buffer is bounded: if the store cannot keep
//! up, further acknowledgements are dropped, and their messages are redelivered.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::delivery::{DeliveryKey, DeliveryService};
use domain::id::{AgentId, MessageId};
use domain::store::StoreError;
use measure::Outage;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

/// How long a batch waits for more acknowledgements.
const PAUSE: Duration = Duration::from_millis(50);

/// The maximum number of acknowledgements per batch, which is one transaction.
const BATCH: usize = 256;

/// The maximum size of a batch's frames, except that one frame may be larger: its messages are read
/// for the events that humans receive.
const BATCH_BYTES: usize = 4 * 1024 * 1024;

/// The capacity of the buffer in acknowledgements, about two megabytes.
const MAX_WAITING: usize = 20_000;

/// The pause after the store failed.
const RETRY: Duration = Duration::from_secs(1);

/// The acknowledgements that are not stored yet.
#[derive(Default)]
pub struct AcknowledgementBuffer {
    waiting: Mutex<Waiting>,
    /// There is an acknowledgement, or the buffer is closed.
    has_acknowledgements: Notify,
    /// There is a full batch, or the buffer is closed.
    has_full_batch: Notify,
}

#[derive(Default)]
struct Waiting {
    /// Each with the bytes of its frame.
    keys: BTreeMap<DeliveryKey, usize>,
    /// Stored since the last query for unacknowledged deliveries began, which may not have seen them.
    written: BTreeSet<DeliveryKey>,
    /// Dropped because the buffer was full, since it last had room.
    dropped: usize,
    overflow: Outage,
    /// No more acknowledgements come.
    closed: bool,
}

impl AcknowledgementBuffer {
    /// Adds an acknowledgement; never waits.
    fn add(&self, key: DeliveryKey, frame_bytes: usize) {
        let mut waiting = self.waiting();
        if waiting.keys.len() >= MAX_WAITING {
            waiting.dropped += 1;
            return;
        }
        waiting.keys.insert(key, frame_bytes);
        match waiting.keys.len() {
            1 => self.has_acknowledgements.notify_one(),
            BATCH => self.has_full_batch.notify_one(),
            _ => {}
        }
    }

    /// Must precede each query for unacknowledged deliveries.
    pub(crate) fn begin_redelivery_query(&self) {
        self.waiting().written.clear();
    }

    /// Returns whether there is an acknowledgement that the last query for unacknowledged deliveries may not
    /// have seen.
    pub(crate) fn holds(&self, key: DeliveryKey) -> bool {
        let waiting = self.waiting();
        waiting.keys.contains_key(&key) || waiting.written.contains(&key)
    }

    /// Makes [`Self::run`] store what is there and return; must be called after the last connection
    /// has ended.
    pub fn close(&self) {
        self.waiting().closed = true;
        self.has_acknowledgements.notify_one();
        self.has_full_batch.notify_one();
    }

    /// Marks the deliveries of the acknowledgements as *delivered*, batch after batch, until [`Self::close`].
    pub async fn run(&self, deliveries: &DeliveryService) {
        let mut outage = Outage::default();
        loop {
            self.has_acknowledgements.notified().await;
            // A full batch and an elapsed pause have the same effect.
            let _ = timeout(PAUSE, self.has_full_batch.notified()).await;
            let written = self.write_complete(deliveries).await;
            if self.waiting().closed {
                return;
            }
            outage.log(
                &written,
                "acknowledgements cannot be stored, retrying",
                "acknowledgements stored again",
            );
            if written.is_err() {
                sleep(RETRY).await;
                self.has_acknowledgements.notify_one();
            }
        }
    }

    /// Stores a batch, and further ones while they are full or the buffer is closed. Acknowledgements that
    /// arrive meanwhile wait to share a transaction with others.
    async fn write_complete(&self, deliveries: &DeliveryService) -> Result<(), StoreError> {
        while self.write_batch(deliveries).await? {
            let waiting = self.waiting();
            if !waiting.closed && waiting.keys.len() < BATCH {
                break;
            }
        }
        if !self.waiting().keys.is_empty() {
            self.has_acknowledgements.notify_one();
        }
        Ok(())
    }

    /// Stores all acknowledgements. They stay in the buffer if the store is unavailable; an acknowledgement
    /// that can never be stored is dropped, so that it does not block the others.
    ///
    /// # Errors
    /// [`StoreError`] if the store is unavailable.
    pub async fn write(&self, deliveries: &DeliveryService) -> Result<(), StoreError> {
        while self.write_batch(deliveries).await? {}
        Ok(())
    }

    /// Stores one batch; returns `false` if there was nothing to store.
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
                    tracing::warn!(message.id = %message, participant = %agent, error = ?error, "acknowledgement cannot be stored");
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

    /// The oldest acknowledgements that are not stored.
    fn batch(&self) -> Vec<DeliveryKey> {
        let mut waiting = self.waiting();
        if waiting.dropped > 0 && waiting.overflow.begins() {
            tracing::warn!("queue of acknowledgements full; dropping acknowledgements");
        }
        if waiting.keys.len() < MAX_WAITING
            && let Some(lasted) = waiting.overflow.ends()
        {
            let deliveries = std::mem::take(&mut waiting.dropped);
            let duration_ms = lasted.as_millis();
            tracing::info!(deliveries, duration_ms, "queue of acknowledgements has room again");
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

/// Where the connection of an agent records acknowledgements.
#[derive(Clone)]
pub(crate) struct AcknowledgementSink {
    agent: AgentId,
    buffer: Arc<AcknowledgementBuffer>,
}

impl AcknowledgementSink {
    pub(crate) fn new(agent: AgentId, buffer: Arc<AcknowledgementBuffer>) -> Self {
        Self { agent, buffer }
    }

    /// Records that the frame with the message, of so many bytes, has left the queue.
    pub(crate) fn record(&self, message: MessageId, frame_bytes: usize) {
        self.buffer.add(DeliveryKey { message, agent: self.agent }, frame_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    use crate::redelivery::tests::Damaged;

    fn key(number: usize) -> DeliveryKey {
        let message = MessageId::new(Uuid::from_u128(number as u128));
        DeliveryKey { message, agent: AgentId::new(Uuid::from_u128(1)) }
    }

    #[test]
    fn what_waits_is_bounded_and_noted_once() {
        let buffer = AcknowledgementBuffer::default();
        for number in 0..MAX_WAITING + 10 {
            buffer.add(key(number), 100);
            buffer.add(key(number / 2), 100);
        }
        let kept = buffer.waiting().keys.len();
        assert_eq!(kept, MAX_WAITING);
        assert!(buffer.holds(key(MAX_WAITING - 1)) && !buffer.holds(key(MAX_WAITING)));
        assert_eq!(buffer.batch(), (0..BATCH).map(key).collect::<Vec<_>>(), "the oldest first");
        assert_eq!(buffer.waiting().keys.len(), MAX_WAITING, "until they are written they wait");
    }

    #[test]
    fn a_batch_of_large_messages_is_small() {
        let buffer = AcknowledgementBuffer::default();
        for number in 0..BATCH {
            buffer.add(key(number), 1_000_000);
        }
        assert_eq!(buffer.batch().len(), 5, "the one that reaches the bound is the last");
        let buffer = AcknowledgementBuffer::default();
        buffer.add(key(1), 2 * BATCH_BYTES);
        assert_eq!(buffer.batch(), [key(1)], "however large it is, it is written");
    }

    #[tokio::test]
    async fn batches_are_written_until_nothing_waits() {
        let world = testkit::World::new();
        let ann = world.user("ann").await;
        let bot = world.agent(&ann, "Bot").await;
        let chat = world.chat(ann.caller, &[bot.id.into()]).await;
        let buffer = Arc::new(AcknowledgementBuffer::default());
        let acknowledgements = AcknowledgementSink::new(bot.id, buffer.clone());
        for number in 0..BATCH + 5 {
            let to = [domain::id::ParticipantId::Agent(bot.id)];
            acknowledgements
                .record(world.send(ann.caller, chat, &format!("message {number}"), &to).await.id, 100);
        }
        world.publisher.take();
        // Closing skips the pause, and returns after the rest is stored.
        buffer.close();
        let first = buffer.batch()[0];
        timeout(PAUSE * 200, buffer.run(&world.deliveries)).await.unwrap();
        assert_eq!(buffer.batch(), []);
        assert!(buffer.holds(first), "a query that began before may report it as new");
        buffer.begin_redelivery_query();
        assert!(!buffer.holds(first));
        assert_eq!(world.publisher.take().len(), BATCH + 5);
    }

    #[tokio::test]
    async fn what_the_store_cannot_take_keeps_nothing_else_waiting() {
        let (world, store) = (testkit::World::new(), Arc::new(Damaged::default()));
        let deliveries = store.service(&world);
        let buffer = AcknowledgementBuffer::default();
        for number in 0..BATCH + 2 {
            buffer.add(key(number), 100);
        }
        *store.delivery.lock().unwrap() = Some(key(3).message);
        buffer.write(&deliveries).await.unwrap();
        assert_eq!(buffer.batch(), []);
        let others = (0..BATCH + 2).filter(|number| *number != 3).map(key).collect::<Vec<_>>();
        assert_eq!(*store.marked.lock().unwrap(), others);
    }

    #[tokio::test]
    async fn what_the_store_does_not_take_goes_on_waiting() {
        let world = testkit::World::new();
        let buffer = AcknowledgementBuffer::default();
        buffer.add(key(1), 100);
        (world.stores.close)();
        assert!(buffer.write(&world.deliveries).await.is_err());
        assert!(buffer.holds(key(1)));
        // After the close there is no retry.
        buffer.close();
        timeout(PAUSE * 200, buffer.run(&world.deliveries)).await.unwrap();
    }
}
