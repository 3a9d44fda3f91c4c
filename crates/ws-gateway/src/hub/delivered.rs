//! What was handed to agents, and the task that writes it down.

use domain::caller::Caller;
use domain::delivery::DeliveryService;
use domain::store::StoreError;

use super::{Hub, SocketClaim};
use crate::receipts::ReceiptSink;

impl Hub {
    /// Writes down as *delivered* what the sockets of agents take, until [`Self::end_deliveries`].
    pub async fn keep_deliveries(&self, deliveries: &DeliveryService) {
        self.receipts.run(deliveries).await;
    }

    /// Writes down what was taken until now.
    ///
    /// # Errors
    /// [`StoreError`] when the store did not take it; it goes on waiting.
    pub async fn write_deliveries(&self, deliveries: &DeliveryService) -> Result<(), StoreError> {
        self.receipts.write(deliveries).await
    }

    /// Lets [`Self::keep_deliveries`] write what is still there and end; to be called when no
    /// connection takes anything any more.
    pub fn end_deliveries(&self) {
        self.receipts.close();
    }
}

impl SocketClaim {
    /// How this socket says what it took, if that is of interest.
    pub(crate) fn receipts(&self) -> Option<ReceiptSink> {
        match self.caller {
            Caller::Agent(agent) => Some(ReceiptSink::new(agent.agent, self.hub.receipts.clone())),
            Caller::User(_) => None,
        }
    }
}
