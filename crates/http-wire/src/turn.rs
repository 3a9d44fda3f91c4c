//! The side that may act on a connection: the client, to send a request, or the server, to answer
//! one.
//!
//! Only the application knows where the head of a request ends and when its response is complete;
//! only the connection knows when that response was written, and only it can stop reading. Both are
//! on the same thread and share this state. A connection takes its next request when the previous
//! response was written.

use std::cell::Cell;
use std::rc::Rc;

use actix_web::dev::ServiceRequest;
use actix_web::http::header::{CONTENT_LENGTH, TRANSFER_ENCODING, UPGRADE};
use actix_web::http::{Method, StatusCode};

/// The turn on one connection; stored in the data of the connection.
#[derive(Clone, Debug, Default)]
pub struct Turn(Rc<State>);

#[derive(Debug, Default)]
struct State {
    phase: Cell<Phase>,
    /// The body of the newest request, until the connection has taken it.
    body: Cell<Option<RequestBody>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Phase {
    /// The client may send a request.
    #[default]
    Client,
    /// A request is being handled.
    Handling,
    /// The connection is a socket.
    Socket,
    /// The connection was a socket, and has received its last frame.
    SocketOver,
    /// The response is being passed to the connection.
    Sending,
    /// The whole response is in the connection's buffer.
    Sent,
}

/// The framing of the bytes after the head of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestBody {
    /// As many bytes.
    Length(u64),
    /// Chunks, of which the last is empty.
    Chunked,
    /// Everything until the connection ends.
    Open,
}

impl RequestBody {
    /// The framework's view; it has refused contradictory heads already.
    fn of(request: &ServiceRequest) -> Self {
        let headers = request.headers();
        if headers.contains_key(TRANSFER_ENCODING) {
            return Self::Chunked;
        }
        let upgrade = headers.get(UPGRADE).and_then(|name| name.to_str().ok());
        let is_socket = upgrade.is_some_and(|name| name.trim().eq_ignore_ascii_case("websocket"));
        if is_socket || request.method() == Method::CONNECT {
            return Self::Open;
        }
        let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.trim().parse().ok());
        Self::Length(length.unwrap_or(0))
    }
}

impl Turn {
    /// The turn of the connection of this request, if it has one.
    pub(crate) fn of(request: &ServiceRequest) -> Option<Self> {
        request.conn_data::<Self>().cloned()
    }

    /// Records the head of this request.
    pub(crate) fn begin(&self, request: &ServiceRequest) {
        self.0.phase.set(Phase::Handling);
        self.0.body.set(Some(RequestBody::of(request)));
    }

    /// Records the response; a connection that became a socket never returns to requests.
    pub(crate) fn end(&self, status: StatusCode) {
        let is_socket = status == StatusCode::SWITCHING_PROTOCOLS;
        self.0.phase.set(if is_socket { Phase::Socket } else { Phase::Sending });
    }

    /// Records that the connection has received the last byte of the response, or the last frame of
    /// the socket.
    pub(crate) fn sent(&self) {
        match self.0.phase.get() {
            Phase::Sending => self.0.phase.set(Phase::Sent),
            Phase::Socket => self.0.phase.set(Phase::SocketOver),
            _ => {}
        }
    }

    /// Records that the connection has written everything.
    pub fn written(&self) {
        if self.0.phase.get() == Phase::Sent {
            self.0.phase.set(Phase::Client);
        }
    }

    /// Returns whether a request is being handled, or the connection is a socket.
    pub fn is_server_turn(&self) -> bool {
        matches!(self.0.phase.get(), Phase::Handling | Phase::Socket | Phase::SocketOver)
    }

    /// Returns whether the server makes further parts of a response, which may take any time.
    pub fn is_sending(&self) -> bool {
        self.0.phase.get() == Phase::Sending
    }

    /// Returns whether the connection was a socket, which has ended.
    pub fn is_socket_over(&self) -> bool {
        self.0.phase.get() == Phase::SocketOver
    }

    /// Returns whether the client may send a request.
    pub fn is_client_turn(&self) -> bool {
        self.0.phase.get() == Phase::Client
    }

    /// The framing of the body of a request that began since the last call.
    pub fn take_body(&self) -> Option<RequestBody> {
        self.0.body.take()
    }
}
