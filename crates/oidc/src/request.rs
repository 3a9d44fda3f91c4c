//! Requests to a provider. Each has a connection of its own, and is bounded in time and size. Redirects are not followed.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{CONNECTION, HOST, HeaderValue, USER_AGENT};
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use openidconnect::{AsyncHttpClient, HttpRequest, HttpResponse};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// The time limit of a request, from the connection to the last byte.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// The maximum size of an answer.
const ANSWER_BYTES: usize = 256 * 1024;

/// The maximum size of its headers.
const HEADER_BYTES: usize = 32 * 1024;

/// The reason why there is no answer.
#[derive(Debug)]
pub(crate) struct NoAnswer(String);

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoAnswer {}

fn no_answer(error: impl fmt::Display) -> NoAnswer {
    NoAnswer(error.to_string())
}

/// Sends requests.
pub(crate) struct Http {
    connector: TlsConnector,
    /// Whether all requests must be encrypted, as those to the provider are.
    is_encrypted: bool,
}

impl Http {
    pub(crate) fn new(is_encrypted: bool) -> Result<Self, rustls::Error> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self { connector: TlsConnector::from(Arc::new(config)), is_encrypted })
    }

    /// Returns whether an address with this scheme may be used.
    pub(crate) fn may_reach(&self, scheme: &str) -> bool {
        scheme == "https" || (scheme == "http" && !self.is_encrypted)
    }

    pub(crate) async fn send(&self, request: HttpRequest) -> Result<HttpResponse, NoAnswer> {
        match timeout(TIME_LIMIT, self.answer(request)).await {
            Ok(Ok(answer)) if is_overloaded(answer.status()) => {
                Err(NoAnswer(format!("HTTP status {}", answer.status())))
            }
            Ok(answer) => answer,
            Err(_) => Err(NoAnswer(format!("no response within {} s", TIME_LIMIT.as_secs()))),
        }
    }

    async fn answer(&self, request: HttpRequest) -> Result<HttpResponse, NoAnswer> {
        let uri = request.uri().clone();
        let scheme = uri.scheme_str().unwrap_or_default();
        if !self.may_reach(scheme) {
            return Err(NoAnswer(format!("{scheme}: is not reached, only https:")));
        }
        let authority = uri.authority().ok_or_else(|| no_answer("a URL without a host"))?;
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let port = authority.port_u16().unwrap_or(if scheme == "https" { 443 } else { 80 });
        let (mut head, body) = request.into_parts();
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        head.uri = path.parse::<Uri>().map_err(no_answer)?;
        // A user in the authority would be sent as part of the host.
        let named = authority.as_str().rsplit('@').next().unwrap_or_default();
        head.headers.insert(HOST, HeaderValue::try_from(named).map_err(no_answer)?);
        head.headers.insert(CONNECTION, HeaderValue::from_static("close"));
        head.headers
            .insert(USER_AGENT, HeaderValue::from_static(concat!("parlance/", env!("CARGO_PKG_VERSION"))));
        let request = Request::from_parts(head, Full::new(Bytes::from(body)));
        let stream = TcpStream::connect((host.as_str(), port)).await;
        let stream = stream.map_err(|error| NoAnswer(format!("cannot connect: {error}")))?;
        if scheme == "http" {
            return exchange(stream, request).await;
        }
        let name = ServerName::try_from(host).map_err(no_answer)?;
        exchange(self.connector.connect(name, stream).await.map_err(no_answer)?, request).await
    }
}

/// Returns whether another try may have another answer.
fn is_overloaded(status: StatusCode) -> bool {
    status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS
}

impl<'c> AsyncHttpClient<'c> for Http {
    type Error = NoAnswer;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, NoAnswer>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(self.send(request))
    }
}

async fn exchange<S>(stream: S, request: Request<Full<Bytes>>) -> Result<HttpResponse, NoAnswer>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let mut client = http1::Builder::new();
    client.max_buf_size(HEADER_BYTES);
    let (mut sender, connection) = client.handshake(TokioIo::new(stream)).await.map_err(no_answer)?;
    let talking = async move {
        let (head, body) = sender.send_request(request).await.map_err(no_answer)?.into_parts();
        let body = Limited::new(body, ANSWER_BYTES).collect().await;
        let body = body.map_err(|error| NoAnswer(format!("cannot read the answer: {error}")))?;
        Ok(HttpResponse::from_parts(head, body.to_bytes().to_vec()))
    };
    tokio::pin!(talking, connection);
    tokio::select! {
        answer = &mut talking => answer,
        // The answer may have arrived with the end.
        _ = &mut connection => talking.await,
    }
}
