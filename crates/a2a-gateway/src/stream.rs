//! A task as a stream of server-sent events.
//!
//! The id of an event says up to which sequence of the room the client knows the task, so that it can go on from there
//! (`Last-Event-ID`). The next event is made when the connection has taken the one before: a client that does not read holds
//! one event, and its connection is closed as that of any other response.

use std::collections::VecDeque;
use std::time::Duration;

use a2a::StreamResponse;
use actix_web::HttpResponse;
use actix_web::http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use actix_web::web::Bytes;
use domain::id::Sequence;
use futures_util::stream::unfold;
use http_wire::request_scope::StreamedBody;
use http_wire::response_budget::{FREE_BYTES, ResponsePermit, charge};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::failure::{Failure, Fault};
use crate::follow::{Followed, Follower};
use crate::read;
use crate::session::Session;
use crate::slots::Slot;
use crate::task::{Mark, TaskId, Tree};

/// The time after which a comment is sent, so that nobody mistakes the connection for a dead one.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The header in which a client names the last event that it received.
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The header that tells proxies not to buffer the events.
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// The events of a task.
pub(crate) struct TaskStream {
    follower: Follower,
    pending: VecDeque<(String, StreamResponse)>,
    /// The sequence up to which the client knows the task.
    sent: Sequence,
    /// The state that the client knows.
    mark: Option<Mark>,
    spoke_at: Instant,
    permit: Option<ResponsePermit>,
}

/// A slot for a stream.
pub(crate) fn slot(session: &Session) -> Result<Slot, Failure> {
    session.slot().ok_or_else(|| {
        let said = "Too many requests wait for tasks. End some of yours, or try again later.";
        Failure::new(Fault::RateLimited, said)
    })
}

/// The last event that the client received, if it names one.
fn last_event(session: &Session) -> Option<&str> {
    session.request.headers().get(LAST_EVENT_ID)?.to_str().ok().filter(|id| !id.is_empty())
}

impl TaskStream {
    /// Begins with the task, or after the last event that the client received. `is_new` is set if the request has sent a
    /// message of the task.
    ///
    /// # Errors
    /// `UnsupportedOperation` if the task has ended and nothing is missed.
    pub(crate) async fn open(
        session: &Session,
        id: TaskId,
        history: Option<usize>,
        slot: Slot,
        is_new: bool,
    ) -> Result<Self, Failure> {
        let follower = Follower::begin(session, id, slot);
        let tree = read::tree(session, id).await?;
        let last = last_event(session).map(|event| tree.known_after(event));
        if last.is_none() && !is_new && tree.state().state.is_terminal() {
            let said = "The task has ended. Get the task instead.";
            return Err(Failure::new(Fault::UnsupportedOperation, said));
        }
        let mut stream = Self {
            follower,
            pending: VecDeque::new(),
            sent: last.unwrap_or_default(),
            mark: None,
            spoke_at: Instant::now(),
            permit: None,
        };
        if last.is_some() {
            stream.note(&tree);
        } else {
            (stream.sent, stream.mark) = (tree.sequence(), Some(tree.mark()));
            let task = StreamResponse::Task(tree.task(history, true));
            stream.pending.push_back((tree.event_id(stream.sent), task));
        }
        Ok(stream)
    }

    /// Queues what the client does not know of a task.
    fn note(&mut self, tree: &Tree) {
        let mark = tree.mark();
        for update in tree.updates(self.sent, self.mark.as_ref() == Some(&mark)) {
            self.pending.push_back((tree.event_id(update.sequence), update.event));
        }
        (self.sent, self.mark) = (self.sent.max(tree.sequence()), Some(mark));
    }

    /// The next piece of the body; `None` at its end.
    async fn next(&mut self, frame: &Frame) -> Option<Bytes> {
        // The connection has taken the last piece.
        self.permit = None;
        loop {
            if let Some((id, event)) = self.pending.pop_front() {
                return self.speak(frame.event(&id, &event));
            }
            if self.mark.as_ref().is_some_and(Mark::is_settled) {
                return None;
            }
            match self.follower.next(self.spoke_at + KEEP_ALIVE).await {
                Followed::Read(tree) => self.note(&tree),
                Followed::Nothing => return self.speak(Bytes::from_static(b": keep-alive\n\n")),
                Followed::Over => return None,
            }
        }
    }

    /// Charges a piece of the body; `None` if there is no capacity for it.
    fn speak(&mut self, piece: Bytes) -> Option<Bytes> {
        let (session, bytes) = (&self.follower.session, piece.len() as u64);
        if bytes > FREE_BYTES {
            self.permit = charge(&session.request, bytes).ok()?;
        }
        session.gateway().limits.count_response(session.caller.participant(), bytes);
        self.spoke_at = Instant::now();
        Some(piece)
    }

    /// The response.
    pub(crate) fn response(self, frame: Frame) -> HttpResponse {
        let pieces = unfold((self, frame), |(mut stream, frame)| async move {
            let piece = stream.next(&frame).await?;
            Some((Ok::<_, actix_web::Error>(piece), (stream, frame)))
        });
        let mut response = HttpResponse::Ok()
            .insert_header((CONTENT_TYPE, HeaderValue::from_static("text/event-stream")))
            .insert_header((X_ACCEL_BUFFERING, HeaderValue::from_static("no")))
            .streaming(pieces);
        response.extensions_mut().insert(StreamedBody);
        response
    }
}

/// What is around each event.
pub(crate) enum Frame {
    /// A response of JSON-RPC with this id.
    Rpc(Value),
    /// Nothing.
    Plain,
}

impl Frame {
    fn event(&self, id: &str, event: &StreamResponse) -> Bytes {
        let event = serde_json::to_value(event).unwrap_or_default();
        let data = match self {
            Self::Rpc(of) => json!({"jsonrpc": "2.0", "id": of, "result": event}),
            Self::Plain => event,
        };
        format!("id: {id}\ndata: {data}\n\n").into()
    }
}
