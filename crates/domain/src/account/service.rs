//! The account area's ports in one place.

use std::sync::Arc;

use super::port::AccountRepository;
use crate::ports::{Clock, IdGenerator, KeyMint};

/// Use cases on users, agents and keys.
pub struct AccountService {
    pub(super) accounts: Arc<dyn AccountRepository>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Arc<dyn IdGenerator>,
    pub(super) keys: Arc<dyn KeyMint>,
}

impl AccountService {
    /// Wires the area to its ports.
    pub fn new(
        accounts: Arc<dyn AccountRepository>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdGenerator>,
        keys: Arc<dyn KeyMint>,
    ) -> Self {
        Self { accounts, clock, ids, keys }
    }
}
