//! Opening a socket on whichever node: an agent's place is the store's to give where there are several.

use std::sync::Arc;
use std::time::Duration;

use domain::account::Presented;
use domain::caller::Caller;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::{Claim, ClaimRefused, Hub, OnConflict};
use crate::inbox::Reader;
use crate::registry::Asked;

/// How long a newcomer waits for the store.
const PATIENCE: Duration = Duration::from_secs(10);

impl Hub {
    /// Makes the caller's newcomer a live socket, as [`Self::claim`] does for a server that is alone.
    pub(crate) async fn open(
        self: &Arc<Self>,
        caller: Caller,
        presented: Presented,
        on_conflict: OnConflict,
    ) -> Result<(Claim, Reader), ClaimRefused> {
        let (Some(registry), Caller::Agent(agent)) = (self.registry.get(), caller) else {
            return self.claim(caller, presented, on_conflict);
        };
        let slot = self.slot(caller.participant())?;
        // Who would not be let in takes nobody's place.
        self.may_enter(&self.sockets(), caller, presented)?;
        let (answer, answered) = oneshot::channel();
        registry.ask(Asked { caller: agent, presented, on_conflict, slot, answer });
        match timeout(PATIENCE, answered).await {
            Ok(Ok(opened)) => opened,
            Ok(Err(_)) | Err(_) => Err(ClaimRefused::Unavailable),
        }
    }
}
