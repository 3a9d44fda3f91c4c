//! One request to a URL that somebody has entered: of a webhook, or for push notifications.
//!
//! Each request has a connection of its own to an address that was judged. Redirects are not followed, and no proxy is used.
//! A receiver answers when its agent is done, so a request may take long; what it costs meanwhile is a connection, and the message:
//! large ones are limited together.

use std::fmt::Display;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use chrono::DateTime;
use domain::time::Timestamp;
use domain::webhook::{DueDelivery, DueEvent, Reply, WebhookSecret, WebhookUrl};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{CONNECTION, CONTENT_TYPE, HOST, RETRY_AFTER, USER_AGENT};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use measure::WebhookResult;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, SemaphorePermit, TryAcquireError};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use url::Host;

use crate::address::Allowed;
use crate::envelope::{envelope, event};
use crate::resolve::{Resolve, addresses};
use crate::sign::signatures;
use crate::target::{Target, read};

/// The time limit of a request, from the connection to the response.
const TIME_LIMIT: Duration = Duration::from_secs(15 * 60);

/// The time limit for resolving the host, and for each connection.
const CONNECT: Duration = Duration::from_secs(10);

/// The time limit of a request with an event: its receiver only has to take it.
const EVENT_TIME_LIMIT: Duration = Duration::from_secs(30);

/// The time after which a connection is probed on which nothing comes, and between two probes.
const PROBED_AFTER: Duration = Duration::from_secs(30);

/// The number of probes without an answer after which a connection is lost.
const PROBES: u32 = 4;

/// The number of bytes of an answer that are read; they are not used.
const READ_BYTES: usize = 4 * 1024;

/// The time limit for reading them.
const READ: Duration = Duration::from_secs(5);

/// The maximum number of bytes of an answer that are held at a time.
const BUFFER_BYTES: usize = 16 * 1024;

/// The maximum number of bytes that a receiver may send in total, including interim responses.
const RECEIVED_BYTES: usize = 64 * 1024;

/// Requests up to this size are always sent.
const SMALL_BYTES: usize = 64 * 1024;

/// The maximum size in KiB of all larger requests that are in flight; others fail, and are repeated later.
const LARGE_KIB: usize = 64 * 1024;

/// The maximum number of characters of an error that is stored.
const ERROR_CHARS: usize = 300;

/// A request to be sent.
pub struct Outgoing<'u> {
    /// The URL, as it was entered.
    pub url: &'u WebhookUrl,
    /// Headers beside those that every request has.
    pub headers: Vec<(&'static str, String)>,
    /// The type of the body.
    pub content_type: &'static str,
    /// The body.
    pub body: Vec<u8>,
    /// The time limit, from the connection to the response.
    pub time_limit: Duration,
}

impl<'u> Outgoing<'u> {
    /// A request with JSON and no other headers, with the time limit of an event.
    pub const fn json(url: &'u WebhookUrl, body: Vec<u8>) -> Self {
        Self {
            url,
            headers: Vec::new(),
            content_type: "application/json",
            body,
            time_limit: EVENT_TIME_LIMIT,
        }
    }
}

/// What the figures count an answer as.
pub const fn result_of(reply: &Reply) -> WebhookResult {
    match reply {
        reply if reply.is_success() => WebhookResult::Delivered,
        Reply::Answered { .. } => WebhookResult::Refused,
        Reply::Unanswered { .. } => WebhookResult::Unanswered,
    }
}

/// Sends requests.
pub struct Client {
    connector: TlsConnector,
    resolver: Arc<dyn Resolve>,
    allowed: Allowed,
    large: Semaphore,
}

