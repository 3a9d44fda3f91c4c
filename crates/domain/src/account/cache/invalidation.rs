//! Invalidates the cache of callers for changes of this process, before their events are published.
//!
//! The store calls [`EventPublisher::publish`] after the commit and before the caller gets an
//! answer, even if that caller has gone. The next request therefore finds no outdated entry.

use std::sync::Arc;

use super::CallerCache;
use crate::change::Change;
use crate::event::DomainEvent;
use crate::id::ChatId;
use crate::ports::EventPublisher;

/// A publisher that invalidates a cache of callers first.
pub struct CacheInvalidation {
    cache: Arc<CallerCache>,
    next: Arc<dyn EventPublisher>,
}

impl CacheInvalidation {
    /// Passes all events on to `next`.
    pub fn new(cache: Arc<CallerCache>, next: Arc<dyn EventPublisher>) -> Self {
        Self { cache, next }
    }
}

impl EventPublisher for CacheInvalidation {
    fn publish(&self, event: DomainEvent) {
        if let Some(change) = change_of(&event) {
            self.cache.follow(change);
        }
        if let Some(chat) = chat_of(&event) {
            self.cache.forget_chat(chat);
        }
        self.next.publish(event);
    }

    fn has_human_subscribers(&self, chat: ChatId) -> bool {
        self.next.has_human_subscribers(chat)
    }
}

/// The chat whose participants an event changes.
fn chat_of(event: &DomainEvent) -> Option<ChatId> {
    match event {
        DomainEvent::ParticipantAdded { chat_id, .. }
        | DomainEvent::ParticipantRemoved { chat_id, .. }
        | DomainEvent::RoomDeleted { chat_id } => Some(*chat_id),
        _ => None,
    }
}

/// The change that an event implies for cached callers.
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
        // A new agent is not cached yet. Chats, messages, and contacts are not part of a caller.
        DomainEvent::AgentCreated { .. }
        | DomainEvent::MessageCreated { .. }
        | DomainEvent::MessageUpdated { .. }
        | DomainEvent::MessageDeleted { .. }
        | DomainEvent::EventCreated { .. }
        | DomainEvent::RoomAdded { .. }
        | DomainEvent::RoomRemoved { .. }
        | DomainEvent::RoomUpdated { .. }
        | DomainEvent::RoomRead { .. }
        | DomainEvent::TaskCreated { .. }
        | DomainEvent::TaskUpdated { .. }
        | DomainEvent::BoardUpdated { .. }
        | DomainEvent::RoomDeleted { .. }
        | DomainEvent::RoomTitleChanged { .. }
        | DomainEvent::ParticipantAdded { .. }
        | DomainEvent::ParticipantRemoved { .. }
        | DomainEvent::ParticipantUpdated { .. }
        | DomainEvent::ActivityChanged { .. }
        | DomainEvent::ActivityReported { .. }
        | DomainEvent::AgentControlled { .. }
        | DomainEvent::ContactRequestReceived { .. }
        | DomainEvent::ContactRequestUpdated { .. }
        | DomainEvent::ContactAdded { .. }
        | DomainEvent::ContactRemoved { .. } => None,
    }
}
