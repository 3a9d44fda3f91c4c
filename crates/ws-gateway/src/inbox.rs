//! What waits for one socket, and how much of it may.
//!
//! Publishers put events in without waiting. Everything that is on its way to the client, here
//! or in the outbox, is counted against one limit; over it, nothing more is taken and the socket
//! is told to end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use domain::id::MessageId;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::topic::Topic;

/// What one event costs beside its payload, about.
const OVERHEAD_BYTES: usize = 256;

/// An event as it is pushed, shared by all sockets that get it.
#[derive(Debug)]
pub(crate) struct Payload {
    /// Its name.
    pub(crate) event: &'static str,
    /// Its content as JSON.
    pub(crate) json: String,
    /// The message that it brings to agents.
    pub(crate) brings: Option<MessageId>,
}

/// Names one stay of a socket on a topic, so that what was meant for an earlier stay does not
/// touch a later one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ticket(pub u64);

/// What a socket is told.
#[derive(Debug)]
pub(crate) enum Told {
    /// An event of a topic.
    Event { topic: Topic, ticket: Ticket, payload: Arc<Payload> },
    /// The stay on a topic is over.
    End { topic: Topic, ticket: Ticket },
    /// A newer socket of the same agent has taken over.
    Superseded { payload: Arc<Payload> },
    /// The credential is no longer good.
    Revoked,
    /// The server stops.
    Stop,
    /// More waited than may.
    Overflow,
}

/// Bytes on their way to one client.
#[derive(Debug)]
pub(crate) struct Budget {
    queued: AtomicUsize,
    limit: usize,
    exceeded: AtomicBool,
}

impl Budget {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { queued: AtomicUsize::new(0), limit, exceeded: AtomicBool::new(false) })
    }

    /// Counts `bytes` more; `false` when that is over the limit, from then on for ever. Where
    /// nothing waits, anything may: a client that reads gets the largest message.
    pub(crate) fn take(&self, bytes: usize) -> bool {
        let queued = self.queued.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if queued > self.limit && queued > bytes {
            self.exceeded.store(true, Ordering::Relaxed);
        }
        !self.exceeded.load(Ordering::Relaxed)
    }

    /// Counts `bytes` as gone.
    pub(crate) fn give_back(&self, bytes: usize) {
        self.queued.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// The publishers' end.
#[derive(Clone, Debug)]
pub(crate) struct Inbox {
    sender: UnboundedSender<Told>,
    budget: Arc<Budget>,
}

impl Inbox {
    /// An inbox, and the socket's end of it.
    pub(crate) fn new(limit: usize) -> (Self, UnboundedReceiver<Told>, Arc<Budget>) {
        let (sender, receiver) = unbounded_channel();
        let budget = Budget::new(limit);
        (Self { sender, budget: budget.clone() }, receiver, budget)
    }

    /// Puts an event in, if there is room; the first one without room ends the socket.
    pub(crate) fn event(&self, topic: Topic, ticket: Ticket, payload: Arc<Payload>) {
        let before = self.budget.exceeded.load(Ordering::Relaxed);
        if self.budget.take(cost(&payload)) {
            self.tell(Told::Event { topic, ticket, payload });
        } else if !before {
            self.tell(Told::Overflow);
        }
    }

    /// Whether nothing is on its way to the client.
    pub(crate) fn is_idle(&self) -> bool {
        self.budget.queued.load(Ordering::Relaxed) == 0
    }

    /// Puts an event in that may as well come later, unless that would take more than half of what
    /// may wait. Whether it is in.
    pub(crate) fn offer(&self, topic: Topic, ticket: Ticket, payload: Payload) -> bool {
        let queued = self.budget.queued.load(Ordering::Relaxed);
        let fits = queued == 0 || queued + cost(&payload) <= self.budget.limit / 2;
        if fits {
            self.event(topic, ticket, Arc::new(payload));
        }
        fits
    }

    /// Puts in what must arrive and is small.
    pub(crate) fn tell(&self, told: Told) {
        // A socket that has ended hears nothing, and needs to hear nothing.
        let _ = self.sender.send(told);
    }
}

/// What an event counts while it waits in the inbox.
pub(crate) fn cost(payload: &Payload) -> usize {
    payload.json.len() + OVERHEAD_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_for_what_waits() {
        let budget = Budget::new(100);
        assert!(budget.take(1_000), "nothing waited before it");
        budget.give_back(1_000);
        assert!(budget.take(60) && budget.take(40));
        assert!(!budget.take(1));
        budget.give_back(101);
        assert!(!budget.take(1), "once over the limit is over it for ever");
    }

    #[test]
    fn what_may_come_later_takes_half_of_what_may_wait() {
        let topic = Topic::ChatRoom(domain::id::ChatId::new(uuid::Uuid::from_u128(1)));
        let (inbox, mut receiver, budget) = Inbox::new(4_000);
        let offer = |bytes: usize| {
            let payload = Payload { event: "x", json: "x".repeat(bytes - OVERHEAD_BYTES), brings: None };
            inbox.offer(topic, Ticket(1), payload)
        };
        assert!(inbox.is_idle());
        assert!(offer(1_500) && !inbox.is_idle());
        assert!(!offer(501), "more than half would wait");
        assert!(offer(500) && !offer(300));
        budget.give_back(2_000);
        assert!(inbox.is_idle() && offer(5_000), "nothing waits, so anything may");
        let told = std::iter::from_fn(|| receiver.try_recv().ok()).collect::<Vec<_>>();
        assert!(matches!(told[..], [Told::Event { .. }, Told::Event { .. }, Told::Event { .. }]), "{told:?}");
    }
}
