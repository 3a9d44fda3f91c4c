//! Tokens as JSON Web Tokens, signed with HMAC-SHA-256.
//!
//! The first of the installation's keys signs; each of them verifies, selected by the key id in the
//! token's header. No other algorithm is ever accepted, whatever a header contains. Times are not
//! checked here: that is a rule of the domain, with its clock.

use domain::account::TokenClaims;
use domain::id::{OrganizationId, SessionId, UserId};
use domain::ports::TokenMint;
use domain::time::Timestamp;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, decode_header, encode};
use serde::{Deserialize, Serialize};

use crate::token_keys::TokenKey;

/// Issuer and audience of the tokens: this server in both roles. The key identifies the
/// installation.
const PARTY: &str = "parlance";

/// The claims in a token.
#[derive(Serialize, Deserialize)]
struct Claims {
    sub: String,
    org: String,
    /// The time at which the user's password was set, in microseconds; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pwd: Option<i64>,
    /// The session of the token; absent in a token of the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sid: Option<String>,
    iat: i64,
    exp: i64,
    iss: String,
    aud: String,
}

/// Signs and verifies with the installation's keys.
pub(crate) struct SignedTokens {
    signing: (String, EncodingKey),
    verifying: Vec<(String, DecodingKey)>,
    validation: Validation,
}

impl SignedTokens {
    /// With these keys, the signing one first.
    pub(crate) fn new(first: &TokenKey, others: &[TokenKey]) -> Self {
        let mut validation = Validation::new(Algorithm::HS256);
        validation.set_issuer(&[PARTY]);
        validation.set_audience(&[PARTY]);
        validation.required_spec_claims =
            ["sub", "iss", "aud", "exp"].map(str::to_owned).into_iter().collect();
        validation.validate_exp = false;
        validation.validate_nbf = false;
        let every = std::iter::once(first).chain(others);
        Self {
            signing: (first.id.clone(), EncodingKey::from_secret(&first.secret)),
            verifying: every.map(|key| (key.id.clone(), DecodingKey::from_secret(&key.secret))).collect(),
            validation,
        }
    }
}

impl SignedTokens {
    /// Returns whether a token names a key that is none of these.
    pub(crate) fn names_unknown_key(&self, presented: &str) -> bool {
        let named = decode_header(presented).ok().and_then(|header| header.kid);
        named.is_some_and(|id| !self.verifying.iter().any(|(known, _)| *known == id))
    }
}

impl TokenMint for SignedTokens {
    fn sign(&self, claims: &TokenClaims) -> String {
        let (id, key) = &self.signing;
        let header = Header { kid: Some(id.clone()), ..Header::new(Algorithm::HS256) };
        let claims = Claims {
            sub: claims.user.to_string(),
            org: claims.organization.to_string(),
            pwd: claims.password_set_at.map(Timestamp::micros),
            sid: claims.session.map(|session| session.to_string()),
            iat: claims.issued_at.micros() / 1_000_000,
            exp: claims.expires_at.micros() / 1_000_000,
            iss: PARTY.to_owned(),
            aud: PARTY.to_owned(),
        };
        encode(&header, &claims, key).expect("a header and claims of plain text, and a key for the algorithm")
    }

