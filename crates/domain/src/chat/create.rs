//! Creating a chat.

use super::model::{Chat, ChatKind};
use super::participant::Role;
use super::port::{CreateRefused, NewChat};
use super::service::ChatService;
use super::title::ChatTitle;
use crate::caller::Caller;
use crate::event::DomainEvent;
use crate::id::{ChatId, TaskId};
use crate::idempotency::{IdempotentRequest, KeyedRequest, Operation};
use crate::plan::LimitReached;
use crate::store::{OnCommit, StoreError};

/// The properties of the new chat.
#[derive(Clone, Debug, Default)]
pub struct CreateChat {
    /// A title that stays; `None` for one that derives from the first message.
    pub title: Option<ChatTitle>,
    /// A task outside Parlance that the chat is about.
    pub task_id: Option<TaskId>,
    /// Its purpose.
    pub kind: ChatKind,
}

/// The reason why no chat was created.
#[derive(Debug, thiserror::Error)]
pub enum CreateChatError {
    /// The calling agent was deleted.
    #[error("the agent is gone")]
    CreatorGone,
    /// The idempotency key was used for another request.
    #[error("the idempotency key was used for another request")]
    KeyReused,
    /// The organization has as many chats as its plan allows.
    #[error(transparent)]
    Limit(#[from] LimitReached),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ChatService {
    /// Creates a chat with the caller as its owner. The creator is notified like any added
    /// participant.
    pub async fn create(
        &self,
        caller: impl Into<Caller>,
        command: CreateChat,
    ) -> Result<Chat, CreateChatError> {
        self.create_once(caller, command, None).await
    }

    /// Like [`Self::create`], but a chat created under the same key before is not created again:
    /// the caller gets the first chat in its initial state.
    pub async fn create_once(
        &self,
        caller: impl Into<Caller>,
        command: CreateChat,
        once: Option<IdempotentRequest>,
    ) -> Result<Chat, CreateChatError> {
        let now = self.clock.now();
        let caller = caller.into();
        let creator = caller.participant();
        let owner = creator.agent().map(|_| caller.accountable_user());
        let keyed = KeyedRequest::of(creator, Operation::CreateChat, None, once);
        let new = NewChat {
            id: ChatId::new(self.ids.generate(now)),
            title: command.title,
            task_id: command.task_id,
            kind: command.kind,
            creator,
            keyed,
            now,
        };
        let asked = new.clone();
        let events = self.events.clone();
        let on_commit = OnCommit::new(move |chat: &Chat| {
            let chat = chat.clone();
            events.publish(DomainEvent::RoomAdded { to: creator, owner, chat, role: Role::Owner });
        });
        match self.chats.create(new, on_commit).await? {
            Ok(chat) => Ok(chat),
            // The same request created it, so its initial state is that of the new chat.
            Err(CreateRefused::Repeated(first)) => {
                Ok(NewChat { id: ChatId::new(first.record.uuid()), now: first.at, ..asked }.into_chat())
            }
            Err(CreateRefused::CreatorGone) => Err(CreateChatError::CreatorGone),
            Err(CreateRefused::Limit(reached)) => Err(reached.into()),
            Err(CreateRefused::KeyReused) => Err(CreateChatError::KeyReused),
        }
    }
}
