//! Rules of tasks as the stores apply them, one by one.

use std::time::Duration;

use domain::board::{
    BoardAction, BoardError, ChangeTaskError, CreateTask, CreateTaskError, SetGoalError, Task, TaskChanges,
    TaskComment, TaskCounts, TaskDetail, TaskFilter, TaskNumber, TaskRefused, TaskState, TaskStatus,
    TaskSubject, TaskTarget,
};
use domain::chat::{ChatParts, Role};
use domain::id::{AccountId, ChatId, ParticipantId};
use domain::page::{PAGE_BYTES, PageRequest, Slice};

use super::boards::goal;
use super::messages::{ann_and_bot, first};
use super::tasks::{change, comment, create, new, numbered, report, state};
use crate::{TestUser, World};

/// The overall status follows from what the assignees report, in any order.
pub async fn the_overall_status_follows_from_every_report(world: World) {
    use TaskStatus::{Blocked, Completed, Failed, InProgress, InReview, Pending};
    let ann = world.user("ann").await;
    let (one, two) = (world.agent(&ann, "One").await, world.agent(&ann, "Two").await);
    let chat = world.chat(ann.caller, &[one.id.into(), two.id.into()]).await;
    let table: [&[TaskStatus]; 10] = [
        &[],
        &[Pending],
        &[Pending, Completed],
        &[InProgress, Completed],
        &[InProgress, Blocked],
        &[Failed, Blocked],
        &[Failed, InProgress],
        &[Completed, InReview],
        &[Pending, InReview],
        &[Completed, Completed],
    ];
    for statuses in table {
        let overall = TaskStatus::roll_up(statuses.iter().copied());
        for agents in [[&one, &two], [&two, &one]] {
            let number = create(&world, ann.caller, chat, "subject").await.number;
            for (agent, status) in agents.into_iter().zip(statuses) {
                report(&world, agent.caller, chat, number, *status).await;
            }
            let read = world.boards.task(ann.caller, chat, numbered(number), false).await.unwrap().record;
            assert_eq!((read.status, read.assignments.len()), (overall, statuses.len()), "{statuses:?}");
        }
    }
    is_counted(&world, &ann, chat).await;
}

/// The room's counts are those of its list of active tasks.
async fn is_counted(world: &World, viewer: &TestUser, chat: ChatId) {
    let parts = ChatParts { details: true, ..ChatParts::default() };
    let found = world.chats.find_with_details(viewer.caller, chat, parts, false).await.unwrap();
    let active = TaskFilter::In(TaskState::Active);
    let tasks = world.boards.tasks(viewer.caller, chat, active, first(100)).await.unwrap();
    assert!(tasks.next.is_none());
    let number = |status| tasks.rows.iter().filter(|task| task.status == status).count();
    let listed = TaskStatus::ALL.map(|status| i64::try_from(number(status)).unwrap());
    assert_eq!(found.listed.details().tasks, TaskCounts::of(listed));
}

/// From each state to each: possible, without an effect, or refused.
pub async fn every_step_of_the_lifecycle_is_stored_or_refused(world: World) {
    use TaskState::{Active, Archived, Cancelled, Superseded};
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let table = [
        (Active, [Ok(None), Ok(Some(BoardAction::Cancelled)), Ok(Some(BoardAction::Archived))]),
        (Cancelled, [Err(()), Ok(None), Err(())]),
        (Archived, [Ok(Some(BoardAction::Unarchived)), Err(()), Ok(None)]),
        (Superseded, [Err(()), Err(()), Err(())]),
    ];
    for (from, ends) in table {
        for (target, end) in TaskTarget::ALL.into_iter().zip(ends) {
            let task = create(&world, ann.caller, chat, "subject").await;
            match from {
                Active => {}
                Cancelled => drop(put(&world, chat, &task, TaskTarget::Cancelled, bot.caller).await.unwrap()),
                Archived => drop(put(&world, chat, &task, TaskTarget::Archived, bot.caller).await.unwrap()),
                Superseded => {
                    let command = CreateTask { supersedes: Some(numbered(task.number)), ..new("better") };
                    world.boards.create_task(bot.caller, chat, command, None).await.unwrap();
                }
            }
            let before = world.boards.task(ann.caller, chat, numbered(task.number), true).await.unwrap();
            let done = put(&world, chat, &task, target, bot.caller).await;
            let after = world.boards.task(ann.caller, chat, numbered(task.number), true).await.unwrap();
            match end {
                Ok(Some(action)) => {
                    assert_eq!(done.unwrap(), after.record);
                    assert_eq!(after.record.state.as_str(), target.as_str());
                    assert_eq!(after.history.unwrap().entries.pop().unwrap().action, action);
                }
                Ok(None) => assert_eq!((done.unwrap(), &after), (before.record.clone(), &before)),
                Err(()) => {
                    let refused = done.unwrap_err();
                    let expected = TaskRefused::InvalidTransition { from, to: target };
                    assert!(
                        matches!(refused, ChangeTaskError::Refused(why) if why == expected),
                        "{refused:?}"
                    );
                    assert_eq!(after, before);
                }
            }
            is_counted(&world, &ann, chat).await;
        }
    }
}

