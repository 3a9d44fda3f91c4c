//! Boards, tasks, and their histories.

use domain::board::{
    BoardRepository, ChangeTask, CreateTask, NewTask, TaskChanges, TaskDetail, TaskFilter, TaskState,
    TaskStatus, TaskSubject, WhichTask,
};
use domain::chat::{ChatParts, ChatRepository, ParticipantRepository, RemoveParticipant};
use domain::id::{BoardTaskId, ParticipantId};
use domain::store::OnCommit;
use domain::time::Timestamp;
use testkit::NOON;
use uuid::Uuid;

use super::{FIRST, Overheard, after};

const TASKS: &str = "sqlite_autoindex_tasks_1";
const ENTRIES: &str = "sqlite_autoindex_board_entries_1";
const BOARDS: &str = "sqlite_autoindex_boards_1";

#[tokio::test]
async fn boards_are_read_and_written_along_indexes() {
    let mut heard = Overheard::open();
    let ann = heard.world.user("ann").await;
    let bot = heard.world.agent(&ann, "Bot").await;
    let chat = heard.world.chat(ann.caller, &[bot.id.into()]).await;
    let (subject, detail) = (TaskSubject::new("x".to_owned()), TaskDetail::new(String::new()));
    let (subject, detail) = (subject.unwrap(), detail.unwrap());
    let command = CreateTask { subject: subject.clone(), detail: detail.clone(), supersedes: None };
    let task = heard.world.boards.create_task(ann.caller, chat, command, None).await.unwrap();
    heard.statements.lock().unwrap().clear();
    let (store, viewer, now) =
        (heard.store.clone(), ParticipantId::User(ann.id), Timestamp::from_micros(NOON));

    for page in [FIRST, after(0)] {
        store.tasks(viewer, chat, TaskFilter::All, page.clone()).await.unwrap().unwrap();
        heard.expect("all tasks", &[TASKS]);
        store.tasks(viewer, chat, TaskFilter::In(TaskState::Archived), page.clone()).await.unwrap().unwrap();
        heard.expect("archived tasks", &["tasks_by_state"]);
        store.task_history(viewer, chat, WhichTask::Id(task.id), page).await.unwrap().unwrap();
        heard.expect("a history", &["tasks_by_id", ENTRIES]);
    }
    store.board(viewer, chat, true).await.unwrap().unwrap();
    heard.expect("a board", &[BOARDS, ENTRIES]);
    store.task(viewer, chat, WhichTask::Number(task.number), true).await.unwrap().unwrap();
    heard.expect("a task", &[TASKS, ENTRIES]);
    store
        .find_with_details(ann.id, chat, ChatParts { details: true, ..ChatParts::default() }, false)
        .await
        .unwrap()
        .unwrap();
    heard.expect("a room", &[BOARDS]);

    let new = NewTask {
        id: BoardTaskId::new(Uuid::from_u128(7)),
        chat,
        by: ann.caller.into(),
        subject,
        detail,
        supersedes: Some(WhichTask::Number(task.number)),
        max_tasks: 9,
        keyed: None,
        now,
    };
    let created = store.create_task(new, OnCommit::nothing()).await.unwrap().unwrap().task;
    heard.expect("create", &[TASKS, BOARDS]);
    let changes = TaskChanges { status: Some(TaskStatus::Blocked), ..TaskChanges::default() };
    let command = ChangeTask { chat, by: bot.caller.into(), task: WhichTask::Id(created.id), changes, now };
    store.change_task(command, OnCommit::nothing()).await.unwrap().unwrap();
    heard.expect("change", &["tasks_by_id", TASKS, BOARDS]);
    let leave = RemoveParticipant { chat, by: bot.caller.into(), target: bot.id.into(), now };
    let left = store.remove_participant(leave, OnCommit::nothing()).await.unwrap().unwrap();
    assert_eq!(left.dropped.len(), 1);
    heard.expect("leave", &["tasks_by_state", BOARDS]);
    heard.world.accounts.delete_agent(ann.caller, bot.id, true).await.unwrap();
    heard.expect_no_table_scans("delete an agent");
    heard.world.chats.delete(ann.caller, chat).await.unwrap();
    heard.expect("delete the room", &[BOARDS]);
    for index in [ENTRIES, TASKS, BOARDS] {
        assert!(store.erase_deleted(100).await.unwrap());
        heard.expect("erase its board", &["boards_deleted", index]);
    }
}
