//! The bounded queue of one socket.
//!
//! Publishers add events without waiting. All bytes on their way to the client, here or in the
//! outbox, count against one limit; above it, nothing more is accepted and the socket is closed.
//!
//! The queue has two readers on one thread: the connection, which takes events and writes them, and
//! the socket's task, which alone carries out *commands*, the items that are not events. Neither
//! passes an earlier item.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use domain::delivery::SubscriptionId;
use domain::id::MessageId;

use crate::topic::Topic;

/// The approximate cost of an event in addition to its payload.
const EVENT_OVERHEAD_BYTES: usize = 256;

/// The number of queued events that are searched for an older state of a message.
pub(crate) const SEARCHED: usize = 256;

/// An event as it is pushed, shared by all sockets that receive it.
#[derive(Debug)]
pub struct Payload {
    /// Its name.
    pub event: &'static str,
    /// Its content as JSON.
    pub json: String,
    /// The message that it delivers to agents.
    pub(crate) brings: Option<MessageId>,
    /// The message whose complete state it is: a newer state replaces it.
    pub(crate) updates: Option<MessageId>,
}

impl Payload {
    /// Makes an event that neither delivers nor updates a message.
    pub(crate) fn new(event: &'static str, json: String) -> Self {
        Self { event, json, brings: None, updates: None }
    }
}

/// Identifies a socket during the life of the process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub(crate) struct SocketId(u64);

impl SocketId {
    /// The one with this number.
    pub(crate) const fn numbered(number: u64) -> Self {
        Self(number)
    }

    pub(crate) const fn get(self) -> u64 {
        self.0
    }

    /// The next socket's.
    pub(crate) const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// An event of a topic, for one subscription: events for an earlier one do not reach a later one.
#[derive(Clone, Debug)]
pub struct Event {
    pub topic: Topic,
    pub subscription: SubscriptionId,
    pub payload: Arc<Payload>,
}

/// An item in the queue of a socket: an event, or a command to its task.
#[derive(Debug)]
pub enum InboxItem {
    /// An event of a topic.
    Event(Event),
    /// The subscription to a topic has ended.
    End { topic: Topic, subscription: SubscriptionId },
    /// A newer socket of the same agent has taken over.
    Superseded { payload: Arc<Payload> },
    /// The credential is no longer good.
    Revoked,
    /// The server stops, or closes all sockets so that their clients reconnect.
    Stop,
    /// The queue exceeded its limit.
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
    fn new(limit: usize) -> Self {
        Self { queued: AtomicUsize::new(0), limit, exceeded: AtomicBool::new(false) }
    }

    /// Adds `bytes`; returns `false` if that exceeds the limit, and for all later calls. An empty
    /// queue accepts any size, so a client that reads gets the largest message.
    pub(crate) fn take(&self, bytes: usize) -> bool {
        let queued = self.queued.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if queued > self.limit && queued > bytes {
            self.exceeded.store(true, Ordering::Relaxed);
        }
        !self.exceeded.load(Ordering::Relaxed)
    }

    /// Removes `bytes`.
    pub(crate) fn give_back(&self, bytes: usize) {
        if bytes > 0 {
            self.queued.fetch_sub(bytes, Ordering::Release);
        }
    }
}

#[derive(Debug)]
struct Mailbox {
    budget: Budget,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    queued: VecDeque<InboxItem>,
    /// Set if a command has come since the task last looked.
    has_command: bool,
    /// Set if there is no reader any more.
    closed: bool,
    connection: Option<Waker>,
    task: Option<Waker>,
}

impl Waiting {
    /// Removes the queued state of a message.
    fn take_older(&mut self, subscription: SubscriptionId, message: MessageId) -> Option<Event> {
        let is_older = |item: &InboxItem| {
            let InboxItem::Event(event) = item else { return false };
            event.subscription == subscription && event.payload.updates == Some(message)
        };
        let from_end = self.queued.iter().rev().take(SEARCHED).position(is_older)?;
        match self.queued.remove(self.queued.len() - 1 - from_end)? {
            InboxItem::Event(event) => Some(event),
            _ => None,
        }
    }
}

impl Mailbox {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The publishers' end of the queue.
#[derive(Clone, Debug)]
pub(crate) struct Inbox(Arc<Mailbox>);

impl Inbox {
    /// Makes an inbox and the socket's end of it.
    pub(crate) fn new(limit: usize) -> (Self, Reader) {
        let mailbox = Arc::new(Mailbox { budget: Budget::new(limit), waiting: Mutex::default() });
        (Self(mailbox.clone()), Reader { mailbox, taken: VecDeque::new() })
    }

    /// Adds an event if there is room; the first one without room closes the socket. The state of a
    /// message replaces an older one in the queue, and moves behind all earlier items.
    pub(crate) fn event(&self, topic: Topic, subscription: SubscriptionId, payload: &Arc<Payload>) {
        let budget = &self.0.budget;
        if let Some(older) =
            payload.updates.and_then(|message| self.0.waiting().take_older(subscription, message))
        {
            budget.give_back(cost(&older.payload));
        }
        let before = budget.exceeded.load(Ordering::Relaxed);
        if budget.take(cost(payload)) {
            let event = Event { topic, subscription, payload: payload.clone() };
            let waker = {
                let mut waiting = self.0.waiting();
                if waiting.closed {
                    return;
                }
                waiting.queued.push_back(InboxItem::Event(event));
                waiting.connection.take()
            };
            if let Some(waker) = waker {
                waker.wake();
            }
        } else if !before {
            self.send_command(InboxItem::Overflow);
        }
    }

