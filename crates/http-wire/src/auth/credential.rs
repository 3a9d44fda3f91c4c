//! Where a request carries its credential, and what kind of credential it is (`rest` 1).
//!
//! A key in `X-API-Key` counts, whatever else is sent along: some clients send a token beside it,
//! some proxies a header of their own. Only one credential of a request is ever looked at.

use actix_web::http::header::{AUTHORIZATION, HeaderMap};

/// The most bytes of a key that is looked at.
pub const MAX_KEY_BYTES: usize = 512;

/// The most bytes of a token that is looked at.
pub const MAX_TOKEN_BYTES: usize = 4096;

/// What a client presents; not yet known to be any good.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Credential<'a> {
    /// An API key.
    Key(&'a str),
    /// A signed token.
    Token(&'a str),
    /// The token of an invitation, which lets nobody in but where it leads.
    Invitation(&'a str),
}

/// The key in `X-API-Key`; `None` when it is absent or cannot be a key.
pub fn api_key(headers: &HeaderMap) -> Option<&str> {
    sane(headers.get("x-api-key")?.to_str().ok()?, MAX_KEY_BYTES)
}

/// The credential of `/api/v1/me` and `/api/v1/agent`: `X-API-Key`, or `Authorization: Bearer`.
/// What stands behind `Bearer` is a token and never a key.
pub fn of_interface(headers: &HeaderMap) -> Option<Credential<'_>> {
    if headers.contains_key("x-api-key") {
        return api_key(headers).map(Credential::Key);
    }
    match authorization(headers)? {
        (Some(scheme), token) if scheme.eq_ignore_ascii_case("bearer") => {
            sane(token, MAX_TOKEN_BYTES).map(Credential::Token)
        }
        _ => None,
    }
}

/// The credential of the generic paths: as [`of_interface`], or a key that is the whole of
/// `Authorization`, without a scheme.
pub fn of_generic_path(headers: &HeaderMap) -> Option<Credential<'_>> {
    if headers.contains_key("x-api-key") {
        return of_interface(headers);
    }
    match authorization(headers)? {
        (None, key) => sane(key, MAX_KEY_BYTES).map(Credential::Key),
        (Some(_), _) => of_interface(headers),
    }
}

/// `Authorization` as scheme and credential; a single word has no scheme.
fn authorization(headers: &HeaderMap) -> Option<(Option<&str>, &str)> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?.trim();
    match value.split_once(char::is_whitespace) {
        Some((scheme, rest)) => Some((Some(scheme), rest.trim_start())),
        None => Some((None, value)),
    }
}

fn sane(text: &str, most: usize) -> Option<&str> {
    ((1..=most).contains(&text.len()) && !text.contains(char::is_whitespace)).then_some(text)
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::{HeaderName, HeaderValue};

    use super::*;

    fn headers(given: &[(&'static str, &[u8])]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in given {
            headers.append(HeaderName::from_static(name), HeaderValue::from_bytes(value).unwrap());
        }
        headers
    }

    #[test]
    fn only_what_can_be_a_key_is_looked_at() {
        let with = |bytes: &[u8]| api_key(&headers(&[("x-api-key", bytes)])).map(str::to_owned);
        assert_eq!(api_key(&HeaderMap::new()), None);
        assert_eq!(with(b""), None);
        assert_eq!(with(b"thnv_u_1").as_deref(), Some("thnv_u_1"));
        assert_eq!(with(b"thnv_u_1 thnv_u_2"), None);
        assert_eq!(with("schlüssel".as_bytes()), None);
        assert_eq!(with(&[b'k'; 513]), None);
        assert!(with(&[b'k'; 512]).is_some());
    }

    /// Headers, and what the interfaces and the generic paths take from them.
    type Case<'a> = (&'a [(&'static str, &'a [u8])], Option<Credential<'a>>, Option<Credential<'a>>);

    /// What each place makes of the same headers: the interfaces, then the generic paths.
    #[test]
    fn every_place_reads_its_own_headers() {
        let (key, token) = (Credential::Key, Credential::Token);
        let long_token = [b"Bearer ".as_slice(), &[b't'; 4097]].concat();
        let cases: [Case<'_>; 12] = [
            (&[], None, None),
            (&[("x-api-key", b"k")], Some(key("k")), Some(key("k"))),
            (&[("authorization", b"Bearer a.b.c")], Some(token("a.b.c")), Some(token("a.b.c"))),
            (&[("authorization", b"bearer   a.b.c ")], Some(token("a.b.c")), Some(token("a.b.c"))),
            (&[("authorization", b"thnv_u_1")], None, Some(key("thnv_u_1"))),
            (&[("authorization", b"Basic dTpw")], None, None),
            (&[("authorization", b"Bearer")], None, Some(key("Bearer"))),
            (&[("authorization", b"Bearer a b")], None, None),
            (&[("authorization", &long_token)], None, None),
            (&[("x-api-key", b"k"), ("authorization", b"Bearer t")], Some(key("k")), Some(key("k"))),
            (&[("x-api-key", b"k"), ("authorization", b"other")], Some(key("k")), Some(key("k"))),
            // A key that cannot be one is no reason to look elsewhere.
            (&[("x-api-key", b""), ("authorization", b"Bearer t")], None, None),
        ];
        for (given, interface, generic) in cases {
            let headers = headers(given);
            assert!(of_interface(&headers) == interface, "interface: {given:?}");
            assert!(of_generic_path(&headers) == generic, "generic: {given:?}");
        }
    }
}
