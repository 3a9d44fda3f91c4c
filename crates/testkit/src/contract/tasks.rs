//! Tasks on boards: work, lifecycle, history, and lists.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::board::{
    ActiveForm, BoardAction, BoardError, ChangeTaskError, CreateTask, CreateTaskError, Edit, LinkedNativeId,
    Task, TaskChanges, TaskComment, TaskDetail, TaskFilter, TaskNumber, TaskRefused, TaskState, TaskStatus,
    TaskSubject, TaskTarget, WhichTask,
};
use domain::caller::Caller;
use domain::chat::ChatParts;
use domain::event::DomainEvent;
use domain::id::{AccountId, BoardTaskId, ChatId, ParticipantId};
use domain::page::PAGE_BYTES;

use super::answers::once;
use super::messages::{ann_and_bot, first};
use super::operator::all;
use crate::World;

pub(super) fn new(subject: &str) -> CreateTask {
    CreateTask {
        subject: TaskSubject::new(subject.to_owned()).unwrap(),
        detail: TaskDetail::new(String::new()).unwrap(),
        supersedes: None,
    }
}

pub(super) async fn create(world: &World, by: impl Into<Caller>, chat: ChatId, subject: &str) -> Task {
    world.boards.create_task(by, chat, new(subject), None).await.unwrap()
}

pub(super) fn numbered(number: TaskNumber) -> WhichTask {
    WhichTask::Number(number)
}

pub(super) fn reported(status: TaskStatus) -> TaskChanges {
    TaskChanges { status: Some(status), ..TaskChanges::default() }
}

pub(super) fn state(target: TaskTarget) -> TaskChanges {
    TaskChanges { state: Some(target), ..TaskChanges::default() }
}

pub(super) fn comment(text: &str) -> TaskChanges {
    TaskChanges { comment: Some(TaskComment::new(text.to_owned()).unwrap()), ..TaskChanges::default() }
}

fn subject(text: &str) -> TaskSubject {
    TaskSubject::new(text.to_owned()).unwrap()
}

pub(super) async fn change(
    world: &World,
    by: impl Into<Caller>,
    chat: ChatId,
    number: TaskNumber,
    changes: TaskChanges,
) -> Result<Task, ChangeTaskError> {
    world.boards.change_task(by, chat, numbered(number), changes).await
}

pub(super) async fn report(
    world: &World,
    by: impl Into<Caller>,
    chat: ChatId,
    number: TaskNumber,
    status: TaskStatus,
) -> Task {
    world.clock.advance(Duration::from_secs(1));
    change(world, by, chat, number, reported(status)).await.unwrap()
}

async fn actions(world: &World, by: impl Into<Caller>, chat: ChatId, number: TaskNumber) -> Vec<BoardAction> {
    let page = world.boards.task_history(by, chat, numbered(number), first(100)).await.unwrap();
    page.rows.into_iter().map(|entry| entry.action).collect()
}

/// By the number, or by the id; each room counts for itself.
pub async fn tasks_are_numbered_and_found(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let other = world.chat(ann.caller, &[bot.id.into()]).await;
    world.publisher.take();
    let task = create(&world, bot.caller, chat, " subject ").await;
    assert_eq!((task.number.get(), task.subject.as_str(), task.detail.as_str()), (1, "subject", ""));
    assert_eq!((task.state, task.status), (TaskState::Active, TaskStatus::Pending));
    assert!(task.assignments.is_empty() && task.started_at.is_none() && task.completed_at.is_none());
    let by = &task.created_by;
    assert_eq!(
        (by.id, by.name.as_str(), by.handle.as_str()),
        (ParticipantId::Agent(bot.id), "Bot", "ann/bot")
    );
    let events = world.publisher.take();
    assert!(matches!(&events[..], [DomainEvent::TaskCreated { task: told }] if *told == task), "{events:?}");
    assert_eq!(
        actions(&world, ann.caller, chat, task.number).await,
        [BoardAction::Created { subject: "subject".to_owned(), detail: String::new(), supersedes: None }]
    );
    let second = create(&world, ann.caller, chat, "second").await;
    assert_eq!((second.number.get(), second.created_by.handle.as_str()), (2, "ann"));
    let elsewhere = create(&world, ann.caller, other, "elsewhere").await;
    assert_eq!(elsewhere.number.get(), 1);
    for which in [WhichTask::Id(task.id), numbered(task.number)] {
        assert_eq!(world.boards.task(ann.caller, chat, which, false).await.unwrap().record, task);
    }
    for which in [
        WhichTask::Id(elsewhere.id),
        WhichTask::Id(BoardTaskId::NIL),
        numbered(TaskNumber::new(3)),
        numbered(TaskNumber::new(u32::MAX)),
    ] {
        let missing = world.boards.task(ann.caller, chat, which, false).await;
        assert!(matches!(missing, Err(BoardError::NotFound)), "{missing:?}");
        let missing = world.boards.change_task(bot.caller, chat, which, comment("x")).await;
        assert!(matches!(missing, Err(ChangeTaskError::NotFound)), "{missing:?}");
    }
}

