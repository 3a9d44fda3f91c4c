//! Creating a room.

use super::participant::Role;
use super::port::{CreateRefused, NewChat};
use super::room::{Chat, ChatKind};
use super::service::ChatService;
use super::title::ChatTitle;
use crate::caller::Caller;
use crate::event::DomainEvent;
use crate::id::{ChatId, TaskId};
use crate::idempotency::{IdempotencyClaim, IdempotentRequest, Operation};
use crate::plan::LimitReached;
use crate::store::{OnCommit, StoreError};

/// What the creator says about the room.
#[derive(Clone, Debug, Default)]
pub struct CreateChat {
    /// A title that stays; `None` for one made from the first message.
    pub title: Option<ChatTitle>,
    /// A task elsewhere that the room is about.
    pub task_id: Option<TaskId>,
    /// What it is meant for.
    pub kind: ChatKind,
}

/// Why no room was made.
#[derive(Debug, thiserror::Error)]
pub enum CreateChatError {
    /// The agent that asks is gone.
    #[error("the agent is gone")]
    CreatorGone,
    /// The idempotency key was given to another request.
    #[error("the idempotency key was used for another request")]
    KeyReused,
    /// The organization has as many rooms as its plan allows.
    #[error(transparent)]
    Limit(#[from] LimitReached),
    /// The store gave no answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ChatService {
    /// Creates a room with the caller as its owner. The creator hears of it like anybody added.
    pub async fn create(
        &self,
        caller: impl Into<Caller>,
        command: CreateChat,
    ) -> Result<Chat, CreateChatError> {
        self.create_once(caller, command, None).await
    }

    /// Like [`Self::create`], but what was created before under the same key is not created
    /// again: the caller learns of the first room, as it was then.
    pub async fn create_once(
        &self,
        caller: impl Into<Caller>,
        command: CreateChat,
        once: Option<IdempotentRequest>,
    ) -> Result<Chat, CreateChatError> {
        let now = self.clock.now();
        let creator = caller.into().participant();
        let claim = once.map(|once| IdempotencyClaim {
            sender: creator,
            operation: Operation::CreateChat,
            place: None,
            once,
        });
        let new = NewChat {
            id: ChatId::new(self.ids.generate(now)),
            title: command.title,
            task_id: command.task_id,
            kind: command.kind,
            creator,
            claim,
            now,
        };
        let asked = new.clone();
        let events = self.events.clone();
        let on_commit = OnCommit::new(move |chat: &Chat| {
            events.publish(DomainEvent::RoomAdded { to: creator, chat: chat.clone(), role: Role::Owner });
        });
        match self.chats.create(new, on_commit).await? {
            Ok(chat) => Ok(chat),
            // The same request made it, so it was then what would be made now.
            Err(CreateRefused::Repeated(first)) => {
                Ok(NewChat { id: ChatId::new(first.record), now: first.at, ..asked }.into_chat())
            }
            Err(CreateRefused::CreatorGone) => Err(CreateChatError::CreatorGone),
            Err(CreateRefused::Limit(reached)) => Err(reached.into()),
            Err(CreateRefused::KeyReused) => Err(CreateChatError::KeyReused),
        }
    }
}
