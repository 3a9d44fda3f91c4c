//! What follows from changes and needs reads: in a task of its own, so that no revocation waits for it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::change::Change;
use domain::control::{ControlService, Paused};
use domain::delivery::DeliveryService;
use domain::event::DomainEvent;
use domain::ports::EventPublisher;
use domain::store::StoreError;
use measure::Outage;
use tokio::sync::Notify;
use tokio::time::sleep;
use ws_gateway::Hub;

/// The pause before another attempt after a failure of the store.
const RETRY: Duration = Duration::from_millis(500);

/// The maximum number of attempts at one change. Clients that miss its effect learn of the state from the answers to
/// their requests.
const ATTEMPTS: u32 = 20;

/// The changes that something follows from, in the order of the log. All that follows is for the sockets of this
/// node.
pub(crate) struct FollowUps {
    hub: Arc<Hub>,
    control: Arc<ControlService>,
    deliveries: Arc<DeliveryService>,
    changes: Mutex<VecDeque<Change>>,
    added: Notify,
}

impl FollowUps {
    pub(crate) fn new(hub: Arc<Hub>, control: Arc<ControlService>, deliveries: Arc<DeliveryService>) -> Self {
        Self { hub, control, deliveries, changes: Mutex::default(), added: Notify::new() }
    }

    /// Adds a change, unless nothing follows from it. What is read for a pause, a chat, or an updated message shows
    /// all changes of it so far, so one that waits already is enough; the first may be under way.
    pub(crate) fn add(&self, change: Change) {
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        match change {
            Change::MessageSent(_) => {}
            Change::PauseChanged(_)
            | Change::AgentPauseChanged(_)
            | Change::ParticipantsRemoved(_)
            | Change::MessageUpdated(_) => {
                if changes.iter().skip(1).any(|waiting| *waiting == change) {
                    return;
                }
            }
            _ => return,
        }
        changes.push_back(change);
        self.added.notify_one();
    }

    /// Follows the changes, until it is dropped.
    pub(crate) async fn run(&self) {
        let (mut outage, mut failures) = (Outage::default(), 0);
        loop {
            let next = self.changes.lock().unwrap_or_else(PoisonError::into_inner).front().copied();
            let Some(change) = next else {
                self.added.notified().await;
                continue;
            };
            let followed = self.follow(change).await;
            outage.log(
                &followed,
                "effects of changes delayed, retrying",
                "effects of changes up to date again",
            );
            failures = if followed.is_err() { failures + 1 } else { 0 };
            if (1..ATTEMPTS).contains(&failures) {
                sleep(RETRY).await;
                continue;
            }
            failures = 0;
            self.changes.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        }
    }

    async fn follow(&self, change: Change) -> Result<(), StoreError> {
        match change {
            Change::PauseChanged(organization) => self.signal_pause(Paused::Organization(organization)).await,
            Change::AgentPauseChanged(agent) => self.signal_pause(Paused::Agent(agent)).await,
            Change::ParticipantsRemoved(chat) => self.control.clear_left(chat, &*self.hub).await,
            Change::MessageSent(message) => self.deliveries.announce_sent(message, self.hub.clone()).await,
            Change::MessageUpdated(message) => {
                // Lists of rooms need no message.
                if let Some(chat) = self.deliveries.announce_updated(message, self.hub.clone()).await? {
                    self.hub.note_changed_room(chat);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Signals a pause, or its end, to the agents that are connected to this node. Clients that miss a signal learn
    /// of the state from the answers to their requests.
    async fn signal_pause(&self, paused: Paused) -> Result<(), StoreError> {
        let signals = self.control.signals_of_pause(paused, self.hub.agents_in_chats()).await?;
        for (agent, signal) in signals {
            self.hub.publish(DomainEvent::AgentControlled { agent, signal });
        }
        Ok(())
    }
}
