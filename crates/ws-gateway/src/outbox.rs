//! The frames to one client: the body of the upgraded response.
//!
//! The connection reads from it as fast as the client does: replies, which the socket's task has
//! queued here, and events, straight from the inbox, so that an event costs one wake-up and one
//! write. Queued items precede those in the inbox. What remains in either has not been read by the
//! client, and a message that left it was taken by the connection. Bytes count against the socket's
//! [`Budget`](crate::inbox::Budget) until the connection has taken them.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use actix_http::ws::{CloseCode, CloseReason, OpCode, Parser};
use actix_web::Error;
use actix_web::body::BoxBody;
use bytes::{BufMut, Bytes, BytesMut};
use domain::delivery::SubscriptionId;
use domain::id::MessageId;
use futures_core::Stream;
use tokio::time::sleep;

use crate::acknowledgements::AcknowledgementSink;
use crate::hub::SocketPermit;
use crate::inbox::{CommandSignal, Event, InboxItem, Payload, Reader, SEARCHED, cost};
use crate::machine::Machine;

/// The approximate number of bytes that are handed to the connection at a time.
const CHUNK_BYTES: usize = 64 * 1024;

/// The maximum size of a control frame.
const CONTROL_BYTES: usize = 125;

/// The approximate overhead of a frame: an empty one has a cost too.
const FRAME_OVERHEAD_BYTES: usize = 64;

/// The part of the limit that replies to the client may use. Events are shared by all receivers,
/// replies are not: each of a caller's sockets has its own.
const OWN_BYTES: usize = 128 * 1024;

/// The approximate time for which a closed socket keeps its remaining frames.
pub(crate) const LINGER: Duration = Duration::from_secs(10);

enum Item {
    Text(String),
    Pong(Bytes),
    /// An event that precedes the items queued behind it. Its head belongs to this socket; its
    /// content is not copied before the connection takes it.
    Event {
        head: Box<str>,
        payload: Arc<Payload>,
    },
}

struct Queue {
    machine: Machine,
    inbox: Reader,
    /// Set while the inbox is paused: the task is about to decide how its next items are handled.
    held: bool,
    items: VecDeque<Item>,
    /// Bytes of the items that are not shared with other sockets.
    own: usize,
    /// Bytes that the connection has taken and may not have written yet: it polls again when they
    /// are nearly gone.
    handed: usize,
    /// Set once: the last frame, which ends the body.
    close: Option<CloseReason>,
    ended: bool,
    /// Records the messages that the connection took.
    acknowledgements: Option<AcknowledgementSink>,
}

/// The task's end of the queue. Dropping it ends the body, however the task ends.
pub(crate) struct Outbox(Rc<RefCell<Queue>>);

/// The connection's end of the queue.
pub(crate) struct OutboxBody {
    queue: Rc<RefCell<Queue>>,
    /// The body that the handshake made. It is never read, but dropping it tells the inbound stream
    /// that the connection is gone.
    _handshake: BoxBody,
    /// Counts the connection until it has taken the end of this body. The connection itself may
    /// buffer it for longer.
    _permit: Option<SocketPermit>,
}

impl Outbox {
    pub(crate) fn new(
        machine: Machine,
        inbox: Reader,
        acknowledgements: Option<AcknowledgementSink>,
    ) -> Self {
        let items = VecDeque::new();
        let (own, handed) = (0, 0);
        let queue = Queue {
            machine,
            inbox,
            held: false,
            items,
            own,
            handed,
            close: None,
            ended: false,
            acknowledgements,
        };
        Self(Rc::new(RefCell::new(queue)))
    }

    /// Calls the machine.
    pub(crate) fn machine<R>(&self, ask: impl FnOnce(&mut Machine) -> R) -> R {
        ask(&mut self.0.borrow_mut().machine)
    }

    /// The next command for the socket.
    pub(crate) fn next_command(&self) -> Option<InboxItem> {
        self.0.borrow_mut().inbox.next()
    }

    /// The next command, if it precedes the first event of `subscription`.
    pub(crate) fn next_command_before(&self, subscription: SubscriptionId) -> Option<InboxItem> {
        self.0.borrow_mut().inbox.next_before(subscription)
    }

    /// Notifies of commands.
    pub(crate) fn command_signal(&self) -> CommandSignal {
        self.0.borrow().inbox.command_signal()
    }

    /// Leaves new items in the inbox, until [`Self::resume`].
    pub(crate) fn hold(&self) {
        self.0.borrow_mut().held = true;
    }

