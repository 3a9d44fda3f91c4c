//! Events of other nodes.
//!
//! They can arrive late and out of order. They are pushed to subscribers, but never change who may
//! subscribe: a participant that was added according to an event may have been removed since. The
//! chat is stale until its subscriptions have been compared with the store ([`Hub::revalidate`]).

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::chat::ChatService;
use domain::event::DomainEvent;
use domain::id::ChatId;
use domain::ports::EventPublisher;
use tokio::sync::Notify;
use tokio::time::sleep;

use super::{Hub, Person};

/// The time during which stale chats accumulate, so that a chat with many events is read once.
const PAUSE: Duration = Duration::from_millis(50);

/// The pause after a failure of the store.
const RETRY: Duration = Duration::from_millis(500);

/// The chats whose subscriptions must be compared with the store.
#[derive(Default)]
pub(super) struct StaleChats {
    rooms: Mutex<HashSet<ChatId>>,
    some: Notify,
}

impl StaleChats {
    pub(super) fn add(&self, chat: ChatId) {
        if self.rooms().insert(chat) {
            self.some.notify_one();
        }
    }

    /// Takes all of them; waits until there is one.
    async fn take(&self) -> HashSet<ChatId> {
        loop {
            let taken = std::mem::take(&mut *self.rooms());
            if !taken.is_empty() {
                return taken;
            }
            self.some.notified().await;
        }
    }

    fn rooms(&self) -> MutexGuard<'_, HashSet<ChatId>> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Receives the events of other nodes.
pub struct RemoteEventSink(Arc<Hub>);

impl RemoteEventSink {
    /// Pushes them to the sockets of `hub`.
    pub fn new(hub: Arc<Hub>) -> Self {
        Self(hub)
    }
}

impl EventPublisher for RemoteEventSink {
    fn publish(&self, event: DomainEvent) {
        let chat = match &event {
            DomainEvent::ParticipantAdded { chat_id, participant } => {
                // Revalidation corrects it if it is outdated.
                self.0.watch().came(*chat_id, Person::of(participant));
                self.0.tell_added(*chat_id, participant);
                *chat_id
            }
            DomainEvent::ParticipantRemoved { chat_id, participant } => {
                self.0.tell_removed(*chat_id, participant);
                *chat_id
            }
            // A final event is true whenever it arrives.
            _ => return self.0.publish(event),
        };
        self.0.stale_chats.add(chat);
    }

    fn is_heard(&self, chat: ChatId) -> bool {
        self.0.is_heard(chat)
    }
}

impl Hub {
    /// Revalidates stale chats, until it is dropped.
    pub async fn revalidate_stale_chats(&self, chats: &ChatService) {
        loop {
            let mut failed = Vec::new();
            for chat in self.stale_chats.take().await {
                if self.revalidate(chat, chats).await.is_err() {
                    failed.push(chat);
                }
            }
            let pause = if failed.is_empty() { PAUSE } else { RETRY };
            for chat in failed {
                self.stale_chats.add(chat);
            }
            sleep(pause).await;
        }
    }
}

#[cfg(test)]
mod tests;
