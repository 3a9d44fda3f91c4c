//! The URL of a webhook, taken apart.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use domain::webhook::{WebhookUrl, WebhookUrlFault};
use url::{Host, Url};

use crate::address::Allowed;

/// The URL of a webhook.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Target {
    /// Set for https.
    pub(crate) is_encrypted: bool,
    /// The host.
    pub(crate) host: Host<String>,
    /// The port.
    pub(crate) port: u16,
    /// The path with the query.
    pub(crate) path: String,
    /// The host as the header has it, with a port that is not the usual one.
    pub(crate) authority: String,
}

impl Target {
    /// The host, if it is an address.
    pub(crate) fn literal(&self) -> Option<IpAddr> {
        match self.host {
            Host::Domain(_) => None,
            Host::Ipv4(address) => Some(address.into()),
            Host::Ipv6(address) => Some(address.into()),
        }
    }
}

/// Reads a URL; returns it in its normal form as well, in which every spelling of an IP address is the same.
pub(crate) fn read(text: &str, allowed: &Allowed) -> Result<(Target, WebhookUrl), WebhookUrlFault> {
    if text.chars().count() > WebhookUrl::MAX_CHARS {
        return Err(WebhookUrlFault::TooLong);
    }
    let url = Url::parse(text).map_err(|_| WebhookUrlFault::Malformed)?;
    let is_encrypted = match url.scheme() {
        "https" => true,
        "http" => false,
        _ => return Err(WebhookUrlFault::Malformed),
    };
    // What the parser of URLs forgives is a mistake here: leading spaces, line breaks, and backslashes.
    let has_slashes = text.get(url.scheme().len()..).is_some_and(|rest| rest.starts_with("://"));
    if !has_slashes || text.contains(|c: char| c.is_whitespace() || c.is_control() || c == '\\') {
        return Err(WebhookUrlFault::Malformed);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(WebhookUrlFault::Credentials);
    }
    if url.fragment().is_some() {
        return Err(WebhookUrlFault::Fragment);
    }
    let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
        return Err(WebhookUrlFault::Malformed);
    };
    if port == 0 || url.as_str().chars().count() > WebhookUrl::MAX_CHARS {
        return Err(WebhookUrlFault::Malformed);
    }
    let target = Target {
        is_encrypted,
        host: host.to_owned(),
        port,
        path: url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path())),
        authority: url.port().map_or_else(|| host.to_string(), |port| format!("{host}:{port}")),
    };
    if !is_encrypted && allowed.is_empty() {
        return Err(WebhookUrlFault::NotEncrypted);
    }
    let named = match &target.host {
        Host::Domain(name) if is_local_name(name) => {
            vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]
        }
        _ => target.literal().into_iter().collect::<Vec<_>>(),
    };
    if !named.is_empty() && !named.iter().any(|address| allowed.allows(*address, is_encrypted)) {
        let is_public = named.iter().any(|address| allowed.allows(*address, true));
        return Err(if is_public { WebhookUrlFault::NotEncrypted } else { WebhookUrlFault::Private });
    }
    Ok((target, WebhookUrl::checked(url.into())))
}

/// Returns whether the name stands for the machine itself. Names of services are resolved, and then judged.
fn is_local_name(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    name.eq_ignore_ascii_case("localhost") || name.to_ascii_lowercase().ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(text: &str, networks: &[&str]) -> Result<String, WebhookUrlFault> {
        let networks = networks.iter().map(|network| network.parse().unwrap()).collect::<Vec<_>>();
        read(text, &Allowed::new(&networks)).map(|(_, url)| url.as_str().to_owned())
    }

    #[test]
    fn what_owners_enter_is_checked() {
        use WebhookUrlFault::{Credentials, Fragment, Malformed, NotEncrypted, Private, TooLong};
        let long = format!("https://a.example/{}", "x".repeat(2_000));
        for (text, fault) in [
            ("", Malformed),
            ("a.example", Malformed),
            ("ftp://a.example/", Malformed),
            ("file:///etc/passwd", Malformed),
            ("https:a.example", Malformed),
            ("https:/a.example", Malformed),
            ("https:\\\\a.example", Malformed),
            (" https://a.example/", Malformed),
            ("https://a.example/\n", Malformed),
            ("https://a.example:0/", Malformed),
            ("https://a.example:70000/", Malformed),
            ("https://", Malformed),
            ("https://[::1", Malformed),
            ("https://a b/", Malformed),
            ("https://user@a.example/", Credentials),
            ("https://user:word@a.example/", Credentials),
            ("https://a.example/#part", Fragment),
            ("http://a.example/", NotEncrypted),
            ("https://127.0.0.1/", Private),
            ("https://2130706433/", Private),
            ("https://0x7f000001/", Private),
            ("https://0177.0.0.1/", Private),
            ("https://127.1/", Private),
            ("https://0/", Private),
            ("https://[::1]/", Private),
            ("https://[::ffff:127.0.0.1]/", Private),
            ("https://[::ffff:7f00:1]/", Private),
            ("https://[64:ff9b::7f00:1]/", Private),
            ("https://[2002:7f00:1::]/", Private),
            ("https://169.254.169.254/latest/meta-data", Private),
            ("https://10.1.2.3:8443/", Private),
            ("https://localhost/", Private),
            ("https://a.LOCALHOST./", Private),
            ("https://１２７.０.０.１/", Private),
            (&long, TooLong),
        ] {
            assert_eq!(normal(text, &[]), Err(fault), "{text}");
        }
        for text in [
            "https://a.example/",
            "https://a.example:8443/in?key=1",
            "https://1.1.1.1/",
            "https://[2606:4700::1111]/",
        ] {
            assert_eq!(normal(text, &[]).as_deref(), Ok(text));
        }
        assert_eq!(
            normal("https://B\u{fc}cher.example", &[]).as_deref(),
            Ok("https://xn--bcher-kva.example/")
        );
    }

    #[test]
    fn listed_private_networks_are_allowed() {
        let networks = ["127.0.0.0/8", "10.1.0.0/16", "fd00::/16"];
        for text in [
            "http://127.0.0.1:8000/",
            "http://localhost:8000/",
            "https://10.1.0.1/",
            "http://[fd00::1]/",
            // Where it leads is checked with each request.
            "http://a.example/",
        ] {
            assert_eq!(normal(text, &networks).as_deref(), Ok(text));
        }
        for text in [
            "http://10.2.0.1/",
            "https://10.2.0.1/",
            "https://[::1]/",
            "http://169.254.169.254/",
            "http://0.0.0.0/",
            "http://[ff02::1]/",
            "http://[fd00:ec2::254]/",
        ] {
            assert_eq!(normal(text, &networks), Err(WebhookUrlFault::Private), "{text}");
        }
        assert_eq!(normal("http://localhost/", &["10.0.0.0/8"]), Err(WebhookUrlFault::Private));
        assert_eq!(normal("http://1.1.1.1/", &networks), Err(WebhookUrlFault::NotEncrypted));
    }

    #[test]
    fn a_url_is_taken_apart() {
        let (target, _) = read("https://a.example:8443/in?key=1", &Allowed::default()).unwrap();
        assert_eq!((target.port, target.path.as_str()), (8443, "/in?key=1"));
        assert_eq!((target.authority.as_str(), target.literal()), ("a.example:8443", None));
        let (target, _) = read("https://[2606:4700::1111]", &Allowed::default()).unwrap();
        assert_eq!((target.port, target.authority.as_str()), (443, "[2606:4700::1111]"));
        assert_eq!((target.path.as_str(), target.is_encrypted), ("/", true));
    }
}
