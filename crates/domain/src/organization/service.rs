//! The organization area's ports in one place.

use std::sync::Arc;

use super::port::Moved;
use super::port::OrganizationRepository;
use crate::event::DomainEvent;
use crate::plan::PlanName;
use crate::ports::{Clock, EventPublisher, IdGenerator, KeyMint};
use crate::store::OnCommit;
use crate::time::Timestamp;

/// Use cases on organizations, members and invitations.
pub struct OrganizationService {
    pub(super) organizations: Arc<dyn OrganizationRepository>,
    pub(super) events: Arc<dyn EventPublisher>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Arc<dyn IdGenerator>,
    pub(super) mint: Arc<dyn KeyMint>,
    /// The plan of a new organization.
    pub(super) plan: PlanName,
}

impl OrganizationService {
    /// Wires the area to its ports; `plan` is that of new organizations.
    pub fn new(
        organizations: Arc<dyn OrganizationRepository>,
        events: Arc<dyn EventPublisher>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdGenerator>,
        mint: Arc<dyn KeyMint>,
        plan: PlanName,
    ) -> Self {
        Self { organizations, events, clock, ids, mint, plan }
    }

    /// The current time, for values that depend on it.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Tokens contain the organization, so those of a user who moved end.
    pub(super) fn moved(&self) -> OnCommit<Moved> {
        let events = self.events.clone();
        OnCommit::new(move |moved: &Moved| events.publish(DomainEvent::UserMoved { user: moved.user.id }))
    }
}
