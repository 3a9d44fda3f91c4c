//! Which agents have a webhook, as this server knows it, and what has happened to them.
//!
//! Sending a message to agents without one costs a look at this set, and nothing if it is empty. What is missed here is
//! found by the sender's own searches.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use super::port::{WebhookOwner, WebhookRoom};
use crate::change::Change;
use crate::event::DomainEvent;
use crate::id::{AgentId, ChatId};
use crate::ports::EventPublisher;

/// The maximum number of rooms that are noted one by one; beyond it, all are searched.
const NOTED: usize = 4_096;

/// What a sender has to look at.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Wakes {
    /// Rooms with a new message.
    pub rooms: BTreeSet<WebhookRoom>,
    /// Set if all rooms are to be searched.
    pub everything: bool,
    /// Set if it is to be read again who has a webhook.
    pub reload: bool,
}

/// The agents with a webhook, and their owners.
#[derive(Default)]
pub struct WebhookSet {
    has_any: AtomicBool,
    has_events: AtomicBool,
    agents: RwLock<HashMap<AgentId, WebhookOwner>>,
    wakes: Mutex<Wakes>,
    waker: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl WebhookSet {
    /// Sets what is called when there is something to look at; once.
    pub fn on_wake(&self, waker: impl Fn() + Send + Sync + 'static) {
        // A second sender would be a fault of the wiring, and its calls would only be missing.
        let _ = self.waker.set(Box::new(waker));
    }

    /// Replaces the agents, each with its owner.
    pub fn replace(&self, agents: Vec<(AgentId, WebhookOwner)>) {
        let agents = agents.into_iter().collect::<HashMap<_, _>>();
        self.has_any.store(!agents.is_empty(), Ordering::Release);
        *self.agents.write().unwrap_or_else(PoisonError::into_inner) = agents;
    }

    /// Returns whether no agent has one.
    pub fn is_empty(&self) -> bool {
        !self.has_any.load(Ordering::Acquire)
    }

    /// Notes whether an organization has one.
    pub fn set_events(&self, has_events: bool) {
        self.has_events.store(has_events, Ordering::Release);
    }

    /// Returns whether an organization has one.
    pub fn has_events(&self) -> bool {
        self.has_events.load(Ordering::Acquire)
    }

    /// Whose an agent with a webhook is.
    pub fn owner(&self, agent: AgentId) -> Option<WebhookOwner> {
        self.agents.read().unwrap_or_else(PoisonError::into_inner).get(&agent).copied()
    }

    /// Takes what is to be looked at.
    pub fn take_wakes(&self) -> Wakes {
        std::mem::take(&mut *self.wakes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Follows the change log.
    pub fn follow(&self, change: Change) {
        match change {
            Change::WebhookChanged(_) => self.wake(|wakes| (wakes.reload, wakes.everything) = (true, true)),
            Change::OrganizationWebhookChanged(_) => self.wake(|wakes| wakes.reload = true),
            // What waited may be offered now, or again, or was sent by a command.
            Change::MessageSent(_)
            | Change::WorkRetried(_)
            | Change::AgentsPlaying(_)
            | Change::PauseChanged(_)
            | Change::AgentPauseChanged(_)
            | Change::Enabled(_)
                if !self.is_empty() =>
            {
                self.wake(|wakes| wakes.everything = true);
            }
            _ => {}
        }
    }

    /// Has everything read again, after changes were missed.
    pub fn request_reload(&self) {
        self.wake(|wakes| (wakes.reload, wakes.everything) = (true, true));
    }

    /// Notes a new message of this server.
    pub fn note_event(&self, event: &DomainEvent) {
        if self.is_empty() {
            return;
        }
        let DomainEvent::MessageCreated { message, recipients } = event else { return };
        let agents = self.agents.read().unwrap_or_else(PoisonError::into_inner);
        let rooms = recipients.iter().filter(|agent| agents.contains_key(agent));
        let rooms =
            rooms.map(|agent| WebhookRoom { agent: *agent, chat: message.chat_id }).collect::<Vec<_>>();
        drop(agents);
        if rooms.is_empty() {
            return;
        }
        self.wake(|wakes| {
            if wakes.rooms.len() < NOTED {
                wakes.rooms.extend(rooms);
            } else {
                wakes.everything = true;
            }
        });
    }

    fn wake(&self, note: impl FnOnce(&mut Wakes)) {
        note(&mut self.wakes.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(waker) = self.waker.get() {
            waker();
        }
    }
}

/// A publisher that first notes messages for agents with a webhook.
pub struct WebhookEvents {
    set: Arc<WebhookSet>,
    next: Arc<dyn EventPublisher>,
}

impl WebhookEvents {
    /// Passes all events on to `next`.
    pub fn new(set: Arc<WebhookSet>, next: Arc<dyn EventPublisher>) -> Self {
        Self { set, next }
    }
}

impl EventPublisher for WebhookEvents {
    fn publish(&self, event: DomainEvent) {
        self.set.note_event(&event);
        self.next.publish(event);
    }

    fn has_human_subscribers(&self, chat: ChatId) -> bool {
        self.next.has_human_subscribers(chat)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use uuid::Uuid;

    use super::*;
    use crate::id::{MessageId, OrganizationId, UserId};

    #[test]
    fn only_changes_that_matter_wake_the_sender() {
        let (set, woken) = (WebhookSet::default(), Arc::new(AtomicUsize::new(0)));
        let count = woken.clone();
        set.on_wake(move || _ = count.fetch_add(1, Ordering::Relaxed));
        set.follow(Change::MessageSent(MessageId::NIL));
        assert_eq!(
            (set.take_wakes(), woken.load(Ordering::Relaxed)),
            (Wakes::default(), 0),
            "nobody has one"
        );
        let agent = AgentId::new(Uuid::from_u128(1));
        set.follow(Change::WebhookChanged(agent));
        assert_eq!(set.take_wakes(), Wakes { everything: true, reload: true, ..Wakes::default() });
        let owner = WebhookOwner { user: UserId::NIL, organization: OrganizationId::NIL };
        set.replace(vec![(agent, owner)]);
        assert_eq!(set.owner(agent), Some(owner));
        set.follow(Change::MessageSent(MessageId::NIL));
        assert_eq!(set.take_wakes(), Wakes { everything: true, ..Wakes::default() });
        set.follow(Change::OrganizationWebhookChanged(OrganizationId::NIL));
        assert_eq!(set.take_wakes(), Wakes { reload: true, ..Wakes::default() });
        set.follow(Change::AgentUpdated(agent));
        assert_eq!((set.take_wakes(), woken.load(Ordering::Relaxed)), (Wakes::default(), 3));
    }
}
