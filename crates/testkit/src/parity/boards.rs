//! Goals and tasks.

use domain::board::{
    ActiveForm, CreateTask, GoalChanges, GoalSummary, GoalTitle, LinkedNativeId, TaskChanges, TaskComment,
    TaskDetail, TaskFilter, TaskNumber, TaskState, TaskStatus, TaskSubject, TaskTarget, WhichTask,
};

use super::cast::{Cast, next};
use super::{Act, nothing, played};

impl Cast {
    pub(super) fn boards(&mut self) -> Act {
        match self.rng.below(20) {
            0..5 => self.create_task(),
            5..12 => self.change_task(),
            12 | 13 => self.set_goal(),
            _ => self.read_board(),
        }
    }

    /// Mostly one of the first few of a room.
    fn task(&mut self) -> WhichTask {
        WhichTask::Number(TaskNumber::new(self.rng.of(&[1, 1, 1, 2, 2, 3, 4, 9])))
    }

    fn create_task(&mut self) -> Act {
        let (chat, supersedes) = (self.chat(), self.task());
        let command = CreateTask {
            subject: TaskSubject::new(self.line()).unwrap(),
            detail: TaskDetail::new(self.text()).unwrap(),
            supersedes: if self.rng.one_in(4) { Some(supersedes) } else { None },
        };
        let (caller, once) = (self.member(chat), self.once());
        act!("create_task", |world, caller, chat, command, once| {
            played(world.boards.create_task(caller, chat, command, once).await, nothing)
        })
    }

    fn change_task(&mut self) -> Act {
        let (chat, task, text) = (self.chat(), self.task(), self.text());
        let changes = TaskChanges {
            status: self.rng.maybe(&TaskStatus::ALL),
            active_form: if self.rng.one_in(4) { ActiveForm::new(text.clone()).ok() } else { None },
            linked_native_id: if self.rng.one_in(6) { LinkedNativeId::new(text.clone()).ok() } else { None },
            comment: if self.rng.one_in(4) { TaskComment::new(text.clone()).ok() } else { None },
            subject: if self.rng.one_in(6) { TaskSubject::new(self.line()).ok() } else { None },
            detail: if self.rng.one_in(6) { TaskDetail::new(text).ok() } else { None },
            state: if self.rng.one_in(4) { self.rng.maybe(&TaskTarget::ALL) } else { None },
        };
        let caller = self.member(chat);
        act!("change_task", |world, caller, chat, task, changes| {
            played(world.boards.change_task(caller, chat, task, changes).await, nothing)
        })
    }

    fn set_goal(&mut self) -> Act {
        let chat = self.chat();
        let changes = GoalChanges {
            title: if self.rng.one_in(2) { GoalTitle::new(self.line()).ok() } else { None },
            summary: if self.rng.one_in(2) { GoalSummary::new(self.text()).ok() } else { None },
        };
        let caller = self.member(chat);
        act!("set_goal", |world, caller, chat, changes| {
            played(world.boards.set_goal(caller, chat, changes).await, nothing)
        })
    }

    fn read_board(&mut self) -> Act {
        let (chat, task) = (self.chat(), self.task());
        let (caller, with_history) = (self.member(chat), self.rng.one_in(2));
        match self.rng.below(5) {
            0 => act!("board", |world, caller, chat, with_history| {
                played(world.boards.board(caller, chat, with_history).await, nothing)
            }),
            1 => act!("task", |world, caller, chat, task, with_history| {
                played(world.boards.task(caller, chat, task, with_history).await, nothing)
            }),
            2 => {
                let page = self.page("a task's history");
                act!("task_history", |world, caller, chat, task, page| {
                    played(
                        world.boards.task_history(caller, chat, task, page).await,
                        next("a task's history"),
                    )
                })
            }
            3 => act!("announce_counts", |world, chat| {
                let _ = chat;
                played(world.boards.announce_counts().await, nothing)
            }),
            _ => {
                let states = TaskState::ALL.map(TaskFilter::In);
                let filter = self.rng.maybe(&states).unwrap_or(TaskFilter::All);
                let page = self.page("tasks");
                act!("tasks", |world, caller, chat, filter, page| {
                    played(world.boards.tasks(caller, chat, filter, page).await, next("tasks"))
                })
            }
        }
    }
}
