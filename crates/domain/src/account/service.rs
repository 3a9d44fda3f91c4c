//! The account area's ports in one place.

use std::sync::Arc;
use std::time::Duration;

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
    pub(super) key_lifetime: Option<Duration>,
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
        cache: Arc<CallerCache>,
    ) -> Self {
        let uses = KeyUses::default();
        Self { accounts, keys, events, clock, ids, mint, uses, cache, key_lifetime: None }
    }

    /// New keys for which no expiry is requested expire after `days`; 0 for never.
    pub fn with_key_days(self, days: u32) -> Self {
        let day = Duration::from_secs(24 * 60 * 60);
        Self { key_lifetime: (days > 0).then(|| day * days), ..self }
    }
}
