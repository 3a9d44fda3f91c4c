//! The webhook area's ports in one place.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::events::OrganizationWebhookRepository;
use super::mint::WebhookMint;
use super::port::WebhookRepository;
use super::set::WebhookSet;
use crate::account::AccountRepository;
use crate::delivery::DeliveryService;
use crate::id::{AgentId, OrganizationId};
use crate::ports::{Clock, IdGenerator};

/// How long deliveries that have ended are kept.
pub const KEPT_FOR: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The number of deliveries that have ended that are kept of each agent, and of each organization.
pub(super) const KEPT_DELIVERIES: u32 = 1_000;

/// The dependencies of [`WebhookService`].
pub struct WebhookPorts {
    /// The store of webhooks.
    pub webhooks: Arc<dyn WebhookRepository>,
    /// The store of webhooks of organizations.
    pub events: Arc<dyn OrganizationWebhookRepository>,
    /// The store of agents.
    pub accounts: Arc<dyn AccountRepository>,
    /// Marks messages as delivered.
    pub deliveries: Arc<DeliveryService>,
    /// The agents with a webhook.
    pub set: Arc<WebhookSet>,
    /// Checks addresses and makes secrets; `None` if webhooks are off.
    pub mint: Option<Arc<dyn WebhookMint>>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Generates ids.
    pub ids: Arc<dyn IdGenerator>,
    /// The age at which an open attempt counts as stuck.
    pub stuck_after: Duration,
}

/// Use cases on webhooks.
pub struct WebhookService {
    pub(super) ports: WebhookPorts,
    /// The agent with which the last search of due rooms ended that did not find all.
    pub(super) reached: Mutex<AgentId>,
    /// The same of organizations with events.
    pub(super) reached_organization: Mutex<OrganizationId>,
}

impl WebhookService {
    /// Wires the area to its ports.
    pub const fn new(ports: WebhookPorts) -> Self {
        let reached_organization = Mutex::new(OrganizationId::NIL);
        Self { ports, reached: Mutex::new(AgentId::NIL), reached_organization }
    }

    /// Returns whether requests are sent.
    pub fn is_on(&self) -> bool {
        self.ports.mint.is_some()
    }

    /// The agents with a webhook.
    pub const fn set(&self) -> &Arc<WebhookSet> {
        &self.ports.set
    }
}
