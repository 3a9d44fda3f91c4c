//! The listener of the server: how connections come in, and how long they may take for what.
//!
//! It is put together here, and not left to the framework's own server, for three reasons: a connection is
//! counted before anything is done for it, the handshake of TLS included; the head of every request has a
//! limit in time, not of the first one only; and with or without TLS there is one kind of connection.

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
use http_wire::answers::AnswerBudget;
use http_wire::unread::PIECE;
use tokio_rustls::TlsAcceptor;

use crate::config::Config;
use crate::failure::Failure;
pub(crate) use arrival::PLAIN_REFUSED;

use arrival::Acceptor;
use connection::Connection;

/// How long requests in flight may take after the signal to stop, in seconds.
const GRACE_SECONDS: u64 = 3;

/// How long a client is listened to that still sends what was refused already: a connection that is ended on
/// what nobody has read is reset, and the refusal lost.
const FAREWELL: Duration = Duration::from_secs(1);

/// Binds the address and builds the server of `app`, encrypted if there is an acceptor; nothing is accepted before it is polled.
pub(crate) fn bind<F, I, S, B>(
    config: &Config,
    tls: Option<TlsAcceptor>,
    answers: Arc<AnswerBudget>,
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
    let door = Arc::new(Acceptor::new(config, tls, answers));
    let (header_timeout, idle_timeout) = (config.http.header_timeout, config.http.idle_timeout);
    let server = Server::build().disable_signals().shutdown_timeout(GRACE_SECONDS);
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
            // Apart, as it is larger than all that a connection needs once it is in.
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
