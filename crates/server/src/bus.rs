//! The bus between servers: NATS, if the program was built with the feature `nats`.

#[cfg(feature = "nats")]
pub(crate) use adapters_nats::{NatsServer, Settings, is_prefix};

#[cfg(not(feature = "nats"))]
pub(crate) use absent::{NatsServer, Settings, connect, is_prefix};

use std::sync::Arc;

use domain::bus::RunningBus;
use domain::id::NodeId;
use domain::ports::Clock;
use domain::secret::Secret;

/// Connects to NATS as this node.
#[cfg(feature = "nats")]
pub(crate) async fn connect(
    settings: &Settings,
    secret: Secret,
    node: NodeId,
    clock: Arc<dyn Clock>,
) -> Result<Arc<dyn RunningBus>, adapters_nats::ConnectFault> {
    Ok(adapters_nats::NatsBus::connect(settings, secret, node, clock).await?)
}

/// The replacement of NATS in a program without it. The settings are refused, so there is never a
/// bus.
#[cfg(not(feature = "nats"))]
mod absent {
    use std::fmt;
    use std::path::PathBuf;

    use super::{Arc, Clock, NodeId, RunningBus, Secret};

    const ABSENT: &str = "refused: this program was built without the feature `nats`";

    /// The settings of NATS.
    #[derive(Clone, Debug)]
    #[expect(dead_code, reason = "they are refused before they are used")]
    pub struct Settings {
        pub(crate) servers: Vec<NatsServer>,
        pub(crate) credentials: Option<PathBuf>,
        pub(crate) ca: Option<PathBuf>,
        pub(crate) prefix: String,
    }

    #[derive(Clone, Debug)]
    pub(crate) enum NatsServer {}

    impl NatsServer {
        pub(crate) fn parse(_: &str) -> Result<Self, &'static str> {
            Err(ABSENT)
        }

        pub(crate) fn has_login_of(&self, _: &Self) -> bool {
            match *self {}
        }
    }

    impl fmt::Display for NatsServer {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            match *self {}
        }
    }

    pub(crate) fn is_prefix(_: &str) -> bool {
        true
    }

    pub(crate) async fn connect(
        _: &Settings,
        _: Secret,
        _: NodeId,
        _: Arc<dyn Clock>,
    ) -> Result<Arc<dyn RunningBus>, &'static str> {
        Err(ABSENT)
    }
}
