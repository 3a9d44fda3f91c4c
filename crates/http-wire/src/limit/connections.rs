//! Limits the connections per address.
//!
//! A connection costs a file descriptor and some memory before authentication, so it is checked
//! when it is accepted. A trusted proxy stands for many and is not counted.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::address::{Network, Source};

/// The limits of connections.
#[derive(Clone, Debug)]
pub struct ConnectionLimit {
    /// Per address, or per IPv6 network of 64 bits; `None` is no limit.
    pub most: Option<u32>,
    /// Set to count connections from the loopback address too.
    pub loopback: bool,
    /// Networks that are not counted.
    pub exempt: Vec<Network>,
}

/// The open connections by source.
pub struct Connections {
    limit: ConnectionLimit,
    open: Mutex<HashMap<u128, u32>>,
}

/// The permit of an open connection, until it is dropped.
pub struct ConnectionPermit(Option<(Arc<Connections>, u128)>);

impl Connections {
    /// Makes an empty count.
    pub fn new(limit: ConnectionLimit) -> Arc<Self> {
        Arc::new(Self { limit, open: Mutex::default() })
    }

    /// Counts a connection from `address`; `None` if the limit is reached.
    pub fn arrive(self: &Arc<Self>, address: IpAddr) -> Option<ConnectionPermit> {
        let Some(most) = self.limit.most else { return Some(ConnectionPermit(None)) };
        let is_exempt = self.limit.exempt.iter().any(|network| network.holds(address));
        if is_exempt || (!self.limit.loopback && address.to_canonical().is_loopback()) {
            return Some(ConnectionPermit(None));
        }
        let key = Source::new(address).key();
        let mut open = self.open();
        let count = open.entry(key).or_default();
        if *count >= most {
            return None;
        }
        *count += 1;
        drop(open);
        Some(ConnectionPermit(Some((self.clone(), key))))
    }

    fn open(&self) -> MutexGuard<'_, HashMap<u128, u32>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let Some((connections, key)) = self.0.take() else { return };
        let mut open = connections.open();
        if let Some(count) = open.get_mut(&key) {
            *count -= 1;
            if *count == 0 {
                open.remove(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connections(loopback: bool) -> Arc<Connections> {
        let exempt = vec!["10.0.0.0/8".parse().unwrap()];
        Connections::new(ConnectionLimit { most: Some(2), loopback, exempt })
    }

    #[test]
    fn an_address_has_so_many_at_once() {
        let connections = connections(false);
        let from = |text: &str| connections.arrive(text.parse().unwrap());
        let first = from("192.0.2.1").unwrap();
        let _second = from("::ffff:192.0.2.1").unwrap();
        assert!(from("192.0.2.1").is_none() && from("192.0.2.2").is_some());
        drop(first);
        assert!(from("192.0.2.1").is_some());
        let held = [from("2001:db8::1"), from("2001:db8::2")];
        assert!(from("2001:db8::3").is_none(), "a network of 64 bits is one");
        drop(held);
        assert_eq!(connections.open().len(), 1, "who has gone is forgotten");
    }

    #[test]
    fn proxies_and_the_loopback_address_are_exempt() {
        let many = |connections: &Arc<Connections>, address: &str| {
            let held = (0..9).map(|_| connections.arrive(address.parse().unwrap())).collect::<Vec<_>>();
            held.iter().flatten().count()
        };
        assert_eq!(many(&connections(false), "10.1.1.1"), 9);
        assert_eq!(many(&connections(false), "127.0.0.1"), 9);
        assert_eq!(many(&connections(true), "127.0.0.1"), 2);
        assert_eq!(many(&connections(true), "::1"), 2);
    }
}
