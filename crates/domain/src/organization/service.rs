//! The organization area's ports in one place.

use std::sync::Arc;

use super::port::OrganizationRepository;
use crate::ports::{Clock, IdGenerator, KeyMint};

/// Use cases on organizations, members and invitations.
pub struct OrganizationService {
    pub(super) organizations: Arc<dyn OrganizationRepository>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Arc<dyn IdGenerator>,
    pub(super) mint: Arc<dyn KeyMint>,
}

impl OrganizationService {
    /// Wires the area to its ports.
    pub fn new(
        organizations: Arc<dyn OrganizationRepository>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdGenerator>,
        mint: Arc<dyn KeyMint>,
    ) -> Self {
        Self { organizations, clock, ids, mint }
    }
}
