//! Creating a task.

use super::port::{CreateTaskRefused, CreatedTask, NewTask, WhichTask};
use super::service::{BoardError, BoardService};
use super::task::Task;
use super::text::{TaskDetail, TaskSubject};
use crate::caller::Caller;
use crate::event::DomainEvent;
use crate::id::{BoardTaskId, ChatId};
use crate::idempotency::{IdempotentRequest, KeyedRequest, Operation};
use crate::store::{OnCommit, StoreError};

/// The properties of the new task.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CreateTask {
    /// What is to be done.
    pub subject: TaskSubject,
    /// More about it.
    pub detail: TaskDetail,
    /// The task that it replaces.
    pub supersedes: Option<WhichTask>,
}

/// The reason why no task was created.
#[derive(Debug, thiserror::Error)]
pub enum CreateTaskError {
    /// The caller is no participant of the chat, or it does not exist.
    #[error("there is no such chat for the caller")]
    NotFound,
    /// The task to be replaced is not in the chat.
    #[error("the task to be superseded is not in the chat")]
    SupersededNotFound,
    /// The task to be replaced is not active.
    #[error("the task to be superseded is not active")]
    SupersededNotActive,
    /// The idempotency key was used for another request.
    #[error("the idempotency key was used for another request")]
    KeyReused,
    /// The chat has as many tasks as it may have.
    #[error("the chat has {limit} tasks, the maximum")]
    Full {
        /// The maximum.
        limit: u32,
    },
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<BoardError> for CreateTaskError {
    fn from(error: BoardError) -> Self {
        match error {
            BoardError::NotFound => Self::NotFound,
            BoardError::Store(error) => Self::Store(error),
        }
    }
}

impl BoardService {
    /// Creates a task in a chat; any participant may. Nobody is assigned to it. A task created under the same key before is
    /// not created again: the caller gets the first task in its initial state.
    pub async fn create_task(
        &self,
        caller: impl Into<Caller>,
        chat: ChatId,
        command: CreateTask,
        once: Option<IdempotentRequest>,
    ) -> Result<Task, CreateTaskError> {
        if !self.is_on() {
            return Err(CreateTaskError::NotFound);
        }
        let (by, now) = (caller.into(), self.clock.now());
        let (sender, operation) = (by.participant(), Operation::CreateTask);
        let new = NewTask {
            id: BoardTaskId::new(self.ids.generate(now)),
            chat,
            by,
            subject: command.subject,
            detail: command.detail,
            supersedes: command.supersedes,
            max_tasks: self.max_tasks,
            keyed: KeyedRequest::of(sender, operation, Some(chat.into()), once),
            now,
        };
        let (asked, events) = (new.clone(), self.events.clone());
        let on_commit = OnCommit::new(move |created: &CreatedTask| {
            if let Some(task) = created.superseded.clone() {
                events.publish(DomainEvent::TaskUpdated { task, has_moved: true });
            }
            events.publish(DomainEvent::TaskCreated { task: created.task.clone() });
        });
        match self.boards.create_task(new, on_commit).await? {
            Ok(created) => Ok(created.task),
            // The same request created it, so its initial state is that of the new task.
            Err(CreateTaskRefused::Repeated(first)) => {
                let id = BoardTaskId::new(first.record.uuid());
                let task = self.task(by, chat, WhichTask::Id(id), false).await?.record;
                let first = NewTask { id, now: task.created_at, ..asked };
                Ok(first.into_task(task.number, task.created_by, None).0)
            }
            Err(CreateTaskRefused::NotFound) => Err(CreateTaskError::NotFound),
            Err(CreateTaskRefused::SupersededNotFound) => Err(CreateTaskError::SupersededNotFound),
            Err(CreateTaskRefused::SupersededNotActive) => Err(CreateTaskError::SupersededNotActive),
            Err(CreateTaskRefused::Full { limit }) => Err(CreateTaskError::Full { limit }),
            Err(CreateTaskRefused::KeyReused) => Err(CreateTaskError::KeyReused),
        }
    }
}
