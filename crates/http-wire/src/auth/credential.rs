//! The credential of a request, and its kind.
//!
//! A key in `X-API-Key` takes precedence over all others: some clients also send a token, some
//! proxies a header of their own. Only one credential of a request is ever checked.

use actix_web::http::header::{AUTHORIZATION, HeaderMap};

/// The maximum size of a key.
pub const MAX_KEY_BYTES: usize = 512;

/// The maximum size of a token.
pub const MAX_TOKEN_BYTES: usize = 4096;

/// A presented credential, not authenticated yet.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Credential<'a> {
    /// An API key.
    Key(&'a str),
    /// A signed token.
    Token(&'a str),
    /// The token of an invitation, which only authenticates its acceptance.
    Invitation(&'a str),
}

/// The reason why a request has no usable credential.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unusable {
    /// There is no credential.
    Missing,
    /// `X-API-Key` holds a value that cannot be a key: it is empty, too long, or not one word.
    MalformedKey,
    /// `Authorization` holds neither a token after `Bearer` nor another accepted form.
    MalformedAuthorization,
}

impl Unusable {
    /// The message for the client, with the remedy.
    pub const fn message(self) -> &'static str {
        match self {
            Self::Missing => {
                "A credential is needed: send an API key as X-API-Key, or a token as Authorization: Bearer <token>."
            }
            Self::MalformedKey => "X-API-Key does not hold an API key. Send the whole key and nothing else.",
            Self::MalformedAuthorization => {
                "Authorization does not hold a token. Write it as Authorization: Bearer <token>, or send an API key \
                 as X-API-Key."
            }
        }
    }
}

impl Credential<'_> {
    /// The message for the client if the credential is rejected, with the remedy. It depends on the
    /// text alone, so it reveals nothing.
    pub fn rejected(self) -> &'static str {
        match self {
            Self::Key(text) if is_like_token(text) => {
                "A token was sent as an API key. Send it as Authorization: Bearer <token>."
            }
            Self::Key(_) => {
                "The API key is not valid: it is unknown, revoked, or expired. Send another key, or create one."
            }
            Self::Token(text) if is_like_key(text) => {
                "An API key was sent as a token. Send it as X-API-Key, without Bearer."
            }
            Self::Token(_) => {
                "The token is not valid: it has expired, or its session has ended. Log in again."
            }
            Self::Invitation(_) => "The invitation is not valid. Ask for another one.",
        }
    }
}

/// Keys have this prefix.
fn is_like_key(text: &str) -> bool {
    text.starts_with("thnv_") && !text.contains('.')
}

/// Tokens have three parts (JWT); a key has no dots.
fn is_like_token(text: &str) -> bool {
    text.split('.').count() == 3
}

/// The key in `X-API-Key`; `None` if it is absent or cannot be a key.
pub fn api_key(headers: &HeaderMap) -> Option<&str> {
    sane(headers.get("x-api-key")?.to_str().ok()?, MAX_KEY_BYTES)
}

/// The credential of `/api/v1/me` and `/api/v1/agent`: `X-API-Key`, or `Authorization: Bearer`,
/// which carries a token and never a key.
pub fn of_interface(headers: &HeaderMap) -> Result<Credential<'_>, Unusable> {
    if headers.contains_key("x-api-key") {
        return api_key(headers).map(Credential::Key).ok_or(Unusable::MalformedKey);
    }
    let token = match authorization(headers)? {
        (Some(scheme), token) if scheme.eq_ignore_ascii_case("bearer") => sane(token, MAX_TOKEN_BYTES),
        _ => None,
    };
    token.map(Credential::Token).ok_or(Unusable::MalformedAuthorization)
}

/// The credential of the generic paths: as [`of_interface`], or a key that is the complete value of
/// `Authorization`, without a scheme.
pub fn of_generic_path(headers: &HeaderMap) -> Result<Credential<'_>, Unusable> {
    if headers.contains_key("x-api-key") {
        return of_interface(headers);
    }
    match authorization(headers)? {
        (None, key) => sane(key, MAX_KEY_BYTES).map(Credential::Key).ok_or(Unusable::MalformedAuthorization),
        (Some(_), _) => of_interface(headers),
    }
}

/// The credential of a door: `X-API-Key`, or `Authorization: Bearer` with a key or a token, since clients of other
/// protocols know only that header.
pub fn of_door(headers: &HeaderMap) -> Result<Credential<'_>, Unusable> {
    match of_interface(headers)? {
        Credential::Token(key) if !is_like_token(key) => {
            sane(key, MAX_KEY_BYTES).map(Credential::Key).ok_or(Unusable::MalformedAuthorization)
        }
        credential => Ok(credential),
    }
}

