//! What goes to one client: the body of the upgraded response.
//!
//! The connection takes from it as fast as the client reads: answers, which the socket's task has
//! queued here, and events, straight from the inbox, so that an event costs one waking and one
//! writing. What was queued came before what is still in the inbox. What stays in either is what the
//! client has not read, and a message that left is one that the connection took. Bytes are counted
//! against the socket's [`Budget`](crate::inbox::Budget) until the connection has taken them.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use actix_http::ws::{CloseCode, CloseReason, OpCode, Parser};
use actix_web::Error;
use actix_web::body::BoxBody;
use bytes::{Bytes, BytesMut};
use domain::id::MessageId;
use futures_core::Stream;

use crate::inbox::{Event, Orders, Reader, Told, cost};
use crate::machine::Connection;
use crate::taken::Receipts;

/// As much as is handed to the connection at once, about.
const CHUNK_BYTES: usize = 64 * 1024;

/// The most bytes of a control frame.
const CONTROL_BYTES: usize = 125;

/// What a frame costs beside its content, about: an empty one is not for nothing.
const OVERHEAD_BYTES: usize = 64;

enum Item {
    Text(String),
    /// A text that brings a message to an agent.
    Message(String, MessageId),
    Pong(Bytes),
}

struct Queue {
    machine: Connection,
    inbox: Reader,
    /// The inbox is left alone: the task is about to say how what comes is to be taken.
    held: bool,
    items: VecDeque<Item>,
    /// Set once: the last frame, after which the body ends.
    close: Option<CloseReason>,
    ended: bool,
    /// Who hears which messages the connection took.
    receipts: Option<Receipts>,
}

/// The task's end of the queue. However the task ends, the body does too.
pub(crate) struct Outbox(Rc<RefCell<Queue>>);

/// The connection's end of the queue.
pub(crate) struct OutboxBody {
    queue: Rc<RefCell<Queue>>,
    /// The body that the handshake made. It is never read, but its end tells the inbound stream
    /// that the connection is gone.
    _handshake: BoxBody,
}

thread_local! {
    /// Where an event becomes a frame before it is copied to the connection.
    static FRAME: RefCell<String> = const { RefCell::new(String::new()) };
}

impl Outbox {
    pub(crate) fn new(machine: Connection, inbox: Reader, receipts: Option<Receipts>) -> Self {
        let items = VecDeque::new();
        let queue = Queue { machine, inbox, held: false, items, close: None, ended: false, receipts };
        Self(Rc::new(RefCell::new(queue)))
    }

    /// Asks the machine.
    pub(crate) fn machine<R>(&self, ask: impl FnOnce(&mut Connection) -> R) -> R {
        ask(&mut self.0.borrow_mut().machine)
    }

    /// The next thing that the socket is told.
    pub(crate) fn told(&self) -> Option<Told> {
        self.0.borrow_mut().inbox.next()
    }

    /// So many bytes of what was told wait no longer.
    pub(crate) fn forget(&self, bytes: usize) {
        self.0.borrow().inbox.budget().give_back(bytes);
    }

    /// Tells when there are orders.
    pub(crate) fn orders(&self) -> Orders {
        self.0.borrow().inbox.orders()
    }

    /// Leaves in the inbox what comes, until [`Self::resume`].
    pub(crate) fn hold(&self) {
        self.0.borrow_mut().held = true;
    }

    /// Goes on with what came.
    pub(crate) fn resume(&self) {
        let mut queue = self.0.borrow_mut();
        queue.held = false;
        queue.inbox.wake_connection();
    }

    /// The body of the response; `handshake` is the one that it replaces.
    pub(crate) fn body(&self, handshake: BoxBody) -> OutboxBody {
        OutboxBody { queue: self.0.clone(), _handshake: handshake }
    }

    /// Queues a text; `false` when that is more than may wait.
    pub(crate) fn text(&self, text: String) -> bool {
        self.push(Item::Text(text))
    }

