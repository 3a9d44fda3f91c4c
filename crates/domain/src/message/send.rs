//! Sending a text message.

use super::content::{MessageContent, stored_text};
use super::deadline::{self, DeadlineFault};
use super::mention::{self, Mention, MentionError, MentionKind, RequestedMention};
use super::model::{Message, MessageKind, Recipient, RecipientState, SentMessage};
use super::port::{AnsweredItem, AppendRefused, Appended, NewMessage, PriorResult};
use super::service::MessageService;
use super::trace::{SendHeaders, TraceParent};
use crate::caller::{Caller, UserCaller};
use crate::chat::{Named, Names};
use crate::delivery::DeliveryStatus;
use crate::event::DomainEvent;
use crate::id::{ChatId, FileId, MessageId, ParticipantId};
use crate::idempotency::{Fingerprint, IdempotencyKey, IdempotentRequest, KeyedRequest, Operation};
use crate::plan::LimitReached;
use crate::ports::EventPublisher;
use crate::store::{OnCommit, StoreError};
use crate::time::Timestamp;
use serde_json::Map;
use sha2::{Digest, Sha256};

/// A text to be sent.
#[derive(Clone, Debug)]
pub struct SendMessage {
    /// The text.
    pub content: MessageContent,
    /// The mentioned participants.
    pub mentions: Vec<RequestedMention>,
    /// The message that it follows from, if the sender names it.
    pub in_reply_to: Option<MessageId>,
    /// The deadline by which the mentioned agents must respond; `None` for that of the chat.
    pub respond_by: Option<Timestamp>,
    /// The files that it shows; one that is named twice is shown once.
    pub attachments: Vec<FileId>,
}

