//! The addresses of a host, resolved once for a request and judged.

use std::io;
use std::net::{IpAddr, SocketAddr};

use async_trait::async_trait;
use url::Host;

use crate::address::Allowed;
use crate::target::Target;

/// Resolves names.
#[async_trait]
pub trait Resolve: Send + Sync {
    /// The addresses of a host.
    ///
    /// # Errors
    /// If the name is not known, or no name server answers.
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// The resolver of the system.
pub struct SystemResolver;

#[async_trait]
impl Resolve for SystemResolver {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((host, 0)).await?.map(|address| address.ip()).collect())
    }
}

/// Why there is no address, whether a name is not known or leads to the network of the server: an owner does not learn which
/// names that network has.
const NONE: &str = "the host has no address that webhooks may reach";

/// The maximum number of addresses that are tried.
const TRIED: usize = 4;

/// The addresses to connect to. A connection is made to one of them, not to the name, so that a name cannot lead elsewhere
/// after it was judged.
pub(crate) async fn addresses(
    target: &Target,
    resolver: &dyn Resolve,
    allowed: &Allowed,
) -> Result<Vec<SocketAddr>, String> {
    let found = match (&target.host, target.literal()) {
        (Host::Domain(name), _) => {
            let found = resolver.resolve(name).await;
            found.map_err(|error| {
                tracing::debug!(%error, "cannot resolve the host of a webhook");
                NONE
            })?
        }
        (_, literal) => literal.into_iter().collect(),
    };
    let judged = found.into_iter().filter(|address| allowed.allows(*address, target.is_encrypted));
    let judged = judged.take(TRIED).map(|address| SocketAddr::new(address, target.port)).collect::<Vec<_>>();
    if judged.is_empty() {
        return Err(NONE.to_owned());
    }
    Ok(judged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::tests::Rebinding;
    use crate::target::read;

    async fn judged(answers: &[&[&str]], networks: &[&str]) -> Result<Vec<String>, String> {
        let parse = |list: &&[&str]| list.iter().map(|address| address.parse().unwrap()).collect::<Vec<_>>();
        let answers = answers.iter().map(parse).collect::<Vec<_>>();
        let resolver = Rebinding::to(&answers.iter().map(Vec::as_slice).collect::<Vec<_>>());
        let networks = networks.iter().map(|network| network.parse().unwrap()).collect::<Vec<_>>();
        let (target, _) = read("https://rebinding.example:8443/", &Allowed::default()).unwrap();
        let found = addresses(&target, &*resolver, &Allowed::new(&networks)).await?;
        Ok(found.iter().map(ToString::to_string).collect())
    }

    #[tokio::test]
    async fn a_host_is_resolved_once_and_judged() {
        let public = "1.1.1.1:8443".to_owned();
        assert_eq!(judged(&[&["1.1.1.1"], &["127.0.0.1"]], &[]).await, Ok(vec![public.clone()]));
        assert_eq!(judged(&[&["127.0.0.1", "1.1.1.1", "::1"]], &[]).await, Ok(vec![public]));
        for refused in [
            "127.0.0.1",
            "10.0.0.1",
            "169.254.169.254",
            "::1",
            "::ffff:127.0.0.1",
            "64:ff9b::7f00:1",
            "fd00::1",
        ] {
            let found = judged(&[&[refused]], &[]).await;
            assert_eq!(found, Err(NONE.to_owned()), "{refused}");
        }
        let networks = ["10.0.0.0/24", "169.254.0.0/16"];
        assert_eq!(
            judged(&[&["10.0.1.1", "10.0.0.1", "169.254.169.254"]], &networks).await,
            Ok(vec!["10.0.0.1:8443".to_owned()])
        );
        assert!(judged(&[&["169.254.169.254"]], &networks).await.is_err());
        assert_eq!(judged(&[&[]], &[]).await, Err(NONE.to_owned()));
        assert_eq!(judged(&[], &[]).await, Err(NONE.to_owned()), "as if the name led to a private address");
    }

    #[tokio::test]
    async fn what_is_not_encrypted_stays_in_listed_networks() {
        let resolver = Rebinding::to(&[&["1.1.1.1".parse().unwrap(), "10.0.0.1".parse().unwrap()]]);
        let allowed = Allowed::new(&["10.0.0.0/8".parse().unwrap()]);
        let (target, _) = read("http://receiver.example/", &allowed).unwrap();
        let found = addresses(&target, &*resolver, &allowed).await;
        assert_eq!(found, Ok(vec!["10.0.0.1:80".parse().unwrap()]));
    }
}