    /// Queues a text that brings a message to an agent; `false` when that is more than may wait.
    pub(crate) fn message(&self, text: String, message: MessageId) -> bool {
        self.push(Item::Message(text, message))
    }

    /// Queues a Pong; `false` when that is more than may wait.
    pub(crate) fn pong(&self, bytes: Bytes) -> bool {
        self.push(Item::Pong(bytes))
    }

    /// The last frame: what has queued before it still goes out.
    pub(crate) fn close(&self, code: CloseCode, description: &str) {
        let mut queue = self.0.borrow_mut();
        if queue.close.is_none() {
            queue.close = Some(CloseReason { code, description: Some(description.to_owned()) });
        }
        queue.inbox.wake_connection();
    }

    /// The last frame, instead of everything that has queued.
    pub(crate) fn cut(&self, code: CloseCode, description: &str) {
        let mut queue = self.0.borrow_mut();
        let freed = queue.items.drain(..).map(|item| item.cost()).sum();
        queue.inbox.budget().give_back(freed);
        drop(queue);
        self.close(code, description);
    }

    fn push(&self, item: Item) -> bool {
        let mut queue = self.0.borrow_mut();
        if queue.close.is_some() {
            return true;
        }
        let fits = queue.inbox.budget().take(item.cost());
        queue.items.push_back(item);
        queue.inbox.wake_connection();
        fits
    }
}

impl Drop for Outbox {
    /// Without it a task that broke down would leave a connection that never ends.
    fn drop(&mut self) {
        self.close(CloseCode::Error, "");
    }
}

impl Item {
    /// What it counts while it waits.
    fn cost(&self) -> usize {
        let content = match self {
            Self::Text(text) | Self::Message(text, _) => text.len(),
            Self::Pong(bytes) => bytes.len(),
        };
        content + OVERHEAD_BYTES
    }

    fn write(&self, out: &mut BytesMut) {
        match self {
            Self::Text(text) | Self::Message(text, _) => {
                Parser::write_message(out, text.as_bytes(), OpCode::Text, true, false);
            }
            Self::Pong(bytes) => {
                let short = &bytes[..bytes.len().min(CONTROL_BYTES)];
                Parser::write_message(out, short, OpCode::Pong, true, false);
            }
        }
    }
}

impl Queue {
    /// The next bytes for the connection; `None` when there are none now.
    fn take(&mut self) -> Option<Bytes> {
        let mut out = BytesMut::new();
        while out.len() < CHUNK_BYTES {
            // What was written counts as gone last: whoever finds that nothing waits finds the receipts
            // of all that did.
            if let Some(item) = self.items.pop_front() {
                item.write(&mut out);
                if let Item::Message(text, message) = &item {
                    self.took(*message, text.len());
                }
                self.inbox.budget().give_back(item.cost());
            } else if let Some(event) = self.next_event() {
                self.write_event(&event, &mut out);
                self.inbox.budget().give_back(cost(&event.payload));
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
        if out.is_empty() { None } else { Some(out.freeze()) }
    }

    /// The next event, unless the task has to do something first.
    fn next_event(&mut self) -> Option<Event> {
        if self.held || self.close.is_some() { None } else { self.inbox.next_event() }
    }

    fn write_event(&self, Event { topic, ticket, payload }: &Event, out: &mut BytesMut) {
        FRAME.with_borrow_mut(|text| {
            if !self.machine.write_event(text, *topic, *ticket, payload.event, &payload.json) {
                return;
            }
            Parser::write_message(out, text.as_bytes(), OpCode::Text, true, false);
            if let Some(message) = payload.brings {
                self.took(message, text.len());
            }
            if text.capacity() > CHUNK_BYTES {
                *text = String::new();
            }
        });
    }

    fn took(&self, message: MessageId, frame_bytes: usize) {
        if let Some(receipts) = &self.receipts {
            receipts.took(message, frame_bytes);
        }
    }
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
