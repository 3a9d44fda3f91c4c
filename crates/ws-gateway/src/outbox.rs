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
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use actix_http::ws::{CloseCode, CloseReason, OpCode, Parser};
use actix_web::Error;
use actix_web::body::BoxBody;
use bytes::{BufMut, Bytes, BytesMut};
use domain::id::MessageId;
use futures_core::Stream;
use tokio::time::sleep;

use crate::hub::ConnectionSlot;
use crate::inbox::{Event, Orders, Payload, Reader, SEARCHED, SocketCommand, Ticket, cost};
use crate::machine::Connection;
use crate::receipts::ReceiptSink;

/// As much as is handed to the connection at once, about.
const CHUNK_BYTES: usize = 64 * 1024;

/// The most bytes of a control frame.
const CONTROL_BYTES: usize = 125;

/// What a frame costs beside its content, about: an empty one is not for nothing.
const OVERHEAD_BYTES: usize = 64;

/// Of what may wait, so much may be answers to the client itself. Events are shared by all who get
/// them, answers are not: each of a caller's sockets has its own.
const OWN_BYTES: usize = 128 * 1024;

/// For how long an ended socket keeps what was on its way, about.
pub(crate) const LINGER: Duration = Duration::from_secs(10);

enum Item {
    Text(String),
    Pong(Bytes),
    /// An event that came before what is queued behind it. What stands before its content is this
    /// socket's; the content is not copied before the connection takes it.
    Event {
        head: Box<str>,
        payload: Arc<Payload>,
    },
}

struct Queue {
    machine: Connection,
    inbox: Reader,
    /// The inbox is left alone: the task is about to say how what comes is to be taken.
    held: bool,
    items: VecDeque<Item>,
    /// Bytes of the items that are not shared with other sockets.
    own: usize,
    /// Bytes that the connection has taken and may not have written yet: it comes back for more when
    /// they are nearly gone.
    handed: usize,
    /// Set once: the last frame, after which the body ends.
    close: Option<CloseReason>,
    ended: bool,
    /// Who hears which messages the connection took.
    receipts: Option<ReceiptSink>,
}

/// The task's end of the queue. However the task ends, the body does too.
pub(crate) struct Outbox(Rc<RefCell<Queue>>);

/// The connection's end of the queue.
pub(crate) struct OutboxBody {
    queue: Rc<RefCell<Queue>>,
    /// The body that the handshake made. It is never read, but its end tells the inbound stream
    /// that the connection is gone.
    _handshake: BoxBody,
    /// Counts for as long as this body lives, which is until the connection has taken its end. What that
    /// buffers then, it may keep for longer.
    _seat: Option<ConnectionSlot>,
}

impl Outbox {
    pub(crate) fn new(machine: Connection, inbox: Reader, receipts: Option<ReceiptSink>) -> Self {
        let items = VecDeque::new();
        let (own, handed) = (0, 0);
        let queue =
            Queue { machine, inbox, held: false, items, own, handed, close: None, ended: false, receipts };
        Self(Rc::new(RefCell::new(queue)))
    }

    /// Asks the machine.
    pub(crate) fn machine<R>(&self, ask: impl FnOnce(&mut Connection) -> R) -> R {
        ask(&mut self.0.borrow_mut().machine)
    }

    /// The next thing that the socket is told.
    pub(crate) fn told(&self) -> Option<SocketCommand> {
        self.0.borrow_mut().inbox.next()
    }