/// Each assignee reports for itself; the first report joins, and the overall status follows.
pub async fn assignees_report_for_themselves(world: World) {
    use TaskStatus::{Completed, InProgress, Pending};
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let other = world.agent(&ann, "Other").await;
    world.add(ann.caller, chat, other.id.into(), domain::chat::Role::Member).await;
    let task = create(&world, ann.caller, chat, "subject").await;
    let joined = report(&world, bot.caller, chat, task.number, TaskStatus::InProgress).await;
    assert_eq!((joined.status, joined.started_at), (TaskStatus::InProgress, Some(joined.updated_at)));
    let both = report(&world, other.caller, chat, task.number, TaskStatus::Completed).await;
    assert_eq!(both.assignments[0], joined.assignments[0]);
    let assignees = both.assignments.iter().map(|own| own.assignee.id).collect::<Vec<_>>();
    assert_eq!(assignees, [bot.id, other.id].map(ParticipantId::Agent));
    let done = report(&world, bot.caller, chat, task.number, TaskStatus::Completed).await;
    assert_eq!((done.status, done.completed_at), (TaskStatus::Completed, Some(done.updated_at)));
    let again = report(&world, bot.caller, chat, task.number, TaskStatus::Pending).await;
    assert_eq!((again.status, again.completed_at), (TaskStatus::InProgress, None));
    assert_eq!(again.started_at, joined.started_at);
    // The same again only moves the time of the report, and nobody hears of it.
    world.publisher.take();
    let same = report(&world, bot.caller, chat, task.number, TaskStatus::Pending).await;
    assert_eq!(
        (same.updated_at, same.assignments[1].clone()),
        (again.updated_at, again.assignments[1].clone())
    );
    assert!(same.assignments[0].updated_at > again.assignments[0].updated_at);
    assert!(world.publisher.take().is_empty());
    assert_eq!(world.boards.task(ann.caller, chat, numbered(task.number), false).await.unwrap().record, same);
    let reports = |from, to| BoardAction::StatusChanged { from, to, linked_native_id: None };
    assert_eq!(
        actions(&world, ann.caller, chat, task.number).await[1..],
        [
            reports(None, InProgress),
            reports(None, Completed),
            reports(Some(InProgress), Completed),
            reports(Some(Completed), Pending),
        ]
    );
    let changes = TaskChanges {
        active_form: Some(ActiveForm::new("reading \u{1F600}".to_owned()).unwrap()),
        linked_native_id: Some(LinkedNativeId::new("native".to_owned()).unwrap()),
        ..TaskChanges::default()
    };
    let told = change(&world, ann.caller, chat, task.number, changes).await.unwrap();
    let own = told.assignments.last().unwrap();
    assert_eq!((own.assignee.id, own.status), (ParticipantId::User(ann.id), InProgress));
    assert_eq!((own.active_form.as_str(), own.linked_native_id.as_str()), ("reading \u{1F600}", "native"));
}

