//! Why sockets end.

use std::sync::atomic::{AtomicU64, Ordering};

/// Declares the reasons, each with its label.
macro_rules! reasons {
    ($($(#[$doc:meta])* $reason:ident = $label:literal,)+) => {
        /// The reason why a socket ended.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum EndReason {
            $($(#[$doc])* $reason,)+
        }

        impl EndReason {
            /// All of them, with their labels.
            pub const ALL: &'static [(Self, &'static str)] = &[$((Self::$reason, $label)),+];
        }
    };
}

reasons! {
    /// Its client closed it.
    ClientClosed = "client_closed",
    /// The connection ended without a close, as when a client is killed.
    ConnectionLost = "connection_lost",
    /// Nothing came from the client for too long.
    IdleTimeout = "idle_timeout",
    /// A newer socket of the agent took over.
    Superseded = "superseded",
    /// The credential was revoked or has expired, or its holder was disabled or deleted.
    CredentialEnded = "credential_ended",
    /// The server closed it so that the client connects again: it stops, or events may be missing.
    ServerClosed = "server_closed",
    /// The client read too slowly.
    SlowConsumer = "slow_consumer",
    /// The client sent what the protocol does not allow.
    ProtocolError = "protocol_error",
}

/// Numbers of sockets by reason, in the order of [`EndReason::ALL`].
pub type EndCounts = [u64; EndReason::ALL.len()];

/// The number of sockets that have ended for each reason.
#[derive(Default)]
pub(super) struct Endings([AtomicU64; EndReason::ALL.len()]);

impl Endings {
    pub(super) fn count(&self, reason: EndReason) {
        self.0[reason as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn read(&self) -> EndCounts {
        std::array::from_fn(|reason| self.0[reason].load(Ordering::Relaxed))
    }
}
