//! The person whom an ID token names.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::DateTime;
use domain::login::{Claims, Identity, PendingLogIn, ProvidedIdentity, ProviderFault};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use openidconnect::core::{CoreIdToken, CoreIdTokenVerifier, CoreJwsSigningAlgorithm};
use openidconnect::{
    AccessToken, AuthorizationCode, ClaimsVerificationError, ClientId, HttpRequest, Nonce,
    OAuth2TokenResponse, PkceCodeVerifier, RequestTokenError, SignatureVerificationError, TokenResponse,
};
use serde_json::{Map, Value};

use crate::provider::Endpoints;
use crate::{Client, SKEW, refused, text, unavailable};

/// The signatures that are accepted: with keys that only the provider has.
pub(crate) const ALGORITHMS: [CoreJwsSigningAlgorithm; 9] = [
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha384,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha512,
    CoreJwsSigningAlgorithm::RsaSsaPssSha256,
    CoreJwsSigningAlgorithm::RsaSsaPssSha384,
    CoreJwsSigningAlgorithm::RsaSsaPssSha512,
    CoreJwsSigningAlgorithm::EcdsaP256Sha256,
    CoreJwsSigningAlgorithm::EcdsaP384Sha384,
    CoreJwsSigningAlgorithm::EdDsa,
];

/// The claims that accounts are made of.
const WANTED: [&str; 2] = ["email", "email_verified"];

impl Client {
    /// Exchanges the code for tokens, and verifies them.
    pub(crate) async fn person(
        &self,
        pending: &PendingLogIn,
        code: &str,
    ) -> Result<ProvidedIdentity, ProviderFault> {
        let found = self.cache.metadata(self).await?;
        let client = self.client(&found)?;
        let exchange = client.exchange_code(AuthorizationCode::new(code.to_owned()));
        let exchange = exchange.map_err(|error| refused(error.to_string()))?;
        let verifier = PkceCodeVerifier::new(pending.verifier.clone());
        let answer = exchange.set_pkce_verifier(verifier).request_async(&self.http).await;
        let answer = answer.map_err(|error| match &error {
            RequestTokenError::Request(_) => unavailable(text(&error)),
            RequestTokenError::ServerResponse(_)
            | RequestTokenError::Parse(..)
            | RequestTokenError::Other(_) => refused(format!("token endpoint: {}", text(&error))),
        })?;
        let token = answer.id_token().ok_or_else(|| refused("it sent no ID token"))?;
        let nonce = Nonce::new(pending.nonce.clone());
        let checked = match self.verify(&found, token, &nonce) {
            Err(error) if is_of_unknown_key(&error) => {
                let newer = self.cache.newer_keys(self, &found).await?;
                let newer = newer.ok_or_else(|| refused(text(&error)))?;
                self.verify(&newer, token, &nonce)
            }
            checked => checked,
        };
        checked.map_err(|error| refused(format!("ID token: {}", text(&error))))?;
        let mut claims = payload(&token.to_string())?;
        self.check_party(&claims)?;
        let subject = claims.get("sub").and_then(Value::as_str).unwrap_or_default().to_owned();
        self.complete(&found, answer.access_token(), &subject, &mut claims).await?;
        let identity = Identity::new(&self.settings.issuer, &subject);
        let identity = identity.ok_or_else(|| refused("its subject is not usable"))?;
        let session = claims.get("sid").and_then(Value::as_str).map(str::to_owned);
        // One that cannot be stored cannot be compared.
        let session = session.filter(|id| Identity::new(&self.settings.issuer, id).is_some());
        Ok(ProvidedIdentity { identity, session, claims: Claims::new(claims) })
    }