/// One call is all or nothing, and its entries have an order; what is put away can only come back.
pub async fn one_call_does_all_or_nothing(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let task = create(&world, bot.caller, chat, "subject").await;
    let finish = TaskChanges { state: Some(TaskTarget::Archived), ..reported(TaskStatus::Completed) };
    world.publisher.take();
    let archived = change(&world, bot.caller, chat, task.number, finish).await.unwrap();
    assert_eq!((archived.state, archived.status), (TaskState::Archived, TaskStatus::Completed));
    assert!(archived.completed_at.is_some());
    let events = world.publisher.take();
    assert!(matches!(&events[..], [DomainEvent::TaskUpdated { has_moved: true, .. }]), "{events:?}");
    let listed =
        async |filter| world.boards.tasks(ann.caller, chat, filter, first(50)).await.unwrap().rows.len();
    assert_eq!(listed(TaskFilter::In(TaskState::Active)).await, 0);
    assert_eq!((listed(TaskFilter::In(TaskState::Archived)).await, listed(TaskFilter::All).await), (1, 1));
    let recorded = actions(&world, ann.caller, chat, task.number).await;
    assert_eq!(recorded[2], BoardAction::Archived);
    assert_eq!(recorded.len(), 3);
    let mixed =
        TaskChanges { subject: Some(subject("other")), state: Some(TaskTarget::Archived), ..comment("x") };
    for refused in [reported(TaskStatus::Failed), comment("x"), mixed] {
        let refused = change(&world, ann.caller, chat, task.number, refused).await;
        assert!(matches!(refused, Err(ChangeTaskError::Refused(TaskRefused::NotActive))), "{refused:?}");
    }
    let refused = change(&world, ann.caller, chat, task.number, state(TaskTarget::Cancelled)).await;
    assert!(
        matches!(refused, Err(ChangeTaskError::Refused(TaskRefused::InvalidTransition { .. }))),
        "{refused:?}"
    );
    assert_eq!(
        world.boards.task(ann.caller, chat, numbered(task.number), false).await.unwrap().record,
        archived
    );
    assert_eq!(actions(&world, ann.caller, chat, task.number).await, recorded);
    assert!(world.publisher.take().is_empty(), "a refused call is silent");
    let back = TaskChanges { state: Some(TaskTarget::Active), ..reported(TaskStatus::InProgress) };
    let back = change(&world, ann.caller, chat, task.number, back).await.unwrap();
    assert_eq!(
        (back.state, back.status, back.assignments.len()),
        (TaskState::Active, TaskStatus::InProgress, 2)
    );
    assert_eq!(actions(&world, ann.caller, chat, task.number).await[3], BoardAction::Unarchived);
}

/// The old task points to the new one, and its number is not used again.
pub async fn a_new_task_supersedes_an_active_one(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let other = world.chat(ann.caller, &[bot.id.into()]).await;
    let [one, two] = ["one", "two"].map(|subject| create(&world, bot.caller, chat, subject));
    let (one, two) = (one.await, two.await);
    report(&world, bot.caller, chat, one.number, TaskStatus::Blocked).await;
    let supersede = async |chat, which: WhichTask| {
        let command = CreateTask { supersedes: Some(which), ..new("better") };
        world.boards.create_task(ann.caller, chat, command, None).await
    };
    world.publisher.take();
    let three = supersede(chat, numbered(one.number)).await.unwrap();
    let events = world.publisher.take();
    let [DomainEvent::TaskUpdated { task: old, .. }, DomainEvent::TaskCreated { task: told }] = &events[..]
    else {
        panic!("{events:?}")
    };
    assert_eq!((told, three.number.get()), (&three, 3));
    assert_eq!(
        (old.state, old.superseded_by, old.status),
        (TaskState::Superseded, Some(three.id), TaskStatus::Blocked)
    );
    assert_eq!(old.assignments.len(), 1);
    assert_eq!(&world.boards.task(bot.caller, chat, numbered(one.number), false).await.unwrap().record, old);
    let last = actions(&world, ann.caller, chat, one.number).await.pop();
    assert_eq!(last, Some(BoardAction::Superseded { by: three.id }));
    assert!(matches!(
        &actions(&world, ann.caller, chat, three.number).await[..],
        [BoardAction::Created { supersedes: Some(id), .. }] if *id == one.id
    ));
    assert_eq!(supersede(chat, WhichTask::Id(two.id)).await.unwrap().number.get(), 4);
    for which in [numbered(one.number), WhichTask::Id(two.id)] {
        let refused = supersede(chat, which).await;
        assert!(matches!(refused, Err(CreateTaskError::SupersededNotActive)), "{refused:?}");
    }
    for which in [WhichTask::Id(three.id), numbered(TaskNumber::new(1))] {
        let refused = supersede(other, which).await;
        assert!(matches!(refused, Err(CreateTaskError::SupersededNotFound)), "{refused:?}");
    }
    assert_eq!(create(&world, bot.caller, chat, "five").await.number.get(), 5);
}

