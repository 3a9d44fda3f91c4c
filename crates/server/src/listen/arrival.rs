//! Incoming connections: limits per address, and time limits.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use actix_http::Protocol;
use actix_http::error::DispatchError;
use http_wire::error::render::raw;
use http_wire::error::{ApiError, ErrorCode};
use http_wire::limit::{ConnectionLimit, Connections};
use http_wire::response_budget::ResponseBudget;
use socket2::SockRef;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::connection::{Connection, Patience, Stream};
use super::stall::Stall;
use crate::config::Config;

/// The default limit of connections per address.
const USUAL: u32 = 2000;

/// How long a peer may leave sent data unacknowledged.
const STUCK_PEER: Duration = Duration::from_secs(30);

/// The maximum size of unsent data in the system's buffer; a client that does not read would
/// otherwise fill megabytes of it.
const UNSENT_BYTES: u32 = 128 * 1024;

/// The value of `Retry-After` for an address with too many connections, in seconds.
const RETRY_SECONDS: u32 = 5;

/// The first byte of a TLS handshake.
const HANDSHAKE: u8 = 22;

/// The response to a plain-text client on a TLS port.
pub(crate) const PLAIN_REFUSED: &str = "This port uses TLS. Connect with https:// or wss:// instead.";

/// The number of bytes that are read of a request without an answer.
const UNANSWERED_BYTES: u64 = 64 * 1024;

/// The framework's form of a connection: itself, its protocol, and its peer.
type Arrived = (Connection, Protocol, Option<SocketAddr>);

/// Accepts the connections of one listener.
pub(super) struct Acceptor {
    connections: Arc<Connections>,
    patience: Patience,
    tls: Option<TlsAcceptor>,
    responses: Arc<ResponseBudget>,
}

impl Acceptor {
    pub(super) fn new(config: &Config, tls: Option<TlsAcceptor>, responses: Arc<ResponseBudget>) -> Self {
        let given = config.http.per_address;
        let connections = Connections::new(ConnectionLimit {
            most: Some(given.unwrap_or(USUAL)).filter(|most| *most > 0),
            loopback: given.is_some(),
            exempt: config.rates.trusted_proxies.clone(),
        });
        let patience = Patience { head: config.http.header_timeout, idle: config.http.idle_timeout };
        Self { connections, patience, tls, responses }
    }

    /// Accepts a connection, or ends it.
    pub(super) async fn let_in(&self, stream: TcpStream) -> Result<Arrived, DispatchError> {
        bound_what_waits(&stream);
        // Responses are written whole; waiting for more would only delay them.
        let _ = stream.set_nodelay(true);
        let peer = stream.peer_addr()?;
        let Some(counted) = self.connections.arrive(peer.ip()) else {
            measure::connection_refused();
            tracing::debug!(address = %peer.ip(), "too many connections from one address");
            // A client that expects TLS cannot get a plain-text answer.
            dismiss(&stream, &if self.tls.is_none() { too_many() } else { Vec::new() });
            return Err(io::Error::from(io::ErrorKind::ConnectionRefused).into());
        };
        let stream = match &self.tls {
            None => Stream::Plain(stream),
            // The time limit for the head of the first request begins after this.
            Some(tls) => match timeout(self.patience.head, shake_hands(tls, stream)).await {
                Ok(shaken) => shaken?,
                Err(_) => return Err(io::Error::from(io::ErrorKind::TimedOut).into()),
            },
        };
        let stall = Stall::new(self.responses.clone(), self.responses.peer(peer.ip()));
        Ok((Connection::new(stream, counted, self.patience, stall), Protocol::Http1, Some(peer)))
    }
}

/// Does the TLS handshake; a plain-text client gets an explanation.
async fn shake_hands(tls: &TlsAcceptor, mut stream: TcpStream) -> io::Result<Stream> {
    let mut first = [0];
    if stream.peek(&mut first).await? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    if first != [HANDSHAKE] {
        stream.write_all(&raw(&ApiError::new(ErrorCode::BadRequest, PLAIN_REFUSED))).await?;
        stream.shutdown().await?;
        // Unread data would make the system reset the connection, and the response be lost.
        tokio::io::copy(&mut stream.take(UNANSWERED_BYTES), &mut tokio::io::sink()).await?;
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(Stream::Tls(Box::new(tls.accept(stream).await?)))
}

/// The answer to an address that has too many connections.
fn too_many() -> Vec<u8> {
    let message = "Too many connections from your address. Close some, or try again later.";
    raw(&ApiError::new(ErrorCode::RateLimited, message).with_retry_after(RETRY_SECONDS))
}

/// Lets the system end a connection whose peer acknowledges nothing; otherwise a client that never
/// reads keeps its connection, and the system's buffers, without limit.
fn bound_what_waits(stream: &TcpStream) {
    let socket = SockRef::from(stream);
    let bounded = socket
        .set_tcp_user_timeout(Some(STUCK_PEER))
        .and_then(|()| socket.set_tcp_notsent_lowat(UNSENT_BYTES));
    if let Err(error) = bounded {
        tracing::debug!(error = %error, "unsent bytes of a connection cannot be limited");
    }
}

/// Sends a last response. Best effort: a client that misses it finds the connection closed.
fn dismiss(stream: &TcpStream, word: &[u8]) {
    let socket = SockRef::from(stream);
    let _ = socket.send(word);
    // Unread data would make the system reset the connection, and the response be lost.
    let _ = stream.try_read(&mut [0; 4096]);
    let _ = socket.shutdown(std::net::Shutdown::Write);
}