    /// The same, if it came before the stay `ticket` on a topic had its first event.
    pub(crate) fn told_before(&self, ticket: Ticket) -> Option<SocketCommand> {
        self.0.borrow_mut().inbox.next_before(ticket)
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
    pub(crate) fn body(&self, handshake: BoxBody, slot: Option<ConnectionSlot>) -> OutboxBody {
        OutboxBody { queue: self.0.clone(), _handshake: handshake, _seat: slot }
    }

    /// Queues a text; `false` when that is more than may wait.
    pub(crate) fn text(&self, text: String) -> bool {
        self.push(Item::Text(text))
    }

    /// Queues a Pong; `false` when that is more than may wait.
    pub(crate) fn pong(&self, bytes: Bytes) -> bool {
        self.push(Item::Pong(bytes))
    }

    /// Queues an event that was told before something else; it goes on counting as it did in the inbox.
    pub(crate) fn event(&self, Event { topic, ticket, payload }: Event) {
        let mut queue = self.0.borrow_mut();
        let head = match queue.close {
            None => queue.machine.head(topic, ticket, payload.event, payload.json.len()).map(Box::from),
            Some(_) => None,
        };
        let Some(head) = head else { return queue.inbox.budget().give_back(cost(&payload)) };
        if let Some(message) = payload.updates {
            queue.drop_older(&head, message);
        }
        queue.items.push_back(Item::Event { head, payload });
        queue.inbox.wake_connection();
    }

    /// The last frame: what has queued before it still goes out, what is in the inbox does not.
    pub(crate) fn close(&self, code: CloseCode, description: &str) {
        let mut queue = self.0.borrow_mut();
        if queue.close.is_none() {
            queue.close = Some(CloseReason { code, description: Some(description.to_owned()) });
        }
        queue.inbox.shut();
        queue.inbox.wake_connection();
    }

    /// The last frame, instead of everything that has queued.
    pub(crate) fn cut(&self, code: CloseCode, description: &str) {
        self.0.borrow_mut().clear();
        self.close(code, description);
    }

    /// Drops what has queued if that is more than is taken at once: whoever has not read it so far is
    /// not to have it any more.
    pub(crate) fn drop_backlog(&self) {
        let mut queue = self.0.borrow_mut();
        if queue.items.iter().map(Item::cost).sum::<usize>() > CHUNK_BYTES {
            queue.clear();
        }
    }

    /// Of a socket that has come to its end: forgets after `time` what its client has not taken by then.
    /// A client that takes it in drops would keep it for as long as it likes.
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
    /// Without it a task that broke down would leave a connection that never ends.
    fn drop(&mut self) {
        self.close(CloseCode::Error, "");
    }
}

impl Item {
    /// What it counts while it waits.
    fn cost(&self) -> usize {
        match self {
            Self::Text(text) => text.len() + OVERHEAD_BYTES,
            Self::Pong(bytes) => bytes.len() + OVERHEAD_BYTES,
            Self::Event { payload, .. } => cost(payload),
        }
    }
}

impl Queue {
    /// Forgets what has queued.
    fn clear(&mut self) {
        let freed = self.items.drain(..).map(|item| item.cost()).sum();
        self.inbox.budget().give_back(freed);
        self.own = 0;
    }

    /// Drops an older state of the message with the same head: on the same stay.
    fn drop_older(&mut self, of: &str, message: MessageId) {
        let is_older = |item: &Item| match item {
            Item::Event { head, payload } => payload.updates == Some(message) && **head == *of,
            Item::Text(_) | Item::Pong(_) => false,
        };
        let Some(place) = self.items.iter().rev().take(SEARCHED).position(is_older) else { return };
        if let Some(older) = self.items.remove(self.items.len() - 1 - place) {
            self.inbox.budget().give_back(older.cost());
        }
    }

    /// The next bytes for the connection; `None` when there are none now.
    fn take(&mut self) -> Option<Bytes> {
        // Counts as gone now, and not when it was handed over: whoever finds that nothing waits finds
        // the receipts of all that did.
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
            // What turned out not to be for this client was not handed over either.
            self.inbox.budget().give_back(std::mem::take(&mut self.handed));
            return None;
        }
        Some(out.freeze())
    }

    fn write(&mut self, item: Item, out: &mut BytesMut) {
        match item {
            Item::Text(text) => {
                self.own -= text.len() + OVERHEAD_BYTES;
                Parser::write_message(out, text.as_bytes(), OpCode::Text, true, false);
            }
            Item::Pong(bytes) => {
                self.own -= bytes.len() + OVERHEAD_BYTES;
                let short = &bytes[..bytes.len().min(CONTROL_BYTES)];
                Parser::write_message(out, short, OpCode::Pong, true, false);
            }
            Item::Event { head, payload } => self.write_push(&head, &payload, out),
        }
    }

    /// The next event, unless the task has to do something first. One look at the inbox is enough for what is
    /// handed over at once: the connection comes back for the rest.
    fn next_event(&mut self, looks: bool) -> Option<Event> {
        if self.held || self.close.is_some() { None } else { self.inbox.next_event(looks) }
    }

    fn write_event(&self, Event { topic, ticket, payload }: &Event, out: &mut BytesMut) {
        if let Some(head) = self.machine.head(*topic, *ticket, payload.event, payload.json.len()) {
            self.write_push(head, payload, out);
        }
    }

    fn write_push(&self, head: &str, payload: &Payload, out: &mut BytesMut) {
        let bytes = write_text(out, self.machine.pieces(head, payload.event, &payload.json));
        if let Some(message) = payload.brings {
            self.record_receipt(message, bytes);
        }
    }

    fn record_receipt(&self, message: MessageId, frame_bytes: usize) {
        if let Some(receipts) = &self.receipts {
            receipts.record(message, frame_bytes);
        }
    }
}

/// Writes a text frame (RFC 6455, 5.2) out of pieces, none of which is copied anywhere else, and tells how
/// many bytes they have.
fn write_text(out: &mut BytesMut, pieces: [&str; 5]) -> usize {
    /// The last fragment of a text.
    const WHOLE_TEXT: u8 = 0x81;
    let bytes = pieces.iter().map(|piece| piece.len()).sum::<usize>();
    // No more than is needed: a buffer that is full is handed over as it is.
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
