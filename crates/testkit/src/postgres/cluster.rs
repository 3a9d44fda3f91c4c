//! A private, throw-away PostgreSQL: made when needed, gone with the process.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_postgres::Config;

use super::server::{ConnectionSettings, Server};
use super::supervisor::Supervisor;
use super::{administration, programs};
use crate::free_port;

/// The role of the tests: it owns its databases and may do nothing else.
const ROLE: &str = "parlance";

/// Nothing here has to outlive a power cut (`fsync`); a stop without warning it does outlive.
/// Shared memory is in files of the directory: it is removed with it, and no container limit applies.
const SETTINGS: &str = "\
listen_addresses = '127.0.0.1'
fsync = off
synchronous_commit = on
shared_buffers = 64MB
max_connections = 200
max_wal_size = 256MB
jit = off
dynamic_shared_memory_type = mmap
";

/// The TLS setting of a cluster's TCP port. The Unix socket never uses TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tls {
    /// The server speaks no TLS.
    #[default]
    Off,
    /// With TLS and without.
    Offered,
    /// Connections without TLS are refused.
    Required,
}

/// The options of a separate cluster.
#[derive(Clone, Debug, Default)]
pub struct Options {
    tls: Tls,
    settings: String,
    parent: Option<PathBuf>,
}

impl Options {
    /// With TLS, on a self-signed certificate for `localhost` (not for `127.0.0.1`).
    pub fn tls(self, tls: Tls) -> Self {
        Self { tls, ..self }
    }

    /// With its directory made in this one, which every user may write to and whose path is short.
    pub fn inside(self, parent: &Path) -> Self {
        Self { parent: Some(parent.to_owned()), ..self }
    }

    /// With another value of a setting of `postgresql.conf`.
    pub fn setting(mut self, name: &str, value: &str) -> Self {
        self.settings.push_str(&setting(name, value));
        self
    }
}

fn setting(name: &str, value: &str) -> String {
    format!("{name} = '{}'\n", value.replace('\'', "''"))
}

/// A cluster of one's own: for tests that stop the database, or need it with other settings.
///
/// It stops and is removed when this and all databases on it are dropped.
pub struct Cluster {
    supervisor: Arc<Mutex<Supervisor>>,
    server: Arc<Server>,
    port: u16,
    certificate: Option<String>,
}

impl Cluster {
    /// Makes and starts a cluster from the newest PostgreSQL that is installed.
    ///
    /// # Panics
    /// If none is installed (the message says what to install) or it does not start.
    pub fn own(options: Options) -> Self {
        let mut supervisor = Supervisor::start(&programs::newest(), options.parent.as_deref());
        supervisor.create();
        supervisor.append("postgresql.conf", SETTINGS);
        let directory = supervisor.directory().display().to_string();
        supervisor.append("postgresql.conf", &setting("unix_socket_directories", &directory));
        supervisor.append("postgresql.conf", &options.settings);
        let certificate = (options.tls != Tls::Off).then(|| give_certificate(&mut supervisor, options.tls));
        let port = start_on_a_free_port(&mut supervisor);

        let mut administrator = Config::new();
        administrator.host_path(&directory).port(port).user("postgres").dbname("postgres");
        administration::execute(&administrator, &[format!("CREATE ROLE {ROLE} LOGIN")])
            .expect("a new cluster takes a role");
        let host = if certificate.is_some() { "localhost" } else { "127.0.0.1" };
        let supervisor = Arc::new(Mutex::new(supervisor));
        let server = Arc::new(Server::new(ConnectionSettings {
            administrator,
            owner: Some(ROLE),
            url: (format!("postgres://{ROLE}@{host}:{port}"), String::new()),
            prefix: "test".to_owned(),
            kept: Some(Arc::clone(&supervisor)),
        }));
        Self { supervisor, server, port, certificate }
    }

    /// The server on which databases are created.
    pub fn server(&self) -> &Arc<Server> {
        &self.server
    }

    /// The TCP port, on 127.0.0.1; the same after a restart.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// A URL of a role that may make databases; without TLS only.
    pub fn administrator_url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// The certificate that clients have to trust, as PEM; there is one if TLS is on.
    pub fn certificate(&self) -> Option<&str> {
        self.certificate.as_deref()
    }

    /// The directory of all its files, the Unix socket's too.
    pub fn directory(&self) -> PathBuf {
        self.supervisor().directory().to_owned()
    }

    /// Stops the server as a crash would: connections break, nothing is tidied up. It may be stopped already.
    pub fn stop_immediately(&self) {
        self.supervisor().stop_server();
    }

    /// Starts the server if it does not run; a server that this starts takes connections when this returns, on
    /// the same port.
    pub fn start(&self) {
        self.supervisor()
            .start_server()
            .unwrap_or_else(|log| panic!("PostgreSQL does not start again:\n{log}"));
    }

    /// A crash, and the start after it.
    pub fn restart_immediately(&self) {
        self.stop_immediately();
        self.start();
    }

    fn supervisor(&self) -> MutexGuard<'_, Supervisor> {
        self.supervisor.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn start_on_a_free_port(supervisor: &mut Supervisor) -> u16 {
    let mut log = String::new();
    for _ in 0..10 {
        let port = free_port();
        supervisor.append("postgresql.conf", &setting("port", &port.to_string()));
        match supervisor.start_server() {
            Ok(()) => return port,
            Err(reported) => log = reported,
        }
        // Another test may have been quicker; any other fault will not go away.
        if !log.contains("could not bind") {
            break;
        }
    }
    panic!("PostgreSQL did not start:\n{log}");
}

fn give_certificate(supervisor: &mut Supervisor, tls: Tls) -> String {
    let made =
        rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate can be made");
    let certificate = made.cert.pem();
    supervisor.append("server.crt", &certificate);
    supervisor.append("server.key", &made.signing_key.serialize_pem());
    supervisor.append("postgresql.conf", &setting("ssl", "on"));
    if tls == Tls::Required {
        supervisor.replace("pg_hba.conf", "local all all trust\nhostssl all all 127.0.0.1/32 trust");
    }
    certificate
}
