//! Answering and dismissing a line.

use super::approval::Decision;
use super::item::{AnsweredBy, AttentionId, AttentionItem, AttentionKind};
use super::line::AttentionLine;
use super::port::{DismissAttention, DismissRefused};
use super::service::AttentionService;
use crate::caller::UserCaller;
use crate::contact::{AnswerRequestError, ContactRequest, RequestAction, WhichRequest};
use crate::id::ContactRequestId;
use crate::message::{AnsweredItem, MentionError, MessageContent, SendMessageError};
use crate::store::StoreError;

/// An answer: a text, or a decision.
#[derive(Clone, Debug, Default)]
pub struct AttentionAnswer {
    /// The text, for what an agent asks by an event.
    pub content: Option<MessageContent>,
    /// The decision, on an approval or a contact request.
    pub decision: Option<Decision>,
}

impl From<MessageContent> for AttentionAnswer {
    fn from(content: MessageContent) -> Self {
        Self { content: Some(content), decision: None }
    }
}

impl From<Decision> for AttentionAnswer {
    fn from(decision: Decision) -> Self {
        Self { content: None, decision: Some(decision) }
    }
}

impl AttentionAnswer {
    /// The decision, if it is nothing else.
    fn decided(self) -> Option<Decision> {
        self.decision.filter(|_| self.content.is_none())
    }
}

/// The reason why a line was not answered.
#[derive(Debug, thiserror::Error)]
pub enum AnswerAttentionError {
    /// The caller sees no such line.
    #[error("there is no such item for the caller")]
    NotFound,
    /// It was answered or dismissed before, by this user, or its asker has resolved it.
    #[error("the item was answered before")]
    Answered(Option<AnsweredBy>),
    /// It takes a text.
    #[error("the item takes a text")]
    NeedsText,
    /// It takes one of these decisions.
    #[error("the item takes a decision")]
    NeedsDecision(Vec<Decision>),
    /// It takes no answer: it is a notice of the server, work, or a webhook.
    #[error("the item takes no answer")]
    TakesNone,
    /// The asker has left the room.
    #[error("the asker is not in the room any more")]
    AskerLeft,
    /// The text was not accepted.
    #[error(transparent)]
    Send(SendMessageError),
    /// The contact request was not changed.
    #[error(transparent)]
    Contact(AnswerRequestError),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The reason why an item was not dismissed.
#[derive(Debug, thiserror::Error)]
pub enum DismissAttentionError {
    /// The caller sees no such item. Work, contact requests, and webhooks are not dismissed.
    #[error("there is no such item for the caller")]
    NotFound,
    /// It was answered or dismissed before, by this user, or its asker has resolved it.
    #[error("the item was answered before")]
    Ended(Option<AnsweredBy>),
    /// The user is a guest in the room, and the asker is not of their organization.
    #[error("guests cannot dismiss what others wait for")]
    Guest,
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl AttentionService {
    /// Posts what the asker expects, and ends the item in the same transaction. The same answer again is posted once.
    pub async fn answer(
        &self,
        caller: UserCaller,
        id: AttentionId,
        answer: AttentionAnswer,
    ) -> Result<AttentionLine, AnswerAttentionError> {
        match id {
            AttentionId::Item(message) => {
                let item = self.attention.find_attention(caller.user, message).await?;
                let item = item.ok_or(AnswerAttentionError::NotFound)?;
                self.answer_item(caller, &item, answer).await?;
                let answered = self.attention.find_attention(caller.user, message).await?;
                answered.map(AttentionLine::Item).ok_or(AnswerAttentionError::NotFound)
            }
            AttentionId::Contact(request) => {
                self.answer_request(caller, request, answer).await.map(AttentionLine::Contact)
            }
            AttentionId::Work(..) | AttentionId::Webhook(_) => match self.find(caller, id).await? {
                Some(_) => Err(AnswerAttentionError::TakesNone),
                None => Err(AnswerAttentionError::NotFound),
            },
        }
    }

    async fn answer_item(
        &self,
        caller: UserCaller,
        item: &AttentionItem,
        answer: AttentionAnswer,
    ) -> Result<(), AnswerAttentionError> {
        let content = item.reply(answer)?;
        let answered =
            AnsweredItem { item: item.message, is_reply: false, is_of_command: self.is_of_command };
        let sent = self.messages.answer(caller, item.chat, answered, item.sender.id, content).await;
        match sent {
            Ok(_) => Ok(()),
            Err(SendMessageError::ChatNotFound) => Err(AnswerAttentionError::NotFound),
            Err(SendMessageError::Mention(MentionError::NotInChat { .. })) => {
                Err(AnswerAttentionError::AskerLeft)
            }
            Err(SendMessageError::Answered | SendMessageError::KeyReused) => {
                let ended = self.attention.find_attention(caller.user, item.message).await?;
                Err(AnswerAttentionError::Answered(ended.and_then(|item| item.answered_by)))
            }
            Err(error) => Err(AnswerAttentionError::Send(error)),
        }
    }

    async fn answer_request(
        &self,
        caller: UserCaller,
        request: ContactRequestId,
        answer: AttentionAnswer,
    ) -> Result<ContactRequest, AnswerAttentionError> {
        let action = match answer.decided() {
            Some(Decision::Approve) => RequestAction::Approve,
            Some(Decision::Decline) => RequestAction::Reject,
            Some(Decision::ApproveSession) | None => {
                let decisions = vec![Decision::Approve, Decision::Decline];
                return Err(AnswerAttentionError::NeedsDecision(decisions));
            }
        };
        let answered = self.contacts.answer(caller, WhichRequest::Id(request), action).await;
        answered.map_err(|error| match error {
            AnswerRequestError::NotFound | AnswerRequestError::OtherSide => AnswerAttentionError::NotFound,
            AnswerRequestError::Settled(_) => AnswerAttentionError::Answered(None),
            error => AnswerAttentionError::Contact(error),
        })
    }

    /// Ends an item without telling its asker.
    pub async fn dismiss(
        &self,
        caller: UserCaller,
        id: AttentionId,
    ) -> Result<AttentionItem, DismissAttentionError> {
        let AttentionId::Item(item) = id else { return Err(DismissAttentionError::NotFound) };
        let command = DismissAttention { item, by: caller, now: self.now() };
        self.attention.dismiss_attention(command).await?.map_err(|refused| match refused {
            DismissRefused::NotFound => DismissAttentionError::NotFound,
            DismissRefused::Ended(by) => DismissAttentionError::Ended(by),
            DismissRefused::Guest => DismissAttentionError::Guest,
        })
    }
}

impl AttentionItem {
    /// The text that tells its asker the answer.
    fn reply(&self, answer: AttentionAnswer) -> Result<MessageContent, AnswerAttentionError> {
        if self.kind.is_notice() {
            return Err(AnswerAttentionError::TakesNone);
        }
        let Some((adapter, token)) = self.approval.as_ref().filter(|_| self.kind == AttentionKind::Approval)
        else {
            let text = answer.content.filter(|_| answer.decision.is_none());
            return text.ok_or(AnswerAttentionError::NeedsText);
        };
        let reply = answer.decided().and_then(|decision| adapter.reply(decision, token));
        let reply = reply.and_then(|reply| MessageContent::new(reply).ok());
        reply.ok_or_else(|| AnswerAttentionError::NeedsDecision(self.decisions()))
    }
}
