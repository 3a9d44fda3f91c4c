//! The ports and services of the attention inbox in one place.

use std::sync::Arc;

use super::port::AttentionRepository;
use crate::contact::ContactService;
use crate::message::MessageService;
use crate::ports::Clock;
use crate::webhook::WebhookRepository;
use crate::work::WorkService;

/// Use cases on what waits for a human.
pub struct AttentionService {
    pub(super) attention: Arc<dyn AttentionRepository>,
    pub(super) webhooks: Arc<dyn WebhookRepository>,
    pub(super) messages: Arc<MessageService>,
    pub(super) contacts: Arc<ContactService>,
    pub(super) work: Arc<WorkService>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) is_of_command: bool,
}

impl AttentionService {
    /// Wires the area to its ports.
    pub const fn new(
        attention: Arc<dyn AttentionRepository>,
        webhooks: Arc<dyn WebhookRepository>,
        messages: Arc<MessageService>,
        contacts: Arc<ContactService>,
        work: Arc<WorkService>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { attention, webhooks, messages, contacts, work, clock, is_of_command: false }
    }

    /// For commands, whose answers no server has announced.
    #[must_use]
    pub fn of_command(self) -> Self {
        Self { is_of_command: true, ..self }
    }
}
