//! Boards, tasks, and their histories.

use domain::board::{
    BoardRepository, ChangeTask, GoalChanges, GoalTitle, NewTask, SetGoal, TaskChanges, TaskDetail,
    TaskFilter, TaskNumber, TaskState, TaskStatus, TaskSubject, WhichTask,
};
use domain::id::BoardTaskId;
use domain::store::OnCommit;
use domain::time::Timestamp;

use super::fill::{TASK, at, id};
use super::{FIRST, Watched, after};

impl Watched {
    pub(super) async fn boards(&mut self) {
        let (store, viewer, chat) = (self.store.clone(), self.viewer(), self.chat);
        for page in [FIRST, after(2000)] {
            for (filter, rows) in [
                (TaskFilter::All, 200),
                (TaskFilter::In(TaskState::Active), 200),
                (TaskFilter::In(TaskState::Archived), 200),
                (TaskFilter::In(TaskState::Cancelled), 20),
            ] {
                let reading = store.tasks(viewer, chat, filter, page.clone());
                self.costs(&format!("tasks {filter:?}"), rows, reading).await.unwrap().unwrap();
            }
            let first = WhichTask::Number(TaskNumber::new(1));
            let reading = store.task_history(viewer, chat, first, page);
            self.costs("a history", 200, reading).await.unwrap().unwrap();
        }
        for which in [WhichTask::Number(TaskNumber::new(1)), WhichTask::Id(BoardTaskId::new(id(TASK, 1)))] {
            let reading = store.task(viewer, chat, which, true);
            self.costs("a task", 250, reading).await.unwrap().unwrap();
        }
        self.costs("a board", 250, store.board(viewer, chat, true)).await.unwrap().unwrap();
        self.changes_of_boards().await;
    }

    async fn changes_of_boards(&mut self) {
        let (store, chat) = (self.store.clone(), self.chat);
        let now = Timestamp::from_micros(at(100_000_000));
        let title = GoalTitle::new(format!("goal {}", self.is_analysed)).unwrap();
        let changes = GoalChanges { title: Some(title), summary: None };
        let goal = SetGoal { chat, by: self.ann.caller.into(), changes, now };
        self.costs("set the goal", 60, store.set_goal(goal, OnCommit::nothing())).await.unwrap().unwrap();
        let new = NewTask {
            id: BoardTaskId::new(id(TASK, if self.is_analysed { 20_001 } else { 20_000 })),
            chat,
            by: self.ann.caller.into(),
            subject: TaskSubject::new("x".to_owned()).unwrap(),
            detail: TaskDetail::new(String::new()).unwrap(),
            supersedes: None,
            max_tasks: 100_000,
            keyed: None,
            now,
        };
        let task = self.costs("create a task", 60, store.create_task(new, OnCommit::nothing()));
        let task = task.await.unwrap().unwrap().task;
        let changes = TaskChanges { status: Some(TaskStatus::Blocked), ..TaskChanges::default() };
        let by = self.bot.caller.into();
        let command = ChangeTask { chat, by, task: WhichTask::Id(task.id), changes, now };
        let stored = self.costs("change a task", 80, store.change_task(command, OnCommit::nothing())).await;
        assert_eq!(stored.unwrap().unwrap().task.assignments.len(), 1);
        self.costs("rows of rooms", 200, store.shown(vec![chat])).await.unwrap();
    }
}
