//! Checks that an address is free, or that a Parlance server listens there.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::time::Duration;

use super::Finding;
use crate::config::Config;
use crate::lock;
use crate::store::StoreAt;

/// The time limit for a listener to identify itself.
const PATIENCE: Duration = Duration::from_secs(2);

/// The maximum size of an answer that is read.
const ENOUGH: u64 = 1024 * 1024;

/// The expected listener.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ours {
    Server,
    /// It identifies itself to clients without TLS too.
    TlsServer,
    Metrics,
}

impl Ours {
    /// The path to request, and the text that identifies the answer.
    const fn signs(self) -> (&'static str, &'static str) {
        match self {
            Self::Server => ("/version", "\"name\":\"parlance\""),
            Self::TlsServer => ("/version", crate::listen::PLAIN_REFUSED),
            Self::Metrics => ("/metrics", "parlance_build_info"),
        }
    }
}

/// A Parlance server that answers, and the store that it uses.
pub(crate) enum Served {
    /// It uses this store.
    Here,
    /// It uses another store.
    Elsewhere,
    /// Its store is unknown: the database does not tell.
    Unknown,
}

impl Served {
    /// Determines it by the lock of the store. This process must not have the store open.
    pub(crate) fn by_lock(config: &Config) -> Self {
        match &config.store {
            StoreAt::File(path) if lock::is_served(path) => Self::Here,
            StoreAt::File(_) => Self::Elsewhere,
            StoreAt::Memory | StoreAt::Postgres(_) => Self::Unknown,
        }
    }
}

pub(super) fn look(config: &Config, setting: &'static str, listen: &str, ours: Ours) -> Finding {
    let addresses = match listen.to_socket_addrs() {
        Ok(addresses) => addresses.collect::<Vec<_>>(),
        Err(error) => {
            let next = format!("set {setting} to an address of this machine");
            return Finding::fault(setting, format!("{listen} is not an address: {error}"), next);
        }
    };
    for address in addresses {
        match TcpListener::bind(address) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::AddrInUse => {
                return if answers(address, ours) {
                    match Served::by_lock(config) {
                        Served::Here => {
                            Finding::well(setting, format!("{listen} is used by the server of this store"))
                        }
                        Served::Unknown => {
                            Finding::well(setting, format!("a Parlance server answers at {listen}"))
                        }
                        Served::Elsewhere => Finding::warning(
                            setting,
                            format!("not running on this store; another Parlance server uses {listen}"),
                            format!("set {setting} to another port before you start a server on this store"),
                        ),
                    }
                } else {
                    let next = format!(
                        "stop the program that listens there (`ss -ltnp`), or set {setting} to another port"
                    );
                    Finding::fault(setting, format!("{listen} is used by another program"), next)
                };
            }
            Err(error) => {
                let next = format!("set {setting} to an address of this machine and a port above 1023");
                return Finding::fault(setting, format!("cannot listen on {listen}: {error}"), next);
            }
        }
    }
    Finding::well(setting, format!("{listen} is free"))
}

/// Returns whether a Parlance server listens there.
fn answers(address: SocketAddr, ours: Ours) -> bool {
    let (path, sign) = ours.signs();
    ask(address, path).is_ok_and(|answer| answer.contains(sign))
}

/// The answer of a Parlance server that listens there; `None` if there is none.
pub(crate) fn answer_of(listen: &str, ours: Ours) -> Option<String> {
    let (path, sign) = ours.signs();
    let mut answers = listen.to_socket_addrs().ok()?.filter_map(|address| ask(address, path).ok());
    answers.find(|answer| answer.contains(sign))
}

/// The response to a GET, including its head.
fn ask(address: SocketAddr, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&reachable(address), PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.take(ENOUGH).read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// A listener on all addresses is contacted on the loopback one.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}
