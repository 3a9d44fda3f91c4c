//! The account area's ports in one place.

use std::sync::Arc;
use std::time::Duration;

use super::cache::CallerCache;
use super::door::DoorNotes;
use super::key_port::KeyRepository;
use super::key_uses::KeyUses;
use super::port::AccountRepository;
use crate::chat::ParticipantRepository;
use crate::ports::{Clock, EventPublisher, IdGenerator, KeyMint};

/// The dependencies of an [`AccountService`].
pub struct AccountPorts {
    /// Users and agents.
    pub accounts: Arc<dyn AccountRepository>,
    /// Their keys.
    pub keys: Arc<dyn KeyRepository>,
    /// Who may read the chat that a key is limited to.
    pub participants: Arc<dyn ParticipantRepository>,
    /// Receives every event.
    pub events: Arc<dyn EventPublisher>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Generates ids.
    pub ids: Arc<dyn IdGenerator>,
    /// Generates keys.
    pub mint: Arc<dyn KeyMint>,
    /// The cache of authenticated callers.
    pub callers: Arc<CallerCache>,
}

/// Use cases on users, agents and keys.
pub struct AccountService {
    pub(super) accounts: Arc<dyn AccountRepository>,
    pub(super) keys: Arc<dyn KeyRepository>,
    pub(super) participants: Arc<dyn ParticipantRepository>,
    pub(super) events: Arc<dyn EventPublisher>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Arc<dyn IdGenerator>,
    pub(super) mint: Arc<dyn KeyMint>,
    pub(super) uses: KeyUses,
    pub(super) doors: DoorNotes,
    pub(super) cache: Arc<CallerCache>,
    pub(super) key_lifetime: Option<Duration>,
}

impl AccountService {
    /// Wires the area to its ports.
    pub fn new(ports: AccountPorts) -> Self {
        let AccountPorts { accounts, keys, participants, events, clock, ids, mint, callers: cache } = ports;
        let (uses, doors) = (KeyUses::default(), DoorNotes::default());
        Self {
            accounts,
            keys,
            participants,
            events,
            clock,
            ids,
            mint,
            uses,
            doors,
            cache,
            key_lifetime: None,
        }
    }

    /// New keys for which no expiry is requested expire after `days`; 0 for never.
    pub fn with_key_days(self, days: u32) -> Self {
        let day = Duration::from_secs(24 * 60 * 60);
        Self { key_lifetime: (days > 0).then(|| day * days), ..self }
    }
}
