//! The tables of the board's rules.

use uuid::Uuid;

use super::changes::{Applied, TaskChanges, TaskRefused, TaskTarget};
use super::goal::{Board, EmptyGoal, GoalChanges};
use super::history::{Actor, BoardAction, DropReason, Edit, GoalEdits};
use super::port::WhichTask;
use super::task::{Task, TaskCounts, TaskNumber, TaskState, TaskStatus};
use super::text::{ActiveForm, GoalSummary, GoalTitle, LinkedNativeId, TaskComment, TaskDetail, TaskSubject};
use crate::id::{AgentId, BoardTaskId, ChatId, ParticipantId};
use crate::time::Timestamp;

fn actor(number: u128) -> Actor {
    let id = ParticipantId::Agent(AgentId::new(Uuid::from_u128(number)));
    Actor { id, name: format!("Agent {number}"), handle: format!("ann/{number}") }
}

fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros)
}

fn task() -> Task {
    Task {
        id: BoardTaskId::new(Uuid::from_u128(1)),
        chat: ChatId::new(Uuid::from_u128(2)),
        number: TaskNumber::new(1),
        subject: "subject".to_owned(),
        detail: String::new(),
        state: TaskState::Active,
        status: TaskStatus::Pending,
        assignments: Vec::new(),
        created_by: actor(9),
        superseded_by: None,
        started_at: None,
        completed_at: None,
        created_at: at(1),
        updated_at: at(1),
    }
}

fn status(status: TaskStatus) -> TaskChanges {
    TaskChanges { status: Some(status), ..TaskChanges::default() }
}

fn state(target: TaskTarget) -> TaskChanges {
    TaskChanges { state: Some(target), ..TaskChanges::default() }
}

fn form(text: &str) -> TaskChanges {
    TaskChanges { active_form: Some(ActiveForm::new(text.to_owned()).unwrap()), ..TaskChanges::default() }
}

fn linked(text: &str) -> LinkedNativeId {
    LinkedNativeId::new(text.to_owned()).unwrap()
}

fn applied(task: Task, changes: &TaskChanges, by: u128, now: i64) -> Applied {
    task.changed(changes, &actor(by), at(now)).unwrap()
}

fn actions(applied: &Applied) -> Vec<BoardAction> {
    applied.entries.iter().map(|entry| entry.action.clone()).collect()
}

#[test]
fn the_overall_status_follows_from_the_assignments() {
    use TaskStatus::{Blocked, Completed, Failed, InProgress, InReview, Pending};
    let table: [(&[TaskStatus], TaskStatus); 13] = [
        (&[], Pending),
        (&[Pending], Pending),
        (&[Pending, Completed], InProgress),
        (&[InProgress, Completed], InProgress),
        (&[InProgress, Blocked], Blocked),
        (&[Failed, Blocked], Blocked),
        (&[Failed, InProgress], Failed),
        (&[Completed, InReview], InReview),
        (&[InReview, InReview], InReview),
        (&[Pending, InReview], InProgress),
        (&[Pending, InReview, Completed], InProgress),
        (&[Completed, Completed], Completed),
        (&[Completed, Failed, Pending], Failed),
    ];
    for (statuses, overall) in table {
        assert_eq!(TaskStatus::roll_up(statuses.iter().copied()), overall, "{statuses:?}");
        assert_eq!(TaskStatus::roll_up(statuses.iter().rev().copied()), overall, "{statuses:?}, reversed");
        // The same by writes.
        let task = (1..)
            .zip(statuses)
            .fold(task(), |task, (by, report)| applied(task, &status(*report), by, 5).task);
        assert_eq!((task.status, task.assignments.len()), (overall, statuses.len()));
    }
}

