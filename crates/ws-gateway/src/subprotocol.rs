//! The sub-protocol of newer Phoenix clients. A browser can send no header with an upgrade, so they
//! carry their token as the name of a second sub-protocol in addition to `phoenix`.

use actix_web::http::header::{HeaderMap, SEC_WEBSOCKET_PROTOCOL};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// The supported sub-protocol.
pub(crate) const PHOENIX: &str = "phoenix";

/// The prefix of the token, which follows in base64 without padding.
const TOKEN_PREFIX: &str = "base64url.bearer.phx.";

/// The offer of a client.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Offered {
    /// Set if the response has to select [`PHOENIX`]: a client that offered it fails otherwise.
    pub(crate) phoenix: bool,
    /// The token.
    pub(crate) token: Option<String>,
}

impl Offered {
    pub(crate) fn read(headers: &HeaderMap) -> Self {
        let offers = headers.get_all(SEC_WEBSOCKET_PROTOCOL).filter_map(|value| value.to_str().ok());
        let names = offers.flat_map(|offer| offer.split(',')).map(str::trim);
        let mut offered = Self { phoenix: false, token: None };
        for name in names {
            if name == PHOENIX {
                offered.phoenix = true;
            } else if let Some(encoded) = name.strip_prefix(TOKEN_PREFIX) {
                offered.token = decoded(encoded);
            }
        }
        // The token belongs to the sub-protocol.
        offered.token.take_if(|_| !offered.phoenix);
        offered
    }
}

/// Clients use either alphabet, whatever the prefix says.
fn decoded(encoded: &str) -> Option<String> {
    let bytes = STANDARD_NO_PAD.decode(encoded).or_else(|_| URL_SAFE_NO_PAD.decode(encoded)).ok()?;
    String::from_utf8(bytes).ok().filter(|token| !token.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::http::header::HeaderValue;

    fn read(lines: &[&'static str]) -> Offered {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(line));
        }
        Offered::read(&headers)
    }

    #[test]
    fn offers() {
        let token = |token: &str| Some(token.to_owned());
        for (lines, phoenix, expected) in [
            (&[][..], false, None),
            (&["phoenix"], true, None),
            (&["graphql-ws, x"], false, None),
            (&["phoenix, base64url.bearer.phx.YT5i"], true, token("a>b")),
            (&["phoenix", "base64url.bearer.phx.YT5i"], true, token("a>b")),
            (&["phoenix,base64url.bearer.phx.Pj8-"], true, token(">?>")),
            (&["phoenix,base64url.bearer.phx.Pj8+"], true, token(">?>")),
            (&["base64url.bearer.phx.YT5i"], false, None),
            (&["phoenix, base64url.bearer.phx."], true, None),
            (&["phoenix, base64url.bearer.phx.!"], true, None),
            (&["phoenix, base64url.bearer.phx.gIA"], true, None),
        ] {
            assert_eq!(read(lines), Offered { phoenix, token: expected }, "{lines:?}");
        }
    }
}
