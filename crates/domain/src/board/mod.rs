//! The task board of a chat: its goal, and its tasks.
//!
//! Terms: the *goal* is a title and a summary, and has nothing to do with the title of the chat. A *task* has a number that
//! is unique in its chat. A participant *joins* a task by the first status that it writes, and has an *assignment* from
//! then on; nobody assigns somebody else. The *overall status* of a task is the [roll-up](TaskStatus::roll_up) of its
//! assignments. The *state* of a task says whether it is on the board; only active tasks can be worked on.
//!
//! Every participant may change every task, and the goal; the history names who did. An observer reads them.
//!
//! Invariants: a number is never used again. The history only grows. The names in tasks and entries are those of the time
//! of writing. A participant that leaves keeps no open assignment. The chat's counts are those of its active tasks by
//! overall status.
//!
//! Nothing here sends a message, wakes an agent, or changes the times of the chat.

mod announce;
mod change_task;
mod changes;
mod create_task;
mod goal;
mod history;
mod port;
mod service;
mod set_goal;
mod task;
#[cfg(test)]
mod tests;
mod text;

pub use announce::CountedBoards;
pub(crate) use announce::publish_dropped;
pub use change_task::ChangeTaskError;
pub use changes::{TaskChanges, TaskRefused, TaskTarget};
pub use create_task::{CreateTask, CreateTaskError};
pub use goal::{Board, EmptyGoal, GoalChanges};
pub use history::{
    Actor, BoardAction, DropReason, EMBEDDED_ENTRIES, Edit, Entry, GoalEdits, History, WithHistory,
};
pub use port::{
    BoardRepository, ChangeTask, ChangeTaskRefused, ChangedTask, CreateTaskRefused, CreatedTask, NewTask,
    SetGoal, SetGoalRefused, TaskFilter, WhichTask,
};
pub use service::{BoardError, BoardService, DEFAULT_MAX_TASKS};
pub use set_goal::SetGoalError;
pub use task::{Assignment, Task, TaskCounts, TaskNumber, TaskState, TaskStatus};
pub use text::{ActiveForm, GoalSummary, GoalTitle, LinkedNativeId, TaskComment, TaskDetail, TaskSubject};