/// With exactly the fields that differ; nothing if none does.
pub async fn edits_and_comments_are_recorded(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let task = create(&world, bot.caller, chat, "subject").await;
    let detail = |text: &str| Some(TaskDetail::new(text.to_owned()).unwrap());
    let edit =
        TaskChanges { subject: Some(subject("better")), detail: detail("more"), ..TaskChanges::default() };
    let edited = change(&world, ann.caller, chat, task.number, edit.clone()).await.unwrap();
    assert_eq!((edited.subject.as_str(), edited.detail.as_str()), ("better", "more"));
    world.publisher.take();
    change(&world, bot.caller, chat, task.number, edit).await.unwrap();
    assert!(world.publisher.take().is_empty());
    let half = TaskChanges { subject: Some(subject("better")), detail: detail(""), ..TaskChanges::default() };
    change(&world, bot.caller, chat, task.number, half).await.unwrap();
    world.clock.advance(Duration::from_secs(1));
    let commented = change(&world, ann.caller, chat, task.number, comment(" \u{1} \"why\"? ")).await.unwrap();
    assert!(commented.assignments.is_empty() && commented.updated_at > edited.updated_at);
    let from = |from: &str, to: &str| Some(Edit { from: from.to_owned(), to: to.to_owned() });
    assert_eq!(
        actions(&world, ann.caller, chat, task.number).await[1..],
        [
            BoardAction::Edited { subject: from("subject", "better"), detail: from("", "more") },
            BoardAction::Edited { subject: None, detail: from("more", "") },
            BoardAction::Commented { text: " \u{1} \"why\"? ".to_owned() },
        ]
    );
}

/// The newest hundred with the task, all of them in the list.
pub async fn histories_are_embedded_and_listed(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let task = create(&world, bot.caller, chat, "subject").await;
    for number in 1..100 {
        change(&world, bot.caller, chat, task.number, comment(&number.to_string())).await.unwrap();
    }
    let embedded = async || {
        world.boards.task(ann.caller, chat, numbered(task.number), true).await.unwrap().history.unwrap()
    };
    let history = embedded().await;
    assert_eq!((history.entries.len(), history.is_truncated), (100, false));
    assert!(matches!(history.entries[0].action, BoardAction::Created { .. }));
    change(&world, bot.caller, chat, task.number, comment("100")).await.unwrap();
    let history = embedded().await;
    assert_eq!((history.entries.len(), history.is_truncated), (100, true));
    assert_eq!(history.entries[0].action, BoardAction::Commented { text: "1".to_owned() });
    assert_eq!(history.entries[99].action, BoardAction::Commented { text: "100".to_owned() });
    assert!(
        world.boards.task(ann.caller, chat, numbered(task.number), false).await.unwrap().history.is_none()
    );
    for limit in [1, 50, 100] {
        let seen = all(limit, async |page| {
            world.boards.task_history(ann.caller, chat, WhichTask::Id(task.id), page).await
        })
        .await;
        assert_eq!(seen[1..], history.entries, "limit {limit}");
    }
}

/// By number, narrowed by state; heavy ones end a page early.
pub async fn tasks_are_listed_by_number(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let nothing = world.boards.tasks(bot.caller, chat, TaskFilter::All, first(50)).await.unwrap();
    assert!(nothing.rows.is_empty() && nothing.next.is_none());
    for number in 1..=7 {
        create(&world, ann.caller, chat, &number.to_string()).await;
    }
    for (number, target) in [(2, TaskTarget::Archived), (4, TaskTarget::Archived), (5, TaskTarget::Cancelled)]
    {
        change(&world, bot.caller, chat, TaskNumber::new(number), state(target)).await.unwrap();
    }
    let command = CreateTask { supersedes: Some(numbered(TaskNumber::new(1))), ..new("8") };
    world.boards.create_task(bot.caller, chat, command, None).await.unwrap();
    let listed = async |filter, limit| {
        let tasks = all(limit, async |page| world.boards.tasks(ann.caller, chat, filter, page).await).await;
        tasks.iter().map(|task| task.number.get()).collect::<Vec<_>>()
    };
    for limit in [1, 2, 100] {
        assert_eq!(listed(TaskFilter::In(TaskState::Active), limit).await, [3, 6, 7, 8]);
        assert_eq!(listed(TaskFilter::In(TaskState::Archived), limit).await, [2, 4]);
        assert_eq!(listed(TaskFilter::In(TaskState::Cancelled), limit).await, [5]);
        assert_eq!(listed(TaskFilter::In(TaskState::Superseded), limit).await, [1]);
        assert_eq!(listed(TaskFilter::All, limit).await, [1, 2, 3, 4, 5, 6, 7, 8]);
    }
    let heavy = world.chat(ann.caller, &[]).await;
    for _ in 0..20 {
        let detail = TaskDetail::new("\u{1}".repeat(TaskDetail::MAX_CHARS)).unwrap();
        let command = CreateTask { detail, ..new("heavy") };
        world.boards.create_task(ann.caller, heavy, command, None).await.unwrap();
    }
    let page = world.boards.tasks(ann.caller, heavy, TaskFilter::All, first(50)).await.unwrap();
    let each = 6 * TaskDetail::MAX_CHARS;
    assert_eq!(page.rows.len(), PAGE_BYTES / (each + 1_000));
    assert_eq!(page.next.map(|next| next.key), Some(i64::try_from(page.rows.len()).unwrap()));
}

