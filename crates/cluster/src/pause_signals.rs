//! Signals pauses of organizations, and their ends, to the agents that are connected to this node.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::control::ControlService;
use domain::event::DomainEvent;
use domain::id::OrganizationId;
use domain::ports::EventPublisher;
use measure::Outage;
use tokio::sync::Notify;
use tokio::time::sleep;
use ws_gateway::Hub;

/// The pause before agents are looked up again after a failure of the store.
const RETRY: Duration = Duration::from_millis(500);

/// The organizations whose pause has changed. Their agents are looked up in a task of its own, so that no
/// revocation of another tenant waits for that.
pub(crate) struct PauseSignals {
    hub: Arc<Hub>,
    control: Arc<ControlService>,
    changed: Mutex<BTreeSet<OrganizationId>>,
    added: Notify,
}

impl PauseSignals {
    pub(crate) fn new(hub: Arc<Hub>, control: Arc<ControlService>) -> Self {
        Self { hub, control, changed: Mutex::default(), added: Notify::new() }
    }

    /// Adds an organization.
    pub(crate) fn add(&self, organization: OrganizationId) {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner).insert(organization);
        self.added.notify_one();
    }

    /// Sends signals, until it is dropped.
    pub(crate) async fn run(&self) {
        let mut outage = Outage::default();
        loop {
            self.added.notified().await;
            let changed = std::mem::take(&mut *self.changed.lock().unwrap_or_else(PoisonError::into_inner));
            for organization in changed {
                let found = self.control.signals_of_pause(organization, self.hub.agents_in_chats()).await;
                outage.log(&found, "pauses not signaled, retrying", "pauses signaled again");
                if found.is_err() {
                    sleep(RETRY).await;
                    self.add(organization);
                }
                for (agent, signal) in found.unwrap_or_default() {
                    self.hub.publish(DomainEvent::AgentControlled { agent, signal });
                }
            }
        }
    }
}
