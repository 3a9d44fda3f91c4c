//! Telling events to the own sockets, and to other nodes where they are wanted.

use std::sync::Arc;

use super::port::EventBus;
use super::route::{Interest, Route, routes};
use crate::event::DomainEvent;
use crate::id::ChatId;
use crate::ports::EventPublisher;

/// The publisher of a node that is one of several.
pub struct SharedEvents {
    own: Arc<dyn EventPublisher>,
    bus: Arc<dyn EventBus>,
}

impl SharedEvents {
    /// What is published goes to `own` at once, and over `bus` to whoever wants it.
    pub fn new(own: Arc<dyn EventPublisher>, bus: Arc<dyn EventBus>) -> Self {
        Self { own, bus }
    }

    fn is_wanted(&self, route: &Route) -> bool {
        route.wanted_by.map_or_else(|| self.bus.has_others(), |interest| self.bus.is_wanted(interest))
    }
}

impl EventPublisher for SharedEvents {
    fn publish(&self, event: DomainEvent) {
        let wanted = routes(&event).into_iter().filter(|route| self.is_wanted(route));
        let to = wanted.map(|route| route.to).collect::<Vec<_>>();
        if to.is_empty() {
            self.own.publish(event);
            return;
        }
        self.own.publish(event.clone());
        self.bus.send(&to, &event);
    }

    fn is_heard(&self, chat: ChatId) -> bool {
        self.own.is_heard(chat) || self.bus.is_wanted(Interest::RoomAsHuman(chat))
    }
}
