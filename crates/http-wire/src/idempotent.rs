//! Bodies of requests with the header `Idempotency-Key`.

use std::future::Future;
use std::pin::Pin;

use actix_web::dev::Payload;
use actix_web::http::header::HeaderMap;
use actix_web::{FromRequest, HttpRequest};
use domain::idempotency::{Fingerprint, IdempotencyKey, IdempotentRequest};
use domain::text::TextFault;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::error::ApiError;
use crate::strict_json::{Form, FromBody, StrictJson, parse, read_body};

/// The member with the caller's password. It is not part of the digest, from which it could be guessed.
const CURRENT_PASSWORD: &str = "current_password";

/// The name of the header in `details`.
pub(crate) const IDEMPOTENCY_KEY: &str = "Idempotency-Key";

/// A body as [`StrictJson`] reads it, with the idempotency key of its request.
#[derive(Clone, Debug)]
pub struct IdempotentJson<T> {
    /// The body.
    pub body: T,
    /// Its form.
    pub form: Form,
    /// Set if the client sent an idempotency key.
    pub once: Option<IdempotentRequest>,
}

impl<T: FromBody> FromRequest for IdempotentJson<T> {
    type Error = ApiError;
    type Future = Pin<Box<dyn Future<Output = Result<Self, ApiError>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let key = key(request.headers());
        let bytes = read_body(request, payload);
        Box::pin(async move {
            let (key, bytes) = (key?, bytes.await?);
            let StrictJson { body, form } = parse(&bytes)?;
            let once = key.map(|key| IdempotentRequest { key, fingerprint: fingerprint(&bytes) });
            Ok(Self { body, form, once })
        })
    }
}

/// The key of a request, which must be the only one.
pub fn key(headers: &HeaderMap) -> Result<Option<IdempotencyKey>, ApiError> {
    let mut given = headers.get_all(IDEMPOTENCY_KEY);
    let Some(value) = given.next() else { return Ok(None) };
    let refused = |fault: TextFault| ApiError::validation().with_detail(IDEMPOTENCY_KEY, fault);
    if given.next().is_some() {
        return Err(refused(TextFault::Malformed { expected: "must be sent only once" }));
    }
    let text = value.to_str().unwrap_or("\u{fffd}");
    IdempotencyKey::new(text).map(Some).map_err(refused)
}

/// A digest of the content of a request: white space, the order of members, and the caller's password do not count.
pub fn fingerprint(bytes: &[u8]) -> Fingerprint {
    let mut digest = Sha256::new();
    match serde_json::from_slice::<Value>(bytes) {
        Ok(mut value) => {
            without_password(&mut value);
            value.sort_all_objects();
            digest.update(value.to_string());
        }
        Err(_) => digest.update(bytes.trim_ascii()),
    }
    Fingerprint::new(digest.finalize().into())
}

/// Removes the password from a body, with or without the object that wraps it.
fn without_password(body: &mut Value) {
    let Some(members) = body.as_object_mut() else { return };
    members.remove(CURRENT_PASSWORD);
    for wrapped in members.values_mut().filter_map(Value::as_object_mut) {
        wrapped.remove(CURRENT_PASSWORD);
    }
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::{HeaderName, HeaderValue};

    use super::*;

    fn keys(given: &[&[u8]]) -> Result<Option<String>, ApiError> {
        let mut headers = HeaderMap::new();
        for value in given {
            let value = HeaderValue::from_bytes(value).unwrap();
            headers.append(HeaderName::from_static("idempotency-key"), value);
        }
        key(&headers).map(|key| key.map(|key| key.as_str().to_owned()))
    }

    #[test]
    fn a_request_has_no_key_or_one_that_is_sound() {
        assert_eq!(keys(&[]).unwrap(), None);
        assert_eq!(keys(&[b"one"]).unwrap().as_deref(), Some("one"));
        assert_eq!(keys(&[&[b'k'; 255]]).unwrap().map(|key| key.len()), Some(255));
        for bad in [&[&b""[..]][..], &[b"a b"], &["ä".as_bytes()], &[&[b'k'; 256]], &[b"one", b"one"]] {
            let refused = keys(bad).unwrap_err();
            assert_eq!(refused.code().as_str(), "validation_error");
            assert!(refused.details().contains_key("Idempotency-Key"), "{refused:?}");
        }
    }

    #[test]
    fn what_is_said_counts_and_not_how_it_is_written() {
        let one =
            fingerprint(br#"{"message": {"content": "a", "mentions": [{"id": "1", "kind": "mention"}]}}"#);
        let same = fingerprint(
            b" {\"message\":{\"mentions\":[{\"kind\":\"mention\",\"id\":\"1\"}],\"content\":\"a\"}}\n",
        );
        let other =
            fingerprint(br#"{"message": {"content": "b", "mentions": [{"id": "1", "kind": "mention"}]}}"#);
        assert_eq!(one, same);
        assert_ne!(one, other);
        assert_eq!(fingerprint(b""), fingerprint(b"  \n"));
    }

    #[test]
    fn a_digest_does_not_depend_on_the_password() {
        let wrapped = |password: &str| {
            fingerprint(
                format!(r#"{{"agent": {{"name": "a", "current_password": "{password}"}}}}"#).as_bytes(),
            )
        };
        assert_eq!(wrapped("one"), wrapped("two"));
        assert_eq!(wrapped("one"), fingerprint(br#"{"agent": {"name": "a"}}"#));
        assert_eq!(fingerprint(br#"{"current_password": "one"}"#), fingerprint(b"{}"));
    }
}
