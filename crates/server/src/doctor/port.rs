//! Checks that an address is free, or that a Parlance server listens there.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::time::Duration;

use super::Finding;

/// How long a listener may take to identify itself.
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
    /// The request, and the mark in its answer.
    const fn signs(self) -> (&'static str, &'static str) {
        match self {
            Self::Server => ("/version", "\"name\":\"parlance\""),
            Self::TlsServer => ("/version", crate::listen::PLAIN_REFUSED),
            Self::Metrics => ("/metrics", "parlance_build_info"),
        }
    }
}

pub(super) fn look(setting: &'static str, listen: &str, ours: Ours) -> Finding {
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
                    Finding::well(setting, format!("{listen} is used by a running server of Parlance"))
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
