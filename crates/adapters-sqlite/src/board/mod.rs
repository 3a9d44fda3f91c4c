//! The store of boards.

mod change;
mod drop;
mod read;
#[path = "../../../sql-rows/board.rs"]
mod row;

use async_trait::async_trait;
use diesel::sqlite::SqliteConnection;
use domain::board::{
    Board, BoardRepository, ChangeTask, ChangeTaskRefused, ChangedTask, CreateTaskRefused, CreatedTask,
    Entry, NewTask, SetGoal, SetGoalRefused, Task, TaskFilter, WhichTask, WithHistory,
};
use domain::chat::ShownChat;
use domain::id::{ChatId, ParticipantId};
use domain::page::{Page, PageRequest};
use domain::store::{OnCommit, StoreError};

pub(crate) use drop::{drop_on, mark_on};
pub(crate) use row::COUNT_COLUMNS;

use crate::SqliteStore;
use crate::chat::rename;

#[async_trait]
impl BoardRepository for SqliteStore {
    async fn board(
        &self,
        viewer: ParticipantId,
        chat: ChatId,
        with_history: bool,
    ) -> Result<Option<WithHistory<Board>>, StoreError> {
        self.read(move |connection| read::board_on(connection, viewer, chat, with_history)).await
    }

    async fn set_goal(
        &self,
        command: SetGoal,
        on_commit: OnCommit<Board>,
    ) -> Result<Result<Board, SetGoalRefused>, StoreError> {
        let work = move |connection: &mut SqliteConnection| change::set_goal_on(connection, &command);
        let announce = |(board, has_changed): &(Board, bool)| {
            if *has_changed {
                on_commit.run(board);
            }
        };
        Ok(self.change(work, announce).await?.map(|(board, _)| board))
    }

    async fn tasks(
        &self,
        viewer: ParticipantId,
        chat: ChatId,
        filter: TaskFilter,
        page: PageRequest,
    ) -> Result<Option<Page<Task>>, StoreError> {
        self.read(move |connection| read::tasks_on(connection, viewer, chat, filter, &page)).await
    }

    async fn task(
        &self,
        viewer: ParticipantId,
        chat: ChatId,
        task: WhichTask,
        with_history: bool,
    ) -> Result<Option<WithHistory<Task>>, StoreError> {
        self.read(move |connection| read::task_on(connection, viewer, chat, task, with_history)).await
    }

    async fn task_history(
        &self,
        viewer: ParticipantId,
        chat: ChatId,
        task: WhichTask,
        page: PageRequest,
    ) -> Result<Option<Page<Entry>>, StoreError> {
        self.read(move |connection| read::history_on(connection, viewer, chat, task, &page)).await
    }

    async fn create_task(
        &self,
        new: NewTask,
        on_commit: OnCommit<CreatedTask>,
    ) -> Result<Result<CreatedTask, CreateTaskRefused>, StoreError> {
        let work = move |connection: &mut SqliteConnection| change::create_task_on(connection, new);
        self.change(work, |created| on_commit.run(created)).await
    }

    async fn change_task(
        &self,
        command: ChangeTask,
        on_commit: OnCommit<ChangedTask>,
    ) -> Result<Result<ChangedTask, ChangeTaskRefused>, StoreError> {
        let work = move |connection: &mut SqliteConnection| change::change_task_on(connection, &command);
        self.change(work, |changed| on_commit.run(changed)).await
    }

    async fn erase_deleted(&self, limit: u32) -> Result<bool, StoreError> {
        self.alter(move |connection| drop::erase_deleted_on(connection, limit)).await
    }

    async fn shown(&self, chats: Vec<ChatId>) -> Result<Vec<ShownChat>, StoreError> {
        self.read(move |connection| rename::all_shown_on(connection, &chats)).await
    }
}
