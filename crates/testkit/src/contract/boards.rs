//! Boards: goals, rights, counts, and what ends with a participation or a room.

use domain::account::{AgentChanges, AgentName};
use domain::board::{
    BoardAction, BoardError, ChangeTaskError, CreateTaskError, DropReason, Edit, GoalChanges, GoalEdits,
    GoalSummary, GoalTitle, SetGoalError, TaskChanges, TaskCounts, TaskFilter, TaskStatus, TaskTarget,
    WhichTask,
};
use domain::caller::Caller;
use domain::chat::{ChatParts, Role};
use domain::delivery::DeliveryStep;
use domain::event::DomainEvent;
use domain::id::{ChatId, ParticipantId};
use domain::message::{EventContent, EventMetadata, MessageKind, PostEvent, PostEventError};
use domain::services::{Ports, Services};
use serde_json::json;

use super::messages::{ann_and_bot, first};
use super::tasks::{change, comment, create, new, numbered, report, reported, state};
use crate::{TestUser, World};

pub(super) fn goal(title: Option<&str>, summary: Option<&str>) -> GoalChanges {
    GoalChanges {
        title: title.map(|title| GoalTitle::new(title.to_owned()).unwrap()),
        summary: summary.map(|summary| GoalSummary::new(summary.to_owned()).unwrap()),
    }
}

fn edit(from: Option<&str>, to: Option<&str>) -> Edit<Option<String>> {
    Edit { from: from.map(str::to_owned), to: to.map(str::to_owned) }
}

async fn counts(world: &World, by: &TestUser, chat: ChatId) -> TaskCounts {
    let parts = ChatParts { details: true, ..ChatParts::default() };
    world.chats.find_with_details(by.caller, chat, parts, false).await.unwrap().listed.details().tasks
}

/// Only what is sent changes; what changes nothing is neither recorded nor announced.
pub async fn a_goal_is_set_once_and_then_edited(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let empty = world.boards.board(bot.caller, chat, true).await.unwrap();
    assert_eq!((empty.record.created_at, empty.record.title), (None, None));
    assert_eq!(empty.history.map(|history| (history.entries.len(), history.is_truncated)), Some((0, false)));
    world.publisher.take();
    let set = world.boards.set_goal(bot.caller, chat, goal(Some(" Ship it "), None)).await.unwrap();
    assert_eq!((set.title.as_deref(), set.summary.as_deref()), (Some("Ship it"), None));
    let by = set.created_by.clone().unwrap();
    assert_eq!(
        (by.id, by.name.as_str(), by.handle.as_str()),
        (ParticipantId::Agent(bot.id), "Bot", "ann/bot")
    );
    world.clock.advance(std::time::Duration::from_secs(1));
    let edited = world.boards.set_goal(ann.caller, chat, goal(None, Some("soon"))).await.unwrap();
    assert_eq!((edited.created_by.clone(), edited.created_at), (set.created_by.clone(), set.created_at));
    assert_eq!(edited.updated_by.clone().unwrap().id, ParticipantId::User(ann.id));
    assert!(edited.updated_at > set.updated_at);
    let same = world.boards.set_goal(bot.caller, chat, goal(Some("Ship it"), Some("soon"))).await.unwrap();
    assert_eq!(same, edited);
    let events = world.publisher.take();
    let [DomainEvent::BoardUpdated { board: one }, DomainEvent::BoardUpdated { board: two }] = &events[..]
    else {
        panic!("{events:?}")
    };
    assert_eq!((one, two), (&set, &edited));
    let cleared = world.boards.set_goal(ann.caller, chat, goal(None, Some(""))).await.unwrap();
    assert_eq!(cleared.summary, None);
    let read = world.boards.board(ann.caller, chat, true).await.unwrap();
    assert_eq!(read.record, cleared);
    let actions = read.history.unwrap().entries.into_iter().map(|entry| entry.action).collect::<Vec<_>>();
    let edits = |title, summary| GoalEdits { title, summary };
    assert_eq!(
        actions,
        [
            BoardAction::GoalSet(edits(Some(edit(None, Some("Ship it"))), None)),
            BoardAction::GoalEdited(edits(None, Some(edit(None, Some("soon"))))),
            BoardAction::GoalEdited(edits(None, Some(edit(Some("soon"), None)))),
        ]
    );
    assert!(world.boards.board(ann.caller, chat, false).await.unwrap().history.is_none());
}

