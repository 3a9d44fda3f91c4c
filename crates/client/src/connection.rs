//! One connection to a server, which is kept between requests, and made again when it has ended.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderValue, RETRY_AFTER, USER_AGENT};
use hyper::{HeaderMap, Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::ServerName;
use rustls::{CertificateError, ClientConfig, RootCertStore};
use rustls_native_certs::CertificateResult;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::address::Address;
use crate::error::ClientError;
use crate::model::ApiKey;
use crate::text::on_one_line;

/// The time limit of a request. A server may let a request wait for ten seconds.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// The time limit of a connection, with its TLS handshake.
const CONNECT: Duration = Duration::from_secs(10);

/// The maximum size of an answer. A page of messages has at most 1 MiB of content, which JSON can make six times as long.
const ANSWER_BYTES: usize = 32 * 1024 * 1024;

/// A request.
pub(crate) struct Outgoing {
    pub(crate) method: Method,
    /// The path of the API with its query.
    pub(crate) path: String,
    /// JSON; empty without a body.
    pub(crate) body: String,
    /// The key under which the server does it once, however often it is sent.
    pub(crate) once: Option<String>,
}

impl Outgoing {
    /// Returns whether sending it twice does no more than sending it once.
    fn is_repeatable(&self) -> bool {
        matches!(self.method, Method::GET | Method::PUT) || self.once.is_some()
    }
}

/// An answer.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) body: Bytes,
}

/// A connection to a server.
pub(crate) struct Connection {
    address: Address,
    tls: Option<(TlsConnector, ServerName<'static>)>,
    /// An open connection that nothing uses.
    idle: Option<SendRequest<Full<Bytes>>>,
}

impl Connection {
    /// Trusts the certificate authorities of the system. It connects with the first request.
    pub(crate) fn new(address: Address) -> Result<Self, ClientError> {
        let tls = address.is_encrypted().then(|| tls(&address)).transpose()?;
        Ok(Self { address, tls, idle: None })
    }

    /// The address, for messages.
    pub(crate) fn server(&self) -> String {
        self.address.to_string()
    }

    /// Sends a request.
    pub(crate) async fn send(&mut self, request: &Outgoing, key: &ApiKey) -> Result<Answer, ClientError> {
        match timeout(TIME_LIMIT, self.exchange(request, key)).await {
            Ok(answer) => answer,
            Err(_) => Err(self.unreachable(format!("no answer within {} s", TIME_LIMIT.as_secs()))),
        }
    }

    async fn exchange(&mut self, request: &Outgoing, key: &ApiKey) -> Result<Answer, ClientError> {
        let idle = self.idle.take().filter(|_| request.is_repeatable());
        if let Some(mut sender) = idle
            && sender.ready().await.is_ok()
            // The server may have closed it when this request was on its way.
            && let Ok(answer) = self.over(sender, request, key).await
        {
            return Ok(answer);
        }
        let sender = self.connect().await?;
        self.over(sender, request, key).await
    }

    async fn over(
        &mut self,
        mut sender: SendRequest<Full<Bytes>>,
        request: &Outgoing,
        key: &ApiKey,
    ) -> Result<Answer, ClientError> {
        let request = self.request(request, key)?;
        let response = sender.send_request(request).await.map_err(|error| self.unreachable(text(&error)))?;
        let (head, body) = response.into_parts();
        let retry_after = retry_after(&head.headers);
        let body = Limited::new(body, ANSWER_BYTES).collect().await;
        let body = body.map_err(|error| self.unreachable(format!("the answer is incomplete: {error}")))?;
        self.idle = Some(sender);
        Ok(Answer { status: head.status, retry_after, body: body.to_bytes() })
    }

