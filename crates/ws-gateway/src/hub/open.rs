//! Opening a socket on whichever node: an agent's place is the store's to give where there are several.

use std::sync::Arc;
use std::time::Duration;

use domain::account::Presented;
use domain::caller::Caller;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::{ClaimRefused, Hub, OnConflict, SocketClaim};
use crate::claim_queue::Asked;
use crate::inbox::Reader;

/// How long a newcomer waits for the store.
const PATIENCE: Duration = Duration::from_secs(10);

impl Hub {
    /// Makes the caller's newcomer a live socket, as [`Self::claim`] does for a server that is alone.
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
        // Who would not be let in takes nobody's place.
        self.may_enter(&self.sockets(), caller, presented)?;
        let (answer, answered) = oneshot::channel();
        claim_queue.ask(Asked { caller: agent, presented, on_conflict, slot, answer });
        match timeout(PATIENCE, answered).await {
            Ok(Ok(opened)) => opened,
            Ok(Err(_)) | Err(_) => Err(ClaimRefused::Unavailable),
        }
    }
}
