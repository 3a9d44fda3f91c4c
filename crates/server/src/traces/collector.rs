//! The collector: its address, and requests to it.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::failure::Failure;

/// The time limit for one request to the collector, including its connection.
const PATIENCE: Duration = Duration::from_secs(5);

/// The path of traces in OTLP, below that of the collector.
const PATH: &str = "/v1/traces";

/// The address of a collector, such as `http://127.0.0.1:4318`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Endpoint {
    encrypted: bool,
    host: String,
    port: u16,
    path: String,
}

impl FromStr for Endpoint {
    type Err = String;

    /// The error does not repeat the text, which may hold a password.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "is not http(s)://HOST:PORT, such as http://127.0.0.1:4318".to_owned();
        let uri = Uri::from_str(text).map_err(|_| wrong())?;
        let encrypted = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(wrong()),
        };
        let authority = uri.authority().ok_or_else(wrong)?;
        if authority.as_str().contains('@') || uri.query().is_some() {
            return Err("must not contain a user or a query".to_owned());
        }
        let port = match uri.port() {
            Some(port) => port.as_u16(),
            // The part after the host is not a port.
            None if authority.as_str() != authority.host() => return Err(wrong()),
            None => 4318,
        };
        let path = format!("{}{PATH}", uri.path().trim_end_matches('/'));
        Ok(Self { encrypted, host: authority.host().to_owned(), port, path })
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { encrypted, host, port, path } = self;
        write!(f, "{}://{host}:{port}{path}", if *encrypted { "https" } else { "http" })
    }
}

impl Endpoint {
    /// The host without the brackets of an IPv6 address.
    fn name(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }
}

/// A collector of spans.
pub(super) struct Collector {
    endpoint: Endpoint,
    encrypts: Option<(TlsConnector, ServerName<'static>)>,
}

impl Collector {
    pub(super) fn new(endpoint: Endpoint) -> Result<Self, Failure> {
        let encrypts = endpoint.encrypted.then(|| connector(&endpoint)).transpose()?;
        Ok(Self { endpoint, encrypts })
    }

    /// Sends a message; an error has the reason why it was not accepted.
    pub(super) async fn take(&self, message: Bytes) -> Result<(), String> {
        match timeout(PATIENCE, self.ask(message)).await {
            Ok(asked) => asked,
            Err(_) => Err(format!("it does not respond within {} s", PATIENCE.as_secs())),
        }
    }

    async fn ask(&self, message: Bytes) -> Result<(), String> {
        let Endpoint { port, .. } = self.endpoint;
        let stream = TcpStream::connect((self.endpoint.name(), port)).await.map_err(|e| e.to_string())?;
        match &self.encrypts {
            None => self.ask_over(stream, message).await,
            Some((connector, name)) => {
                let stream = connector.connect(name.clone(), stream).await.map_err(|e| e.to_string())?;
                self.ask_over(stream, message).await
            }
        }
    }

    /// One request on a connection of its own, which ends with the answer.
    async fn ask_over<S>(&self, stream: S, message: Bytes) -> Result<(), String>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let Endpoint { host, port, path, .. } = &self.endpoint;
        let request = Request::post(path.as_str())
            .header(HOST, format!("{host}:{port}"))
            .header(CONTENT_TYPE, "application/x-protobuf")
            .body(Full::new(message))
            .map_err(|error| error.to_string())?;
        let shaken = http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = shaken.map_err(|error| error.to_string())?;
        let asking = sender.send_request(request);
        tokio::pin!(asking, connection);
        let answer = tokio::select! {
            answer = &mut asking => answer,
            ended = &mut connection => match ended {
                // The response may have arrived with the end.
                Ok(()) => asking.await,
                Err(error) => Err(error),
            },
        };
        match answer.map_err(|error| error.to_string())?.status() {
            taken if taken.is_success() => Ok(()),
            refused => Err(format!("it answers {refused}")),
        }
    }
}

/// The TLS connector, for a collector with a certificate of an authority that the system trusts.
fn connector(endpoint: &Endpoint) -> Result<(TlsConnector, ServerName<'static>), Failure> {
    let name = ServerName::try_from(endpoint.name().to_owned())
        .map_err(|cause| Failure::new("otlp_endpoint: the host is not a valid name", cause))?;
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|cause| Failure::new("otlp_endpoint", cause))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok((TlsConnector::from(Arc::new(config)), name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_addresses_of_collectors() {
        for (text, whole) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
            ("http://collector/", "http://collector:4318/v1/traces"),
            ("https://[::1]:1/otlp", "https://[::1]:1/otlp/v1/traces"),
        ] {
            assert_eq!(text.parse::<Endpoint>().unwrap().to_string(), whole);
        }
        assert_eq!("https://[::1]:1".parse::<Endpoint>().unwrap().name(), "::1");
        for bad in [
            "",
            "x",
            "collector:4318",
            "ftp://x",
            "http://",
            "http://u:secret@x",
            "http://x?key=secret",
            "http://x:99999",
        ] {
            let fault = bad.parse::<Endpoint>().unwrap_err();
            assert!(!fault.contains("secret"), "{bad}: {fault}");
        }
    }
}