    fn request(&self, outgoing: &Outgoing, key: &ApiKey) -> Result<Request<Full<Bytes>>, ClientError> {
        let mut secret =
            HeaderValue::from_str(key.reveal()).map_err(|error| self.unreachable(error.to_string()))?;
        secret.set_sensitive(true);
        let mut request = Request::builder()
            .method(outgoing.method.clone())
            .uri(format!("{}{}", self.address.path(), outgoing.path))
            .header(HOST, self.address.authority())
            .header(USER_AGENT, concat!("parlance-client/", env!("CARGO_PKG_VERSION")))
            .header(ACCEPT, "application/json")
            .header("x-api-key", secret);
        if !outgoing.body.is_empty() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        if let Some(once) = &outgoing.once {
            request = request.header("idempotency-key", once);
        }
        let body = Full::new(Bytes::from(outgoing.body.clone()));
        request.body(body).map_err(|error| self.unreachable(error.to_string()))
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, ClientError> {
        timeout(CONNECT, self.open()).await.unwrap_or_else(|_| {
            Err(self.unreachable(format!("no connection within {} s", CONNECT.as_secs())))
        })
    }

    async fn open(&self) -> Result<SendRequest<Full<Bytes>>, ClientError> {
        let stream = TcpStream::connect((self.address.name(), self.address.port())).await;
        let stream = stream.map_err(|error| self.unreachable(error.to_string()))?;
        // A small request must not wait for the acknowledgement of the one before.
        stream.set_nodelay(true).map_err(|error| self.unreachable(error.to_string()))?;
        let Some((connector, name)) = &self.tls else { return self.handshake(stream).await };
        match connector.connect(name.clone(), stream).await {
            Ok(stream) => self.handshake(stream).await,
            Err(error) => Err(self.not_encrypted(&error)),
        }
    }

    async fn handshake<S>(&self, stream: S) -> Result<SendRequest<Full<Bytes>>, ClientError>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let opened = http1::handshake(TokioIo::new(stream)).await;
        let (sender, connection) = opened.map_err(|error| self.unreachable(text(&error)))?;
        // It ends with the connection, or when the sender is dropped; the sender has its errors.
        tokio::spawn(connection);
        Ok(sender)
    }

    fn unreachable(&self, reason: String) -> ClientError {
        ClientError::Unreachable { server: self.server(), reason }
    }

    /// The error of a TLS handshake.
    fn not_encrypted(&self, error: &io::Error) -> ClientError {
        let fault = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        match fault {
            Some(rustls::Error::InvalidCertificate(fault)) => {
                let is_unknown = matches!(fault, CertificateError::UnknownIssuer);
                let reason = if is_unknown { "its issuer is unknown".to_owned() } else { fault.to_string() };
                ClientError::Untrusted { server: self.server(), reason }
            }
            _ => self.unreachable(error.to_string()),
        }
    }
}

/// An error of hyper, whose cause says more than itself.
fn text(error: &hyper::Error) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    format!("{error}{}", cause.unwrap_or_default())
}

/// The pause that an answer asks for, in seconds. This server sends no dates.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let asked = headers.get(RETRY_AFTER)?.to_str().ok()?;
    asked.trim().parse().ok().map(Duration::from_secs)
}

fn tls(address: &Address) -> Result<(TlsConnector, ServerName<'static>), ClientError> {
    let failed = |reason: String| ClientError::Untrusted { server: address.to_string(), reason };
    let name = ServerName::try_from(address.name().to_owned()).map_err(|error| failed(error.to_string()))?;
    let roots = authorities(rustls_native_certs::load_native_certs()).map_err(failed)?;
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok((TlsConnector::from(Arc::new(config)), name))
}

/// The authorities that the system trusts, or why there are none.
fn authorities(found: CertificateResult) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        let causes = found.errors.iter().map(|error| on_one_line(&error.to_string())).collect::<Vec<_>>();
        let causes = if causes.is_empty() { "there are none".to_owned() } else { causes.join("; ") };
        return Err(format!("cannot read any CA certificates from this system: {causes}"));
    }
    Ok(roots)
}
