//! The address of a server.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use hyper::Uri;
use serde::{Deserialize, Serialize};

/// The address of a server, such as `http://127.0.0.1:4000`, or `https://example.org/parlance` behind a proxy.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Address {
    is_encrypted: bool,
    /// In lowercase, with the brackets of an IPv6 address.
    host: String,
    port: u16,
    /// Without a slash at its end; empty for the root.
    path: String,
}

impl Address {
    /// The address of a server that listens where it does by default.
    pub fn local() -> Self {
        Self { is_encrypted: false, host: "127.0.0.1".to_owned(), port: 4000, path: String::new() }
    }

    /// Returns whether requests are encrypted.
    pub const fn is_encrypted(&self) -> bool {
        self.is_encrypted
    }

    /// Returns whether requests do not leave this machine.
    pub fn is_local(&self) -> bool {
        self.name() == "localhost" || self.name().parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    }

    /// The host without the brackets of an IPv6 address.
    pub(crate) fn name(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }

    /// The port.
    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// The path before that of the API; empty without a proxy.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// The host and the port, unless it is the usual one.
    pub(crate) fn authority(&self) -> String {
        let Self { host, port, .. } = self;
        if *port == usual_port(self.is_encrypted) { host.clone() } else { format!("{host}:{port}") }
    }
}

const fn usual_port(is_encrypted: bool) -> u16 {
    if is_encrypted { 443 } else { 80 }
}

impl FromStr for Address {
    type Err = String;

    /// The error does not repeat the text, which may contain a password.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "is not a URL such as http://127.0.0.1:4000 or https://chat.example.org".to_owned();
        let uri = Uri::from_str(text.trim()).map_err(|_| wrong())?;
        let is_encrypted = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(wrong()),
        };
        let authority = uri.authority().ok_or_else(wrong)?;
        if authority.as_str().contains('@') || uri.query().is_some() {
            return Err("must not contain a user or a query".to_owned());
        }
        let port = match uri.port() {
            Some(port) => port.as_u16(),
            // The part after the host is not a port.
            None if authority.as_str() != authority.host() => return Err(wrong()),
            None => usual_port(is_encrypted),
        };
        let host = authority.host().to_ascii_lowercase();
        Ok(Self { is_encrypted, host, port, path: uri.path().trim_end_matches('/').to_owned() })
    }
}

impl TryFrom<String> for Address {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Address> for String {
    fn from(address: Address) -> Self {
        address.to_string()
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_encrypted { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority(), self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_one_form() {
        for (text, whole, name) in [
            ("http://127.0.0.1:4000", "http://127.0.0.1:4000", "127.0.0.1"),
            ("http://LocalHost:80/", "http://localhost", "localhost"),
            (" https://chat.example.org ", "https://chat.example.org", "chat.example.org"),
            ("https://example.org:8443/parlance/", "https://example.org:8443/parlance", "example.org"),
            ("https://[::1]:1", "https://[::1]:1", "::1"),
        ] {
            let address = text.parse::<Address>().unwrap();
            assert_eq!((address.to_string().as_str(), address.name()), (whole, name));
        }
        for bad in [
            "",
            "x",
            "localhost:4000",
            "ftp://x",
            "http://",
            "http://u:secret@x",
            "http://x?k=secret",
            "http://x:99999",
        ] {
            let fault = bad.parse::<Address>().unwrap_err();
            assert!(!fault.contains("secret"), "{bad}: {fault}");
        }
    }

    #[test]
    fn an_address_is_local_or_not() {
        let is_local = |text: &str| text.parse::<Address>().unwrap().is_local();
        assert!(is_local("http://localhost:1") && is_local("http://127.1.2.3") && is_local("http://[::1]:2"));
        assert!(!is_local("http://localhost.example") && !is_local("http://10.0.0.1"));
        assert!(Address::local().is_local());
    }
}