/// Of the two halves, one stays; who would remove the last one changes nothing.
pub async fn a_goal_that_is_set_stays_one(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    world.boards.set_goal(bot.caller, chat, goal(None, Some("soon"))).await.unwrap();
    world.publisher.take();
    let refused = world.boards.set_goal(ann.caller, chat, goal(None, Some(""))).await;
    assert!(matches!(refused, Err(SetGoalError::Empty(_))), "{refused:?}");
    assert!(world.publisher.take().is_empty());
    let read = world.boards.board(ann.caller, chat, true).await.unwrap();
    assert_eq!((read.record.summary.as_deref(), read.history.unwrap().entries.len()), (Some("soon"), 1));
    let set = world.boards.set_goal(ann.caller, chat, goal(Some("Ship it"), Some(""))).await.unwrap();
    assert_eq!((set.title.as_deref(), set.summary), (Some("Ship it"), None));
}

/// Any participant does everything, an observer reads, and others find nothing.
pub async fn participants_write_observers_read_and_others_find_nothing(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let (cai, ben) = (world.colleague("cai", "ann").await, world.user("ben").await);
    let foreign = world.agent(&ben, "Foreign").await;
    let own = world.agent(&cai, "Own").await;
    world.make_global(&own).await;
    world.add(ann.caller, chat, own.id.into(), Role::Member).await;
    let task = create(&world, bot.caller, chat, "of bot").await;
    for by in [Caller::from(ann.caller), own.caller.into()] {
        let changed = change(&world, by, chat, task.number, comment("mine too")).await.unwrap();
        let entries =
            world.boards.task(by, chat, numbered(task.number), true).await.unwrap().history.unwrap();
        assert_eq!(entries.entries.last().unwrap().actor.id, by.participant());
        assert!(changed.assignments.is_empty());
    }
    let observer = Caller::from(cai.caller);
    let strangers = [ben.caller.into(), foreign.caller.into()];
    for (by, reads) in [(observer, true)].into_iter().chain(strangers.map(|by: Caller| (by, false))) {
        let page = first(50);
        assert_eq!(world.boards.board(by, chat, false).await.is_ok(), reads, "{by:?}");
        assert_eq!(world.boards.tasks(by, chat, TaskFilter::All, page.clone()).await.is_ok(), reads);
        assert_eq!(world.boards.task(by, chat, WhichTask::Id(task.id), true).await.is_ok(), reads);
        assert_eq!(world.boards.task_history(by, chat, numbered(task.number), page).await.is_ok(), reads);
        let refused = world.boards.set_goal(by, chat, goal(Some("x"), None)).await;
        assert!(matches!(refused, Err(SetGoalError::NotFound)), "{refused:?}");
        let refused = world.boards.create_task(by, chat, new("x"), None).await;
        assert!(matches!(refused, Err(CreateTaskError::NotFound)), "{refused:?}");
        let refused = change(&world, by, chat, task.number, comment("x")).await;
        assert!(matches!(refused, Err(ChangeTaskError::NotFound)), "{refused:?}");
    }
}

/// Actors have the names of the time at which they acted.
pub async fn names_on_the_board_stay_as_they_were(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let task = create(&world, bot.caller, chat, "subject").await;
    report(&world, bot.caller, chat, task.number, TaskStatus::Pending).await;
    let name = Some(AgentName::new("Robot").unwrap());
    let changes = AgentChanges { name, ..AgentChanges::default() };
    world.accounts.update_agent(ann.caller, bot.id, changes).await.unwrap();
    let renamed = report(&world, bot.caller, chat, task.number, TaskStatus::InProgress).await;
    assert_eq!(
        (renamed.created_by.name.as_str(), renamed.assignments[0].assignee.name.as_str()),
        ("Bot", "Bot")
    );
    let read = world.boards.task(ann.caller, chat, numbered(task.number), true).await.unwrap();
    let names = read.history.unwrap().entries.into_iter().map(|entry| entry.actor.name).collect::<Vec<_>>();
    assert_eq!(names, ["Bot", "Bot", "Robot"]);
}

