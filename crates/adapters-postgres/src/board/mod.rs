//! The store of boards.
//!
//! A change locks, in this order, the caller's membership, the task, and the row of the board. A change of participants
//! takes the lock of the membership first as well, so it finds every assignment.

mod change;
mod drop;
mod read;
#[path = "../../../sql-rows/board.rs"]
mod row;

use async_trait::async_trait;
use domain::board::{
    Board, BoardRepository, ChangeTask, ChangeTaskRefused, ChangedTask, CreateTaskRefused, CreatedTask,
    Entry, NewTask, SetGoal, SetGoalRefused, Task, TaskFilter, WhichTask, WithHistory,
};
use domain::chat::ShownChat;
use domain::id::{ChatId, ParticipantId};
use domain::page::{Page, PageRequest};
use domain::store::{OnCommit, StoreError};
use futures_util::FutureExt;

pub(crate) use drop::{drop_on, mark_on};
pub(crate) use row::COUNT_COLUMNS;

use crate::PostgresStore;
use crate::chat::rename;

#[async_trait]
impl BoardRepository for PostgresStore {
    async fn board(
        &self,
        viewer: ParticipantId,
        chat: ChatId,
        with_history: bool,
    ) -> Result<Option<WithHistory<Board>>, StoreError> {
        let given = (viewer, chat, with_history);
        self.read(given, |db, (viewer, chat, history)| read::board_on(db, *viewer, *chat, *history).boxed())
            .await
    }

    async fn set_goal(
        &self,
        command: SetGoal,
        on_commit: OnCommit<Board>,
    ) -> Result<Result<Board, SetGoalRefused>, StoreError> {
        let announce = |(board, has_changed): &(Board, bool)| {
            if *has_changed {
                on_commit.run(board);
            }
        };
        let set = self.change(command, |db, command| change::set_goal_on(db, command).boxed(), announce);
        Ok(set.await?.map(|(board, _)| board))
    }

    async fn tasks(
        &self,
        viewer: ParticipantId,
        chat: ChatId,
        filter: TaskFilter,
        page: PageRequest,
    ) -> Result<Option<Page<Task>>, StoreError> {
        let given = (viewer, chat, filter, page);
        self.read(given, |db, (viewer, chat, filter, page)| {
            read::tasks_on(db, *viewer, *chat, *filter, page).boxed()
        })
        .await
    }

    async fn task(
        &self,
        viewer: ParticipantId,
        chat: ChatId,
        task: WhichTask,
        with_history: bool,
    ) -> Result<Option<WithHistory<Task>>, StoreError> {
        let given = (viewer, chat, task, with_history);
        self.read(given, |db, (viewer, chat, task, history)| {
            read::task_on(db, *viewer, *chat, *task, *history).boxed()
        })
        .await
    }

    async fn task_history(
        &self,
        viewer: ParticipantId,
        chat: ChatId,
        task: WhichTask,
        page: PageRequest,
    ) -> Result<Option<Page<Entry>>, StoreError> {
        let given = (viewer, chat, task, page);
        self.read(given, |db, (viewer, chat, task, page)| {
            read::history_on(db, *viewer, *chat, *task, page).boxed()
        })
        .await
    }

    async fn create_task(
        &self,
        new: NewTask,
        on_commit: OnCommit<CreatedTask>,
    ) -> Result<Result<CreatedTask, CreateTaskRefused>, StoreError> {
        let announce = |created: &CreatedTask| on_commit.run(created);
        self.change(new, |db, new| change::create_task_on(db, new).boxed(), announce).await
    }

    async fn change_task(
        &self,
        command: ChangeTask,
        on_commit: OnCommit<ChangedTask>,
    ) -> Result<Result<ChangedTask, ChangeTaskRefused>, StoreError> {
        let announce = |changed: &ChangedTask| on_commit.run(changed);
        self.change(command, |db, command| change::change_task_on(db, command).boxed(), announce).await
    }

    async fn erase_deleted(&self, limit: u32) -> Result<bool, StoreError> {
        self.alter_quietly(limit, |db, limit| drop::erase_deleted_on(db, *limit).boxed()).await
    }

    async fn shown(&self, chats: Vec<ChatId>) -> Result<Vec<ShownChat>, StoreError> {
        self.read(chats, |db, chats| rename::all_shown_on(db, chats).boxed()).await
    }
}
