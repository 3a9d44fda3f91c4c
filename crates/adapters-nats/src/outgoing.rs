//! The send queue, bounded in messages and bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_nats::connection::State;
use async_nats::{Client, Subject};
use bytes::Bytes;
use measure::BusDrop;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{self, Receiver};
use tokio::time::sleep;

use crate::losses::Losses;

/// The maximum size of the queue, including messages that the link has taken and not written.
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// The maximum number of messages that the link was not handed: as many as fit, if they were empty.
const MOST: usize = MOST_BYTES / SLACK;

/// The number of messages that are handed to the link at a time, and the size after which no more
/// are added.
const AT_ONCE: usize = 64;
const BYTES_AT_ONCE: usize = 1024 * 1024;

/// The number of bytes after which the link is flushed: a flush per message would cost as much as
/// the message.
const BYTES_UNASKED: usize = 256 * 1024;

/// The interval at which a shutdown checks whether all messages are written.
const SOON: Duration = Duration::from_millis(5);

/// The interval of checks whether the link is still up while it writes nothing.
const LOOK: Duration = Duration::from_millis(100);

/// The overhead of a message in the queue.
const SLACK: usize = 128;

/// The input of the queue.
pub(crate) struct Outgoing {
    queue: mpsc::Sender<(Subject, Bytes)>,
    bytes: Arc<AtomicUsize>,
}

/// The output of the queue.
pub(crate) struct Sender {
    queue: Receiver<(Subject, Bytes)>,
    bytes: Arc<AtomicUsize>,
    /// The bytes handed to the link since the last flush.
    handed: usize,
    losses: Arc<Losses>,
}

/// An empty queue.
pub(crate) fn queue(losses: Arc<Losses>) -> (Outgoing, Sender) {
    let (put, take) = mpsc::channel(MOST);
    let bytes = Arc::<AtomicUsize>::default();
    (Outgoing { queue: put, bytes: bytes.clone() }, Sender { queue: take, bytes, handed: 0, losses })
}

impl Outgoing {
    /// Queues a message, or drops it if the queue is full; returns whether it was queued.
    pub(crate) fn put(&self, subject: Subject, message: Bytes) -> bool {
        let cost = cost(&subject, &message);
        if self.bytes.fetch_add(cost, Ordering::Relaxed) + cost > MOST_BYTES {
            self.bytes.fetch_sub(cost, Ordering::Relaxed);
            measure::bus_dropped(BusDrop::QueueFull);
            return false;
        }
        let why = match self.queue.try_send((subject, message)) {
            Ok(()) => return true,
            Err(TrySendError::Full(_)) => BusDrop::QueueFull,
            Err(TrySendError::Closed(_)) => BusDrop::Disconnected,
        };
        self.bytes.fetch_sub(cost, Ordering::Relaxed);
        measure::bus_dropped(why);
        false
    }

    /// Waits until the queue is empty.
    pub(crate) async fn emptied(&self) {
        while self.bytes.load(Ordering::Relaxed) > 0 {
            sleep(SOON).await;
        }
    }
}

impl Sender {
    /// Sends the queued messages, without end. Messages that are queued while the link is down are
    /// dropped: they would be outdated when it is back.
    pub(crate) async fn run(mut self, client: Client) {
        while let Some(first) = self.queue.recv().await {
            let (messages, bytes) = self.next(first);
            let count = messages.len();
            self.handed += bytes;
            let handed = self.hand_over(&client, messages).await;
            self.bytes.fetch_sub(bytes, Ordering::Relaxed);
            for _ in 0..handed {
                measure::bus_sent();
            }
            for _ in handed..count {
                measure::bus_dropped(BusDrop::Disconnected);
            }
        }
    }

    /// This message and some that are queued behind it, with the cost of all of them.
    fn next(&mut self, first: (Subject, Bytes)) -> (Vec<(Subject, Bytes)>, usize) {
        let mut bytes = cost(&first.0, &first.1);
        let mut messages = vec![first];
        while messages.len() < AT_ONCE
            && bytes < BYTES_AT_ONCE
            && let Ok((subject, message)) = self.queue.try_recv()
        {
            bytes += cost(&subject, &message);
            messages.push((subject, message));
        }
        (messages, bytes)
    }

    /// Hands messages to the link, and after many bytes waits until it has written them or is down:
    /// it would accept any number that it cannot write. Returns how many it was handed.
    async fn hand_over(&mut self, client: &Client, messages: Vec<(Subject, Bytes)>) -> usize {
        let mut handed = 0;
        let is_much = self.handed > BYTES_UNASKED;
        if is_much {
            self.handed = 0;
        }
        let written = async {
            for (subject, message) in messages {
                match client.publish(subject, message).await {
                    Ok(()) => handed += 1,
                    Err(_) => self.losses.unsent(),
                }
            }
            if is_much {
                let _ = client.flush().await;
            }
        };
        tokio::select! {
            biased;
            () = gone(client) => self.losses.unsent(),
            () = written => {}
        }
        handed
    }
}

async fn gone(client: &Client) {
    while client.connection_state() == State::Connected {
        sleep(LOOK).await;
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
        let mut taken = |bytes, times: usize| {
            let message = Bytes::from(vec![0; bytes]);
            let put = || outgoing.put(Subject::from_static("subject"), message.clone());
            let accepted = (0..times).filter(|_| put()).count();
            let mut waiting = 0;
            while let Ok((subject, message)) = sender.queue.try_recv() {
                sender.bytes.fetch_sub(cost(&subject, &message), Ordering::Relaxed);
                waiting += 1;
            }
            assert_eq!(accepted, waiting);
            waiting
        };
        assert_eq!(taken(1024 * 1024, 100), 15, "a little is for the messages themselves");
        assert!((MOST / 2..=MOST).contains(&taken(10, 2 * MOST)), "small ones cost what they take as well");
        assert_eq!(taken(10, 1), 1, "there is room again");
    }
}