/// Open assignments go with their participant, completed ones and those of tasks that are put away stay.
pub async fn who_leaves_drops_open_assignments(world: World) {
    let ann = world.user("ann").await;
    let cai = world.colleague("cai", "ann").await;
    for reason in DropReason::ALL {
        let bot = world.agent(&ann, &format!("Bot {}", reason.as_str())).await;
        let chat = world.chat(ann.caller, &[bot.id.into(), cai.id.into()]).await;
        let [open, done, away] =
            ["open", "done", "away"].map(|subject| create(&world, ann.caller, chat, subject));
        let (open, done, away) = (open.await, done.await, away.await);
        report(&world, bot.caller, chat, open.number, TaskStatus::Blocked).await;
        report(&world, cai.caller, chat, open.number, TaskStatus::Completed).await;
        report(&world, bot.caller, chat, done.number, TaskStatus::Completed).await;
        report(&world, bot.caller, chat, away.number, TaskStatus::InProgress).await;
        change(&world, ann.caller, chat, away.number, state(TaskTarget::Archived)).await.unwrap();
        world.publisher.take();
        match reason {
            DropReason::Left => drop(world.chats.remove_participant(bot.caller, chat, bot.id).await.unwrap()),
            DropReason::Removed => {
                drop(world.chats.remove_participant(ann.caller, chat, bot.id).await.unwrap());
            }
            DropReason::Deleted => drop(world.accounts.delete_agent(ann.caller, bot.id, true).await.unwrap()),
        }
        let events = world.publisher.take();
        let updated = events.iter().filter_map(|event| match event {
            DomainEvent::TaskUpdated { task, has_moved: true } => Some(task.clone()),
            _ => None,
        });
        let read = world.boards.task(ann.caller, chat, numbered(open.number), true).await.unwrap();
        assert_eq!(updated.collect::<Vec<_>>(), std::slice::from_ref(&read.record), "{reason:?}");
        assert_eq!((read.record.status, read.record.assignments.len()), (TaskStatus::Completed, 1));
        let last = read.history.unwrap().entries.pop().unwrap();
        assert_eq!(
            (last.action, last.actor.id),
            (BoardAction::Dropped { reason }, ParticipantId::Agent(bot.id))
        );
        for kept in [done, away] {
            let task =
                world.boards.task(ann.caller, chat, numbered(kept.number), false).await.unwrap().record;
            assert_eq!(task.assignments.len(), 1, "{}", task.subject);
        }
        assert_eq!(counts(&world, &ann, chat).await, TaskCounts { completed: 2, ..TaskCounts::default() });
        if reason == DropReason::Removed {
            world.add(ann.caller, chat, bot.id.into(), Role::Member).await;
            let task =
                world.boards.task(bot.caller, chat, numbered(open.number), false).await.unwrap().record;
            assert_eq!(task.assignments.len(), 1, "who comes back is not assigned");
        }
    }
    // A deleted user, too.
    let chat = world.chat(ann.caller, &[cai.id.into()]).await;
    let task = create(&world, ann.caller, chat, "of a user").await;
    report(&world, cai.caller, chat, task.number, TaskStatus::InProgress).await;
    world.administration.delete_user(&world.accounts, cai.id, true).await.unwrap();
    let read = world.boards.task(ann.caller, chat, numbered(task.number), true).await.unwrap();
    assert_eq!((read.record.status, read.record.assignments.len()), (TaskStatus::Pending, 0));
    assert_eq!(
        read.history.unwrap().entries.pop().unwrap().action,
        BoardAction::Dropped { reason: DropReason::Deleted }
    );
}

/// A participant that leaves while it joins tasks keeps no assignment of them.
pub async fn nobody_leaves_an_assignment_behind(world: World) {
    let ann = world.user("ann").await;
    for round in 0..8 {
        let bot = world.agent(&ann, &format!("Bot {round}")).await;
        let chat = world.chat(ann.caller, &[bot.id.into()]).await;
        let task = create(&world, ann.caller, chat, "contended").await;
        let joining = (0..4).map(|_| {
            let (boards, changes) = (world.boards.clone(), reported(TaskStatus::InProgress));
            tokio::spawn(async move {
                let _ = boards.change_task(bot.caller, chat, numbered(task.number), changes).await;
            })
        });
        let joining = joining.collect::<Vec<_>>();
        world.chats.remove_participant(ann.caller, chat, bot.id).await.unwrap();
        for one in joining {
            one.await.unwrap();
        }
        let task = world.boards.task(ann.caller, chat, numbered(task.number), false).await.unwrap().record;
        assert!(task.assignments.is_empty(), "round {round}: {task:?}");
    }
}