    /// Resumes taking items from the inbox.
    pub(crate) fn resume(&self) {
        let mut queue = self.0.borrow_mut();
        queue.held = false;
        queue.inbox.wake_connection();
    }

    /// Makes the body of the response in place of `handshake`.
    pub(crate) fn body(&self, handshake: BoxBody, permit: Option<SocketPermit>) -> OutboxBody {
        OutboxBody { queue: self.0.clone(), _handshake: handshake, _permit: permit }
    }

    /// Queues a text; returns `false` if that exceeds the limit.
    pub(crate) fn text(&self, text: String) -> bool {
        self.push(Item::Text(text))
    }

    /// Queues a Pong; returns `false` if that exceeds the limit.
    pub(crate) fn pong(&self, bytes: Bytes) -> bool {
        self.push(Item::Pong(bytes))
    }

    /// Queues an event that precedes a later item; it counts against the limit as it did in the
    /// inbox.
    pub(crate) fn event(&self, Event { topic, subscription, payload }: Event) {
        let mut queue = self.0.borrow_mut();
        let head = match queue.close {
            None => queue.machine.head(topic, subscription, payload.event, payload.json.len()).map(Box::from),
            Some(_) => None,
        };
        let Some(head) = head else { return queue.inbox.budget().give_back(cost(&payload)) };
        if let Some(message) = payload.updates {
            queue.drop_older(&head, message);
        }
        queue.items.push_back(Item::Event { head, payload });
        queue.inbox.wake_connection();
    }

    /// Queues the last frame: queued items still precede it, those in the inbox are dropped.
    pub(crate) fn close(&self, code: CloseCode, description: &str) {
        let mut queue = self.0.borrow_mut();
        if queue.close.is_none() {
            queue.close = Some(CloseReason { code, description: Some(description.to_owned()) });
        }
        queue.inbox.shut();
        queue.inbox.wake_connection();
    }

    /// Sends the last frame instead of all queued items.
    pub(crate) fn cut(&self, code: CloseCode, description: &str) {
        self.0.borrow_mut().clear();
        self.close(code, description);
    }

    /// Drops the queued items if they exceed one chunk: a client that is that far behind does not
    /// get them.
    pub(crate) fn drop_backlog(&self) {
        let mut queue = self.0.borrow_mut();
        if queue.items.iter().map(Item::cost).sum::<usize>() > CHUNK_BYTES {
            queue.clear();
        }
    }

    /// Drops the frames that the client of a closed socket has not read after `time`. A client that
    /// reads very slowly would otherwise keep them for as long as it likes.
    pub(crate) fn forget_after(&self, time: Duration) {
        if self.0.borrow().items.is_empty() {
            return;
        }
        let queue = Rc::downgrade(&self.0);
        actix_web::rt::spawn(async move {
            sleep(time).await;
            if let Some(queue) = queue.upgrade() {
                queue.borrow_mut().clear();
            }
        });
    }

    fn push(&self, item: Item) -> bool {
        let mut queue = self.0.borrow_mut();
        if queue.close.is_some() {
            return true;
        }
        let bytes = item.cost();
        let fits = queue.inbox.budget().take(bytes);
        queue.own += bytes;
        queue.items.push_back(item);
        queue.inbox.wake_connection();
        fits && queue.own <= OWN_BYTES.max(bytes)
    }
}

impl Drop for Outbox {
    /// Without it, a task that panicked would leave a connection that never ends.
    fn drop(&mut self) {
        self.close(CloseCode::Error, "");
    }
}

impl Item {
    /// The number of bytes that it counts in the queue.
    fn cost(&self) -> usize {
        match self {
            Self::Text(text) => text.len() + FRAME_OVERHEAD_BYTES,
            Self::Pong(bytes) => bytes.len() + FRAME_OVERHEAD_BYTES,
            Self::Event { payload, .. } => cost(payload),
        }
    }
}

impl Queue {
    /// Drops the queued items.
    fn clear(&mut self) {
        let freed = self.items.drain(..).map(|item| item.cost()).sum();
        self.inbox.budget().give_back(freed);
        self.own = 0;
    }

    /// Drops an older state of the message with the same head, hence of the same subscription.
    fn drop_older(&mut self, of: &str, message: MessageId) {
        let is_older = |item: &Item| match item {
            Item::Event { head, payload } => payload.updates == Some(message) && **head == *of,
            Item::Text(_) | Item::Pong(_) => false,
        };
        let Some(from_end) = self.items.iter().rev().take(SEARCHED).position(is_older) else { return };
        if let Some(older) = self.items.remove(self.items.len() - 1 - from_end) {
            self.inbox.budget().give_back(older.cost());
        }
    }

