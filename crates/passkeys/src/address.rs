//! The address of the server, as devices know it: the host name, to which keys belong, and the origin of its pages.

use webauthn_rp::request::{AsciiDomain, RpId};

/// Where browsers allow passkeys.
#[derive(Debug)]
pub(crate) struct Address {
    rp_id: RpId,
    origin: String,
}

impl Address {
    /// Reads a public URL. Addresses by number have no passkeys, and without TLS only `localhost` has.
    pub(crate) fn of(public_url: &str) -> Option<Self> {
        let url = public_url.to_ascii_lowercase();
        let (scheme, rest) = url.split_once("://")?;
        let authority = rest.split('/').next()?;
        let (host, port) =
            authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port)));
        let is_number =
            host.starts_with('[') || host.rsplit('.').next()?.bytes().all(|byte| byte.is_ascii_digit());
        let default_port = match scheme {
            "https" => "443",
            "http" if host == "localhost" => "80",
            _ => return None,
        };
        if is_number {
            return None;
        }
        let rp_id = RpId::Domain(AsciiDomain::try_from(host.to_owned()).ok()?);
        let port = port.filter(|port| *port != default_port);
        let origin =
            port.map_or_else(|| format!("{scheme}://{host}"), |port| format!("{scheme}://{host}:{port}"));
        Some(Self { rp_id, origin })
    }

    pub(crate) const fn rp_id(&self) -> &RpId {
        &self.rp_id
    }

    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passkeys_need_a_host_name_and_tls() {
        for (url, expected) in [
            ("https://chat.example.org", Some(("chat.example.org", "https://chat.example.org"))),
            ("https://Chat.Example.org:443/sub", Some(("chat.example.org", "https://chat.example.org"))),
            ("https://chat.example.org:8443", Some(("chat.example.org", "https://chat.example.org:8443"))),
            ("https://intranet", Some(("intranet", "https://intranet"))),
            ("http://localhost:4000", Some(("localhost", "http://localhost:4000"))),
            ("http://localhost:80", Some(("localhost", "http://localhost"))),
            ("https://localhost", Some(("localhost", "https://localhost"))),
            ("http://chat.example.org", None),
            ("http://localhost.example.org", None),
            ("http://127.0.0.1:4000", None),
            ("https://192.0.2.7", None),
            ("https://[2001:db8::1]:443", None),
            ("chat.example.org", None),
        ] {
            let address = Address::of(url);
            let found = address.as_ref().map(|address| (address.rp_id().as_ref(), address.origin()));
            assert_eq!(found, expected, "{url}");
        }
    }
}
