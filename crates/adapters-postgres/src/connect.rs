//! Connections to the database.

use std::io;
use std::time::Duration;

use diesel::{ConnectionError, ConnectionResult};
use diesel_async::{AsyncPgConnection, SimpleAsyncConnection};
use futures_util::FutureExt;
use tokio::task::JoinHandle;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{Client, Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::run::durable;
use crate::tls::TlsOptions;

/// The time limit for a new connection, unless the URL sets one.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The idle time before a connection is probed, and the time for which sent data may stay
/// unacknowledged.
const SILENCE: Duration = Duration::from_secs(15);

/// Every statement is written for index scans with nested loops, and is planned once for all
/// values. Otherwise the planner, which must guess while a table is not analyzed, scans and joins
/// whole tables; it also plans again for values whose plan does not differ, and compiles statements
/// that finish sooner without.
const PLANNING: &str = "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; \
     SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off";

/// Commits survive a crash of the database, whatever the setting of the database or the role.
const DURABLE: &str = durable!("false");

/// The interval between probes of an idle connection.
const PROBE: Duration = Duration::from_secs(3);

/// The parameters of connections.
pub(crate) struct Connect {
    config: Config,
    /// `None` without encryption.
    tls: Option<MakeRustlsConnect>,
    statement_timeout: Duration,
}

impl Connect {
    /// Parses the URL; an error never contains it, as it may hold a password.
    pub(crate) fn to(url: &str, statement_timeout: Duration) -> Result<Self, String> {
        let (tls, url) = TlsOptions::take_from(url)?;
        let mut config = url.parse::<Config>().map_err(|_| "it cannot be read".to_owned())?;
        config.ssl_mode(tls.ssl_mode());
        if config.get_application_name().is_none() {
            config.application_name("parlance");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        config.keepalives_idle(SILENCE).keepalives_interval(PROBE).keepalives_retries(3);
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(SILENCE);
        }
        let tls = if tls.ssl_mode() == SslMode::Disable { None } else { Some(tls.connector()?) };
        Ok(Self { config, tls, statement_timeout })
    }

    pub(crate) const fn statement_timeout(&self) -> Duration {
        self.statement_timeout
    }

    /// A connection for the work of the store.
    pub(crate) async fn connection(&self) -> ConnectionResult<AsyncPgConnection> {
        let mut connection = self.bare().await?;
        let limits = format!(
            "{DURABLE}; SET statement_timeout = {}; SET idle_in_transaction_session_timeout = {}; {PLANNING}",
            self.statement_timeout.as_millis(),
            2 * self.statement_timeout.as_millis(),
        );
        connection.batch_execute(&limits).await.map_err(ConnectionError::CouldntSetupConfiguration)?;
        Ok(connection)
    }

    /// A connection without a statement time-out.
    pub(crate) async fn bare(&self) -> ConnectionResult<AsyncPgConnection> {
        if let Some(tls) = &self.tls {
            let connected = self.config.connect(tls.clone()).await;
            let (client, connection) = connected.map_err(|error| connection_error(&error))?;
            return AsyncPgConnection::try_from_client_and_connection(client, connection).await;
        }
        let (client, connection) =
            self.config.connect(NoTls).await.map_err(|error| connection_error(&error))?;
        AsyncPgConnection::try_from_client_and_connection(client, connection).await
    }

    /// A connection that the store does not work on, and a task that ends with it.
    pub(crate) async fn watched(&self) -> ConnectionResult<(Client, JoinHandle<()>)> {
        if let Some(tls) = &self.tls {
            let connected = self.config.connect(tls.clone()).await;
            let (client, connection) = connected.map_err(|error| connection_error(&error))?;
            return Ok((client, tokio::spawn(connection.map(drop))));
        }
        let (client, connection) =
            self.config.connect(NoTls).await.map_err(|error| connection_error(&error))?;
        Ok((client, tokio::spawn(connection.map(drop))))
    }

    /// The address of the database, without secrets.
    pub(crate) fn database(&self) -> String {
        let name = self.config.get_dbname().unwrap_or("its default database");
        let ports = self.config.get_ports();
        let hosts = self.config.get_hosts().iter().enumerate().map(|(number, host)| {
            let port = ports.get(number).or(ports.first()).copied().unwrap_or(5432);
            match host {
                Host::Tcp(host) if host.contains(':') => format!("[{host}]:{port}"),
                Host::Tcp(host) => format!("{host}:{port}"),
                Host::Unix(directory) => format!("{}:{port}", directory.display()),
            }
        });
        let hosts = hosts.collect::<Vec<_>>().join(", ");
        let at = if hosts.is_empty() { "" } else { " at " };
        format!("the PostgreSQL database '{name}'{at}{hosts}")
    }
}

/// The driver's text omits the message of the server.
pub(crate) fn connection_error(error: &tokio_postgres::Error) -> ConnectionError {
    let text = match error.as_db_error() {
        Some(said) => said.message().to_owned(),
        None => match std::error::Error::source(error) {
            Some(cause) => match cause.downcast_ref::<io::Error>().map(io::Error::kind) {
                Some(io::ErrorKind::ConnectionRefused) => "connection refused".to_owned(),
                _ => format!("{error}: {cause}"),
            },
            None => error.to_string(),
        },
    };
    ConnectionError::BadConnection(text)
}