/// With the room, everything is gone.
pub async fn a_deleted_room_has_no_board(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let task = create(&world, bot.caller, chat, "subject").await;
    world.boards.set_goal(ann.caller, chat, goal(Some("x"), None)).await.unwrap();
    world.chats.delete(ann.caller, chat).await.unwrap();
    for by in [Caller::from(ann.caller), bot.caller.into()] {
        assert!(matches!(world.boards.board(by, chat, false).await, Err(BoardError::NotFound)));
        let read = world.boards.task(by, chat, WhichTask::Id(task.id), false).await;
        assert!(matches!(read, Err(BoardError::NotFound)));
        let refused = world.boards.create_task(by, chat, new("x"), None).await;
        assert!(matches!(refused, Err(CreateTaskError::NotFound)));
    }
    while world.boards.erase_some().await.unwrap() {}
    let rows = super::archives::all_rows(&*world.stores.archive, 100).await;
    for (table, rows) in rows {
        assert!(!["boards", "tasks", "board_entries"].contains(&table.name) || rows.is_empty(), "{rows:?}");
    }
}

/// After each step, the counts are those of the active tasks; the humans receive one event for all steps.
pub async fn counts_follow_the_tasks(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let of = TaskCounts::of;
    assert_eq!(counts(&world, &ann, chat).await, of([0; 6]));
    for subject in ["one", "two", "three"] {
        create(&world, ann.caller, chat, subject).await;
    }
    assert_eq!(counts(&world, &ann, chat).await, of([3, 0, 0, 0, 0, 0]));
    let number = domain::board::TaskNumber::new;
    for (status, expected) in [
        (TaskStatus::InProgress, [2, 1, 0, 0, 0, 0]),
        (TaskStatus::Blocked, [2, 0, 1, 0, 0, 0]),
        (TaskStatus::InReview, [2, 0, 0, 1, 0, 0]),
        (TaskStatus::Failed, [2, 0, 0, 0, 1, 0]),
        (TaskStatus::Completed, [2, 0, 0, 0, 0, 1]),
    ] {
        report(&world, bot.caller, chat, number(1), status).await;
        assert_eq!(counts(&world, &ann, chat).await, of(expected));
    }
    for (task, target, expected) in [
        (1, TaskTarget::Archived, [2, 0, 0, 0, 0, 0]),
        (1, TaskTarget::Active, [2, 0, 0, 0, 0, 1]),
        (2, TaskTarget::Cancelled, [1, 0, 0, 0, 0, 1]),
    ] {
        change(&world, ann.caller, chat, number(task), state(target)).await.unwrap();
        assert_eq!(counts(&world, &ann, chat).await, of(expected));
    }
    let command = domain::board::CreateTask { supersedes: Some(numbered(number(1))), ..new("four") };
    world.boards.create_task(bot.caller, chat, command, None).await.unwrap();
    assert_eq!(counts(&world, &ann, chat).await, of([2, 0, 0, 0, 0, 0]));

    world.publisher.take();
    world.boards.announce_counts().await.unwrap();
    let events = world.publisher.take();
    let [DomainEvent::RoomUpdated { to, chat: room, details }] = &events[..] else { panic!("{events:?}") };
    assert_eq!((to.as_slice(), room.id, details.tasks), ([ann.id].as_slice(), chat, of([2, 0, 0, 0, 0, 0])));
    change(&world, ann.caller, chat, number(3), comment("x")).await.unwrap();
    world.publisher.take();
    world.boards.announce_counts().await.unwrap();
    assert!(world.publisher.take().is_empty(), "a comment moves no count");
}