impl Client {
    /// A client that trusts the authorities of the system.
    ///
    /// # Errors
    /// If TLS cannot be used.
    pub fn new(resolver: Arc<dyn Resolve>, allowed: Allowed) -> Result<Self, rustls::Error> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            tracing::warn!(
                "the system has no certificate authorities; no receiver of a webhook can be verified"
            );
        }
        Self::trusting(roots, resolver, allowed)
    }

    fn trusting(
        roots: RootCertStore,
        resolver: Arc<dyn Resolve>,
        allowed: Allowed,
    ) -> Result<Self, rustls::Error> {
        let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self {
            connector: TlsConnector::from(Arc::new(config)),
            resolver,
            allowed,
            large: Semaphore::new(LARGE_KIB),
        })
    }

    /// Sends a delivery; `now` is the time of the request.
    pub(crate) async fn send(&self, due: &DueDelivery, now: Timestamp) -> Reply {
        let DueDelivery { delivery, message, webhook } = due;
        let body = envelope(message, delivery.agent, now);
        let secrets = webhook.secrets(now);
        let request = signed(&webhook.url, &secrets, delivery.id.to_string(), body, TIME_LIMIT, now);
        self.send_signed(request, now).await
    }

    /// Sends a delivery to the webhook of an organization.
    pub(crate) async fn send_event(&self, due: &DueEvent, now: Timestamp) -> Reply {
        let (webhook, body) = (&due.webhook, event(&due.record));
        let (id, secrets) = (due.delivery.id.to_string(), webhook.secrets(now));
        let request = signed(&webhook.url, &secrets, id, body, EVENT_TIME_LIMIT, now);
        self.send_signed(request, now).await
    }

    async fn send_signed(&self, signed: Result<Outgoing<'_>, &'static str>, now: Timestamp) -> Reply {
        match signed {
            Ok(request) => self.post(request, now).await.unwrap_or_else(|| Reply::Unanswered {
                error: "too many large requests are in flight".to_owned(),
            }),
            Err(error) => Reply::Unanswered { error: error.to_owned() },
        }
    }

    /// Sends a request; `now` is its time. `None` if it is large, and too many large ones are in flight.
    pub async fn post(&self, request: Outgoing<'_>, now: Timestamp) -> Option<Reply> {
        let _space = self.space(request.body.len() as u64).ok()?;
        let time_limit = request.time_limit;
        let reply = match timeout(time_limit, self.answer(request, now)).await {
            Ok(Ok(reply)) => reply,
            Ok(Err(error)) => Reply::Unanswered { error: error.chars().take(ERROR_CHARS).collect() },
            Err(_) => Reply::Unanswered { error: format!("no response within {} s", time_limit.as_secs()) },
        };
        Some(reply)
    }

    async fn answer(&self, outgoing: Outgoing<'_>, now: Timestamp) -> Result<Reply, String> {
        // The setting may have changed since the URL was entered.
        let (target, _) =
            read(outgoing.url.as_str(), &self.allowed).map_err(|fault| format!("the URL {fault}"))?;
        let request = request(&target, outgoing)?;
        let resolving = addresses(&target, &*self.resolver, &self.allowed);
        let addresses =
            timeout(CONNECT, resolving).await.map_err(|_| "resolving the host took too long")??;
        let stream = connect(&addresses).await?;
        if !target.is_encrypted {
            return exchange(stream, request, now).await;
        }
        let name = match &target.host {
            Host::Domain(name) => ServerName::try_from(name.clone()).map_err(text)?,
            Host::Ipv4(address) => ServerName::IpAddress((*address).into()),
            Host::Ipv6(address) => ServerName::IpAddress((*address).into()),
        };
        let encrypting = timeout(CONNECT, self.connector.connect(name, stream)).await;
        let stream = encrypting.map_err(|_| "the TLS handshake took too long")?.map_err(text)?;
        exchange(stream, request, now).await
    }

    /// Reserves space for a large request, because its receiver decides how long it is held in memory.
    fn space(&self, bytes: u64) -> Result<Option<SemaphorePermit<'_>>, TryAcquireError> {
        if bytes <= SMALL_BYTES as u64 {
            return Ok(None);
        }
        let kib = u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX);
        self.large.try_acquire_many(kib).map(Some)
    }
}

/// A connection from which only a limited number of bytes is read.
struct Bounded<S> {
    stream: S,
    left: usize,
}

impl<S: AsyncRead + Unpin> AsyncRead for Bounded<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.left == 0 {
            return Poll::Ready(Err(io::Error::other("the receiver sends too much")));
        }
        let before = buffer.filled().len();
        let polled = Pin::new(&mut this.stream).poll_read(context, buffer);
        this.left = this.left.saturating_sub(buffer.filled().len() - before);
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Bounded<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