#[test]
fn every_step_of_the_lifecycle_is_possible_or_refused() {
    use TaskState::{Active, Archived, Cancelled, Superseded};
    let same = |state| Ok((state, None));
    let to = |state, action| Ok((state, Some(action)));
    let table = [
        (Active, TaskTarget::Active, same(Active)),
        (Active, TaskTarget::Cancelled, to(Cancelled, BoardAction::Cancelled)),
        (Active, TaskTarget::Archived, to(Archived, BoardAction::Archived)),
        (Archived, TaskTarget::Active, to(Active, BoardAction::Unarchived)),
        (Archived, TaskTarget::Cancelled, Err(())),
        (Archived, TaskTarget::Archived, same(Archived)),
        (Cancelled, TaskTarget::Active, Err(())),
        (Cancelled, TaskTarget::Cancelled, same(Cancelled)),
        (Cancelled, TaskTarget::Archived, Err(())),
        (Superseded, TaskTarget::Active, Err(())),
        (Superseded, TaskTarget::Cancelled, Err(())),
        (Superseded, TaskTarget::Archived, Err(())),
    ];
    for (from, target, expected) in table {
        let done = Task { state: from, ..task() }.changed(&state(target), &actor(1), at(5));
        match expected {
            Ok((state, action)) => {
                let done = done.unwrap();
                assert_eq!((done.task.state, actions(&done)), (state, action.clone().into_iter().collect()));
                assert_eq!(done.has_changed, action.is_some(), "{from:?} {target:?}");
                assert_eq!(done.task.updated_at, at(if action.is_some() { 5 } else { 1 }));
            }
            Err(()) => assert_eq!(done.unwrap_err(), TaskRefused::InvalidTransition { from, to: target }),
        }
    }
}

#[test]
fn only_active_tasks_are_worked_on_edited_or_commented() {
    let changes = [
        status(TaskStatus::Completed),
        form("x"),
        TaskChanges { linked_native_id: Some(linked("x")), ..TaskChanges::default() },
        TaskChanges { comment: Some(TaskComment::new("x".to_owned()).unwrap()), ..TaskChanges::default() },
        TaskChanges { subject: Some(TaskSubject::new("x".to_owned()).unwrap()), ..TaskChanges::default() },
        TaskChanges { detail: Some(TaskDetail::new("x".to_owned()).unwrap()), ..TaskChanges::default() },
    ];
    for changes in changes {
        for away in [TaskState::Archived, TaskState::Cancelled, TaskState::Superseded] {
            let away = Task { state: away, ..task() };
            for target in [None, Some(TaskTarget::Archived), Some(TaskTarget::Cancelled)] {
                let both = TaskChanges { state: target, ..changes.clone() };
                let refused = away.clone().changed(&both, &actor(1), at(5)).unwrap_err();
                assert_eq!(refused, TaskRefused::NotActive);
            }
        }
        let archived = Task { state: TaskState::Archived, ..task() };
        let restored = applied(archived, &TaskChanges { state: Some(TaskTarget::Active), ..changes }, 1, 5);
        assert_eq!((restored.task.state, restored.entries.len()), (TaskState::Active, 2));
    }
}