async fn put(
    world: &World,
    chat: ChatId,
    task: &Task,
    target: TaskTarget,
    by: impl Into<domain::caller::Caller>,
) -> Result<Task, ChangeTaskError> {
    change(world, by, chat, task.number, state(target)).await
}

/// Any participant may change the task of another; whoever was removed finds nothing.
pub async fn tasks_belong_to_the_room(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let other = world.agent(&ann, "Other").await;
    world.add(ann.caller, chat, other.id.into(), Role::Member).await;
    let [one, two] = ["one", "two"].map(|subject| create(&world, bot.caller, chat, subject));
    let (one, two) = (one.await, two.await);
    let subject = Some(TaskSubject::new("better".to_owned()).unwrap());
    change(&world, other.caller, chat, one.number, TaskChanges { subject, ..TaskChanges::default() })
        .await
        .unwrap();
    put(&world, chat, &one, TaskTarget::Cancelled, other.caller).await.unwrap();
    put(&world, chat, &two, TaskTarget::Archived, other.caller).await.unwrap();
    for (task, changes) in [(&one, 2), (&two, 1)] {
        let page = world.boards.task_history(ann.caller, chat, numbered(task.number), first(100)).await;
        let actors = page.unwrap().rows.into_iter().map(|entry| entry.actor.id).collect::<Vec<_>>();
        let own = [ParticipantId::Agent(other.id)].repeat(changes);
        assert_eq!(actors, [vec![ParticipantId::Agent(bot.id)], own].concat());
    }
    world.chats.remove_participant(ann.caller, chat, AccountId::from(other.id)).await.unwrap();
    finds_no_board(&world, other.caller, chat, two.number).await;
    world.chats.delete(ann.caller, chat).await.unwrap();
    finds_no_board(&world, ann.caller, chat, two.number).await;
    finds_no_board(&world, bot.caller, chat, two.number).await;
}

/// All seven operations find nothing.
pub(super) async fn finds_no_board(
    world: &World,
    by: impl Into<domain::caller::Caller>,
    chat: ChatId,
    number: TaskNumber,
) {
    let (by, boards, page) = (by.into(), &world.boards, first(50));
    assert!(matches!(boards.board(by, chat, false).await, Err(BoardError::NotFound)));
    let set = boards.set_goal(by, chat, goal(Some("x"), None)).await;
    assert!(matches!(set, Err(SetGoalError::NotFound)), "{set:?}");
    let listed = boards.tasks(by, chat, TaskFilter::All, page.clone()).await;
    assert!(matches!(listed, Err(BoardError::NotFound)), "{listed:?}");
    let created = boards.create_task(by, chat, new("x"), None).await;
    assert!(matches!(created, Err(CreateTaskError::NotFound)), "{created:?}");
    let read = boards.task(by, chat, numbered(number), true).await;
    assert!(matches!(read, Err(BoardError::NotFound)), "{read:?}");
    let changed = change(world, by, chat, number, comment("x")).await;
    assert!(matches!(changed, Err(ChangeTaskError::NotFound)), "{changed:?}");
    let history = boards.task_history(by, chat, numbered(number), page).await;
    assert!(matches!(history, Err(BoardError::NotFound)), "{history:?}");
}

