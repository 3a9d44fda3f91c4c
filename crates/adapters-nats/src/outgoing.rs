//! What waits to be sent, bounded in bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_nats::connection::State;
use async_nats::{Client, Subject};
use bytes::Bytes;
use measure::BusDrop;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::sleep;

use crate::losses::Losses;

/// The most bytes that wait, with those that the link was handed and has not written.
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// How many messages are handed to the link at a time, and after how many bytes no more is added to them.
const AT_ONCE: usize = 64;
const BYTES_AT_ONCE: usize = 1024 * 1024;

/// After how many bytes the link is waited for: for each message it would cost as much as the message.
const BYTES_UNASKED: usize = 256 * 1024;

/// How often whoever waits for the end looks whether all is written.
const SOON: Duration = Duration::from_millis(5);

/// How often it is looked whether the link is still there while it writes nothing.
const LOOK: Duration = Duration::from_millis(100);

/// What a message in the queue costs beside its bytes.
const SLACK: usize = 128;

/// The end at which messages are put in.
pub(crate) struct Outgoing {
    queue: UnboundedSender<(Subject, Bytes)>,
    bytes: Arc<AtomicUsize>,
}

/// The end from which they are sent.
pub(crate) struct Sender {
    queue: UnboundedReceiver<(Subject, Bytes)>,
    bytes: Arc<AtomicUsize>,
    /// How many bytes the link was handed since it was last waited for.
    handed: usize,
    losses: Arc<Losses>,
}

/// An empty queue.
pub(crate) fn queue(losses: Arc<Losses>) -> (Outgoing, Sender) {
    let (put, take) = unbounded_channel();
    let bytes = Arc::<AtomicUsize>::default();
    (Outgoing { queue: put, bytes: bytes.clone() }, Sender { queue: take, bytes, handed: 0, losses })
}

impl Outgoing {
    /// Lets a message wait, or drops it if too much does; whether it waits.
    pub(crate) fn put(&self, subject: Subject, message: Bytes) -> bool {
        let cost = cost(&subject, &message);
        if self.bytes.fetch_add(cost, Ordering::Relaxed) + cost > MOST_BYTES {
            self.bytes.fetch_sub(cost, Ordering::Relaxed);
            measure::bus_dropped(BusDrop::QueueFull);
            return false;
        }
        if self.queue.send((subject, message)).is_err() {
            self.bytes.fetch_sub(cost, Ordering::Relaxed);
            measure::bus_dropped(BusDrop::Disconnected);
            return false;
        }
        true
    }

    /// Waits until nothing waits any more.
    pub(crate) async fn emptied(&self) {
        while self.bytes.load(Ordering::Relaxed) > 0 {
            sleep(SOON).await;
        }
    }
}

impl Sender {
    /// Sends what is put in, for ever. What waits while the link is down is dropped: by the time that it is back, it is
    /// old.
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

    /// This message and some that wait behind it, with what all of them cost.
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

    /// Hands messages to the link, and when these are many waits until it has written them or is gone: it would take any
    /// number that it cannot write. Gives how many were handed to it.
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
        let message = Bytes::from(vec![0; 1024 * 1024]);
        for _ in 0..100 {
            outgoing.put(Subject::from_static("subject"), message.clone());
        }
        let mut waiting = 0;
        while sender.queue.try_recv().is_ok() {
            waiting += 1;
        }
        assert_eq!(waiting, 15, "a little is for the messages themselves");
    }
}
