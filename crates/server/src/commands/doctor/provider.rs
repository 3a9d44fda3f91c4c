//! Checks the identity providers.

use std::sync::Arc;

use domain::login::IdentityProvider as _;

use super::Finding;
use crate::adapters::SystemClock;
use crate::config::{Config, ProviderConfig};

const CHECK: &str = "provider";

/// Checks that each provider responds, and is the one that is configured.
pub(super) async fn look(config: &Config) -> Vec<Finding> {
    let mut findings = Vec::new();
    for provider in &config.oidc.providers {
        findings.push(check(provider).await);
    }
    findings
}

/// Begins a log-in, which reads what the provider says of itself.
async fn check(provider: &ProviderConfig) -> Finding {
    let (name, issuer) = (&provider.name, &provider.settings.issuer);
    let begun = match oidc::Client::new(provider.settings.clone(), Arc::new(SystemClock)) {
        Ok(client) => client.begin().await.map(|_| ()).map_err(|fault| fault.to_string()),
        Err(problem) => Err(problem),
    };
    match begun {
        Ok(()) => Finding::well(CHECK, format!("'{name}' responds as {issuer}")),
        Err(problem) => {
            let next = format!(
                "check that this machine reaches it, and that the issuer of [oidc.{name}] is exactly the one that it states"
            );
            Finding::fault(CHECK, format!("people cannot log in with '{name}' ({issuer}): {problem}"), next)
        }
    }
}