    /// The next bytes for the connection; `None` if there are none now.
    fn take(&mut self) -> Option<Bytes> {
        // They count as sent now, and not when they were handed over: an empty queue implies that
        // the acknowledgements of all earlier messages are visible.
        self.inbox.budget().give_back(std::mem::take(&mut self.handed));
        let (mut out, mut looks) = (BytesMut::new(), true);
        while out.len() < CHUNK_BYTES {
            if let Some(item) = self.items.pop_front() {
                self.handed += item.cost();
                self.write(item, &mut out);
            } else if let Some(event) = self.next_event(std::mem::take(&mut looks)) {
                self.handed += cost(&event.payload);
                self.write_event(&event, &mut out);
            } else {
                break;
            }
        }
        if self.items.is_empty() {
            // Most sockets are silent most of the time.
            self.items = VecDeque::new();
        }
        if self.items.is_empty() && !self.ended && self.close.is_some() {
            Parser::write_close(&mut out, self.close.clone(), false);
            self.ended = true;
        }
        if out.is_empty() {
            // Items that prove not to be for this client were not handed over either.
            self.inbox.budget().give_back(std::mem::take(&mut self.handed));
            return None;
        }
        Some(out.freeze())
    }

    fn write(&mut self, item: Item, out: &mut BytesMut) {
        match item {
            Item::Text(text) => {
                self.own -= text.len() + FRAME_OVERHEAD_BYTES;
                Parser::write_message(out, text.as_bytes(), OpCode::Text, true, false);
            }
            Item::Pong(bytes) => {
                self.own -= bytes.len() + FRAME_OVERHEAD_BYTES;
                let short = &bytes[..bytes.len().min(CONTROL_BYTES)];
                Parser::write_message(out, short, OpCode::Pong, true, false);
            }
            Item::Event { head, payload } => self.write_push(&head, &payload, out),
        }
    }

    /// The next event, unless the task has to act first. The inbox is checked once per chunk: the
    /// connection polls again for the rest.
    fn next_event(&mut self, looks: bool) -> Option<Event> {
        if self.held || self.close.is_some() { None } else { self.inbox.next_event(looks) }
    }

    fn write_event(&self, Event { topic, subscription, payload }: &Event, out: &mut BytesMut) {
        if let Some(head) = self.machine.head(*topic, *subscription, payload.event, payload.json.len()) {
            self.write_push(head, payload, out);
        }
    }

    fn write_push(&self, head: &str, payload: &Payload, out: &mut BytesMut) {
        let bytes = write_text(out, self.machine.pieces(head, payload.event, &payload.json));
        if let Some(message) = payload.brings {
            self.record_acknowledgement(message, bytes);
        }
    }

    fn record_acknowledgement(&self, message: MessageId, frame_bytes: usize) {
        if let Some(acknowledgements) = &self.acknowledgements {
            acknowledgements.record(message, frame_bytes);
        }
    }
}

/// Writes a text frame (RFC 6455, 5.2) from pieces, with one copy of each, and returns its size in
/// bytes.
fn write_text(out: &mut BytesMut, pieces: [&str; 5]) -> usize {
    /// The first byte of a text in a single frame.
    const WHOLE_TEXT: u8 = 0x81;
    let bytes = pieces.iter().map(|piece| piece.len()).sum::<usize>();
    // Reserves no more than needed: a full buffer is handed over as it is.
    match (u8::try_from(bytes), u16::try_from(bytes)) {
        (Ok(length @ ..126), _) => {
            out.reserve(2 + bytes);
            out.put_slice(&[WHOLE_TEXT, length]);
        }
        (_, Ok(length)) => {
            out.reserve(4 + bytes);
            out.put_slice(&[WHOLE_TEXT, 126]);
            out.put_u16(length);
        }
        _ => {
            out.reserve(10 + bytes);
            out.put_slice(&[WHOLE_TEXT, 127]);
            out.put_u64(bytes as u64);
        }
    }
    for piece in pieces {
        out.put_slice(piece.as_bytes());
    }
    bytes
}

impl Stream for OutboxBody {
    type Item = Result<Bytes, Error>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut queue = self.queue.borrow_mut();
        loop {
            if let Some(bytes) = queue.take() {
                return Poll::Ready(Some(Ok(bytes)));
            }
            if queue.ended {
                return Poll::Ready(None);
            }
            let more = queue.inbox.wake_connection_later(context);
            if !more || queue.held || queue.close.is_some() {
                return Poll::Pending;
            }
        }
    }
}

#[cfg(test)]
mod tests;
