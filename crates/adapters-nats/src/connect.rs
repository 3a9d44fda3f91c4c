//! The link to NATS: connected at the start, and reconnected without limit.

use std::error::Error;
use std::future::ready;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_nats::rustls;
use async_nats::{Client, ConnectError, ConnectErrorKind, ConnectOptions};

use crate::reports::Reports;
use crate::settings::{Login, Settings};

/// The time limit for one attempt.
const ATTEMPT: Duration = Duration::from_secs(5);

/// The interval of pings to a silent server; after the third one without an answer it counts as
/// disconnected.
const PING: Duration = Duration::from_secs(2);

/// How long a server may take to confirm a request.
const ANSWER: Duration = Duration::from_secs(1);

/// The maximum number of commands that are queued for the link; further ones wait, but not for a
/// link that hangs. They are few, since each may be as large as a message; events among them are
/// also bounded in bytes.
const ORDERS: usize = 256;

/// The maximum number of queued messages per subject; further ones are dropped.
const WAITING: usize = 4 * 1024;

/// A failure that no retry can resolve.
#[derive(Debug, thiserror::Error)]
pub enum ConnectFault {
    /// NATS refuses the credentials.
    #[error("NATS at {servers} refuses the credentials")]
    Refused {
        /// The servers.
        servers: String,
    },
    /// The file of credentials cannot be used.
    #[error("cannot use the credentials for NATS in {file}: {cause}", file = file.display())]
    Credentials {
        /// The file.
        file: PathBuf,
        /// The cause.
        cause: io::Error,
    },
    /// The addresses are invalid.
    #[error("cannot use NATS at {servers}: {cause}")]
    Unusable {
        /// The given addresses.
        servers: String,
        /// The cause.
        cause: String,
    },
    /// The link cannot be encrypted as configured.
    #[error("cannot encrypt the link to NATS at {servers}: {cause}")]
    Encryption {
        /// The servers.
        servers: String,
        /// The cause.
        cause: String,
    },
}

/// Connects. An unreachable server is retried in the background.
pub(crate) async fn connect(settings: &Settings, reports: &Arc<Reports>) -> Result<Client, ConnectFault> {
    let addresses = settings.servers.iter().map(|server| server.address.as_str()).collect::<Vec<_>>();
    let servers = addresses.join(", ");
    check_authority(settings, &servers)?;
    let error = match options(settings, reports).await?.connect(&addresses).await {
        Ok(client) => return Ok(client),
        Err(error) => error,
    };
    if let Some(fault) = for_ever(&error, &servers) {
        return Err(fault);
    }
    tracing::warn!(
        servers,
        error = %chain(&error),
        "cannot connect to NATS, retrying; sockets receive only events of this server"
    );
    let patient = options(settings, reports).await?.retry_on_initial_connect();
    let connected = patient.connect(&addresses).await;
    connected.map_err(|error| ConnectFault::Unusable { servers, cause: chain(&error) })
}

async fn options(settings: &Settings, reports: &Arc<Reports>) -> Result<ConnectOptions, ConnectFault> {
    let reports = reports.clone();
    let mut options = ConnectOptions::new()
        .name("parlance")
        .no_echo()
        .connection_timeout(ATTEMPT)
        .ping_interval(PING)
        .request_timeout(Some(ANSWER))
        .client_capacity(ORDERS)
        .subscription_capacity(WAITING)
        .reconnect_delay_callback(back_off)
        .event_callback(move |event| {
            reports.add(&event);
            ready(())
        });
    match settings.servers.iter().find_map(|server| server.login.as_ref()) {
        Some(Login::Password { user, password }) => {
            options = options.user_and_password(user.clone(), password.clone());
        }
        Some(Login::Token(token)) => options = options.token(token.clone()),
        None => {}
    }
    if let Some(ca) = &settings.ca {
        options = options.add_root_certificates(ca.clone()).require_tls(true);
    }
    if let Some(file) = &settings.credentials {
        let fault = |cause| ConnectFault::Credentials { file: file.clone(), cause };
        options = options.credentials_file(file).await.map_err(fault)?;
    }
    Ok(options)
}

/// The pause before an attempt: it doubles with each attempt, up to two seconds.
fn back_off(attempts: usize) -> Duration {
    let doublings = u32::try_from(attempts.saturating_sub(1)).unwrap_or(u32::MAX).min(6);
    if attempts <= 1 { Duration::ZERO } else { Duration::from_millis(50) * 2_u32.pow(doublings) }
        .min(Duration::from_secs(2))
}

/// A file that cannot be read is a configuration error.
fn check_authority(settings: &Settings, servers: &str) -> Result<(), ConnectFault> {
    let Some(ca) = &settings.ca else { return Ok(()) };
    let problem = match std::fs::read_to_string(ca) {
        Ok(text) if text.contains("BEGIN CERTIFICATE") => return Ok(()),
        Ok(_) => "it contains no certificate".to_owned(),
        Err(error) => error.to_string(),
    };
    let cause = format!("{}: {problem}", ca.display());
    Err(ConnectFault::Encryption { servers: servers.to_owned(), cause })
}

/// The permanent failure of a connection attempt, if it is one.
fn for_ever(error: &ConnectError, servers: &str) -> Option<ConnectFault> {
    let servers = servers.to_owned();
    match error.kind() {
        ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
            Some(ConnectFault::Refused { servers })
        }
        ConnectErrorKind::Tls => Some(ConnectFault::Encryption { servers, cause: chain(error) }),
        ConnectErrorKind::Io => {
            let cause = encryption(error)?;
            Some(ConnectFault::Encryption { servers, cause })
        }
        ConnectErrorKind::ServerParse
        | ConnectErrorKind::Dns
        | ConnectErrorKind::TimedOut
        | ConnectErrorKind::MaxReconnects => None,
    }
}

/// The reason why the peer was not trusted, if that is the cause.
fn encryption(error: &ConnectError) -> Option<String> {
    let mut next: Option<&(dyn Error + 'static)> = error.source();
    while let Some(cause) = next {
        let inner = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        if let Some(error) = inner.and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            return Some(error.to_string());
        }
        next = cause.source();
    }
    None
}

/// An error with its causes.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let more = cause.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_a_bound() {
        let waits = (0..9).map(|attempts| back_off(attempts).as_millis()).collect::<Vec<_>>();
        assert_eq!(waits, [0, 0, 100, 200, 400, 800, 1_600, 2_000, 2_000]);
        assert_eq!(back_off(usize::MAX), Duration::from_secs(2));
    }
}
