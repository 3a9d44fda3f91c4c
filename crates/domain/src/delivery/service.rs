//! The delivery area's ports in one place.

use std::sync::Arc;

use super::claim::{ClaimLease, ClaimRenewal};
use super::outcome::AttemptCounts;
use super::port::DeliveryRepository;
use crate::chat::ChatRepository;
use crate::ports::{Clock, EventPublisher, Presence};

/// Use cases on deliveries and attempts.
pub struct DeliveryService {
    pub(super) deliveries: Arc<dyn DeliveryRepository>,
    pub(super) chats: Arc<dyn ChatRepository>,
    pub(super) events: Arc<dyn EventPublisher>,
    pub(super) presence: Arc<dyn Presence>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) attempts: Arc<AttemptCounts>,
    pub(super) lease: ClaimLease,
}

impl DeliveryService {
    /// Wires the area to its ports.
    pub fn new(
        deliveries: Arc<dyn DeliveryRepository>,
        chats: Arc<dyn ChatRepository>,
        events: Arc<dyn EventPublisher>,
        presence: Arc<dyn Presence>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let (attempts, lease) = (Arc::default(), ClaimLease::default());
        Self { deliveries, chats, events, presence, clock, attempts, lease }
    }

    /// Sets how long a claim lasts.
    #[must_use]
    pub fn with_lease(self, lease: ClaimLease) -> Self {
        Self { lease, ..self }
    }

    /// Renews claims of the same length.
    pub fn renewal(&self) -> ClaimRenewal {
        ClaimRenewal::new(self.deliveries.clone(), self.clock.clone(), self.lease)
    }

    /// The attempts that have ended, by outcome.
    pub const fn attempts(&self) -> &Arc<AttemptCounts> {
        &self.attempts
    }
}
