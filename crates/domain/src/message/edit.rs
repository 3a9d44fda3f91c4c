//! Editing a text.

use super::change::ChangeMessageError;
use super::content::MessageContent;
use super::model::Message;
use super::port::{ChangedMessage, EditMessage};
use super::service::MessageService;
use crate::caller::UserCaller;
use crate::event::DomainEvent;
use crate::id::{ChatId, MessageId};
use crate::store::OnCommit;

impl MessageService {
    /// Gives a text of the caller's another content; whom it mentions and what became of it there
    /// stay as they are. A title that the room has from the text follows it. The humans in the room hear of it.
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
