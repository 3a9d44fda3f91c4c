//! The chat area's ports in one place.

use std::sync::Arc;

use super::port::ChatRepository;
use crate::foreign::ForeignRepository;
use crate::ports::{Clock, EventPublisher, IdGenerator, Presence};

/// Use cases on chats and participants.
pub struct ChatService {
    pub(super) chats: Arc<dyn ChatRepository>,
    pub(super) work: Arc<dyn ForeignRepository>,
    pub(super) events: Arc<dyn EventPublisher>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Arc<dyn IdGenerator>,
    pub(super) presence: Arc<dyn Presence>,
}

impl ChatService {
    /// Wires the area to its ports.
    pub fn new(
        chats: Arc<dyn ChatRepository>,
        work: Arc<dyn ForeignRepository>,
        events: Arc<dyn EventPublisher>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdGenerator>,
        presence: Arc<dyn Presence>,
    ) -> Self {
        Self { chats, work, events, clock, ids, presence }
    }
}
