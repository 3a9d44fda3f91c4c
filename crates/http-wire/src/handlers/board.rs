//! The goals and tasks of rooms.

use actix_web::{HttpResponse, web};
use domain::board::{BoardService, TaskFilter, TaskState, WhichTask};
use domain::caller::Caller;
use domain::id::ChatId;
use uuid::Uuid;

use crate::auth::CallerExtractor;
use crate::body::{ChangeTaskBody, CreateTaskBody, SetGoalBody};
use crate::cursor::CursorScope;
use crate::envelope::{Data, List};
use crate::error::ApiError;
use crate::idempotent::IdempotentJson;
use crate::openapi::{Endpoint, get, post, put};
use crate::page::{CursorQuery, PageMetadata};
use crate::path::{ChatPath, TaskPath};
use crate::query::{FromQuery, QueryReader, StrictQuery};
use crate::strict_json::{Rejected, StrictJson};
use crate::view::{BoardEntryView, BoardView, TaskView};

/// The number of rows of a page by default.
const DEFAULT_ROWS: u32 = 50;

/// The query of a task or a board.
#[derive(Clone, Copy, Debug)]
pub struct IncludeHistory(bool);

impl FromQuery for IncludeHistory {
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
        let description = "Adds the newest 100 entries of the history, oldest first.";
        let include =
            query.word("include", &["history"], description, |word| (word == "history").then_some(()));
        Ok(Self(include?.is_some()))
    }
}

/// The states of a list of tasks.
const STATES: &[&str] = &["active", "cancelled", "superseded", "archived", "all"];

/// The query of a list of tasks.
#[derive(Clone, Debug)]
pub struct ListTasksQuery {
    page: CursorQuery,
    filter: TaskFilter,
}

impl FromQuery for ListTasksQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
        let page = CursorQuery::from_query(query);
        let filter =
            query.word(
                "state",
                STATES,
                "Only tasks in this state; `active` by default.",
                |word| match word {
                    "all" => Some(TaskFilter::All),
                    word => TaskState::parse(word).map(TaskFilter::In),
                },
            );
        Ok(Self { page: page?, filter: filter?.unwrap_or(TaskFilter::In(TaskState::Active)) })
    }
}

/// The endpoints of the goals and tasks of chats, for this kind of caller.
pub fn endpoints<C: CallerExtractor + 'static>() -> Vec<Endpoint> {
    vec![
        get("/chats/{chat_id}/board", board::<C>)
            .named("showBoard", "Show the goal of a chat")
            .query::<IncludeHistory>()
            .answers::<BoardView<'_>>(200),
        put("/chats/{chat_id}/board", set_goal::<C>)
            .named("setGoal", "Set the goal of a chat, or parts of it (participants only)")
            .body::<SetGoalBody>()
            .answers::<BoardView<'_>>(200),
        get("/chats/{chat_id}/tasks", tasks::<C>)
            .named("listTasks", "List the tasks of a chat by number")
            .query::<ListTasksQuery>()
            .lists::<TaskView<'_>, PageMetadata>(),
        post("/chats/{chat_id}/tasks", create_task::<C>)
            .named("createTask", "Create a task in a chat; nobody is assigned to it (participants only)")
            .body::<CreateTaskBody>()
            .idempotent()
            .answers::<TaskView<'_>>(201)
            .refuses(&[403]),
        get("/chats/{chat_id}/tasks/{task_id}", find_task::<C>)
            .named("findTask", "Show a task of a chat by its id or number")
            .query::<IncludeHistory>()
            .answers::<TaskView<'_>>(200),
        post("/chats/{chat_id}/tasks/{task_id}", change_task::<C>)
            .named(
                "changeTask",
                "Report work on a task, comment on it, edit it, or change its state (participants only)",
            )
            .body::<ChangeTaskBody>()
            .answers::<TaskView<'_>>(200),
        get("/chats/{chat_id}/tasks/{task_id}/history", task_history::<C>)
            .named("listTaskHistory", "List the history of a task, oldest first")
            .query::<CursorQuery>()
            .lists::<BoardEntryView<'_>, PageMetadata>(),
    ]
}

