//! TCP ports for servers that tests start.

use std::hash::{BuildHasher, RandomState};
use std::net::TcpListener;

/// Below the ports that the system assigns to outgoing connections, so that none of them takes a port between
/// its choice and the start of its server, or while the server is down.
const PORTS: std::ops::Range<u16> = 10_000..30_000;

/// A random port on which nothing listens on the loopback address.
///
/// # Panics
///
/// If 1,000 ports in a row are taken.
pub fn free_port() -> u16 {
    let random = RandomState::new();
    (0..1_000_u64)
        .filter_map(|attempt| u16::try_from(random.hash_one(attempt) % PORTS.len() as u64).ok())
        .map(|offset| PORTS.start + offset)
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .expect("a port is free")
}