#[test]
fn one_call_is_recorded_in_the_order_of_its_effects() {
    let everything = TaskChanges {
        status: Some(TaskStatus::Completed),
        active_form: Some(ActiveForm::new("finishing".to_owned()).unwrap()),
        linked_native_id: Some(linked("native")),
        comment: Some(TaskComment::new("done".to_owned()).unwrap()),
        subject: Some(TaskSubject::new("other".to_owned()).unwrap()),
        detail: Some(TaskDetail::new("more".to_owned()).unwrap()),
        state: Some(TaskTarget::Archived),
    };
    let done = applied(task(), &everything, 1, 5);
    assert_eq!(
        actions(&done),
        [
            BoardAction::Edited {
                subject: Some(Edit { from: "subject".to_owned(), to: "other".to_owned() }),
                detail: Some(Edit { from: String::new(), to: "more".to_owned() }),
            },
            BoardAction::StatusChanged {
                from: None,
                to: TaskStatus::Completed,
                linked_native_id: Some("native".to_owned()),
            },
            BoardAction::Commented { text: "done".to_owned() },
            BoardAction::Archived,
        ]
    );
    assert!(done.entries.iter().all(|entry| entry.at == at(5) && entry.actor == actor(1)));
    let task = done.task;
    assert_eq!(
        (task.state, task.status, task.completed_at),
        (TaskState::Archived, TaskStatus::Completed, Some(at(5)))
    );
    assert_eq!(task.assignments[0].active_form, "finishing");
    let again = TaskChanges {
        state: Some(TaskTarget::Active),
        status: Some(TaskStatus::InProgress),
        ..TaskChanges::default()
    };
    let again = applied(task, &again, 1, 6);
    assert_eq!(
        actions(&again),
        [
            BoardAction::Unarchived,
            BoardAction::StatusChanged {
                from: Some(TaskStatus::Completed),
                to: TaskStatus::InProgress,
                linked_native_id: None
            },
        ]
    );
}

#[test]
fn the_first_report_joins() {
    let joined = |changes: &TaskChanges| applied(task(), changes, 1, 5).task.assignments[0].status;
    assert_eq!(joined(&status(TaskStatus::InReview)), TaskStatus::InReview);
    assert_eq!(joined(&form("reading")), TaskStatus::InProgress);
    assert_eq!(joined(&form("")), TaskStatus::Pending);
    assert_eq!(
        joined(&TaskChanges { linked_native_id: Some(linked("x")), ..TaskChanges::default() }),
        TaskStatus::Pending
    );
    let comment =
        TaskChanges { comment: Some(TaskComment::new("x".to_owned()).unwrap()), ..TaskChanges::default() };
    assert!(applied(task(), &comment, 1, 5).task.assignments.is_empty(), "a comment joins nobody");
}

#[test]
fn a_report_changes_only_what_it_says() {
    let first = applied(task(), &status(TaskStatus::InProgress), 1, 5).task;
    let two = applied(first, &form("reading"), 2, 6).task;
    // The sentence stays when the status changes, and is not in the history.
    let blocked = applied(two.clone(), &status(TaskStatus::Blocked), 2, 7);
    assert_eq!(blocked.task.assignments[1].active_form, "reading");
    assert_eq!(blocked.task.assignments[0], two.assignments[0]);
    let busy = applied(two.clone(), &form("writing"), 2, 7);
    assert!(busy.entries.is_empty() && busy.has_changed);
    assert_eq!(busy.task.updated_at, at(7));
    // The same again only moves the time of the report.
    let same = applied(two.clone(), &status(TaskStatus::InProgress), 1, 8);
    assert!(same.entries.is_empty() && !same.has_changed);
    assert_eq!((same.task.updated_at, same.task.assignments[0].updated_at), (at(6), at(8)));
    // An id alone is recorded, with a status that stays.
    let id = TaskChanges { linked_native_id: Some(linked("x")), ..TaskChanges::default() };
    let named = applied(two, &id, 1, 8);
    let (from, to) = (Some(TaskStatus::InProgress), TaskStatus::InProgress);
    let action = BoardAction::StatusChanged { from, to, linked_native_id: Some("x".to_owned()) };
    assert_eq!(actions(&named), [action]);
    assert!(applied(named.task, &id, 1, 9).entries.is_empty());
}

#[test]
fn a_task_starts_once_and_is_completed_as_long_as_it_is() {
    let mut task = task();
    let steps = [
        (TaskStatus::Pending, None, None),
        (TaskStatus::Completed, Some(6), Some(6)),
        (TaskStatus::Completed, Some(6), Some(6)),
        (TaskStatus::InProgress, Some(6), None),
        (TaskStatus::Pending, Some(6), None),
        (TaskStatus::Completed, Some(6), Some(10)),
    ];
    for (now, (report, started, completed)) in (5..).zip(steps) {
        task = applied(task, &status(report), 1, now).task;
        assert_eq!((task.started_at, task.completed_at), (started.map(at), completed.map(at)), "{now}");
    }
}

