//! Working on a task, editing it, commenting on it, and its lifecycle.

use super::changes::{TaskChanges, TaskRefused};
use super::port::{ChangeTask, ChangeTaskRefused, ChangedTask, WhichTask};
use super::service::BoardService;
use super::task::Task;
use crate::caller::Caller;
use crate::event::DomainEvent;
use crate::id::ChatId;
use crate::store::{OnCommit, StoreError};

/// The reason why a task was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ChangeTaskError {
    /// There is no such chat or task for the caller.
    #[error("there is no such chat or task for the caller")]
    NotFound,
    /// A rule of tasks.
    #[error(transparent)]
    Refused(#[from] TaskRefused),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl BoardService {
    /// Makes all of the changes or none; any participant may. The status is the caller's own.
    pub async fn change_task(
        &self,
        caller: impl Into<Caller>,
        chat: ChatId,
        task: WhichTask,
        changes: TaskChanges,
    ) -> Result<Task, ChangeTaskError> {
        if !self.is_on() {
            return Err(ChangeTaskError::NotFound);
        }
        let events = self.events.clone();
        let on_commit = OnCommit::new(move |changed: &ChangedTask| {
            if changed.has_changed {
                let (task, has_moved) = (changed.task.clone(), changed.has_moved);
                events.publish(DomainEvent::TaskUpdated { task, has_moved });
            }
        });
        let command = ChangeTask { chat, by: caller.into(), task, changes, now: self.clock.now() };
        match self.boards.change_task(command, on_commit).await? {
            Ok(stored) => Ok(stored.task),
            Err(ChangeTaskRefused::NotFound) => Err(ChangeTaskError::NotFound),
            Err(ChangeTaskRefused::Refused(refused)) => Err(refused.into()),
        }
    }
}
