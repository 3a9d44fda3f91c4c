//! What has happened that may have to be told.
//!
//! Without channels, an event costs a look at one flag. What is missed here is found by the search of all rooms.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::attention::approval;
use crate::event::DomainEvent;
use crate::id::{ChatId, ParticipantId};
use crate::message::{MentionKind, Message, MessageKind};
use crate::ports::EventPublisher;

/// What a sender has to look at.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct NotificationWakes {
    /// Chats in which something has happened.
    pub chats: HashSet<ChatId>,
    /// Set if it is to be read whether there are channels.
    pub reload: bool,
}

/// Whether there are channels, as this server knows it, and what has happened.
#[derive(Default)]
pub struct NotificationSet {
    has_any: AtomicBool,
    wakes: Mutex<NotificationWakes>,
    waker: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl NotificationSet {
    /// Sets what is called when there is something to look at; once.
    pub fn on_wake(&self, waker: impl Fn() + Send + Sync + 'static) {
        // A second sender would be a fault of the wiring, and its calls would only be missing.
        let _ = self.waker.set(Box::new(waker));
    }

    /// Returns whether there are channels.
    pub fn has_any(&self) -> bool {
        self.has_any.load(Ordering::Acquire)
    }

    /// Notes whether there are channels.
    pub fn set_any(&self, has_any: bool) {
        self.has_any.store(has_any, Ordering::Release);
    }

    /// Takes what is to be looked at.
    pub fn take_wakes(&self) -> NotificationWakes {
        std::mem::take(&mut *self.wakes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Has it read whether there are channels.
    pub fn request_reload(&self) {
        self.note(|wakes| wakes.reload = true);
    }

    /// Has the sender look at what is due.
    pub fn wake(&self) {
        self.note(|_| ());
    }

    /// Notes that something has happened in a chat.
    pub fn note_chat(&self, chat: ChatId) {
        self.note(|wakes| _ = wakes.chats.insert(chat));
    }

    fn note(&self, note: impl FnOnce(&mut NotificationWakes)) {
        note(&mut self.wakes.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(waker) = self.waker.get() {
            waker();
        }
    }
}

/// A publisher that first notes events that may have to be told.
pub struct NotificationEvents {
    set: Arc<NotificationSet>,
    next: Arc<dyn EventPublisher>,
}

impl NotificationEvents {
    /// Passes all events on to `next`.
    pub fn new(set: Arc<NotificationSet>, next: Arc<dyn EventPublisher>) -> Self {
        Self { set, next }
    }
}

impl EventPublisher for NotificationEvents {
    fn publish(&self, event: DomainEvent) {
        if self.set.has_any()
            && let DomainEvent::MessageCreated { message, .. } | DomainEvent::EventCreated { message } =
                &event
            && may_be_told(message)
        {
            self.set.note_chat(message.chat_id);
        }
        self.next.publish(event);
    }

    fn has_human_subscribers(&self, chat: ChatId) -> bool {
        self.next.has_human_subscribers(chat)
    }
}

/// Returns whether a message makes an item, or mentions a user.
fn may_be_told(message: &Message) -> bool {
    let is_user = |id: ParticipantId| id.agent().is_none();
    match message.kind {
        MessageKind::Attention => true,
        MessageKind::Text => {
            let mut mentions = message.mentions.iter();
            mentions.any(|mention| mention.kind == MentionKind::Mention && is_user(mention.id))
                || (!is_user(message.sender) && approval::said(&message.content).is_some())
        }
        _ => false,
    }
}
