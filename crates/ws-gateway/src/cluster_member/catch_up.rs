//! Reads from the store the events of other nodes that this one may have missed.

use domain::node::EntrantPlace;
use domain::store::StoreError;
use domain::time::Timestamp;

use super::{ClusterMember, PAGE};

impl ClusterMember {
    /// Sends `room_added` to the local sockets for all joins since then, unless it was sent.
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
                self.events.has_entered(entrant);
            }
        }
    }

    /// Notifies all nodes that events of this one since then may not have reached them.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn tell_loss(&self, since: Timestamp) -> Result<(), StoreError> {
        self.nodes.tell_loss(self.node(), since).await
    }
}
