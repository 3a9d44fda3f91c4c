//! The account area's ports in one place.

use std::sync::Arc;

use super::port::AccountRepository;
use crate::ports::{Clock, EventPublisher, IdGenerator, KeyMint};

/// Use cases on users, agents and keys.
pub struct AccountService {
    pub(super) accounts: Arc<dyn AccountRepository>,
    pub(super) events: Arc<dyn EventPublisher>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Arc<dyn IdGenerator>,
    pub(super) keys: Arc<dyn KeyMint>,
}

impl AccountService {
    /// Wires the area to its ports.
    pub fn new(
        accounts: Arc<dyn AccountRepository>,
        events: Arc<dyn EventPublisher>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdGenerator>,
        keys: Arc<dyn KeyMint>,
    ) -> Self {
        Self { accounts, events, clock, ids, keys }
    }
}
