//! The source of a request, as far as it can be determined.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use actix_web::http::header::HeaderMap;

/// The address that a request comes from. All clients behind it are counted under `Self::key`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Source(IpAddr);

impl Source {
    pub(crate) fn new(address: IpAddr) -> Self {
        Self(address.to_canonical())
    }

    /// The address itself.
    pub fn address(self) -> IpAddr {
        self.0
    }

    /// A number for all clients of an IPv4 address, or of an IPv6 network of 64 bits, which is the
    /// size of one customer's network; distinct for distinct ones.
    pub(crate) fn key(self) -> u128 {
        match self.0 {
            IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
            IpAddr::V6(address) => address.to_bits() >> 64 << 64,
        }
    }

    /// A number for all clients of an IPv4 address, or of an IPv6 network of 48 bits, the largest
    /// that is assigned without justification: it has 65,536 of the networks that [`Self::key`]
    /// distinguishes.
    pub(crate) fn site(self) -> u128 {
        match self.0 {
            IpAddr::V4(_) => self.key(),
            IpAddr::V6(address) => address.to_bits() >> 80 << 80,
        }
    }
}

/// Addresses with the same beginning: `10.0.0.0/8`, or a single address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Network {
    address: IpAddr,
    bits: u8,
}

impl Network {
    /// Returns whether `address` is in the network.
    pub fn holds(self, address: IpAddr) -> bool {
        let differing = |one: u128, other: u128, width: u8| {
            // A shift by the full width keeps nothing.
            (one ^ other).checked_shr(u32::from(width - self.bits)).unwrap_or(0)
        };
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(one), IpAddr::V4(other)) => {
                differing(u128::from(one.to_bits()), u128::from(other.to_bits()), 32) == 0
            }
            (IpAddr::V6(one), IpAddr::V6(other)) => differing(one.to_bits(), other.to_bits(), 128) == 0,
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fault = || format!("'{text}' is not an address or network, such as 127.0.0.1 or 10.0.0.0/8");
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse::<u8>().map_err(|_| fault())?)),
            None => (text, None),
        };
        let address = address.parse::<IpAddr>().map_err(|_| fault())?.to_canonical();
        let width = if address.is_ipv4() { 32 } else { 128 };
        match bits.unwrap_or(width) {
            bits if bits <= width => Ok(Self { address, bits }),
            _ => Err(fault()),
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

/// The other end of the connection; or, if that is a trusted proxy, the last address in
/// `X-Forwarded-For` that is not one. Addresses further left can be forged.
pub(crate) fn source(peer: Option<IpAddr>, headers: &HeaderMap, trusted: &[Network]) -> Option<Source> {
    let mut nearest = peer?;
    let is_trusted = |address: IpAddr| trusted.iter().any(|network| network.holds(address));
    let lines = headers.get_all("x-forwarded-for").collect::<Vec<_>>();
    let mut hops =
        lines.into_iter().rev().flat_map(|line| line.to_str().unwrap_or_default().rsplit(',').map(hop));
    while is_trusted(nearest) {
        match hops.next() {
            Some(Some(address)) => nearest = address,
            Some(None) | None => break,
        }
    }
    Some(Source::new(nearest))
}

/// Returns whether the client has reached a trusted proxy over TLS.
pub(crate) fn is_forwarded_tls(peer: Option<IpAddr>, headers: &HeaderMap, trusted: &[Network]) -> bool {
    let is_trusted = peer.is_some_and(|peer| trusted.iter().any(|network| network.holds(peer)));
    let mut said = headers.get_all("x-forwarded-proto");
    is_trusted && said.next_back().is_some_and(|said| said.as_bytes().eq_ignore_ascii_case(b"https"))
}

/// An address as proxies write it, with an optional port.
fn hop(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    bare.parse().ok().or_else(|| text.parse::<SocketAddr>().ok().map(|address| address.ip()))
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::{HeaderName, HeaderValue};

    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn key(text: &str) -> u128 {
        Source::new(address(text)).key()
    }

    #[test]
    fn a_source_is_an_address_or_a_network_of_64_bits() {
        assert_eq!(key("2001:db8:1:2::1"), key("2001:db8:1:2:ffff:ffff:ffff:ffff"));
        assert_ne!(key("2001:db8:1:2::1"), key("2001:db8:1:3::1"));
        assert_eq!(key("::ffff:192.0.2.7"), key("192.0.2.7"));
        assert_ne!(key("192.0.2.7"), key("192.0.2.8"));
        assert_ne!(key("192.0.2.7"), key("::1"));
    }

    #[test]
    fn networks_hold_what_begins_like_them() {
        for (network, held, not_held) in [
            ("127.0.0.1", "127.0.0.1", "127.0.0.2"),
            ("10.0.0.0/8", "10.255.1.2", "11.0.0.1"),
            ("10.0.0.0/8", "::ffff:10.1.1.1", "::10.1.1.1"),
            ("192.0.2.128/25", "192.0.2.200", "192.0.2.100"),
            ("0.0.0.0/0", "8.8.8.8", "::1"),
            ("::/0", "2001:db8::1", "8.8.8.8"),
            ("2001:db8::/32", "2001:db8:ffff::1", "2001:db9::1"),
        ] {
            let network = network.parse::<Network>().unwrap();
            assert!(network.holds(address(held)), "{network} {held}");
            assert!(!network.holds(address(not_held)), "{network} {not_held}");
        }
        for bad in ["", "x", "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/-1", "10.0.0/8"] {
            assert!(bad.parse::<Network>().is_err(), "{bad}");
        }
    }

    #[test]
    fn only_trusted_proxies_are_believed() {
        let trusted = ["127.0.0.1".parse().unwrap(), "10.0.0.0/8".parse().unwrap()];
        let from = |peer: &str, lines: &[&str]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                let value = HeaderValue::from_bytes(line.as_bytes()).unwrap();
                headers.append(HeaderName::from_static("x-forwarded-for"), value);
            }
            source(Some(address(peer)), &headers, &trusted).unwrap().key()
        };
        for (peer, lines, expected) in [
            ("192.0.2.1", &["8.8.8.8"][..], "192.0.2.1"),
            ("127.0.0.1", &[], "127.0.0.1"),
            ("127.0.0.1", &["8.8.8.8"], "8.8.8.8"),
            ("127.0.0.1", &["1.1.1.1, 8.8.8.8"], "8.8.8.8"),
            ("127.0.0.1", &["1.1.1.1, 8.8.8.8, 10.1.2.3"], "8.8.8.8"),
            ("127.0.0.1", &["1.1.1.1", "8.8.8.8,10.1.2.3"], "8.8.8.8"),
            ("127.0.0.1", &["8.8.8.8:4711"], "8.8.8.8"),
            ("127.0.0.1", &["[2001:db8::1]:4711"], "2001:db8::1"),
            ("127.0.0.1", &["[2001:db8::1]"], "2001:db8::1"),
            ("127.0.0.1", &["8.8.8.8, nonsense"], "127.0.0.1"),
            ("127.0.0.1", &["10.1.1.1"], "10.1.1.1"),
            ("127.0.0.1", &["ä"], "127.0.0.1"),
        ] {
            assert_eq!(from(peer, lines), key(expected), "{peer} {lines:?}");
        }
        assert_eq!(source(None, &HeaderMap::new(), &trusted), None);
    }
}
