//! Logout tokens: a provider says that a person has logged out there (OpenID Connect Back-Channel Logout 1.0).

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::login::{EndedAtProvider, Identity, ProviderFault};
use domain::time::Timestamp;
use openidconnect::core::{CoreJsonWebKeySet, CoreJwsSigningAlgorithm};
use openidconnect::{JsonWebKey, JsonWebKeyUse, JwsSigningAlgorithm};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::person::{ALGORITHMS, payload};
use crate::{Client, SKEW, refused};

/// The event of such a token.
const EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";

/// The age at which a token is not accepted any more.
const MAX_AGE: Duration = Duration::from_secs(5 * 60);

/// The maximum length of a token.
const MAX_BYTES: usize = 16 * 1024;

#[derive(Deserialize)]
struct Header {
    alg: CoreJwsSigningAlgorithm,
    kid: Option<String>,
    typ: Option<String>,
    crit: Option<Value>,
}

/// The result of looking for the key of a token.
enum Signed {
    Yes,
    No,
    /// No key has signed it that is known.
    ByUnknown,
}

impl Client {
    pub(crate) async fn verify_logout(&self, token: &str) -> Result<EndedAtProvider, ProviderFault> {
        let (signed, signature) = token.rsplit_once('.').ok_or_else(|| refused("it is not a JWT"))?;
        if token.len() > MAX_BYTES || signed.matches('.').count() != 1 {
            return Err(refused("it is not a JWT"));
        }
        let decoded = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| refused("it is not Base64"));
        let header = decoded(signed.split('.').next().unwrap_or_default())?;
        let header = serde_json::from_slice::<Header>(&header);
        let header = header.map_err(|_| refused("its header is not usable"))?;
        let is_token = |typ: &String| {
            let typ = typ.to_ascii_lowercase();
            matches!(typ.trim_start_matches("application/"), "logout+jwt" | "jwt")
        };
        if !ALGORITHMS.contains(&header.alg)
            || header.crit.is_some()
            || !header.typ.as_ref().is_none_or(is_token)
        {
            return Err(refused("its header has an algorithm or a type that is not accepted"));
        }
        let signature = decoded(signature)?;
        let claims = payload(token)?;
        // Before the keys, so that a token of another provider causes no request.
        let ended = self.read(&claims)?;
        let found = self.cache.metadata(self).await?;
        let verified = match signed_by(&found.keys, &header, signed, &signature) {
            Signed::ByUnknown => match self.cache.newer_keys(self, &found).await? {
                Some(newer) => signed_by(&newer.keys, &header, signed, &signature),
                None => Signed::ByUnknown,
            },
            other => other,
        };
        match verified {
            Signed::Yes => Ok(ended),
            Signed::No => Err(refused("its signature is wrong")),
            Signed::ByUnknown => Err(refused("no known key has signed it")),
        }
    }

    /// Checks the claims.
    fn read(&self, claims: &Map<String, Value>) -> Result<EndedAtProvider, ProviderFault> {
        let text = |name: &str| claims.get(name).and_then(Value::as_str);
        let time = |name: &str| {
            let seconds = claims.get(name).and_then(Value::as_f64)?;
            // Within the range of times.
            let is_time = (0.0..1e11).contains(&seconds);
            #[expect(clippy::cast_possible_truncation, reason = "it was checked")]
            is_time.then(|| Timestamp::from_micros(seconds as i64 * 1_000_000))
        };
        let now = self.clock.now();
        if text("iss") != Some(&self.settings.issuer) {
            return Err(refused("it has another issuer"));
        }
        let own = Value::from(self.settings.client_id.clone());
        let is_for_this = match claims.get("aud") {
            Some(Value::Array(many)) => many.contains(&own),
            Some(one) => *one == own,
            None => false,
        };
        if !is_for_this {
            return Err(refused("it is for another audience"));
        }
        let issued_at = time("iat").ok_or_else(|| refused("it has no time"))?;
        if issued_at > now.plus(SKEW) || issued_at.plus(MAX_AGE) < now {
            return Err(refused("it is too old, or issued in the future"));
        }
        if claims.contains_key("exp") && time("exp").is_none_or(|at| at.plus(SKEW) <= now) {
            return Err(refused("it has expired"));
        }
        let is_logout =
            claims.get("events").and_then(|events| events.get(EVENT)).is_some_and(Value::is_object);
        if !is_logout || claims.contains_key("nonce") || text("jti").is_none_or(str::is_empty) {
            return Err(refused("it is not a logout token"));
        }
        // A session whose id could not be stored is one of the person's.
        let usable = |name: &str| {
            text(name).filter(|text| Identity::new(&self.settings.issuer, text).is_some()).map(str::to_owned)
        };
        let (subject, session) = (usable("sub"), usable("sid"));
        let is_odd = claims.contains_key("sub") && subject.is_none();
        if is_odd || (subject.is_none() && session.is_none()) {
            return Err(refused("it names neither a person nor a session"));
        }
        Ok(EndedAtProvider { issuer: self.settings.issuer.clone(), subject, session, issued_at })
    }
}

fn signed_by(keys: &CoreJsonWebKeySet, header: &Header, signed: &str, signature: &[u8]) -> Signed {
    let kind = header.alg.key_type();
    let mut fitting = keys.keys().iter().filter(|key| {
        let is_named = header.kid.is_none() || key.key_id().map(|id| id.as_str()) == header.kid.as_deref();
        let signs = key.key_use().is_none_or(JsonWebKeyUse::allows_signature);
        is_named && signs && kind.as_ref() == Some(key.key_type())
    });
    let mut any = false;
    let good = fitting.any(|key| {
        any = true;
        key.verify_signature(&header.alg, signed.as_bytes(), signature).is_ok()
    });
    match (good, any) {
        (true, _) => Signed::Yes,
        (false, true) if header.kid.is_some() => Signed::No,
        (false, _) => Signed::ByUnknown,
    }
}
