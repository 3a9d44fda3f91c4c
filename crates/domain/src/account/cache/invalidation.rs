//! Telling the cache of callers what this process has changed, before anybody hears of it.
//!
//! The store calls [`EventPublisher::publish`] after the commit and before whoever asked for the change has an answer,
//! also when that one has gone. So the next request finds nothing that was made untrue.

use std::sync::Arc;

use super::CallerCache;
use crate::change::Change;
use crate::event::DomainEvent;
use crate::id::ChatId;
use crate::ports::EventPublisher;

/// A publisher before which a cache of callers stands.
pub struct CacheInvalidation {
    cache: Arc<CallerCache>,
    next: Arc<dyn EventPublisher>,
}

impl CacheInvalidation {
    /// What is published goes to `next` as well.
    pub fn new(cache: Arc<CallerCache>, next: Arc<dyn EventPublisher>) -> Self {
        Self { cache, next }
    }
}

impl EventPublisher for CacheInvalidation {
    fn publish(&self, event: DomainEvent) {
        if let Some(change) = change_of(&event) {
            self.cache.follow(change);
        }
        if let Some(chat) = room_of(&event) {
            self.cache.forget_room(chat);
        }
        self.next.publish(event);
    }

    fn is_heard(&self, chat: ChatId) -> bool {
        self.next.is_heard(chat)
    }
}

/// The room that somebody came into or is gone from, if an event tells that.
fn room_of(event: &DomainEvent) -> Option<ChatId> {
    match event {
        DomainEvent::ParticipantAdded { chat_id, .. }
        | DomainEvent::ParticipantRemoved { chat_id, .. }
        | DomainEvent::RoomDeleted { chat_id } => Some(*chat_id),
        _ => None,
    }
}

/// The change of callers that an event tells of, if it does.
pub(super) fn change_of(event: &DomainEvent) -> Option<Change> {
    match event {
        DomainEvent::KeyRevoked { key } => Some(Change::KeyRevoked(*key)),
        DomainEvent::AgentDeleted { agent } => Some(Change::AgentDeleted(agent.id)),
        DomainEvent::AgentUpdated { agent } => Some(Change::AgentUpdated(agent.id)),
        DomainEvent::TokensEnded { user, password_set_at } => {
            Some(Change::TokensEnded { user: *user, password_set_at: *password_set_at })
        }
        DomainEvent::SessionEnded { session } => Some(Change::SessionEnded(*session)),
        DomainEvent::UserMoved { user } => Some(Change::UserMoved(*user)),
        // Of a new agent nothing is known yet. Rooms, what is said in them, and contacts are no part of a caller.
        DomainEvent::AgentCreated { .. }
        | DomainEvent::MessageCreated { .. }
        | DomainEvent::MessageUpdated { .. }
        | DomainEvent::MessageDeleted { .. }
        | DomainEvent::EventCreated { .. }
        | DomainEvent::RoomAdded { .. }
        | DomainEvent::RoomRemoved { .. }
        | DomainEvent::RoomUpdated { .. }
        | DomainEvent::RoomDeleted { .. }
        | DomainEvent::RoomTitleChanged { .. }
        | DomainEvent::ParticipantAdded { .. }
        | DomainEvent::ParticipantRemoved { .. }
        | DomainEvent::ActivityChanged { .. }
        | DomainEvent::ContactRequestReceived { .. }
        | DomainEvent::ContactRequestUpdated { .. }
        | DomainEvent::ContactAdded { .. }
        | DomainEvent::ContactRemoved { .. } => None,
    }
}
