//! Which addresses requests may go to.
//!
//! Owners choose the URL of a webhook, so it could name a service in the network of the server. Only addresses of the public
//! Internet are allowed, and private networks that the operator has listed. An IPv4 address within an IPv6 address, as of a
//! translation between the two, is judged as itself.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use http_wire::limit::Network;

/// The private networks that requests may go to.
#[derive(Clone, Default, Debug)]
pub struct Allowed(Arc<[Network]>);

impl Allowed {
    /// These networks. Addresses in them that are never allowed, such as those of metadata services, stay refused.
    pub fn new(networks: &[Network]) -> Self {
        Self(networks.into())
    }

    /// Returns whether there is no such network.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether requests may go to `address`. Those that are not encrypted stay in the listed networks.
    pub(crate) fn allows(&self, address: IpAddr, is_encrypted: bool) -> bool {
        match reach(address) {
            Reach::Public => is_encrypted,
            Reach::Private => self.0.iter().any(|network| network.holds(innermost(address))),
            Reach::Never => false,
        }
    }
}

/// Where an address leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reach {
    /// To the public Internet.
    Public,
    /// To a private network, or to the machine itself.
    Private,
    /// Nowhere, to several machines, or to the metadata of a cloud: never allowed.
    Never,
}

/// Where `address` leads.
fn reach(address: IpAddr) -> Reach {
    match innermost(address) {
        address if METADATA.contains(&address) => Reach::Never,
        IpAddr::V4(address) => reach_v4(address),
        IpAddr::V6(address) => reach_v6(address),
    }
}

/// The IPv4 address that an IPv6 address leads to, or the address itself.
fn innermost(address: IpAddr) -> IpAddr {
    let IpAddr::V6(outer) = address else { return address };
    match outer.segments() {
        // IPv4 as IPv6, translated by the well-known prefix, and 6to4.
        [0, 0, 0, 0, 0, 0xffff, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => {
            let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
            IpAddr::V4(Ipv4Addr::new(a, b, c, d))
        }
        _ => address,
    }
}

/// Metadata services of clouds outside of the link-local networks.
const METADATA: [IpAddr; 7] = [
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23)),
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xc1, 0, 0, 0, 0, 0xa9fe, 0xa9fe)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42)),
];

fn reach_v4(address: Ipv4Addr) -> Reach {
    match address.octets() {
        // Loopback, private networks, and those of carriers.
        [127 | 10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => Reach::Private,
        // This network, link-local, protocols, examples, relays, measurements, multicast, reserved, and broadcast.
        [0 | 224..=255, ..]
        | [169, 254, ..]
        | [192, 0, 0 | 2, _]
        | [192, 88, 99, _]
        | [198, 18 | 19, ..]
        | [198, 51, 100, _]
        | [203, 0, 113, _] => Reach::Never,
        _ => Reach::Public,
    }
}

fn reach_v6(address: Ipv6Addr) -> Reach {
    match address.segments() {
        // Loopback, and unique-local.
        [0, 0, 0, 0, 0, 0, 0, 1] | [0xfc00..=0xfdff, ..] => Reach::Private,
        // Protocols such as Teredo, benchmarks, and identifiers; examples.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Reach::Never,
        [0x2000..=0x3fff, ..] => Reach::Public,
        // Unspecified, IPv4-compatible, local translation, discard, link-local, site-local, multicast, and what is not assigned.
        _ => Reach::Never,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_an_address_is_judged() {
        let public = [
            "1.1.1.1",
            "8.8.8.8",
            "172.15.0.1",
            "172.32.0.1",
            "100.63.255.255",
            "100.128.0.1",
            "192.0.1.1",
            "198.20.0.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2a00::1",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2002:808:808::1",
        ];
        let private = [
            "127.0.0.1",
            "127.255.255.255",
            "10.0.0.1",
            "10.255.255.255",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "::1",
            "fc00::1",
            "fdff::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::a00:1",
            "2002:7f00:1::",
            "2002:c0a8:1::1",
        ];
        let never = [
            "0.0.0.0",
            "0.1.2.3",
            "169.254.169.254",
            "169.254.0.1",
            "192.0.0.1",
            "192.0.0.192",
            "192.0.2.1",
            "192.88.99.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "100.100.100.200",
            "168.63.129.16",
            "::",
            "::7f00:1",
            "::ffff:169.254.169.254",
            "::ffff:0.0.0.0",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "2002:a9fe:a9fe::",
            "2001::1",
            "2001:2::1",
            "2001:10::1",
            "2001:20::1",
            "2001:db8::1",
            "3fff::1",
            "100::1",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "ff02::1",
            "fd00:ec2::254",
            "fd00:ec2::23",
            "fd20:ce::254",
            "fd00:c1::a9fe:a9fe",
            "fd00:42::42",
            "64:ff9b::6464:64c8",
            "4000::1",
        ];
        let (nothing, everything) = (
            Allowed::default(),
            Allowed::new(&["0.0.0.0/0", "::/0"].map(|network| network.parse().unwrap())),
        );
        for (addresses, expected) in
            [(&public[..], Reach::Public), (&private[..], Reach::Private), (&never[..], Reach::Never)]
        {
            let (is_public, is_private) = (expected == Reach::Public, expected == Reach::Private);
            for address in addresses {
                let address = address.parse().unwrap();
                assert_eq!(reach(address), expected, "{address}");
                let allows =
                    |allowed: &Allowed| [true, false].map(|encrypted| allowed.allows(address, encrypted));
                assert_eq!(allows(&nothing), [is_public, false], "{address}");
                assert_eq!(allows(&everything), [is_public || is_private, is_private], "{address}");
            }
        }
    }

    #[test]
    fn only_listed_private_networks_are_allowed() {
        let allowed =
            Allowed::new(&["10.1.0.0/16", "::1", "fd12::/16"].map(|network| network.parse().unwrap()));
        for (address, expected) in [
            ("10.1.2.3", true),
            ("10.2.0.1", false),
            ("127.0.0.1", false),
            ("192.168.0.1", false),
            ("::ffff:10.1.2.3", true),
            ("::ffff:10.2.0.1", false),
            ("64:ff9b::a01:203", true),
            ("64:ff9b::a02:1", false),
            ("2002:a01:203::", true),
            ("2002:a02:1::", false),
            ("::1", true),
            ("fd12::1", true),
            ("fd13::1", false),
            ("169.254.169.254", false),
        ] {
            assert_eq!(allowed.allows(address.parse().unwrap(), true), expected, "{address}");
        }
    }
}
