//! Looking up what other nodes have told and this one may not have heard.

use domain::node::EntrantPlace;
use domain::store::StoreError;
use domain::time::Timestamp;

use super::{ClusterMember, PAGE};

impl ClusterMember {
    /// Tells the own sockets of the rooms into which they have come since then, unless they were told.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn catch_up(&self, since: Timestamp) -> Result<(), StoreError> {
        let mut place = EntrantPlace::before(since);
        loop {
            let page = self.nodes.entrants(place, PAGE).await?;
            let Some(last) = page.last() else { return Ok(()) };
            place = last.place();
            for entrant in page {
                self.hub.has_entered(entrant);
            }
        }
    }

    /// Tells all nodes that what this one has told since then may not have reached them.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn tell_loss(&self, since: Timestamp) -> Result<(), StoreError> {
        self.nodes.tell_loss(self.node(), since).await
    }
}
