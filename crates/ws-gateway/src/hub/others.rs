//! What other nodes tell.
//!
//! Their events come late, in another order than that in which they were stored, or long after it. So an event of
//! theirs is told to those who listen, and never believed about who may listen: somebody who is said to have come may
//! have gone again. Such a room is in doubt until it was held against the store ([`Hub::recheck`]).

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

/// So long rooms gather before they are held against the store, so that one to which many are added is read once.
const GATHERED: Duration = Duration::from_millis(50);

/// After so long it is tried again if the store did not answer.
const AGAIN: Duration = Duration::from_millis(500);

/// The rooms that are in doubt.
#[derive(Default)]
pub(super) struct Doubts {
    rooms: Mutex<HashSet<ChatId>>,
    some: Notify,
}

impl Doubts {
    pub(super) fn add(&self, chat: ChatId) {
        if self.rooms().insert(chat) {
            self.some.notify_one();
        }
    }

    /// Takes all of them; waits until there are some.
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

/// Takes events of other nodes.
pub struct FromOthers(Arc<Hub>);

impl FromOthers {
    /// They are told to the sockets of `hub`.
    pub fn new(hub: Arc<Hub>) -> Self {
        Self(hub)
    }
}

impl EventPublisher for FromOthers {
    fn publish(&self, event: DomainEvent) {
        let chat = match &event {
            DomainEvent::ParticipantAdded { chat_id, participant } => {
                // It is corrected if it is not so; whoever connects meanwhile is heard of.
                self.0.watch().came(*chat_id, Person::of(participant));
                self.0.tell_added(*chat_id, participant);
                *chat_id
            }
            DomainEvent::ParticipantRemoved { chat_id, participant } => {
                self.0.tell_removed(*chat_id, participant);
                *chat_id
            }
            // What ends for ever is true whenever it comes.
            _ => return self.0.publish(event),
        };
        self.0.doubts.add(chat);
    }

    fn is_heard(&self, chat: ChatId) -> bool {
        self.0.is_heard(chat)
    }
}

impl Hub {
    /// Holds the rooms against the store of which another node says that somebody came or went, for ever.
    pub async fn settle_doubts(&self, chats: &ChatService) {
        loop {
            let mut failed = Vec::new();
            for chat in self.doubts.take().await {
                if self.recheck(chat, chats).await.is_err() {
                    failed.push(chat);
                }
            }
            let pause = if failed.is_empty() { GATHERED } else { AGAIN };
            for chat in failed {
                self.doubts.add(chat);
            }
            sleep(pause).await;
        }
    }
}

#[cfg(test)]
mod tests;
