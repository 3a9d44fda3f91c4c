//! The public URL of the server, if the operator has set it: the base of links.

use std::fmt;
use std::str::FromStr;

use actix_web::http::Uri;
use domain::id::AgentId;

/// The path of the page that an invitation's link opens.
pub const INVITATION: &str = "/invitation";

/// The path of pictures of agents.
pub const AVATARS: &str = "/avatars";

/// The address of the server from outside, without a slash at its end; registered as `web::Data` if there is
/// one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PublicUrl(String);

impl PublicUrl {
    /// The link for a guest. Browsers do not send the part after `#`, so no server or proxy sees
    /// the token.
    pub fn invitation(&self, token: &str) -> String {
        format!("{self}{INVITATION}#{token}")
    }

    /// The picture of an agent.
    pub fn avatar(&self, agent: AgentId) -> String {
        format!("{self}{AVATARS}/{agent}.svg")
    }
}

impl PublicUrl {
    /// The host and port of an address over TLS.
    pub fn https_host(&self) -> Option<&str> {
        self.0.strip_prefix("https://").and_then(|rest| rest.split('/').next())
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for PublicUrl {
    type Err = String;

    /// Accepts only characters without a meaning in HTML and in a shell.
    fn from_str(text: &str) -> Result<Self, String> {
        let is_plain =
            |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '~' | ':' | '/' | '[' | ']');
        let has_scheme = text.starts_with("https://") || text.starts_with("http://");
        let has_host = text.parse::<Uri>().is_ok_and(|uri| {
            let port = uri.authority().and_then(|authority| authority.as_str().rsplit_once(':'));
            let is_number = port.is_none_or(|(_, port)| port.ends_with(']') || port.parse::<u16>().is_ok());
            is_number && uri.host().is_some_and(|host| !host.is_empty())
        });
        if has_scheme && has_host && text.chars().all(is_plain) && !text.ends_with('/') {
            return Ok(Self(text.to_owned()));
        }
        Err(format!(
            "'{text}' is not an http or https address without a slash at its end, such as https://chat.example.org"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_that_links_can_begin_with_are_taken() {
        for good in [
            "https://chat.example.org",
            "http://127.0.0.1:4000",
            "http://[::1]:80",
            "https://a.org/chat",
            "http://[::1]",
        ] {
            assert_eq!(good.parse::<PublicUrl>().unwrap().to_string(), good);
        }
        for bad in [
            "",
            "chat.example.org",
            "https://",
            "https://a.org/",
            "https:///a",
            "ftp://a.org",
            "https://a.org?b",
            "https://a.org#b",
            "https://u:p@a.org",
            "https://a.org:x",
            "https://a.org:",
            "https://a.org:99999",
            "https://a.org/'x",
            "https://a.org/<b>",
            "https://a org",
        ] {
            assert!(bad.parse::<PublicUrl>().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_token_of_a_link_stays_in_the_browser() {
        let url = "https://a.org/chat".parse::<PublicUrl>().unwrap();
        let link = url.invitation("thnv_i_x");
        assert_eq!(link, "https://a.org/chat/invitation#thnv_i_x");
        assert!(!link.parse::<Uri>().unwrap().to_string().contains("thnv_i_x"), "it is no part of a request");
    }
}
