//! TCP ports for servers that tests start.

use std::hash::{BuildHasher, RandomState};
use std::net::TcpListener;
use std::sync::{Mutex, PoisonError};

/// Below the ports that the system assigns to outgoing connections, so that none of them takes a port between
/// its choice and the start of its server, or while the server is down.
const PORTS: std::ops::Range<u16> = 10_000..30_000;

/// Ports are reserved in blocks of this size. Whoever listens on the first port of a block owns the others.
const BLOCK: u16 = 20;

/// The block that ports are taken from, and the listeners that keep it and the earlier ones until this process ends.
static RESERVED: Mutex<(std::ops::Range<u16>, Vec<TcpListener>)> = Mutex::new((0..0, Vec::new()));

/// A port on which nothing listens on the loopback address, and that neither this process nor another one that runs
/// tests gets from here again. Otherwise a test would take the server of another one for its own.
///
/// # Panics
///
/// If 1,000 blocks in a row are taken.
pub fn free_port() -> u16 {
    let mut reserved = RESERVED.lock().unwrap_or_else(PoisonError::into_inner);
    let (ports, keepers) = &mut *reserved;
    loop {
        if let Some(port) = ports.find(|port| listener(*port).is_some()) {
            return port;
        }
        let (first, keeper) = free_block();
        keepers.push(keeper);
        *ports = first + 1..first + BLOCK;
    }
}

/// A random block that no process owns: its first port, and the listener that keeps it.
fn free_block() -> (u16, TcpListener) {
    let random = RandomState::new();
    let blocks = u64::from((PORTS.end - PORTS.start) / BLOCK);
    (0..1_000_u64)
        .filter_map(|attempt| u16::try_from(random.hash_one(attempt) % blocks).ok())
        .map(|block| PORTS.start + block * BLOCK)
        .find_map(|first| Some((first, listener(first)?)))
        .expect("a block of ports is free")
}

fn listener(port: u16) -> Option<TcpListener> {
    TcpListener::bind(("127.0.0.1", port)).ok()
}