fn text(error: impl Display) -> String {
    error.to_string()
}

/// The request with JSON, signed with each secret. `id` is the same if it is repeated.
///
/// # Errors
/// A stored secret is not one.
pub fn signed<'u>(
    url: &'u WebhookUrl,
    secrets: &[&WebhookSecret],
    id: String,
    body: String,
    time_limit: Duration,
    now: Timestamp,
) -> Result<Outgoing<'u>, &'static str> {
    let timestamp = now.unix_millis() / 1000;
    let signature = signatures(secrets, &id, timestamp, &body)?;
    let headers = vec![
        ("webhook-id", id),
        ("webhook-timestamp", timestamp.to_string()),
        ("webhook-signature", signature),
    ];
    Ok(Outgoing { headers, time_limit, ..Outgoing::json(url, body.into_bytes()) })
}

fn request(target: &Target, outgoing: Outgoing<'_>) -> Result<Request<Full<Bytes>>, String> {
    let request = Request::post(target.path.as_str())
        .header(HOST, &target.authority)
        .header(CONNECTION, "close")
        .header(CONTENT_TYPE, outgoing.content_type)
        .header(USER_AGENT, concat!("parlance/", env!("CARGO_PKG_VERSION")));
    let headers = outgoing.headers.into_iter();
    let request = headers.fold(request, |request, (name, value)| request.header(name, value));
    request.body(Full::new(Bytes::from(outgoing.body))).map_err(text)
}

/// A connection to the first address that accepts one. It is probed while the receiver works, so that a machine that has
/// gone does not hold it.
async fn connect(addresses: &[SocketAddr]) -> Result<TcpStream, String> {
    let mut failure = String::new();
    for address in addresses {
        match timeout(CONNECT, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                let probes = TcpKeepalive::new().with_time(PROBED_AFTER).with_interval(PROBED_AFTER);
                let socket = SockRef::from(&stream);
                socket.set_tcp_keepalive(&probes.with_retries(PROBES)).map_err(text)?;
                return Ok(stream);
            }
            Ok(Err(error)) => failure = format!("cannot connect: {error}"),
            Err(_) => "connecting took too long".clone_into(&mut failure),
        }
    }
    Err(failure)
}

async fn exchange<S>(stream: S, request: Request<Full<Bytes>>, now: Timestamp) -> Result<Reply, String>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let stream = Bounded { stream, left: RECEIVED_BYTES };
    let mut client = http1::Builder::new();
    client.max_buf_size(BUFFER_BYTES);
    let (mut sender, connection) = client.handshake(TokioIo::new(stream)).await.map_err(text)?;
    let talking = async move {
        let response = sender.send_request(request).await.map_err(text)?;
        let reply = reply(&response, now);
        let _ = timeout(READ, drain(response)).await;
        Ok(reply)
    };
    tokio::pin!(talking, connection);
    tokio::select! {
        answer = &mut talking => answer,
        // The answer may have arrived with the end.
        _ = &mut connection => talking.await,
    }
}

/// Reads the beginning of the answer, so that a receiver can end it in order.
async fn drain(mut response: Response<Incoming>) {
    let mut read = 0;
    while read < READ_BYTES
        && let Some(Ok(frame)) = response.frame().await
    {
        read += frame.data_ref().map_or(0, Bytes::len);
    }
}

fn reply(response: &Response<Incoming>, now: Timestamp) -> Reply {
    let asked = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let retry_after = asked.and_then(|asked| pause(asked, now));
    Reply::Answered { status: response.status().as_u16(), retry_after }
}

/// The pause that `Retry-After` asks for: a number of seconds, or a date.
fn pause(asked: &str, now: Timestamp) -> Option<Duration> {
    let asked = asked.trim();
    if let Ok(seconds) = asked.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let date = DateTime::parse_from_rfc2822(asked).ok()?;
    Some(Timestamp::from_micros(date.timestamp_micros()).since(now))
}

#[cfg(test)]
pub(crate) mod tests;