/// Twenty at once make twenty tasks, join twenty times, and supersede once.
pub async fn writers_at_the_same_moment_lose_nothing(world: World) {
    let ann = world.user("ann").await;
    let mut agents = Vec::new();
    for number in 0..20 {
        agents.push(world.agent(&ann, &format!("Bot {number}")).await);
    }
    let members = agents.iter().map(|agent| agent.id.into()).collect::<Vec<AccountId>>();
    let chat = world.chat(ann.caller, &members).await;
    let creating = agents.iter().map(|agent| {
        let (boards, caller) = (world.boards.clone(), agent.caller);
        tokio::spawn(async move { boards.create_task(caller, chat, new("same"), None).await.unwrap() })
    });
    let mut numbers = BTreeSet::new();
    for created in creating.collect::<Vec<_>>() {
        numbers.insert(created.await.unwrap().number.get());
    }
    assert_eq!(numbers, (1..=20).collect());

    world.publisher.take();
    let joining = agents.iter().map(|agent| {
        let (boards, caller) = (world.boards.clone(), agent.caller);
        let (which, changes) = (numbered(TaskNumber::new(1)), reported(TaskStatus::Completed));
        tokio::spawn(async move { boards.change_task(caller, chat, which, changes).await.unwrap() })
    });
    for joined in joining.collect::<Vec<_>>() {
        joined.await.unwrap();
    }
    let task = world.boards.task(ann.caller, chat, numbered(TaskNumber::new(1)), true).await.unwrap();
    assert_eq!((task.record.assignments.len(), task.record.status), (20, TaskStatus::Completed));
    assert_eq!(task.history.unwrap().entries.len(), 21);
    // Events are in the order of the commits.
    let heard = world.publisher.take().into_iter().map(|event| match event {
        DomainEvent::TaskUpdated { task, .. } => task.assignments.len(),
        event => panic!("{event:?}"),
    });
    assert_eq!(heard.collect::<Vec<_>>(), (1..=20).collect::<Vec<_>>());

    let superseding = agents.iter().map(|agent| {
        let (boards, caller) = (world.boards.clone(), agent.caller);
        let command = CreateTask { supersedes: WhichTask::parse("2"), ..new("better") };
        tokio::spawn(async move { boards.create_task(caller, chat, command, None).await })
    });
    let mut won = 0;
    for superseded in superseding.collect::<Vec<_>>() {
        match superseded.await.unwrap() {
            Ok(_) => won += 1,
            Err(CreateTaskError::SupersededNotActive) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(won, 1);
    let parts = ChatParts { details: true, ..ChatParts::default() };
    let found = world.chats.find_with_details(ann.caller, chat, parts, false).await.unwrap();
    let details = found.listed.details();
    assert_eq!((details.tasks.pending, details.tasks.completed), (19, 1));
}

/// A repetition gets the first task as it was created, whatever happened to it since.
pub async fn one_key_makes_one_task(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let make = async |by: Caller, key: &str, says: u8| {
        world.boards.create_task(by, chat, new("only once"), once(key, says)).await
    };
    let first_task = make(bot.caller.into(), "key", 1).await.unwrap();
    change(&world, ann.caller, chat, first_task.number, comment("x")).await.unwrap();
    report(&world, ann.caller, chat, first_task.number, TaskStatus::Blocked).await;
    let again = make(bot.caller.into(), "key", 1).await.unwrap();
    assert_eq!(again, first_task);
    let reused = make(bot.caller.into(), "key", 2).await;
    assert!(matches!(reused, Err(CreateTaskError::KeyReused)), "{reused:?}");
    assert_eq!(
        make(ann.caller.into(), "key", 1).await.unwrap().number.get(),
        2,
        "a key belongs to its sender"
    );
    let at_once = (0..8).map(|_| {
        let boards = world.boards.clone();
        tokio::spawn(async move {
            boards.create_task(bot.caller, chat, new("x"), once("many", 1)).await.unwrap().id
        })
    });
    let mut ids = BTreeSet::new();
    for made in at_once.collect::<Vec<_>>() {
        ids.insert(made.await.unwrap());
    }
    assert_eq!(ids.len(), 1);
}