    /// The approximate number of bytes on their way to the client.
    pub(crate) fn queued_bytes(&self) -> usize {
        self.0.budget.queued.load(Ordering::Relaxed)
    }

    /// Returns whether nothing is on its way to the client; the acknowledgements of all earlier messages
    /// are then visible.
    pub(crate) fn is_idle(&self) -> bool {
        self.0.budget.queued.load(Ordering::Acquire) == 0
    }

    /// Adds an event that can also be sent later, unless the queue would be more than half full.
    /// Returns whether it was added.
    pub(crate) fn offer(&self, topic: Topic, subscription: SubscriptionId, payload: Payload) -> bool {
        let budget = &self.0.budget;
        let queued = budget.queued.load(Ordering::Relaxed);
        let fits = queued == 0 || queued + cost(&payload) <= budget.limit / 2;
        if fits {
            self.event(topic, subscription, &Arc::new(payload));
        }
        fits
    }

    /// Adds a command, which is small and must arrive.
    pub(crate) fn send_command(&self, item: InboxItem) {
        let wakers = {
            let mut waiting = self.0.waiting();
            if waiting.closed {
                return;
            }
            waiting.queued.push_back(item);
            waiting.has_command = true;
            [waiting.task.take(), waiting.connection.take()]
        };
        wakers.into_iter().flatten().for_each(Waker::wake);
    }
}

/// The socket's end of the queue.
#[derive(Debug)]
pub struct Reader {
    mailbox: Arc<Mailbox>,
    /// Items that were taken together, and are handled one by one.
    taken: VecDeque<InboxItem>,
}

/// The items that are there; more may come after the last one.
impl Iterator for Reader {
    type Item = InboxItem;

    fn next(&mut self) -> Option<InboxItem> {
        if self.taken.is_empty() {
            self.fetch();
        }
        self.taken.pop_front()
    }
}

/// The capacity that the list of taken items keeps.
const KEPT_CAPACITY: usize = 16;

impl Reader {
    /// The budget of the bytes on their way to the client.
    pub(crate) fn budget(&self) -> &Budget {
        &self.mailbox.budget
    }

    /// The next item if it is an event; items that arrived since the last batch are considered only
    /// if `looks`. The event counts against the limit until it is given back.
    pub(crate) fn next_event(&mut self, looks: bool) -> Option<Event> {
        if looks && self.taken.is_empty() {
            self.fetch();
        }
        match self.taken.pop_front()? {
            InboxItem::Event(event) => Some(event),
            command => {
                self.taken.push_front(command);
                None
            }
        }
    }

    /// The next item if it precedes the first one of this subscription: an event, or its end.
    pub(crate) fn next_before(&mut self, subscription: SubscriptionId) -> Option<InboxItem> {
        let item = self.next()?;
        match &item {
            InboxItem::Event(Event { subscription: of, .. }) | InboxItem::End { subscription: of, .. }
                if *of == subscription =>
            {
                self.taken.push_front(item);
                None
            }
            _ => Some(item),
        }
    }

    /// Discards all items, and those that follow.
    pub(crate) fn shut(&mut self) {
        self.taken = VecDeque::new();
        let mut waiting = self.mailbox.waiting();
        waiting.closed = true;
        waiting.queued = VecDeque::new();
        waiting.task = None;
    }

    fn fetch(&mut self) {
        if self.taken.capacity() > KEPT_CAPACITY {
            self.taken = VecDeque::new();
        }
        std::mem::swap(&mut self.taken, &mut self.mailbox.waiting().queued);
    }

    /// Has the connection woken by the next item; returns `true` if one has arrived meanwhile.
    pub(crate) fn wake_connection_later(&self, context: &Context<'_>) -> bool {
        let mut waiting = self.mailbox.waiting();
        keep(&mut waiting.connection, context);
        self.taken.is_empty() && !waiting.queued.is_empty()
    }

    /// Wakes the connection for items outside the inbox.
    pub(crate) fn wake_connection(&self) {
        let waker = self.mailbox.waiting().connection.take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// The publishers' end, for a task that waits for commands.
    pub(crate) fn command_signal(&self) -> CommandSignal {
        CommandSignal(self.mailbox.clone())
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.shut();
    }
}

/// Notifies the task of commands.
pub(crate) struct CommandSignal(Arc<Mailbox>);

impl CommandSignal {
    /// Waits for a command that is newer than the last call.
    pub(crate) async fn came(&self) {
        poll_fn(|context| {
            let mut waiting = self.0.waiting();
            if std::mem::take(&mut waiting.has_command) {
                return Poll::Ready(());
            }
            keep(&mut waiting.task, context);
            Poll::Pending
        })
        .await;
    }
}

/// Stores the waker if it differs.
fn keep(waker: &mut Option<Waker>, context: &Context<'_>) {
    if !waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
        *waker = Some(context.waker().clone());
    }
}

/// The number of bytes that an event counts in the inbox.
pub(crate) fn cost(payload: &Payload) -> usize {
    payload.json.len() + EVENT_OVERHEAD_BYTES
}

#[cfg(test)]
mod tests;