/// `GET /chats/{chat_id}/board`.
pub async fn board<C: CallerExtractor>(
    caller: C,
    path: ChatPath,
    StrictQuery(IncludeHistory(with_history)): StrictQuery<IncludeHistory>,
    boards: web::Data<BoardService>,
) -> Result<HttpResponse, ApiError> {
    Ok(Data::ok(BoardView::found(&boards.board(caller, path.chat, with_history).await?)))
}

/// `PUT /chats/{chat_id}/board`.
pub async fn set_goal<C: CallerExtractor>(
    caller: C,
    path: ChatPath,
    StrictJson { body: SetGoalBody(changes), .. }: StrictJson<SetGoalBody>,
    boards: web::Data<BoardService>,
) -> Result<HttpResponse, ApiError> {
    Ok(Data::ok(BoardView::new(&boards.set_goal(caller, path.chat, changes).await?)))
}

/// `GET /chats/{chat_id}/tasks`.
pub async fn tasks<C: CallerExtractor>(
    caller: C,
    path: ChatPath,
    StrictQuery(ListTasksQuery { page, filter }): StrictQuery<ListTasksQuery>,
    boards: web::Data<BoardService>,
) -> Result<HttpResponse, ApiError> {
    let caller = caller.into();
    let state = match filter {
        TaskFilter::All => "all",
        TaskFilter::In(state) => state.as_str(),
    };
    let window =
        page.window_or(scope("chats/tasks", caller, path.chat).filtered("state", state), DEFAULT_ROWS)?;
    let found = boards.tasks(caller, path.chat, filter, window.request.clone()).await?;
    let rows = found.rows.iter().map(TaskView::new).collect::<Vec<_>>();
    Ok(List::ok(rows, window.metadata(&found)))
}

/// `POST /chats/{chat_id}/tasks`.
pub async fn create_task<C: CallerExtractor>(
    caller: C,
    path: ChatPath,
    IdempotentJson { body: CreateTaskBody(command), once, .. }: IdempotentJson<CreateTaskBody>,
    boards: web::Data<BoardService>,
) -> Result<HttpResponse, ApiError> {
    Ok(Data::created(TaskView::new(&boards.create_task(caller, path.chat, command, once).await?)))
}

/// `GET /chats/{chat_id}/tasks/{task_id}`.
pub async fn find_task<C: CallerExtractor>(
    caller: C,
    path: TaskPath,
    StrictQuery(IncludeHistory(with_history)): StrictQuery<IncludeHistory>,
    boards: web::Data<BoardService>,
) -> Result<HttpResponse, ApiError> {
    Ok(Data::ok(TaskView::found(&boards.task(caller, path.chat, path.task, with_history).await?)))
}

/// `POST /chats/{chat_id}/tasks/{task_id}`.
pub async fn change_task<C: CallerExtractor>(
    caller: C,
    path: TaskPath,
    StrictJson { body: ChangeTaskBody(changes), .. }: StrictJson<ChangeTaskBody>,
    boards: web::Data<BoardService>,
) -> Result<HttpResponse, ApiError> {
    Ok(Data::ok(TaskView::new(&boards.change_task(caller, path.chat, path.task, changes).await?)))
}

/// `GET /chats/{chat_id}/tasks/{task_id}/history`.
pub async fn task_history<C: CallerExtractor>(
    caller: C,
    path: TaskPath,
    StrictQuery(page): StrictQuery<CursorQuery>,
    boards: web::Data<BoardService>,
) -> Result<HttpResponse, ApiError> {
    let caller = caller.into();
    let scope = scope("chats/tasks/history", caller, path.chat);
    let window = page.window_or(scope.of(named(path.task)), DEFAULT_ROWS)?;
    let found = boards.task_history(caller, path.chat, path.task, window.request.clone()).await?;
    let rows = found.rows.iter().map(BoardEntryView::new).collect::<Vec<_>>();
    Ok(List::ok(rows, window.metadata(&found)))
}

fn scope(list: &str, caller: Caller, chat: ChatId) -> CursorScope {
    CursorScope::list(list).of(caller.participant().uuid()).of(chat.uuid())
}

/// A task in a scope: its id, or its number as a UUID that is no id, since the version is missing.
const fn named(task: WhichTask) -> Uuid {
    match task {
        WhichTask::Id(id) => id.uuid(),
        WhichTask::Number(number) => Uuid::from_u128(number.get() as u128),
    }
}
