//! The listener of the server: incoming connections and their time limits.
//!
//! It replaces the framework's own server for three reasons: a connection is counted before any
//! work on it, including the TLS handshake; the head of every request has a time limit, not only
//! that of the first; and there is one type of connection with or without TLS.

mod arrival;
mod connection;
mod intake;
mod stall;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use actix_http::{HttpService, Request, Response};
use actix_service::{IntoServiceFactory, ServiceFactory, ServiceFactoryExt, fn_service, map_config};
use actix_web::body::MessageBody;
use actix_web::dev::{AppConfig, Server, Service};
use actix_web::rt::net::TcpStream;
use http_wire::response_budget::ResponseBudget;
use http_wire::tracked_body::PIECE;
use tokio_rustls::TlsAcceptor;

use crate::config::Config;
use crate::failure::Failure;
use crate::open_files;
pub(crate) use arrival::PLAIN_REFUSED;

use arrival::Acceptor;
use connection::Connection;

/// How long requests in flight may take after the stop signal, in seconds.
const GRACE_SECONDS: u64 = 3;

/// How long data of a refused client is still read: closing a connection with unread data resets
/// it, and the refusal is lost.
const FAREWELL: Duration = Duration::from_secs(1);

/// Binds the address and builds the server of `app`, encrypted if there is an acceptor; it accepts
/// connections once it is polled.
pub(crate) fn bind<F, I, S, B>(
    config: &Config,
    tls: Option<TlsAcceptor>,
    responses: Arc<ResponseBudget>,
    app: F,
) -> Result<Server, Failure>
where
    F: Fn() -> I + Send + Clone + 'static,
    I: IntoServiceFactory<S, Request>,
    S: ServiceFactory<Request, Config = AppConfig> + 'static,
    S::Error: Into<actix_web::Error> + 'static,
    S::InitError: fmt::Debug,
    S::Response: Into<Response<B>> + 'static,
    <S::Service as Service<Request>>::Future: 'static,
    S::Service: 'static,
    B: MessageBody + 'static,
{
    let listen = config.listen.as_str();
    let door = Arc::new(Acceptor::new(config, tls, responses));
    let (header_timeout, idle_timeout) = (config.http.header_timeout, config.http.idle_timeout);
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    let of_worker = open_files::raise_limit().div_ceil(workers);
    let server = Server::build().workers(workers).max_concurrent_connections(of_worker);
    let server = server.disable_signals().shutdown_timeout(GRACE_SECONDS);
    let stopping = server.graceful_shutdown_signal();
    let server = server.bind("parlance", listen, move || {
        let app = app().into_factory().map_err(|error| error.into().error_response());
        let stopping = stopping.clone();
        let http = HttpService::<Connection, _, _>::build()
            .graceful_shutdown_signal(move || {
                let stopping = stopping.clone();
                async move { stopping.notified().await }
            })
            .client_request_timeout(header_timeout)
            .keep_alive(idle_timeout)
            .client_disconnect_timeout(FAREWELL)
            .h1_write_buffer_size(PIECE)
            .on_connect_ext(|connection: &Connection, kept| _ = kept.insert(connection.turn()))
            .finish(map_config(app, |()| AppConfig::default()));
        let door = door.clone();
        fn_service(move |stream: TcpStream| {
            let door = door.clone();
            // Boxed, as it is larger than the later state of a connection.
            Box::pin(async move { door.let_in(stream).await })
        })
        .and_then(http)
    });
    let server = server.map_err(|cause| {
        let is_used = cause.kind() == std::io::ErrorKind::AddrInUse;
        let failure = Failure::new(format_args!("cannot listen on {listen}"), cause);
        if is_used {
            failure.next("another program uses this port. Choose another one with --listen")
        } else {
            failure.next("choose an address of this machine with --listen")
        }
    })?;
    Ok(server.run())
}
