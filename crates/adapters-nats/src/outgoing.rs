//! What waits to be sent, bounded in bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_nats::connection::State;
use async_nats::{Client, Subject};
use bytes::Bytes;
use measure::BusDrop;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::losses::Losses;

/// The most bytes that wait.
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// How many messages are handed to the link at a time.
const AT_ONCE: usize = 64;

/// What a message in the queue costs beside its bytes.
const SLACK: usize = 128;

/// The end at which messages are put in.
pub(crate) struct Outgoing {
    queue: UnboundedSender<(Subject, Bytes)>,
    bytes: Arc<AtomicUsize>,
    losses: Arc<Losses>,
}

/// The end from which they are sent.
pub(crate) struct Sender {
    queue: UnboundedReceiver<(Subject, Bytes)>,
    bytes: Arc<AtomicUsize>,
    losses: Arc<Losses>,
}

/// An empty queue.
pub(crate) fn queue(losses: Arc<Losses>) -> (Outgoing, Sender) {
    let (put, take) = unbounded_channel();
    let bytes = Arc::<AtomicUsize>::default();
    (
        Outgoing { queue: put, bytes: bytes.clone(), losses: losses.clone() },
        Sender { queue: take, bytes, losses },
    )
}

impl Outgoing {
    /// Lets a message wait, or drops it if too much does.
    pub(crate) fn put(&self, subject: Subject, message: Bytes) {
        let cost = cost(&subject, &message);
        if self.bytes.fetch_add(cost, Ordering::Relaxed) + cost > MOST_BYTES {
            self.bytes.fetch_sub(cost, Ordering::Relaxed);
            self.losses.unsent();
            measure::bus_dropped(BusDrop::QueueFull);
        } else if self.queue.send((subject, message)).is_err() {
            measure::bus_dropped(BusDrop::Disconnected);
        }
    }
}

impl Sender {
    /// Sends what is put in, for ever. What waits while the link is down is dropped: by the time that it is back, it is
    /// old.
    pub(crate) async fn run(mut self, client: Client) {
        let mut some = Vec::with_capacity(AT_ONCE);
        while self.queue.recv_many(&mut some, AT_ONCE).await > 0 {
            for (subject, message) in some.drain(..) {
                let cost = cost(&subject, &message);
                let sent = client.connection_state() == State::Connected
                    && client.publish(subject, message).await.is_ok();
                self.bytes.fetch_sub(cost, Ordering::Relaxed);
                if sent {
                    measure::bus_sent();
                } else {
                    self.losses.unsent();
                    measure::bus_dropped(BusDrop::Disconnected);
                }
            }
        }
    }
}

fn cost(subject: &str, message: &Bytes) -> usize {
    subject.len() + message.len() + SLACK
}

#[cfg(test)]
mod tests {
    use domain::time::Timestamp;
    use testkit::FixedClock;

    use super::*;

    #[test]
    fn what_waits_is_bounded() {
        let at = Timestamp::from_micros(7);
        let losses = Arc::new(Losses::new(Arc::new(FixedClock::at(at))));
        let (outgoing, mut sender) = queue(losses.clone());
        let message = Bytes::from(vec![0; 1024 * 1024]);
        for _ in 0..100 {
            outgoing.put(Subject::from_static("subject"), message.clone());
        }
        let mut waiting = 0;
        while sender.queue.try_recv().is_ok() {
            waiting += 1;
        }
        assert_eq!(waiting, 15, "a little is for the messages themselves");
        assert_eq!((losses.take_unsent(), losses.take_unsent()), (Some(at), None));
    }
}
