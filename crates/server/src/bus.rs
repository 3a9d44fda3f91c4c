//! The bus between servers: NATS, if the program was built with the feature `nats`.

#[cfg(feature = "nats")]
pub(crate) use adapters_nats::{NatsBus, NatsServer, Settings, is_prefix};

#[cfg(not(feature = "nats"))]
pub(crate) use absent::{NatsBus, NatsServer, Settings, is_prefix};

/// The replacement of NATS in a program without it. The settings are refused, so there is never a
/// bus.
#[cfg(not(feature = "nats"))]
mod absent {
    use std::fmt;
    use std::path::PathBuf;
    use std::sync::Arc;

    use async_trait::async_trait;
    use domain::bus::{Address, BusLink, EventBus, Interest};
    use domain::event::DomainEvent;
    use domain::id::NodeId;
    use domain::ports::{Clock, EventPublisher};
    use domain::secret::Secret;
    use domain::time::Timestamp;
    use tokio::task::JoinSet;

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

    pub(crate) enum NatsBus {}

    #[expect(clippy::unused_async, reason = "the bus that it stands for waits")]
    impl NatsBus {
        pub(crate) async fn connect(
            _: &Settings,
            _: Secret,
            _: NodeId,
            _: Arc<dyn Clock>,
        ) -> Result<Arc<Self>, &'static str> {
            Err(ABSENT)
        }

        pub(crate) fn start(self: &Arc<Self>, _: Arc<dyn EventPublisher>) -> JoinSet<()> {
            match **self {}
        }

        pub(crate) async fn say_farewell(&self) {
            match *self {}
        }
    }

    impl BusLink for NatsBus {
        fn is_connected(&self) -> bool {
            match *self {}
        }

        fn take_unsent(&self) -> Option<Timestamp> {
            match *self {}
        }

        fn take_unheard(&self) -> Option<Timestamp> {
            match *self {}
        }
    }

    #[async_trait]
    impl EventBus for NatsBus {
        fn is_wanted(&self, _: Interest) -> bool {
            match *self {}
        }

        fn has_others(&self) -> bool {
            match *self {}
        }

        fn send(&self, _: &[Address], _: &DomainEvent) {
            match *self {}
        }

        fn begin(&self, _: Interest) {
            match *self {}
        }

        fn end(&self, _: Interest) {
            match *self {}
        }

        async fn settled(&self) {
            match *self {}
        }
    }
}