/// An attention event may name a task of its room, in any state.
pub async fn attention_events_name_tasks_of_their_room(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let other = world.chat(ann.caller, &[bot.id.into()]).await;
    let task = create(&world, bot.caller, chat, "subject").await;
    change(&world, ann.caller, chat, task.number, state(TaskTarget::Cancelled)).await.unwrap();
    let post = async |chat, kind, named: serde_json::Value| {
        let metadata = json!({"kind": "question", "task_id": named});
        let event = PostEvent {
            kind,
            content: EventContent::new("?".to_owned()).unwrap(),
            metadata: EventMetadata::new(metadata.as_object().unwrap().clone()).unwrap(),
            in_reply_to: None,
        };
        world.messages.post_event(bot.caller, chat, event).await
    };
    for named in [json!(task.id.to_string()), json!("1"), json!(null)] {
        post(chat, MessageKind::Attention, named).await.unwrap();
    }
    for (room, named) in [
        (chat, json!(chat.to_string())),
        (chat, json!("2")),
        (chat, json!(1)),
        (other, json!(task.id.to_string())),
        (other, json!("1")),
    ] {
        let refused = post(room, MessageKind::Attention, named).await;
        assert!(matches!(refused, Err(PostEventError::TaskNotFound)), "{refused:?}");
    }
    post(chat, MessageKind::Thought, json!("whatever")).await.unwrap();
}

/// Neither its times, nor anybody's deliveries.
pub async fn boards_leave_rooms_and_deliveries_alone(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let sent = world.send(ann.caller, chat, "work", &[ParticipantId::Agent(bot.id)]).await.id;
    let before = world.chats.find_with_details(ann.caller, chat, ChatParts::default(), true).await.unwrap();
    world.clock.advance(std::time::Duration::from_secs(60));
    let task = create(&world, ann.caller, chat, "subject").await;
    report(&world, bot.caller, chat, task.number, TaskStatus::InProgress).await;
    change(&world, ann.caller, chat, task.number, comment("@[[ann]] hello")).await.unwrap();
    world.boards.set_goal(bot.caller, chat, goal(Some("x"), None)).await.unwrap();
    let after = world.chats.find_with_details(ann.caller, chat, ChatParts::default(), true).await.unwrap();
    assert_eq!((after.listed.chat, after.message_counts), (before.listed.chat, before.message_counts));
    assert_eq!(world.deliveries.next(bot.caller, chat).await.unwrap().map(|message| message.id), Some(sent));
    world.deliveries.advance(bot.caller, chat, sent, DeliveryStep::Begin).await.unwrap();
}

/// A server may do without boards, or allow few tasks.
pub async fn boards_can_be_turned_off_and_bounded(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let with = |max_tasks| Services::new(Ports { max_tasks, ..world.ports.clone() });
    let few = with(2).boards;
    for subject in ["one", "two"] {
        few.create_task(bot.caller, chat, new(subject), None).await.unwrap();
    }
    let full = few.create_task(ann.caller, chat, new("three"), None).await;
    assert!(matches!(full, Err(CreateTaskError::Full { limit: 2 })), "{full:?}");
    // One that is superseded still counts, and stays active if the new one is refused.
    let command = domain::board::CreateTask { supersedes: WhichTask::parse("1"), ..new("three") };
    let full = few.create_task(ann.caller, chat, command, None).await;
    assert!(matches!(full, Err(CreateTaskError::Full { .. })), "{full:?}");
    assert_eq!(counts(&world, &ann, chat).await.pending, 2);

    let services = with(0);
    let off = services.boards;
    assert!(!off.is_on() && few.is_on());
    assert!(matches!(off.board(ann.caller, chat, false).await, Err(BoardError::NotFound)));
    let set = off.set_goal(ann.caller, chat, goal(Some("x"), None)).await;
    assert!(matches!(set, Err(SetGoalError::NotFound)));
    let tasks = off.tasks(ann.caller, chat, TaskFilter::All, first(50)).await;
    assert!(matches!(tasks, Err(BoardError::NotFound)));
    let created = off.create_task(ann.caller, chat, new("x"), None).await;
    assert!(matches!(created, Err(CreateTaskError::NotFound)));
    let which = WhichTask::parse("1").unwrap();
    let changed = off.change_task(ann.caller, chat, which, TaskChanges::default()).await;
    assert!(matches!(changed, Err(ChangeTaskError::NotFound)));
    services.chats.delete(ann.caller, chat).await.unwrap();
    world.publisher.take();
    off.announce_counts().await.unwrap();
    assert!(world.publisher.take().is_empty());
    while off.erase_some().await.unwrap() {}
}
