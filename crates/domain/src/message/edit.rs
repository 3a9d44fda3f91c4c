//! Editing a text.

use super::amend::ChangeMessageError;
use super::content::MessageContent;
use super::model::Message;
use super::port::{ChangedMessage, EditMessage};
use super::service::MessageService;
use crate::caller::UserCaller;
use crate::event::DomainEvent;
use crate::id::{ChatId, MessageId};
use crate::store::OnCommit;

impl MessageService {
    /// Replaces the content of a text of the caller; its mentions and their deliveries do not
    /// change. A title that derives from the text follows it. The humans in the chat are notified.
    pub async fn edit(
        &self,
        caller: UserCaller,
        chat: ChatId,
        message: MessageId,
        content: MessageContent,
    ) -> Result<Message, ChangeMessageError> {
        let command = EditMessage { chat, message, by: caller.user, content, now: self.clock.now() };
        let events = self.events.clone();
        let on_commit = OnCommit::new(move |edited: &ChangedMessage| {
            events.publish(DomainEvent::MessageUpdated { message: edited.message.clone() });
            edited.announce_title(&*events);
        });
        Ok(self.messages.edit(command, on_commit).await??.message)
    }
}
