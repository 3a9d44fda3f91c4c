//! Opening a socket on any node: with several nodes, the store grants the claim of an agent.

use std::sync::Arc;
use std::time::Duration;

use domain::account::Presented;
use domain::caller::Caller;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::{ClaimRefused, Hub, OnConflict, SocketClaim};
use crate::claim_queue::Asked;
use crate::inbox::Reader;

/// How long a new socket waits for the store.
const PATIENCE: Duration = Duration::from_secs(10);

impl Hub {
    /// Opens a socket for the caller, as [`Self::claim`] does on a single server.
    pub(crate) async fn open(
        self: &Arc<Self>,
        caller: Caller,
        presented: Presented,
        on_conflict: OnConflict,
    ) -> Result<(SocketClaim, Reader), ClaimRefused> {
        let (Some(claim_queue), Caller::Agent(agent)) = (self.claim_queue.get(), caller) else {
            return self.claim(caller, presented, on_conflict);
        };
        let slot = self.slot(caller.participant())?;
        // A socket that would be refused must not supersede another.
        self.may_enter(&self.sockets(), caller, presented)?;
        let (answer, answered) = oneshot::channel();
        claim_queue.ask(Asked { caller: agent, presented, on_conflict, slot, answer });
        match timeout(PATIENCE, answered).await {
            Ok(Ok(opened)) => opened,
            Ok(Err(_)) | Err(_) => Err(ClaimRefused::Unavailable),
        }
    }
}