    fn verify(&self, presented: &str) -> Option<TokenClaims> {
        let id = decode_header(presented).ok()?.kid?;
        let (_, key) = self.verifying.iter().find(|(known, _)| *known == id)?;
        let claims = decode::<Claims>(presented, key, &self.validation).ok()?.claims;
        let at = |seconds: i64| Timestamp::from_micros(seconds.saturating_mul(1_000_000));
        Some(TokenClaims {
            user: UserId::parse(&claims.sub)?,
            organization: OrganizationId::parse(&claims.org)?,
            password_set_at: claims.pwd.map(Timestamp::from_micros),
            session: match claims.sid {
                Some(id) => Some(SessionId::parse(&id)?),
                None => None,
            },
            issued_at: at(claims.iat),
            expires_at: at(claims.exp),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use uuid::Uuid;

    use super::*;

    fn key(id: &str, byte: u8) -> TokenKey {
        TokenKey { id: id.to_owned(), secret: [byte; 32] }
    }

    fn claims() -> TokenClaims {
        TokenClaims {
            user: UserId::new(Uuid::from_u128(1)),
            organization: OrganizationId::new(Uuid::from_u128(2)),
            password_set_at: Some(Timestamp::from_micros(999_000_007)),
            session: Some(SessionId::new(Uuid::from_u128(3))),
            issued_at: Timestamp::from_micros(1_000_000_000),
            expires_at: Timestamp::from_micros(1_900_000_000),
        }
    }

    fn as_json() -> Value {
        json!({
            "sub": Uuid::from_u128(1).to_string(), "org": Uuid::from_u128(2).to_string(),
            "pwd": 999_000_007, "sid": Uuid::from_u128(3).to_string(), "iat": 1000, "exp": 1900, "iss": "parlance", "aud": "parlance",
        })
    }

    /// A token as another program might make it.
    fn forge(header: &Header, claims: &Value, secret: &[u8]) -> String {
        encode(header, claims, &EncodingKey::from_secret(secret)).unwrap()
    }

    fn header(algorithm: Algorithm, kid: Option<&str>) -> Header {
        Header { kid: kid.map(str::to_owned), ..Header::new(algorithm) }
    }

    #[test]
    fn what_is_signed_is_read_back_also_after_a_change_of_keys() {
        let old = SignedTokens::new(&key("a", 1), &[]);
        let token = old.sign(&claims());
        assert_eq!(old.verify(&token), Some(claims()));
        let rotated = SignedTokens::new(&key("b", 2), &[key("a", 1)]);
        assert_eq!(rotated.verify(&token), Some(claims()));
        assert_eq!(old.verify(&rotated.sign(&claims())), None);
        assert_eq!(SignedTokens::new(&key("b", 2), &[]).verify(&token), None);
        assert_eq!(SignedTokens::new(&key("a", 2), &[]).verify(&token), None, "the same id, another key");
    }

    #[test]
    fn only_the_one_algorithm_and_known_keys_count() {
        let tokens = SignedTokens::new(&key("a", 1), &[]);
        let secret = [1; 32];
        let good = forge(&header(Algorithm::HS256, Some("a")), &as_json(), &secret);
        assert_eq!(tokens.verify(&good), Some(claims()));
        for bad in [header(Algorithm::HS384, Some("a")), header(Algorithm::HS256, Some("b"))] {
            assert_eq!(tokens.verify(&forge(&bad, &as_json(), &secret)), None, "{bad:?}");
        }
        assert_eq!(tokens.verify(&forge(&header(Algorithm::HS256, None), &as_json(), &secret)), None);
        // {"alg":"none","kid":"a"} with the same claims and no signature.
        let body = good.split('.').nth(1).unwrap();
        assert_eq!(tokens.verify(&format!("eyJhbGciOiJub25lIiwia2lkIjoiYSJ9.{body}.")), None);
        assert_eq!(tokens.verify(good.rsplit_once('.').unwrap().0), None);
    }

    #[test]
    fn a_claim_that_is_missing_or_another_is_refused() {
        let tokens = SignedTokens::new(&key("a", 1), &[]);
        let forged =
            |claims: &Value| tokens.verify(&forge(&header(Algorithm::HS256, Some("a")), claims, &[1; 32]));
        for name in ["sub", "org", "iat", "exp", "iss", "aud"] {
            let mut claims = as_json();
            claims.as_object_mut().unwrap().remove(name);
            assert_eq!(forged(&claims), None, "without {name}");
            claims[name] = json!("elsewhere");
            assert_eq!(forged(&claims), None, "another {name}");
        }
        let mut odd = as_json();
        odd["sid"] = json!("no session");
        assert_eq!(forged(&odd), None);
        odd.as_object_mut().unwrap().remove("sid");
        assert_eq!(forged(&odd).unwrap().session, None, "a token of the operator");
        let mut several = as_json();
        several["aud"] = json!(["parlance-other"]);
        assert_eq!(forged(&several), None);
    }

    #[test]
    fn text_that_is_no_token_is_refused() {
        let tokens = SignedTokens::new(&key("a", 1), &[]);
        let mut altered = tokens.sign(&claims()).into_bytes();
        let last = altered.len() - 1;
        altered[last - 5] ^= 1;
        for text in ["", ".", "..", "a.b.c", "thnv_u_1_x", std::str::from_utf8(&altered).unwrap()] {
            assert_eq!(tokens.verify(text), None, "{text}");
        }
    }
}