    fn verify(
        &self,
        found: &Endpoints,
        token: &CoreIdToken,
        nonce: &Nonce,
    ) -> Result<(), ClaimsVerificationError> {
        let now = self.clock.now();
        let at = |time: domain::time::Timestamp| {
            DateTime::from_timestamp_micros(time.micros()).unwrap_or(DateTime::UNIX_EPOCH)
        };
        let (expires_after, issued_before) = (at(now.minus(SKEW)), at(now.plus(SKEW)));
        let id = ClientId::new(self.settings.client_id.clone());
        let verifier = CoreIdTokenVerifier::new_public_client(id, self.issuer.clone(), found.keys.clone())
            .set_allowed_algs(ALGORITHMS)
            .set_time_fn(move || expires_after)
            .set_issue_time_verifier_fn(move |issued| {
                if issued <= issued_before { Ok(()) } else { Err(format!("issued in the future: {issued}")) }
            });
        let oldest = self.settings.max_age.map(|max_age| at(now.minus(max_age).minus(SKEW)));
        let verifier =
            verifier.set_auth_time_verifier_fn(move |authenticated| match (oldest, authenticated) {
                (Some(_), None) => {
                    Err("it does not say when the person authenticated (auth_time)".to_owned())
                }
                (Some(oldest), Some(time)) if time < oldest => {
                    Err(format!("the person authenticated too long ago: {time}"))
                }
                _ => Ok(()),
            });
        token.claims(&verifier, nonce).map(|_| ())
    }

    /// Checks that the token was made for this client, if it says for whom.
    fn check_party(&self, claims: &Map<String, Value>) -> Result<(), ProviderFault> {
        match claims.get("azp") {
            Some(party) if party.as_str() != Some(&self.settings.client_id) => {
                Err(refused("ID token: it was made for another client (azp)"))
            }
            _ => Ok(()),
        }
    }

    /// Adds what the provider says of the person elsewhere, if the ID token does not say all that is needed.
    async fn complete(
        &self,
        found: &Endpoints,
        token: &AccessToken,
        subject: &str,
        claims: &mut Map<String, Value>,
    ) -> Result<(), ProviderFault> {
        claims.retain(|_, value| !value.is_null());
        let known = Claims::new(claims.clone());
        let mut wanted = WANTED.into_iter().chain(self.settings.claims.iter().map(String::as_str));
        let Some(endpoint) =
            found.metadata.userinfo_endpoint().filter(|_| wanted.any(|name| !known.has(name)))
        else {
            return Ok(());
        };
        let mut bearer = HeaderValue::try_from(format!("Bearer {}", token.secret()))
            .map_err(|_| refused("its access token is no header"))?;
        bearer.set_sensitive(true);
        let mut request = HttpRequest::new(Vec::new());
        *request.uri_mut() =
            endpoint.as_str().parse().map_err(|_| refused("its userinfo endpoint is no URL"))?;
        request.headers_mut().insert(AUTHORIZATION, bearer);
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json"));
        let answer = self.http.send(request).await;
        let answer = answer.map_err(|error| unavailable(format!("userinfo: {}", text(&error))))?;
        if !answer.status().is_success() {
            return Err(refused(format!("userinfo: HTTP status {}", answer.status())));
        }
        let kind = answer.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if kind.is_none_or(|kind| !kind.starts_with("application/json")) {
            return Err(refused("userinfo: it is not plain JSON"));
        }
        let said = serde_json::from_slice::<Map<String, Value>>(answer.body());
        let said = said.map_err(|error| refused(format!("userinfo: {error}")))?;
        if said.get("sub").and_then(Value::as_str) != Some(subject) {
            return Err(refused("userinfo: it is of another subject"));
        }
        // Whether an address is verified is said where the address is.
        if WANTED.iter().any(|name| !claims.contains_key(*name))
            && said.get("email").is_some_and(Value::is_string)
        {
            claims.retain(|name, _| !WANTED.contains(&name.as_str()));
        }
        for (name, value) in said {
            claims.entry(name).or_insert(value);
        }
        Ok(())
    }
}

fn is_of_unknown_key(error: &ClaimsVerificationError) -> bool {
    matches!(
        error,
        ClaimsVerificationError::SignatureVerification(
            SignatureVerificationError::NoMatchingKey | SignatureVerificationError::CryptoError(_)
        )
    )
}

/// The claims of a token, which are not verified here.
pub(crate) fn payload(token: &str) -> Result<Map<String, Value>, ProviderFault> {
    let part = token.split('.').nth(1).unwrap_or_default();
    let bytes = URL_SAFE_NO_PAD.decode(part).map_err(|_| refused("a token that is not Base64"))?;
    serde_json::from_slice(&bytes).map_err(|_| refused("a token that is not JSON"))
}
