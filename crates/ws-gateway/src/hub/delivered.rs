//! Receipts of the messages that sockets of agents took, and the task that stores them.

use domain::caller::Caller;
use domain::delivery::DeliveryService;
use domain::store::StoreError;

use super::{Hub, SocketClaim};
use crate::receipts::ReceiptSink;

impl Hub {
    /// Marks the deliveries that sockets of agents take as *delivered*, until
    /// [`Self::end_deliveries`].
    pub async fn keep_deliveries(&self, deliveries: &DeliveryService) {
        self.receipts.run(deliveries).await;
    }

    /// Stores all receipts so far.
    ///
    /// # Errors
    /// [`StoreError`] if the store failed; the receipts stay in the buffer.
    pub async fn write_deliveries(&self, deliveries: &DeliveryService) -> Result<(), StoreError> {
        self.receipts.write(deliveries).await
    }

    /// Makes [`Self::keep_deliveries`] store the remaining receipts and return; must be called
    /// after the last connection has ended.
    pub fn end_deliveries(&self) {
        self.receipts.close();
    }
}

impl SocketClaim {
    /// Where this socket records receipts; `None` if they are not needed.
    pub(crate) fn receipts(&self) -> Option<ReceiptSink> {
        match self.caller {
            Caller::Agent(agent) => Some(ReceiptSink::new(agent.agent, self.hub.receipts.clone())),
            Caller::User(_) => None,
        }
    }
}
