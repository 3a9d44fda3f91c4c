//! Setting the goal of a chat.

use super::goal::{Board, EmptyGoal, GoalChanges};
use super::port::{SetGoal, SetGoalRefused};
use super::service::BoardService;
use crate::caller::Caller;
use crate::event::DomainEvent;
use crate::id::ChatId;
use crate::store::{OnCommit, StoreError};

/// The reason why a goal was not set.
#[derive(Debug, thiserror::Error)]
pub enum SetGoalError {
    /// There is no such chat for the caller.
    #[error("there is no such chat for the caller")]
    NotFound,
    /// Nothing would be left of the goal.
    #[error(transparent)]
    Empty(#[from] EmptyGoal),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl BoardService {
    /// Sets the goal of a chat, or parts of it; any participant may.
    pub async fn set_goal(
        &self,
        caller: impl Into<Caller>,
        chat: ChatId,
        changes: GoalChanges,
    ) -> Result<Board, SetGoalError> {
        if !self.is_on() {
            return Err(SetGoalError::NotFound);
        }
        let events = self.events.clone();
        let on_commit = OnCommit::new(move |board: &Board| {
            events.publish(DomainEvent::BoardUpdated { board: board.clone() });
        });
        let command = SetGoal { chat, by: caller.into(), changes, now: self.clock.now() };
        match self.boards.set_goal(command, on_commit).await? {
            Ok(board) => Ok(board),
            Err(SetGoalRefused::NotFound) => Err(SetGoalError::NotFound),
            Err(SetGoalRefused::Empty(empty)) => Err(empty.into()),
        }
    }
}
