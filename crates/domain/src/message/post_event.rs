//! Posting an event: a record of an agent's work for the humans in the chat.

use super::content::{EventContent, EventMetadata};
use super::model::{Message, MessageKind};
use super::port::{AppendRefused, Appended, NewMessage, PriorResult};
use super::service::MessageService;
use super::trace::{SendHeaders, TraceParent};
use crate::board::WhichTask;
use crate::caller::AgentCaller;
use crate::chat::Names;
use crate::event::DomainEvent;
use crate::id::{ChatId, MessageId, ParticipantId};
use crate::idempotency::{KeyedRequest, Operation};
use crate::plan::LimitReached;
use crate::store::{OnCommit, StoreError};

/// An event to be posted.
#[derive(Clone, Debug)]
pub struct PostEvent {
    /// The kind; never `Text`.
    pub kind: MessageKind,
    /// The content.
    pub content: EventContent,
    /// Free-form data.
    pub metadata: EventMetadata,
    /// The message that it follows from, if the agent names it.
    pub in_reply_to: Option<MessageId>,
}

/// The reason why an event was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum PostEventError {
    /// The caller is not in the chat, or there is no such chat.
    #[error("there is no such chat for the caller")]
    ChatNotFound,
    /// The caller is stopped in the chat.
    #[error("the agent is stopped in the chat")]
    Stopped,
    /// Texts are sent as messages.
    #[error("a text is not an event")]
    NotAnEvent,
    /// The idempotency key was used for another request.
    #[error("the idempotency key was used for another request")]
    KeyReused,
    /// An attention event without one of the four kinds in its metadata.
    #[error("an attention event needs a kind")]
    AttentionKind,
    /// The task that an attention event names is not in the chat.
    #[error("there is no such task in the chat")]
    TaskNotFound,
    /// The named cause is no message that the caller may see.
    #[error("there is no such message for the caller")]
    CauseNotFound,
    /// The chat has as many messages as the plan of its organization allows.
    #[error(transparent)]
    Limit(#[from] LimitReached),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The subjects of an attention event, in its metadata's member `kind`.
const ATTENTION_KINDS: [&str; 4] = ["question", "assumption", "failure", "review"];

impl MessageService {
    /// Stores the event for the humans of the chat; no agent receives it.
    pub async fn post_event(
        &self,
        caller: AgentCaller,
        chat: ChatId,
        command: PostEvent,
    ) -> Result<Message, PostEventError> {
        self.post_event_once(caller, chat, command, SendHeaders::default()).await
    }

    /// Like [`Self::post_event`], but an event posted under the same key before is not posted
    /// again: the agent gets the answer for the first one. The event is part of the trace that the headers state, or of
    /// that of its cause.
    pub async fn post_event_once(
        &self,
        caller: AgentCaller,
        chat: ChatId,
        command: PostEvent,
        headers: impl Into<SendHeaders>,
    ) -> Result<Message, PostEventError> {
        let SendHeaders { once, traceparent, .. } = headers.into();
        let (sender, named) = (ParticipantId::Agent(caller.agent), command.in_reply_to);
        if let Err(refused) = command.check() {
            // A stop is reported before faults in the event.
            let is_stopped = self.is_stopped(sender, chat).await?;
            return Err(if is_stopped { PostEventError::Stopped } else { refused });
        }
        let keyed = KeyedRequest::of(sender, Operation::PostEvent, Some(chat.into()), once);
        let refused = match self.try_post(caller, chat, command, traceparent, keyed.clone()).await {
            Err(
                refused @ (PostEventError::ChatNotFound
                | PostEventError::CauseNotFound
                | PostEventError::TaskNotFound),
            ) => refused,
            settled => {
                if settled.is_ok() {
                    self.note_work(caller.into(), chat, named).await;
                }
                return settled;
            }
        };
        match self.earlier(keyed).await? {
            PriorResult::Message(first) => Ok(*first),
            PriorResult::AnotherRequest => Err(PostEventError::KeyReused),
            // Only texts can be deleted, so there is no such event.
            PriorResult::Nothing | PriorResult::Deleted(_) => {
                let is_in_chat = !matches!(refused, PostEventError::ChatNotFound);
                let is_stopped = is_in_chat && self.is_stopped(sender, chat).await?;
                Err(if is_stopped { PostEventError::Stopped } else { refused })
            }
        }
    }

    async fn try_post(
        &self,
        caller: AgentCaller,
        chat: ChatId,
        command: PostEvent,
        traceparent: Option<TraceParent>,
        keyed: Option<KeyedRequest>,
    ) -> Result<Message, PostEventError> {
        let (now, sender) = (self.clock.now(), ParticipantId::Agent(caller.agent));
        let find = |names: &Names| names.find(sender).cloned();
        let named = self.names(sender, chat, find, Option::is_some).await?.flatten();
        let named = named.ok_or(PostEventError::ChatNotFound)?;
        if command.kind == MessageKind::Attention {
            self.check_task(sender, chat, &command.metadata).await?;
        }
        let cause = self.named_cause(sender, chat, command.in_reply_to).await?;
        let named_cause = cause.ok_or(PostEventError::CauseNotFound)?;
        let id = MessageId::new(self.ids.generate(now));
        let content = command.content.stored_in(command.kind);
        let new = NewMessage {
            metadata: Some(command.metadata.into_map()),
            cause: named_cause.cause,
            traceparent: TraceParent::of_new(traceparent, named_cause.traceparent, id),
            follows_foreign: named_cause.is_foreign,
            organization: Some(caller.organization),
            keyed,
            ..NewMessage::new(id, chat, named, command.kind, content, now)
        };
        let (events, reported, budgets) = (self.events.clone(), self.reported.clone(), self.budgets.clone());
        let on_commit = OnCommit::new(move |appended: &Appended| {
            reported.note(&appended.message);
            budgets.note(&appended.message);
            events.publish(DomainEvent::EventCreated { message: appended.message.clone() });
        });
        match self.messages.append(new, on_commit).await? {
            Ok(appended) => Ok(appended.message),
            Err(AppendRefused::Repeated(first)) => Ok(*first),
            Err(AppendRefused::Limit(reached)) => Err(reached.into()),
            Err(AppendRefused::KeyReused) => Err(PostEventError::KeyReused),
            Err(AppendRefused::Stopped) => Err(PostEventError::Stopped),
            // Events have neither mentions nor files, and are not deleted, so only the sender can be missing.
            Err(
                AppendRefused::NotParticipant
                | AppendRefused::MentionLeft { .. }
                | AppendRefused::UnknownAttachment(_)
                | AppendRefused::Answered
                | AppendRefused::RepeatedDeleted(_),
            ) => Err(PostEventError::ChatNotFound),
        }
    }

    /// Checks that the task that an attention event names, if it does, is one of the chat, in any state.
    async fn check_task(
        &self,
        sender: ParticipantId,
        chat: ChatId,
        metadata: &EventMetadata,
    ) -> Result<(), PostEventError> {
        let (Some(boards), Some(named)) = (&self.boards, metadata.get("task_id")) else { return Ok(()) };
        if named.is_null() {
            return Ok(());
        }
        let task = named.as_str().and_then(WhichTask::parse).ok_or(PostEventError::TaskNotFound)?;
        let found = boards.task(sender, chat, task, false).await?;
        found.map(|_| ()).ok_or(PostEventError::TaskNotFound)
    }
}

impl PostEvent {
    fn check(&self) -> Result<(), PostEventError> {
        if !self.kind.is_event() {
            return Err(PostEventError::NotAnEvent);
        }
        if self.kind == MessageKind::Attention && !names_attention_kind(&self.metadata) {
            return Err(PostEventError::AttentionKind);
        }
        Ok(())
    }
}

fn names_attention_kind(metadata: &EventMetadata) -> bool {
    metadata.get("kind").and_then(|kind| kind.as_str()).is_some_and(|kind| ATTENTION_KINDS.contains(&kind))
}
