//! Deleting a text.

use super::amend::ChangeMessageError;
use super::model::Message;
use super::port::{ChangedMessage, DeleteMessage};
use super::service::MessageService;
use crate::caller::UserCaller;
use crate::event::DomainEvent;
use crate::id::{ChatId, MessageId};
use crate::store::OnCommit;

impl MessageService {
    /// Deletes a text of the caller for all, at once: no agent is offered it any more, and an agent
    /// that works on it finds nothing to finish. A title that derives from it is removed. Returns
    /// the deleted text.
    pub async fn delete(
        &self,
        caller: UserCaller,
        chat: ChatId,
        message: MessageId,
    ) -> Result<Message, ChangeMessageError> {
        let command = DeleteMessage {
            chat,
            message,
            by: caller.user,
            unattached: self.unattached,
            now: self.clock.now(),
        };
        let events = self.events.clone();
        let on_commit = OnCommit::new(move |deleted: &ChangedMessage| {
            let ChangedMessage { message, .. } = deleted;
            events.publish(DomainEvent::MessageDeleted { chat_id: message.chat_id, id: message.id });
            deleted.announce_title(&*events);
        });
        Ok(self.messages.delete(command, on_commit).await??.message)
    }
}
