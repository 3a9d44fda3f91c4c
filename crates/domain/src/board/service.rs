//! Reading boards, and the area's ports in one place.

use std::sync::Arc;

use super::announce::CountedBoards;
use super::goal::Board;
use super::history::{Entry, WithHistory};
use super::port::{BoardRepository, TaskFilter, WhichTask};
use super::task::Task;
use crate::caller::Caller;
use crate::id::ChatId;
use crate::page::{Page, PageRequest};
use crate::ports::{Clock, EventPublisher, IdGenerator};
use crate::store::StoreError;

/// The default of the maximum number of tasks of a chat.
pub const DEFAULT_MAX_TASKS: u32 = 10_000;

/// The number of entries or tasks that are erased at a time.
const ERASED_AT_ONCE: u32 = 200;

/// The reason why a board or a task was not read.
#[derive(Debug, thiserror::Error)]
pub enum BoardError {
    /// There is no such chat or task for the caller.
    #[error("there is no such chat or task for the caller")]
    NotFound,
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Use cases on boards.
pub struct BoardService {
    pub(super) boards: Arc<dyn BoardRepository>,
    pub(super) events: Arc<dyn EventPublisher>,
    pub(super) counted: Arc<CountedBoards>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Arc<dyn IdGenerator>,
    pub(super) max_tasks: u32,
}

impl BoardService {
    /// Wires the area to its ports. `max_tasks` is the maximum number of tasks of a chat; 0 turns boards off.
    pub fn new(
        boards: Arc<dyn BoardRepository>,
        events: Arc<dyn EventPublisher>,
        counted: Arc<CountedBoards>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdGenerator>,
        max_tasks: u32,
    ) -> Self {
        Self { boards, events, counted, clock, ids, max_tasks }
    }

    /// Returns whether chats have boards; otherwise nobody finds one.
    pub const fn is_on(&self) -> bool {
        self.max_tasks > 0
    }

    /// The board of a chat that the caller may read.
    pub async fn board(
        &self,
        caller: impl Into<Caller>,
        chat: ChatId,
        with_history: bool,
    ) -> Result<WithHistory<Board>, BoardError> {
        self.found(self.boards.board(caller.into().participant(), chat, with_history).await)
    }

    /// The tasks of a chat that the caller may read, by number. Pages are by cursor only.
    pub async fn tasks(
        &self,
        caller: impl Into<Caller>,
        chat: ChatId,
        filter: TaskFilter,
        page: PageRequest,
    ) -> Result<Page<Task>, BoardError> {
        self.found(self.boards.tasks(caller.into().participant(), chat, filter, page).await)
    }

    /// A task of a chat that the caller may read.
    pub async fn task(
        &self,
        caller: impl Into<Caller>,
        chat: ChatId,
        task: WhichTask,
        with_history: bool,
    ) -> Result<WithHistory<Task>, BoardError> {
        self.found(self.boards.task(caller.into().participant(), chat, task, with_history).await)
    }

    /// The history of a task, oldest first. Pages are by cursor only.
    pub async fn task_history(
        &self,
        caller: impl Into<Caller>,
        chat: ChatId,
        task: WhichTask,
        page: PageRequest,
    ) -> Result<Page<Entry>, BoardError> {
        self.found(self.boards.task_history(caller.into().participant(), chat, task, page).await)
    }

    /// Erases some of the boards of deleted chats; must be called about once a second, whether or not boards are on.
    /// Returns whether more are left.
    pub async fn erase_some(&self) -> Result<bool, StoreError> {
        self.boards.erase_deleted(ERASED_AT_ONCE).await
    }

    pub(super) fn found<T>(&self, read: Result<Option<T>, StoreError>) -> Result<T, BoardError> {
        read?.filter(|_| self.is_on()).ok_or(BoardError::NotFound)
    }
}
