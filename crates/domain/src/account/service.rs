//! The account area's ports in one place.

use std::sync::Arc;

use super::cache::CallerCache;
use super::key_port::KeyRepository;
use super::key_uses::KeyUses;
use super::port::AccountRepository;
use crate::ports::{Clock, EventPublisher, IdGenerator, KeyMint};

/// Use cases on users, agents and keys.
pub struct AccountService {
    pub(super) accounts: Arc<dyn AccountRepository>,
    pub(super) keys: Arc<dyn KeyRepository>,
    pub(super) events: Arc<dyn EventPublisher>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Arc<dyn IdGenerator>,
    pub(super) mint: Arc<dyn KeyMint>,
    pub(super) uses: KeyUses,
    pub(super) cache: Arc<CallerCache>,
}

impl AccountService {
    /// Wires the area to its ports.
    pub fn new(
        accounts: Arc<dyn AccountRepository>,
        keys: Arc<dyn KeyRepository>,
        events: Arc<dyn EventPublisher>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdGenerator>,
        mint: Arc<dyn KeyMint>,
    ) -> Self {
        Self { accounts, keys, events, clock, ids, mint, uses: KeyUses::default(), cache: Arc::default() }
    }

    /// Callers are known by this cache.
    pub fn with_cache(self, cache: Arc<CallerCache>) -> Self {
        Self { cache, ..self }
    }
}
