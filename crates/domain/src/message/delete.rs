//! Deleting a text.

use super::change::ChangeMessageError;
use super::model::Message;
use super::port::DeleteMessage;
use super::service::MessageService;
use crate::caller::UserCaller;
use crate::event::DomainEvent;
use crate::id::{ChatId, MessageId};
use crate::store::Announce;

impl MessageService {
    /// Deletes a text of the caller's for everybody, at once: it is offered to no agent any more, and
    /// whoever works on it finds nothing to finish. The title that a room got from it stays. Gives the
    /// text as it was.
    pub async fn delete(
        &self,
        caller: UserCaller,
        chat: ChatId,
        message: MessageId,
    ) -> Result<Message, ChangeMessageError> {
        let command = DeleteMessage { chat, message, by: caller.user, now: self.clock.now() };
        let events = self.events.clone();
        let announce = Announce::new(move |deleted: &Message| {
            events.publish(DomainEvent::MessageDeleted { chat_id: deleted.chat_id, id: deleted.id });
        });
        Ok(self.messages.delete(command, announce).await??)
    }
}
