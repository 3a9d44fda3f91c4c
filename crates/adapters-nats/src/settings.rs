//! Settings of the NATS connection.

use std::fmt;
use std::path::PathBuf;

use async_nats::ServerAddr;

/// The parameters of a NATS connection.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The servers, any of which can be used.
    pub servers: Vec<NatsServer>,
    /// A file with a user's token and key, in NATS's format (`.creds`).
    pub credentials: Option<PathBuf>,
    /// A file with the trusted certificates, in place of the system's; the link is then encrypted.
    pub ca: Option<PathBuf>,
    /// The prefix of every subject.
    pub prefix: String,
}

/// One server of NATS.
#[derive(Clone, PartialEq, Eq)]
pub struct NatsServer {
    /// The address without credentials.
    pub(crate) address: String,
    pub(crate) login: Option<Login>,
}

/// The credentials in the address, if there are any.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Login {
    Password { user: String, password: String },
    Token(String),
}

/// The text is not the address of a NATS server.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("not the address of a NATS server, such as nats://host:4222 or tls://user:password@host")]
pub struct NotAServer;

impl NatsServer {
    /// Parses `nats://` or `tls://`, with an optional user and password or token, a host, and an
    /// optional port.
    ///
    /// # Errors
    /// [`NotAServer`], which does not repeat the text: it may contain a password.
    pub fn parse(text: &str) -> Result<Self, NotAServer> {
        let parsed = text.parse::<ServerAddr>().map_err(|_| NotAServer)?;
        let is_plain = !text.contains(['?', '#']) && text.matches('/').count() == 2;
        if !is_plain || !matches!(parsed.scheme(), "nats" | "tls") || parsed.host().is_empty() {
            return Err(NotAServer);
        }
        let host = parsed.host();
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        let login = match (parsed.username(), parsed.password()) {
            (Some(user), Some(password)) => {
                Some(Login::Password { user: decoded(user)?, password: decoded(password)? })
            }
            (Some(token), None) => Some(Login::Token(decoded(token)?)),
            (None, Some(_)) => return Err(NotAServer),
            (None, None) => None,
        };
        Ok(Self { address: format!("{}://{host}:{}", parsed.scheme(), parsed.port()), login })
    }

    /// Returns whether both have the same credentials.
    pub fn has_login_of(&self, other: &Self) -> bool {
        self.login == other.login
    }
}

impl fmt::Display for NatsServer {
    /// The address without credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.address)
    }
}

impl fmt::Debug for NatsServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.address)
    }
}

/// Returns whether the text can be a prefix of subjects: words of letters, digits, `-`, and `_`,
/// separated by dots.
pub fn is_prefix(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    text.len() <= 100 && text.split('.').all(|word| !word.is_empty() && word.chars().all(is_plain))
}

/// Decodes escapes such as `%40` in an address.
fn decoded(text: &str) -> Result<String, NotAServer> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, behind) = behind.split_at_checked(2).ok_or(NotAServer)?;
        let digits = std::str::from_utf8(digits).map_err(|_| NotAServer)?;
        bytes.push(u8::from_str_radix(digits, 16).map_err(|_| NotAServer)?);
        rest = behind;
    }
    String::from_utf8(bytes).map_err(|_| NotAServer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let password = |user: &str, password: &str| {
            Some(Login::Password { user: user.to_owned(), password: password.to_owned() })
        };
        for (text, address, login) in [
            ("nats://localhost", "nats://localhost:4222", None),
            ("tls://nats.example.org:4443", "tls://nats.example.org:4443", None),
            ("nats://[::1]:4222", "nats://[::1]:4222", None),
            ("nats://ann:s%40cret@10.0.0.1", "nats://10.0.0.1:4222", password("ann", "s@cret")),
            ("nats://only@host:1", "nats://host:1", Some(Login::Token("only".to_owned()))),
        ] {
            let server = NatsServer::parse(text).unwrap();
            assert_eq!(server.to_string(), address, "{text}");
            assert!(server.login == login, "{text}");
        }
        let wrong = ["", "nats://", "localhost:4222", "http://localhost", "ws://localhost", "nats://a b"];
        let more = [
            "nats://host/path",
            "nats://host?x=1",
            "nats://:secret@host",
            "nats://a%zz:b@host",
            "nats://h:99999",
        ];
        for text in wrong.into_iter().chain(more) {
            assert_eq!(NatsServer::parse(text), Err(NotAServer), "{text}");
        }
        let shown = format!("{:?}", NatsServer::parse("nats://ann:secret@host").unwrap());
        assert!(!shown.contains("secret") && !shown.contains("ann"), "{shown}");
    }

    #[test]
    fn prefixes() {
        for good in ["parlance", "acme.chat_1", "a-b.c"] {
            assert!(is_prefix(good), "{good}");
        }
        for bad in ["", ".", "a.", ".a", "a..b", "a.*", "a.>", "a b", "ä", &"x".repeat(101)] {
            assert!(!is_prefix(bad), "{bad}");
        }
    }
}