#[test]
fn times_never_go_back() {
    let task = Task { updated_at: at(10), ..task() };
    let done = applied(task, &status(TaskStatus::Pending), 1, 5);
    assert_eq!((done.task.updated_at, done.entries[0].at), (at(10), at(10)));
}

#[test]
fn only_active_tasks_are_superseded() {
    let by = BoardTaskId::new(Uuid::from_u128(7));
    let mut old = applied(task(), &status(TaskStatus::Blocked), 1, 5).task;
    let entry = old.supersede(by, actor(2), at(6)).unwrap();
    assert_eq!((entry.action, entry.at), (BoardAction::Superseded { by }, at(6)));
    assert_eq!((old.state, old.superseded_by, old.updated_at), (TaskState::Superseded, Some(by), at(6)));
    assert_eq!((old.status, old.assignments.len()), (TaskStatus::Blocked, 1));
    assert_eq!(old.supersede(by, actor(2), at(7)), None);
}

#[test]
fn who_leaves_keeps_no_open_assignment() {
    let mut busy = applied(task(), &status(TaskStatus::Blocked), 1, 5).task;
    busy = applied(busy, &status(TaskStatus::Completed), 2, 5).task;
    let mut left = busy.clone();
    let entry = left.drop_assignee(&actor(1), DropReason::Left, at(6)).unwrap();
    assert_eq!((entry.action, entry.actor), (BoardAction::Dropped { reason: DropReason::Left }, actor(1)));
    assert_eq!(
        (left.status, left.completed_at, left.assignments.len()),
        (TaskStatus::Completed, Some(at(6)), 1)
    );
    assert_eq!(left.drop_assignee(&actor(2), DropReason::Removed, at(7)), None, "completed ones stay");
    assert_eq!(left.drop_assignee(&actor(1), DropReason::Removed, at(7)), None);
    let mut away = Task { state: TaskState::Archived, ..busy };
    assert_eq!(away.drop_assignee(&actor(1), DropReason::Deleted, at(6)), None);
}

#[test]
fn a_goal_is_set_once_and_edited_later() {
    let mut board = Board::empty(task().chat);
    let title = |text: &str| Some(GoalTitle::new(text.to_owned()).unwrap());
    let summary = |text: &str| Some(GoalSummary::new(text.to_owned()).unwrap());
    let edit = |from: Option<&str>, to: Option<&str>| {
        Some(Edit { from: from.map(str::to_owned), to: to.map(str::to_owned) })
    };
    let nothing = GoalChanges { title: None, summary: summary("") };
    assert_eq!(board.set_goal(&nothing, actor(1), at(5)), Ok(None));
    assert_eq!(board, Board::empty(task().chat));
    let first = GoalChanges { title: title("ship"), summary: None };
    let set = board.set_goal(&first, actor(1), at(5)).unwrap().unwrap();
    assert_eq!(
        set.action,
        BoardAction::GoalSet(GoalEdits { title: edit(None, Some("ship")), summary: None })
    );
    let more = GoalChanges { title: title("ship"), summary: summary("soon") };
    let edited = board.set_goal(&more, actor(2), at(6)).unwrap().unwrap();
    assert_eq!(
        edited.action,
        BoardAction::GoalEdited(GoalEdits { title: None, summary: edit(None, Some("soon")) })
    );
    assert_eq!(board.set_goal(&more, actor(3), at(7)), Ok(None));
    assert_eq!((board.created_by.clone(), board.updated_by.clone()), (Some(actor(1)), Some(actor(2))));
    assert_eq!((board.created_at, board.updated_at), (Some(at(5)), Some(at(6))));
    let cleared = board.set_goal(&nothing, actor(2), at(8)).unwrap().unwrap();
    assert_eq!(
        cleared.action,
        BoardAction::GoalEdited(GoalEdits { title: None, summary: edit(Some("soon"), None) })
    );
    assert_eq!(board.summary, None);
}

