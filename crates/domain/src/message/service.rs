//! The message area's ports in one place.

use std::sync::Arc;

use super::port::MessageRepository;
use crate::chat::ChatRepository;
use crate::ports::{Clock, EventPublisher, IdGenerator};

/// Use cases on messages and events.
pub struct MessageService {
    pub(super) messages: Arc<dyn MessageRepository>,
    pub(super) chats: Arc<dyn ChatRepository>,
    pub(super) events: Arc<dyn EventPublisher>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Arc<dyn IdGenerator>,
}

impl MessageService {
    /// Wires the area to its ports.
    pub fn new(
        messages: Arc<dyn MessageRepository>,
        chats: Arc<dyn ChatRepository>,
        events: Arc<dyn EventPublisher>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdGenerator>,
    ) -> Self {
        Self { messages, chats, events, clock, ids }
    }
}