/// The reason why a message was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum SendMessageError {
    /// The caller is not in the chat, or there is no such chat.
    #[error("there is no such chat for the caller")]
    ChatNotFound,
    /// The caller is an agent that is stopped in the chat.
    #[error("the agent is stopped in the chat")]
    Stopped,
    /// The idempotency key was used for another request.
    #[error("the idempotency key was used for another request")]
    KeyReused,
    /// The attention item that the text answers has ended.
    #[error("the item was answered before")]
    Answered,
    /// A rule on mentions is broken.
    #[error(transparent)]
    Mention(#[from] MentionError),
    /// The named cause is no message that the caller may see.
    #[error("there is no such message for the caller")]
    CauseNotFound,
    /// An attachment is no live file of the chat.
    #[error("attachment {index} is not a file of the chat")]
    UnknownAttachment {
        /// Its index, counted from 0.
        index: usize,
    },
    /// The deadline is not possible.
    #[error(transparent)]
    Deadline(#[from] DeadlineFault),
    /// The chat has as many messages as the plan of its organization allows.
    #[error(transparent)]
    Limit(#[from] LimitReached),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl MessageService {
    /// Stores the text and delivers it to all mentioned participants, or refuses it as a whole.
    pub async fn send(
        &self,
        caller: impl Into<Caller>,
        chat: ChatId,
        command: SendMessage,
    ) -> Result<SentMessage, SendMessageError> {
        self.send_once(caller, chat, command, SendHeaders::default()).await
    }

    /// Like [`Self::send`], but a text sent under the same key before is not sent again: the sender
    /// gets the answer for the first message, without the states of its recipients. The text is part of the trace that
    /// the headers state, or of that of its cause.
    pub async fn send_once(
        &self,
        caller: impl Into<Caller>,
        chat: ChatId,
        command: SendMessage,
        headers: impl Into<SendHeaders>,
    ) -> Result<SentMessage, SendMessageError> {
        self.send_or_answer(caller.into(), chat, command, headers.into(), None).await
    }

    /// Sends the answer to an attention item, which names `asker`, and ends the item. Of several answers the first one
    /// counts; the same one again is not sent again.
    pub(crate) async fn answer(
        &self,
        caller: UserCaller,
        chat: ChatId,
        answered: AnsweredItem,
        asker: ParticipantId,
        content: MessageContent,
    ) -> Result<SentMessage, SendMessageError> {
        let fingerprint = Sha256::new().chain_update("answer").chain_update(content.as_str()).finalize();
        let key = IdempotencyKey::new(&format!("answer-to-{}", answered.item)).ok();
        let once =
            key.map(|key| IdempotentRequest { key, fingerprint: Fingerprint::new(fingerprint.into()) });
        let asker =
            RequestedMention { id: Some(asker.to_string()), handle: None, kind: Some(MentionKind::Mention) };
        let command = SendMessage {
            content,
            mentions: vec![asker],
            in_reply_to: Some(answered.item),
            respond_by: None,
            attachments: Vec::new(),
        };
        let headers = SendHeaders { once, ..SendHeaders::default() };
        self.send_or_answer(caller.into(), chat, command, headers, Some(answered)).await
    }

    async fn send_or_answer(
        &self,
        caller: Caller,
        chat: ChatId,
        command: SendMessage,
        mut headers: SendHeaders,
        answers: Option<AnsweredItem>,
    ) -> Result<SentMessage, SendMessageError> {
        let once = headers.once.take();
        let named = command.in_reply_to;
        let sender = caller.participant();
        let keyed = KeyedRequest::of(sender, Operation::SendMessage, Some(chat.into()), once);
        let refused = match self.try_send(caller, chat, command, headers, keyed.clone(), answers).await {
            Err(
                refused @ (SendMessageError::ChatNotFound
                | SendMessageError::Mention(_)
                | SendMessageError::CauseNotFound
                | SendMessageError::Deadline(_)),
            ) => refused,
            settled => {
                if settled.is_ok() {
                    self.note_work(caller, chat, named).await;
                }
                return settled;
            }
        };
        // A repeated request gets the same answer as before, even if the chat has changed since.
        match self.earlier(keyed).await? {
            PriorResult::Message(first) => Ok(SentMessage::repeats(&first)),
            PriorResult::Deleted(first) => Ok(SentMessage::repeated(first.id, chat, &first.mentions)),
            PriorResult::AnotherRequest => Err(SendMessageError::KeyReused),
            // A stop is reported before faults in the text.
            PriorResult::Nothing if self.is_stopped(sender, chat).await? => Err(SendMessageError::Stopped),
            PriorResult::Nothing => Err(refused),
        }
    }

    /// Returns whether a text was sent in the chat under this key before, by the same request.
    pub async fn was_sent(
        &self,
        caller: impl Into<Caller>,
        chat: ChatId,
        once: IdempotentRequest,
    ) -> Result<bool, StoreError> {
        let sender = caller.into().participant();
        let keyed = KeyedRequest::of(sender, Operation::SendMessage, Some(chat.into()), Some(once));
        Ok(matches!(self.earlier(keyed).await?, PriorResult::Message(_) | PriorResult::Deleted(_)))
    }

    /// Returns whether the sender is an agent that is stopped in the chat.
    pub(super) async fn is_stopped(&self, sender: ParticipantId, chat: ChatId) -> Result<bool, StoreError> {
        if sender.user().is_some() {
            return Ok(false);
        }
        let own = self.chats.membership(sender, chat).await?;
        Ok(own.is_some_and(|own| own.state.is_halted()))
    }

    /// The earlier result of a request under this key.
    pub(super) async fn earlier(&self, keyed: Option<KeyedRequest>) -> Result<PriorResult, StoreError> {
        match keyed {
            Some(keyed) => self.messages.find_prior_result(keyed).await,
            None => Ok(PriorResult::Nothing),
        }
    }

    async fn try_send(
        &self,
        caller: Caller,
        chat: ChatId,
        command: SendMessage,
        headers: SendHeaders,
        keyed: Option<KeyedRequest>,
        answers: Option<AnsweredItem>,
    ) -> Result<SentMessage, SendMessageError> {
        let (now, sender) = (self.clock.now(), caller.participant());
        let written = mention::handles_in(command.content.as_str());
        let meant = |names: &Names| {
            let named = names.find(sender).ok_or(SendMessageError::ChatNotFound)?.clone();
            let mentions = mention::resolve(names, sender, &command.mentions)?;
            let unmentioned = mention::unmentioned(names, sender, &written, &mentions);
            let is_platform =
                |id: &ParticipantId| names.find(*id).is_some_and(|named| named.is_external == Some(false));
            let platform = mentions.iter().map(|mention| mention.id).filter(is_platform).collect::<Vec<_>>();
            Ok((named, mentions, unmentioned, platform))
        };
        let meant = self.names(sender, chat, meant, Result::is_ok).await?;
        let (named, mentions, unmentioned, platform) =
            meant.unwrap_or(Err(SendMessageError::ChatNotFound))?;
        deadline::check(command.respond_by, &mentions, now)?;
        let cause = self.named_cause(sender, chat, command.in_reply_to).await?;
        let named_cause = cause.ok_or(SendMessageError::CauseNotFound)?;
        let id = MessageId::new(self.ids.generate(now));
        let traceparent = headers.traceparent.or_else(|| self.begin_traces.of(id));
        let new = NewMessage {
            keyed,
            metadata: headers
                .client_id
                .map(|id| Map::from_iter([(Message::CLIENT_ID.to_owned(), id.into())])),
            cause: named_cause.cause,
            traceparent: TraceParent::of_new(traceparent, named_cause.traceparent, id),
            follows_foreign: named_cause.is_foreign,
            organization: Some(caller.organization()),
            respond_by: command.respond_by,
            attachments: each_once(&command.attachments),
            max_hops: self.max_hops,
            exceeded: self.budgets.exceeded(),
            answers: answers.or(named_cause.answers),
            ..NewMessage::text(id, chat, named, &command.content, mentions, now)
        };
        let sent = match self.messages.append(new, self.announce_created()).await? {
            Ok(appended) => {
                self.note_sent(&appended.message).await;
                Ok(SentMessage::new(&appended, &platform))
            }
            Err(AppendRefused::Repeated(first)) => Ok(SentMessage::repeats(&first)),
            // It was sent; the later deletion is no reason to send it again.
            Err(AppendRefused::RepeatedDeleted(first)) => {
                Ok(SentMessage::repeated(first.id, chat, &first.mentions))
            }
            Err(AppendRefused::Limit(reached)) => Err(reached.into()),
            Err(AppendRefused::KeyReused) => Err(SendMessageError::KeyReused),
            Err(AppendRefused::NotParticipant) => Err(SendMessageError::ChatNotFound),
            Err(AppendRefused::Answered) => Err(SendMessageError::Answered),
            Err(AppendRefused::Stopped) => Err(SendMessageError::Stopped),
            Err(AppendRefused::UnknownAttachment(file)) => {
                let index = command.attachments.iter().position(|id| *id == file).unwrap_or(0);
                Err(SendMessageError::UnknownAttachment { index })
            }
            Err(AppendRefused::MentionLeft { index }) => {
                // The cached participants of the chat are outdated.
                self.cache.forget_chat(chat);
                let roster = self.chats.roster(sender, chat).await?.ok_or(SendMessageError::ChatNotFound)?;
                let available = roster.names().handles();
                Err(SendMessageError::Mention(MentionError::NotInChat { index, available }))
            }
        };
        sent.map(|sent| SentMessage { unmentioned, ..sent })
    }

    fn announce_created(&self) -> OnCommit<Appended> {
        let events = self.events.clone();
        OnCommit::new(move |appended: &Appended| appended.announce(&*events))
    }
}

/// The ids in their order, each at its first place.
fn each_once(ids: &[FileId]) -> Vec<FileId> {
    let first = |(index, id): (usize, &FileId)| (!ids[..index].contains(id)).then_some(*id);
    ids.iter().enumerate().filter_map(first).collect()
}

impl NewMessage {
    /// A text of `sender` with resolved mentions, without an idempotency key, and without a limit of hops.
    pub(crate) fn text(
        id: MessageId,
        chat: ChatId,
        sender: Named,
        content: &MessageContent,
        mentions: Vec<Mention>,
        now: Timestamp,
    ) -> Self {
        let content = stored_text(content, &mentions);
        Self { mentions, ..Self::new(id, chat, sender, MessageKind::Text, content, now) }
    }
}

impl Appended {
    /// Publishes the events of a new text.
    pub(crate) fn announce(&self, events: &dyn EventPublisher) {
        let (message, recipients) = (self.message.clone(), self.recipients.clone());
        events.publish(DomainEvent::MessageCreated { message, recipients });
        if let Some(titled) = &self.titled {
            titled.on_commit(events);
        }
    }
}

impl SentMessage {
    /// The answer to the sender of a new message; `platform` are the recipients that are known to be
    /// platform agents.
    fn new(appended: &Appended, platform: &[ParticipantId]) -> Self {
        let Appended { message, stopped, paused, is_paused, .. } = appended;
        let is_held =
            |agent| message.deliveries.iter().any(|of| of.agent() == agent && of.held_by().is_some());
        let state = |id: ParticipantId| match id {
            ParticipantId::User(_) => RecipientState::User,
            ParticipantId::Agent(agent) => RecipientState::Agent {
                status: if is_held(agent) { DeliveryStatus::Held } else { DeliveryStatus::New },
                is_platform_agent: platform.contains(&id),
                is_stopped: stopped.contains(&agent),
                is_paused: *is_paused || paused.contains(&agent),
            },
        };
        let sent = Self::with_states(message.id, message.chat_id, &message.mentions, |id| Some(state(id)));
        Self { respond_by: message.respond_by, ..sent }
    }

    /// The answer to a repeated request that sent `first`.
    fn repeats(first: &Message) -> Self {
        let sent = Self::repeated(first.id, first.chat_id, &first.mentions);
        Self { respond_by: first.respond_by, ..sent }
    }

    /// The answer to a repeated request. What the recipients were then may be wrong by now.
    fn repeated(id: MessageId, chat_id: ChatId, mentions: &[Mention]) -> Self {
        Self::with_states(id, chat_id, mentions, |_| None)
    }

    fn with_states(
        id: MessageId,
        chat_id: ChatId,
        mentions: &[Mention],
        state: impl Fn(ParticipantId) -> Option<RecipientState>,
    ) -> Self {
        let recipients = mentions
            .iter()
            .filter(|m| m.kind == MentionKind::Mention)
            .map(|m| Recipient {
                id: m.id,
                handle: m.handle.clone(),
                name: m.name.clone(),
                state: state(m.id),
            })
            .collect();
        Self { id, chat_id, recipients, unmentioned: Vec::new(), respond_by: None }
    }
}