#[test]
fn a_goal_keeps_a_title_or_a_summary() {
    let summary =
        |text: &str| GoalChanges { title: None, summary: Some(GoalSummary::new(text.to_owned()).unwrap()) };
    let mut board = Board::empty(task().chat);
    board.set_goal(&summary("soon"), actor(1), at(5)).unwrap().unwrap();
    let before = board.clone();
    assert_eq!(board.set_goal(&summary(""), actor(2), at(6)), Err(EmptyGoal));
    assert_eq!(board, before);
    let both = GoalChanges { title: Some(GoalTitle::new("ship".to_owned()).unwrap()), ..summary("") };
    board.set_goal(&both, actor(2), at(6)).unwrap().unwrap();
    assert_eq!((board.title.as_deref(), board.summary), (Some("ship"), None));
}

#[test]
fn a_task_is_named_by_its_id_or_a_plain_number() {
    let id = "0190C5A4-0000-7000-8000-000000000001";
    assert_eq!(WhichTask::parse(id), Some(WhichTask::Id(BoardTaskId::parse(id).unwrap())));
    for (text, number) in [("1", 1), ("10", 10), ("4294967295", u32::MAX)] {
        assert_eq!(WhichTask::parse(text), Some(WhichTask::Number(TaskNumber::new(number))));
    }
    for text in ["", "0", "01", "-1", "+1", "1.0", "#1", "%231", " 1", "1 ", "4294967296", "x", "١"] {
        assert_eq!(WhichTask::parse(text), None, "{text:?}");
    }
}

#[test]
fn counts_move_with_the_overall_status() {
    let moved = TaskCounts::moved;
    assert_eq!(moved(None, None), None);
    assert_eq!(moved(Some(TaskStatus::Failed), Some(TaskStatus::Failed)), None);
    assert_eq!(moved(None, Some(TaskStatus::Pending)), Some([1, 0, 0, 0, 0, 0]));
    assert_eq!(moved(Some(TaskStatus::Pending), Some(TaskStatus::Completed)), Some([-1, 0, 0, 0, 0, 1]));
    assert_eq!(moved(Some(TaskStatus::InReview), None), Some([0, 0, 0, -1, 0, 0]));
    let counts = TaskCounts::of([1, 2, 3, 4, 5, 6]);
    assert_eq!((counts.pending, counts.in_progress, counts.blocked), (1, 2, 3));
    assert_eq!((counts.in_review, counts.failed, counts.completed), (4, 5, 6));
}

#[test]
fn stored_actions_are_read_back() {
    let by = BoardTaskId::new(Uuid::from_u128(7));
    let edit = |from: &str| Some(Edit { from: from.to_owned(), to: "b".to_owned() });
    let all = [
        BoardAction::Created { subject: "a".to_owned(), detail: String::new(), supersedes: Some(by) },
        BoardAction::Edited { subject: edit("a"), detail: None },
        BoardAction::StatusChanged { from: None, to: TaskStatus::InReview, linked_native_id: None },
        BoardAction::Commented { text: "\u{1} \"".to_owned() },
        BoardAction::Dropped { reason: DropReason::Deleted },
        BoardAction::Cancelled,
        BoardAction::Archived,
        BoardAction::Unarchived,
        BoardAction::Superseded { by },
        BoardAction::GoalSet(GoalEdits {
            title: Some(Edit { from: None, to: Some("b".to_owned()) }),
            summary: None,
        }),
        BoardAction::GoalEdited(GoalEdits {
            title: None,
            summary: Some(Edit { from: Some("a".to_owned()), to: None }),
        }),
    ];
    for action in all {
        let text = serde_json::to_string(&action).unwrap();
        assert_eq!(serde_json::from_str::<BoardAction>(&text).unwrap(), action, "{text}");
    }
}
