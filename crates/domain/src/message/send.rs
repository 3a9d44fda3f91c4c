//! Sending a text message.

use super::content::{MessageContent, stored_text};
use super::mention::{self, Mention, MentionError, MentionKind, RequestedMention};
use super::model::{MessageKind, Recipient, SentMessage, addressed_agents};
use super::port::{AppendRefused, Appended, NewMessage};
use super::service::MessageService;
use crate::caller::Caller;
use crate::chat::{ChatTitle, Roster};
use crate::event::DomainEvent;
use crate::id::{ChatId, MessageId};
use crate::store::{Announce, StoreError};

/// A text to be sent.
#[derive(Clone, Debug)]
pub struct SendMessage {
    /// The text.
    pub content: MessageContent,
    /// Whom it names.
    pub mentions: Vec<RequestedMention>,
}

/// Why a message was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum SendMessageError {
    /// The caller is not in the room, or there is no such room.
    #[error("there is no such chat for the caller")]
    ChatNotFound,
    /// A rule on mentions is broken.
    #[error(transparent)]
    Mention(#[from] MentionError),
    /// The store gave no answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl MessageService {
    /// Stores the text and delivers it to everybody it mentions, or refuses it as a whole.
    pub async fn send(
        &self,
        caller: impl Into<Caller>,
        chat: ChatId,
        command: SendMessage,
    ) -> Result<SentMessage, SendMessageError> {
        let sender = caller.into().participant();
        let now = self.clock.now();
        let roster = self.chats.roster(sender, chat).await?.ok_or(SendMessageError::ChatNotFound)?;
        let sender_name = roster.find(sender).ok_or(SendMessageError::ChatNotFound)?.name.clone();
        let mentions = mention::resolve(&roster, sender, &command.mentions)?;
        let content = stored_text(&command.content, &mentions);
        let new = NewMessage {
            id: MessageId::new(self.ids.generate(now)),
            chat,
            sender,
            sender_name,
            kind: MessageKind::Text,
            title_if_untitled: ChatTitle::from_message(&content),
            content,
            mentions,
            metadata: None,
            now,
        };
        let sent = SentMessage { id: new.id, chat_id: chat, recipients: recipients(&new.mentions) };
        self.messages
            .append(new, self.announce_created())
            .await?
            .map_err(|refused| explain(refused, &roster))?;
        Ok(sent)
    }

    fn announce_created(&self) -> Announce<Appended> {
        let events = self.events.clone();
        Announce::new(move |appended: &Appended| {
            let message = appended.message.clone();
            let chat_id = message.chat_id;
            let recipients = addressed_agents(&message.mentions);
            events.publish(DomainEvent::MessageCreated { message, recipients });
            if let Some(title) = appended.titled.clone() {
                events.publish(DomainEvent::RoomTitleChanged { chat_id, title });
            }
        })
    }
}

fn recipients(mentions: &[Mention]) -> Vec<Recipient> {
    mentions
        .iter()
        .filter(|m| m.kind == MentionKind::Mention)
        .map(|m| Recipient { id: m.id, handle: m.handle.clone(), name: m.name.clone() })
        .collect()
}

fn explain(refused: AppendRefused, roster: &Roster) -> SendMessageError {
    match refused {
        AppendRefused::NotParticipant => SendMessageError::ChatNotFound,
        AppendRefused::MentionLeft { index } => SendMessageError::Mention(MentionError::NotInRoom {
            index,
            available: roster.participants.iter().map(|p| p.handle.clone()).collect(),
        }),
    }
}
