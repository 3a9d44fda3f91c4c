//! Whose turn it is on a connection: the client's, to send a request, or ours, to answer one.
//!
//! Only the application knows where the head of a request ends and when its answer is complete; only the
//! connection knows when that answer has left, and only it can stop reading. Both live on the same thread, and
//! this is what they share. A connection takes its next request when the previous answer has been written.

use std::cell::Cell;
use std::rc::Rc;

use actix_web::dev::ServiceRequest;
use actix_web::http::header::{CONTENT_LENGTH, TRANSFER_ENCODING, UPGRADE};
use actix_web::http::{Method, StatusCode};

/// Whose turn it is on one connection; kept in the data of the connection.
#[derive(Clone, Debug, Default)]
pub struct Turn(Rc<State>);

#[derive(Debug, Default)]
struct State {
    phase: Cell<Phase>,
    /// The body of the newest request, until the connection has asked for it.
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
    /// The connection was a socket, and has been given its last frame.
    SocketOver,
    /// The answer is being handed to the connection.
    Sending,
    /// The whole answer is in the connection's buffer.
    Sent,
}

/// How the bytes after the head of a request are framed.
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
    /// As the framework reads it; it has refused contradictory heads already.
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
    /// Of the connection that this request came on, if somebody looks at it.
    pub(crate) fn of(request: &ServiceRequest) -> Option<Self> {
        request.conn_data::<Self>().cloned()
    }

    /// The head of this request is there.
    pub(crate) fn begin(&self, request: &ServiceRequest) {
        self.0.phase.set(Phase::Handling);
        self.0.body.set(Some(RequestBody::of(request)));
    }

    /// The request is answered; a connection that became a socket never goes back to requests.
    pub(crate) fn end(&self, status: StatusCode) {
        let is_socket = status == StatusCode::SWITCHING_PROTOCOLS;
        self.0.phase.set(if is_socket { Phase::Socket } else { Phase::Sending });
    }

    /// The connection has been given the last byte of the answer, or the last frame of the socket.
    pub(crate) fn sent(&self) {
        match self.0.phase.get() {
            Phase::Sending => self.0.phase.set(Phase::Sent),
            Phase::Socket => self.0.phase.set(Phase::SocketOver),
            _ => {}
        }
    }

    /// The connection has written all that it was given.
    pub fn written(&self) {
        if self.0.phase.get() == Phase::Sent {
            self.0.phase.set(Phase::Client);
        }
    }

    /// Whether a request is being handled, or the connection is a socket.
    pub fn is_ours(&self) -> bool {
        matches!(self.0.phase.get(), Phase::Handling | Phase::Socket | Phase::SocketOver)
    }

    /// Whether the connection was a socket, which has ended.
    pub fn is_socket_over(&self) -> bool {
        self.0.phase.get() == Phase::SocketOver
    }

    /// Whether the client may send a request.
    pub fn is_clients(&self) -> bool {
        self.0.phase.get() == Phase::Client
    }

    /// How the body of a request is framed that began since this was last asked.
    pub fn take_body(&self) -> Option<RequestBody> {
        self.0.body.take()
    }
}
