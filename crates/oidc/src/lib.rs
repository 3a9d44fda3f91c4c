//! Identity providers: a client of OpenID Connect, behind the port of the domain.
//!
//! The protocol and its checks come from the crate `openidconnect`: authorization code flow with PKCE, discovery, and ID
//! tokens. Here are the requests, which are bounded in time and size (`request`), what is remembered of a provider
//! (`provider`), the person that an ID token names (`person`), and logout tokens, which the crate does not know (`logout`).
//!
//! A provider is trusted with who people are, not with this server: every answer is checked, and nothing that it sends is
//! followed anywhere else.

mod logout;
mod person;
mod provider;
mod request;

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use domain::login::{
    BegunLogIn, EndedAtProvider, IdentityProvider, PendingLogIn, ProvidedIdentity, ProviderFault,
};
use domain::ports::Clock;
use openidconnect::core::CoreAuthenticationFlow;
use openidconnect::{CsrfToken, IssuerUrl, Nonce, PkceCodeChallenge, Scope};
use tokio::sync::{Semaphore, SemaphorePermit};

use provider::EndpointCache;
use request::Http;

/// The maximum number of characters of an error that is logged.
const ERROR_CHARS: usize = 300;

/// The maximum number of log-ins that wait for a provider at the same time.
const AT_ONCE: usize = 32;

/// By how much the clock of a provider may differ.
const SKEW: Duration = Duration::from_secs(60);

/// The settings of a client.
#[derive(Clone)]
pub struct Settings {
    /// The URL of the provider, exactly as it states it.
    pub issuer: String,
    /// The id that this server has there.
    pub client_id: String,
    /// Its secret; `None` for a public client.
    pub client_secret: Option<String>,
    /// The scopes beside `openid`.
    pub scopes: Vec<String>,
    /// Where the provider sends browsers back to.
    pub redirect_url: String,
    /// The claims that are needed beside the usual ones.
    pub claims: Vec<String>,
    /// How long ago the person may have authenticated; `None` for any time.
    pub max_age: Option<Duration>,
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

/// Checks the URL of a provider: `https`, or `http` to this machine, for tests.
///
/// # Errors
/// What is wrong with it.
pub fn check_issuer(text: &str) -> Result<(), String> {
    let wrong =
        || "must be an https URL without a query, such as https://sso.example.org/realms/company".to_owned();
    let url = IssuerUrl::new(text.to_owned()).map_err(|_| wrong())?;
    let url = url.url();
    let is_plain = url.query().is_none() && url.fragment().is_none() && url.username().is_empty();
    let is_local = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    let is_good =
        is_plain && url.has_host() && (url.scheme() == "https" || (url.scheme() == "http" && is_local));
    if is_good { Ok(()) } else { Err(wrong()) }
}

/// A client of one provider.
pub struct Client {
    settings: Settings,
    issuer: IssuerUrl,
    cache: EndpointCache,
    http: Http,
    clock: Arc<dyn Clock>,
    waiting: Semaphore,
}

impl Client {
    /// A client that trusts the authorities of the system. It sends no request yet.
    ///
    /// # Errors
    /// If a setting is not usable, or TLS cannot be used.
    pub fn new(settings: Settings, clock: Arc<dyn Clock>) -> Result<Self, String> {
        check_issuer(&settings.issuer)?;
        let issuer = IssuerUrl::new(settings.issuer.clone()).map_err(|error| error.to_string())?;
        let http = Http::new(issuer.url().scheme() == "https").map_err(|error| error.to_string())?;
        Ok(Self {
            settings,
            issuer,
            cache: EndpointCache::default(),
            http,
            clock,
            waiting: Semaphore::new(AT_ONCE),
        })
    }

    /// Takes one of the places for those who wait for the provider.
    fn place(&self) -> Result<SemaphorePermit<'_>, ProviderFault> {
        self.waiting.try_acquire().map_err(|_| unavailable("too many log-ins wait for it"))
    }
}

#[async_trait]
impl IdentityProvider for Client {
    async fn begin(&self) -> Result<BegunLogIn, ProviderFault> {
        let _place = self.place()?;
        let found = self.cache.metadata(self).await?;
        let client = self.client(&found)?;
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let scopes = self.settings.scopes.iter().cloned().map(Scope::new);
        let mut request = client
            .authorize_url(
                CoreAuthenticationFlow::AuthorizationCode,
                CsrfToken::new_random,
                Nonce::new_random,
            )
            .add_scopes(scopes)
            .set_pkce_challenge(challenge);
        if let Some(max_age) = self.settings.max_age {
            request = request.set_max_age(max_age);
        }
        let (url, state, nonce) = request.url();
        if !self.http.may_reach(url.scheme()) {
            return Err(refused("its authorization endpoint is not an https URL"));
        }
        let pending = PendingLogIn {
            state: state.secret().clone(),
            nonce: nonce.secret().clone(),
            verifier: verifier.secret().clone(),
        };
        Ok(BegunLogIn { url: url.into(), pending })
    }

    async fn finish(&self, pending: &PendingLogIn, code: &str) -> Result<ProvidedIdentity, ProviderFault> {
        let _place = self.place()?;
        self.person(pending, code).await
    }

    async fn ended(&self, token: &str) -> Result<EndedAtProvider, ProviderFault> {
        let _place = self.place()?;
        self.verify_logout(token).await
    }
}

fn unavailable(why: impl Into<String>) -> ProviderFault {
    ProviderFault::Unavailable(why.into())
}

fn refused(why: impl Into<String>) -> ProviderFault {
    ProviderFault::Refused(why.into())
}

/// An error with its causes, for the log.
fn text(error: &dyn Error) -> String {
    let (mut all, mut next) = (error.to_string(), error.source());
    while let Some(cause) = next {
        all = format!("{all}: {cause}");
        next = cause.source();
    }
    all.chars().map(|c| if c.is_control() { ' ' } else { c }).take(ERROR_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issuers_are_reached_by_tls() {
        for good in [
            "https://sso.example.org",
            "https://x.org/realms/a",
            "http://127.0.0.1:9000",
            "http://localhost/x",
        ] {
            assert_eq!(check_issuer(good), Ok(()), "{good}");
        }
        for bad in [
            "",
            "x",
            "http://sso.example.org",
            "https://",
            "https://x?y=1",
            "https://u:p@x",
            "ftp://x",
            "https://x#y",
        ] {
            assert!(check_issuer(bad).is_err(), "{bad}");
        }
    }
}