/// In characters, not in bytes; what is added while a reader walks is found.
pub async fn long_texts_and_growing_histories_are_read_whole(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let subject = TaskSubject::new("\u{1F600}".repeat(TaskSubject::MAX_CHARS)).unwrap();
    let detail = TaskDetail::new("\u{1F600}".repeat(TaskDetail::MAX_CHARS)).unwrap();
    let command = CreateTask { subject, detail, supersedes: None };
    let task = world.boards.create_task(bot.caller, chat, command, None).await.unwrap();
    let read = world.boards.task(ann.caller, chat, numbered(task.number), false).await.unwrap().record;
    assert_eq!((read.subject.chars().count(), read.detail.chars().count()), (500, 20_000));
    assert_eq!(read, task);
    let (mut seen, mut after, mut added) = (0, None, 0);
    loop {
        if added < 5 {
            added += 1;
            change(&world, bot.caller, chat, task.number, comment(&added.to_string())).await.unwrap();
        }
        let page = PageRequest { slice: Slice::After { after, limit: 1 }, count: false };
        let page = world.boards.task_history(ann.caller, chat, numbered(task.number), page).await.unwrap();
        seen += page.rows.len();
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, 1 + 5);
}

/// An embedded history is as large as a page at most, and ends with the newest entry.
pub async fn an_embedded_history_is_bounded_in_bytes(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let task = create(&world, bot.caller, chat, "subject").await;
    // Six bytes each in JSON.
    let text = "\u{1}".repeat(TaskComment::MAX_CHARS - 2);
    for number in 10..40 {
        change(&world, bot.caller, chat, task.number, comment(&format!("{text}{number}"))).await.unwrap();
    }
    let history = world.boards.task(ann.caller, chat, numbered(task.number), true).await.unwrap().history;
    let history = history.unwrap();
    assert!(history.is_truncated);
    let shown = history.entries.len();
    assert_eq!(shown, PAGE_BYTES / (6 * TaskComment::MAX_CHARS + 1_000), "{shown}");
    let last = history.entries.last().unwrap();
    assert_eq!(last.action, BoardAction::Commented { text: format!("{text}39") });
    let page = world.boards.task_history(ann.caller, chat, numbered(task.number), first(100)).await.unwrap();
    assert!(page.rows.len() < 31 && page.next.is_some(), "so is a page of the list");
}

/// The room is gone at once; its board goes in steps of a bounded size, whether or not the server has boards.
pub async fn a_board_is_erased_little_by_little(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let other = world.chat(ann.caller, &[bot.id.into()]).await;
    for room in [chat, other] {
        world.boards.set_goal(ann.caller, room, goal(Some("x"), None)).await.unwrap();
        for subject in ["one", "two", "three"] {
            create(&world, bot.caller, room, subject).await;
        }
        report(&world, bot.caller, room, TaskNumber::new(1), TaskStatus::InProgress).await;
    }
    let store = &world.stores.all;
    assert!(!store.erase_deleted(2).await.unwrap(), "no room is deleted");
    world.chats.delete(ann.caller, chat).await.unwrap();
    // Whoever is deleted later drops nothing there.
    world.clock.advance(Duration::from_micros(1));
    world.publisher.take();
    world.accounts.delete_agent(ann.caller, bot.id, true).await.unwrap();
    let dropped = world.publisher.take().into_iter().filter_map(|event| match event {
        domain::event::DomainEvent::TaskUpdated { task, .. } => Some(task.chat),
        _ => None,
    });
    assert_eq!(dropped.collect::<Vec<_>>(), [other]);
    let mut steps = 0;
    while store.erase_deleted(2).await.unwrap() {
        steps += 1;
    }
    assert_eq!(steps, 3 + 2 + 1, "for five entries, three tasks, and the board");
    for (table, rows) in super::archives::all_rows(&*world.stores.archive, 100).await {
        let left = match table.name {
            "boards" => 1,
            "tasks" => 3,
            // Those of the goal, of three tasks, of the report, and of the end of the assignment.
            "board_entries" => 6,
            _ => continue,
        };
        assert_eq!(rows.len(), left, "{}", table.name);
    }
}