/// `Authorization` as scheme and credential; a single word has no scheme.
fn authorization(headers: &HeaderMap) -> Result<(Option<&str>, &str), Unusable> {
    let value = headers.get(AUTHORIZATION).ok_or(Unusable::Missing)?.to_str();
    let value = value.map_err(|_| Unusable::MalformedAuthorization)?.trim();
    Ok(match value.split_once(char::is_whitespace) {
        Some((scheme, rest)) => (Some(scheme), rest.trim_start()),
        None => (None, value),
    })
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

    /// Headers, and the credentials that the interfaces and the generic paths read from them.
    type Case<'a> = (&'a [(&'static str, &'a [u8])], Read<'a>, Read<'a>);

    type Read<'a> = Result<Credential<'a>, Unusable>;

    /// The result of each interface for the same headers: the interfaces, then the generic paths.
    #[test]
    fn every_place_reads_its_own_headers() {
        let (key, token) = (|text| Ok(Credential::Key(text)), |text| Ok(Credential::Token(text)));
        let (missing, bad_key, bad) =
            (Err(Unusable::Missing), Err(Unusable::MalformedKey), Err(Unusable::MalformedAuthorization));
        let long_token = [b"Bearer ".as_slice(), &[b't'; 4097]].concat();
        let cases: [Case<'_>; 12] = [
            (&[], missing, missing),
            (&[("x-api-key", b"k")], key("k"), key("k")),
            (&[("authorization", b"Bearer a.b.c")], token("a.b.c"), token("a.b.c")),
            (&[("authorization", b"bearer   a.b.c ")], token("a.b.c"), token("a.b.c")),
            (&[("authorization", b"thnv_u_1")], bad, key("thnv_u_1")),
            (&[("authorization", b"Basic dTpw")], bad, bad),
            (&[("authorization", b"Bearer")], bad, key("Bearer")),
            (&[("authorization", b"Bearer a b")], bad, bad),
            (&[("authorization", &long_token)], bad, bad),
            (&[("x-api-key", b"k"), ("authorization", b"Bearer t")], key("k"), key("k")),
            (&[("x-api-key", b"k"), ("authorization", b"other")], key("k"), key("k")),
            // A malformed key is no reason to look elsewhere.
            (&[("x-api-key", b""), ("authorization", b"Bearer t")], bad_key, bad_key),
        ];
        for (given, interface, generic) in cases {
            let headers = headers(given);
            assert!(of_interface(&headers) == interface, "interface: {given:?}");
            assert!(of_generic_path(&headers) == generic, "generic: {given:?}");
        }
    }

    #[test]
    fn a_door_takes_keys_and_tokens_from_either_header() {
        let read = |name: &'static str, value: &[u8]| {
            of_door(&headers(&[(name, value)])).map(|credential| match credential {
                Credential::Key(text) => ("key", text.to_owned()),
                Credential::Token(text) => ("token", text.to_owned()),
                Credential::Invitation(text) => ("invitation", text.to_owned()),
            })
        };
        assert_eq!(read("x-api-key", b"thnv_u_1"), Ok(("key", "thnv_u_1".to_owned())));
        assert_eq!(read("authorization", b"Bearer thnv_u_1"), Ok(("key", "thnv_u_1".to_owned())));
        assert_eq!(read("authorization", b"Bearer a.b.c"), Ok(("token", "a.b.c".to_owned())));
        assert_eq!(read("authorization", b"thnv_u_1"), Err(Unusable::MalformedAuthorization));
        let long_key = [b"Bearer ".as_slice(), &[b'k'; 513]].concat();
        assert_eq!(read("authorization", &long_key), Err(Unusable::MalformedAuthorization));
        assert_eq!(of_door(&HeaderMap::new()).map(|_| ()), Err(Unusable::Missing));
    }

    /// The message for a credential in the wrong header names the right one.
    #[test]
    fn what_is_wrong_is_told_by_the_look_of_it() {
        let (key, token) = ("thnv_u_1790000000_abc", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln");
        let messages = [
            Unusable::Missing.message(),
            Unusable::MalformedKey.message(),
            Unusable::MalformedAuthorization.message(),
            Credential::Key(key).rejected(),
            Credential::Key(token).rejected(),
            Credential::Token(token).rejected(),
            Credential::Token(key).rejected(),
        ];
        for (index, text) in messages.iter().enumerate() {
            assert!(!messages[..index].contains(text), "{text}");
        }
        assert!(Credential::Token(key).rejected().contains("X-API-Key"));
        assert!(Credential::Key(token).rejected().contains("Bearer"));
        assert_eq!(
            Credential::Key("x").rejected(),
            Credential::Key(key).rejected(),
            "an unknown word is a wrong key"
        );
    }
}
