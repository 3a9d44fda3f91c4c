//! The ports of notifications in one place.

use std::sync::Arc;

use super::port::NotificationRepository;
use super::set::NotificationSet;
use crate::account::AccountService;
use crate::attention::AttentionService;
use crate::ports::{Clock, IdGenerator, KeyMint};
use crate::time::Timestamp;
use crate::webhook::WebhookMint;

/// The dependencies of [`NotificationService`].
pub struct NotificationPorts {
    /// The store.
    pub store: Arc<dyn NotificationRepository>,
    /// What wakes the sender.
    pub set: Arc<NotificationSet>,
    /// What links decide.
    pub attention: Arc<AttentionService>,
    /// Who may still use the server.
    pub accounts: Arc<AccountService>,
    /// Makes the tokens of links.
    pub mint: Arc<dyn KeyMint>,
    /// Checks URLs; `None` if webhooks are off, which all channels with a URL then are as well.
    pub urls: Option<Arc<dyn WebhookMint>>,
    /// Whether e-mail can be sent.
    pub has_email: bool,
    /// The address of the server from outside, with which links begin; without it there are none.
    pub public_url: Option<String>,
    /// The public key of Web Push; `None` if it is off.
    pub web_push_key: Option<String>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Generates ids.
    pub ids: Arc<dyn IdGenerator>,
}

/// Use cases on notifications.
pub struct NotificationService {
    pub(super) ports: NotificationPorts,
}

impl NotificationService {
    /// Wires the area to its ports.
    pub const fn new(ports: NotificationPorts) -> Self {
        Self { ports }
    }

    /// What wakes the sender.
    pub const fn set(&self) -> &Arc<NotificationSet> {
        &self.ports.set
    }

    /// The public key of Web Push; `None` if it is off.
    pub fn web_push_key(&self) -> Option<&str> {
        self.ports.web_push_key.as_deref()
    }

    /// The current time.
    pub fn now(&self) -> Timestamp {
        self.ports.clock.now()
    }
}
