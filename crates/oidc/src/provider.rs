//! What is remembered of a provider: its endpoints and keys.
//!
//! Endpoints are read again once an hour. Keys are read with them, and again when a token names a key that is not known, but
//! at most once a minute: a provider that changes its keys is followed, and forged tokens cause few requests. A provider that
//! failed is left alone for some seconds, and what is known of it is used meanwhile.

use std::sync::Arc;
use std::time::Duration;

use domain::login::ProviderFault;
use domain::time::Timestamp;
use openidconnect::core::{CoreClient, CoreClientAuthMethod, CoreJsonWebKeySet, CoreProviderMetadata};
use openidconnect::{
    AuthType, ClientId, ClientSecret, EndpointMaybeSet, EndpointNotSet, EndpointSet, JsonWebKeySet,
    RedirectUrl,
};
use tokio::sync::Mutex;

use crate::{Client, refused, text, unavailable};

/// How long endpoints and keys are used.
const FRESH: Duration = Duration::from_secs(60 * 60);

/// The shortest time between two requests for the keys because of an unknown one.
const KEYS_EVERY: Duration = Duration::from_secs(60);

/// How long a provider that failed is not asked.
const FAILED_FOR: Duration = Duration::from_secs(5);

/// A client with the endpoints that a provider has at least.
pub(crate) type EndpointClient = CoreClient<
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

/// The endpoints and keys of a provider.
pub(crate) struct Endpoints {
    pub(crate) metadata: CoreProviderMetadata,
    pub(crate) keys: CoreJsonWebKeySet,
    read_at: Timestamp,
}

#[derive(Default)]
pub(crate) struct EndpointCache(Mutex<State>);

#[derive(Default)]
struct State {
    found: Option<Arc<Endpoints>>,
    failed: Option<(Timestamp, ProviderFault)>,
    /// The last request for the keys because of an unknown one.
    keys_asked_at: Option<Timestamp>,
}

impl EndpointCache {
    /// The endpoints and keys, read if they are not known or old.
    pub(crate) async fn metadata(&self, client: &Client) -> Result<Arc<Endpoints>, ProviderFault> {
        let mut state = self.0.lock().await;
        let now = client.clock.steady();
        if let Some(found) = state.found.as_ref().filter(|found| now < found.read_at.plus(FRESH)) {
            return Ok(found.clone());
        }
        let failed = state.failed.as_ref().filter(|(at, _)| now < at.plus(FAILED_FOR));
        if let Some((_, fault)) = failed {
            return state.found.clone().ok_or_else(|| fault.clone());
        }
        match CoreProviderMetadata::discover_async(client.issuer.clone(), &client.http).await {
            Ok(metadata) => {
                let keys = metadata.jwks().clone();
                let found = Arc::new(Endpoints { metadata, keys, read_at: now });
                (state.found, state.failed) = (Some(found.clone()), None);
                Ok(found)
            }
            Err(error) => {
                let fault = unavailable(format!("discovery: {}", text(&error)));
                state.failed = Some((client.clock.steady(), fault.clone()));
                state.found.clone().ok_or(fault)
            }
        }
    }

    /// The provider with other keys than those of `seen`; `None` if they were asked for a short time ago.
    pub(crate) async fn newer_keys(
        &self,
        client: &Client,
        seen: &Arc<Endpoints>,
    ) -> Result<Option<Arc<Endpoints>>, ProviderFault> {
        let mut state = self.0.lock().await;
        let now = client.clock.steady();
        let Some(found) = state.found.clone() else { return Ok(None) };
        if !Arc::ptr_eq(&found, seen) {
            return Ok(Some(found));
        }
        if state.keys_asked_at.is_some_and(|at| now < at.plus(KEYS_EVERY)) {
            return Ok(None);
        }
        // Also if it fails.
        state.keys_asked_at = Some(now);
        let keys = JsonWebKeySet::fetch_async(found.metadata.jwks_uri(), &client.http).await;
        let keys = keys.map_err(|error| unavailable(format!("keys: {}", text(&error))))?;
        let newer = Arc::new(Endpoints { metadata: found.metadata.clone(), keys, read_at: found.read_at });
        state.found = Some(newer.clone());
        Ok(Some(newer))
    }
}

impl Client {
    /// The client of the protocol.
    pub(crate) fn client(&self, found: &Endpoints) -> Result<EndpointClient, ProviderFault> {
        let id = ClientId::new(self.settings.client_id.clone());
        let secret = self.settings.client_secret.clone().map(ClientSecret::new);
        let redirect = RedirectUrl::new(self.settings.redirect_url.clone());
        let redirect = redirect.map_err(|error| refused(format!("the redirect URL: {error}")))?;
        let methods = found.metadata.token_endpoint_auth_methods_supported();
        // Without a list, it is basic authentication.
        let takes_basic =
            methods.is_none_or(|methods| methods.contains(&CoreClientAuthMethod::ClientSecretBasic));
        let how = if takes_basic { AuthType::BasicAuth } else { AuthType::RequestBody };
        let client = CoreClient::from_provider_metadata(found.metadata.clone(), id, secret);
        Ok(client.set_redirect_uri(redirect).set_auth_type(how))
    }
}
