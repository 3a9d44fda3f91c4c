//! Events on the boards of rooms.

use domain::account::AgentChanges;
use domain::board::{
    CreateTask, GoalChanges, GoalTitle, Task, TaskChanges, TaskComment, TaskDetail, TaskStatus, TaskSubject,
    TaskTarget, WhichTask,
};
use domain::caller::Caller;
use http_wire::features::Features;
use http_wire::view::{BoardView, TaskView};
use serde_json::{Value, json};
use ws_gateway::HubConfig;

use crate::harness::Bench;

fn topic(bench: &Bench) -> String {
    format!("room_tasks:{}", bench.room)
}

async fn create(bench: &Bench, by: impl Into<Caller>, supersedes: Option<&str>) -> Task {
    let command = CreateTask {
        subject: TaskSubject::new("subject".to_owned()).unwrap(),
        detail: TaskDetail::new(String::new()).unwrap(),
        supersedes: supersedes.and_then(WhichTask::parse),
    };
    bench.world.boards.create_task(by, bench.room, command, None).await.unwrap()
}

async fn change(bench: &Bench, by: impl Into<Caller>, changes: TaskChanges) -> Task {
    bench.world.boards.change_task(by, bench.room, WhichTask::parse("1").unwrap(), changes).await.unwrap()
}

fn status(status: TaskStatus) -> TaskChanges {
    TaskChanges { status: Some(status), ..TaskChanges::default() }
}

fn shown(task: &Task) -> Value {
    serde_json::to_value(TaskView::new(task)).unwrap()
}

/// Everybody in the room hears of every change, once; other topics and other rooms do not.
#[actix_web::test]
async fn changes_of_tasks_reach_everybody_in_the_room() {
    let bench = Bench::new().await;
    let topic = topic(&bench);
    let (mut ann, mut one) = (bench.socket(&bench.ann.key).await, bench.socket(&bench.one.key).await);
    let mut ben = bench.socket(&bench.ben.key).await;
    let elsewhere = bench.world.chat(bench.ann.caller, &[]).await;
    ann.join("1", &topic).await;
    ann.join("2", &bench.chat_topic()).await;
    ann.join("3", &format!("room_tasks:{elsewhere}")).await;
    ann.join("4", &format!("tasks:{}", bench.ann.id)).await;
    one.join("5", &topic).await;
    ben.refused("1", &topic, "unauthorized").await;
    ben.refused("2", "room_tasks:0190c5a4-0000-7000-8000-00000000000a", "unauthorized").await;
    ben.refused("3", "room_tasks:x", "unauthorized").await;

    let task = create(&bench, bench.one.caller, None).await;
    for (socket, join_ref) in [(&mut ann, "1"), (&mut one, "5")] {
        assert_eq!(socket.event(join_ref, &topic, "task_created").await, shown(&task));
    }
    let comment = Some(TaskComment::new("why?".to_owned()).unwrap());
    for changes in [
        status(TaskStatus::InProgress),
        TaskChanges { comment, ..TaskChanges::default() },
        TaskChanges { state: Some(TaskTarget::Archived), ..TaskChanges::default() },
        TaskChanges { state: Some(TaskTarget::Active), ..TaskChanges::default() },
    ] {
        let task = change(&bench, bench.one.caller, changes).await;
        for (socket, join_ref) in [(&mut ann, "1"), (&mut one, "5")] {
            let payload = socket.event(join_ref, &topic, "task_updated").await;
            assert_eq!(payload, shown(&task));
            assert_eq!(payload.get("history"), None);
        }
    }
    change(&bench, bench.one.caller, status(TaskStatus::InProgress)).await;
    let new = create(&bench, bench.ann.caller, Some("1")).await;
    for (socket, join_ref) in [(&mut ann, "1"), (&mut one, "5")] {
        let old = socket.event(join_ref, &topic, "task_updated").await;
        assert_eq!(
            (&old["state"], &old["superseded_by_id"]),
            (&json!("superseded"), &json!(new.id.to_string()))
        );
        assert_eq!(socket.event(join_ref, &topic, "task_created").await, shown(&new));
        socket.nothing_came().await;
    }
    bench.end().await;
}

#[actix_web::test]
async fn the_goal_is_pushed_when_it_changes() {
    let bench = Bench::new().await;
    let topic = topic(&bench);
    let mut one = bench.socket(&bench.one.key).await;
    one.join("1", &topic).await;
    let title = Some(GoalTitle::new("Ship it".to_owned()).unwrap());
    let goal = GoalChanges { title, summary: None };
    for _ in 0..2 {
        bench.world.boards.set_goal(bench.ann.caller, bench.room, goal.clone()).await.unwrap();
    }
    let board = bench.world.boards.board(bench.ann.caller, bench.room, false).await.unwrap().record;
    let expected = serde_json::to_value(BoardView::new(&board)).unwrap();
    assert_eq!(one.event("1", &topic, "board_updated").await, expected);
    one.nothing_came().await;
    bench.end().await;
}

/// Whoever is removed hears nothing of it on the board; with the room, the board ends.
#[actix_web::test]
async fn a_removed_participant_and_a_deleted_room_leave_the_board() {
    let bench = Bench::new().await;
    let topic = topic(&bench);
    create(&bench, bench.ann.caller, None).await;
    change(&bench, bench.two.caller, status(TaskStatus::Blocked)).await;
    let (mut one, mut two) = (bench.socket(&bench.one.key).await, bench.socket(&bench.two.key).await);
    one.join("1", &topic).await;
    two.join("2", &topic).await;
    let target = bench.two.id;
    bench.world.chats.remove_participant(bench.ann.caller, bench.room, target).await.unwrap();
    let updated = one.event("1", &topic, "task_updated").await;
    assert_eq!((&updated["assignments"], &updated["overall_status"]), (&json!([]), &json!("pending")));
    two.ended("2", &topic).await;
    create(&bench, bench.ann.caller, None).await;
    one.event("1", &topic, "task_created").await;
    two.nothing_came().await;
    bench.world.chats.delete(bench.ann.caller, bench.room).await.unwrap();
    one.ended("1", &topic).await;
    one.refused("3", &topic, "unauthorized").await;
    bench.end().await;
}

/// Many changes are one new row for the humans of the room.
#[actix_web::test]
async fn humans_get_new_counts_in_their_rooms() {
    let bench = Bench::new().await;
    let own = format!("user_rooms:{}", bench.ann.id);
    let mut ann = bench.socket(&bench.ann.key).await;
    ann.join("1", &own).await;
    create(&bench, bench.ann.caller, None).await;
    for report in TaskStatus::ALL {
        change(&bench, bench.one.caller, status(report)).await;
    }
    bench.world.boards.announce_counts().await.unwrap();
    let row = ann.event("1", &own, "room_updated").await;
    assert_eq!((&row["id"], &row["task_counts"]["completed"]), (&json!(bench.room.to_string()), &json!(1)));
    bench.world.boards.announce_counts().await.unwrap();
    ann.nothing_came().await;
    bench.end().await;
}

#[actix_web::test]
async fn a_server_without_boards_lets_nobody_join_one() {
    let bench = Bench::with(HubConfig {
        features: Features { boards: false, ..Features::default() },
        ..HubConfig::default()
    })
    .await;
    let mut ann = bench.socket(&bench.ann.key).await;
    ann.refused("1", &topic(&bench), "unauthorized").await;
    let own = format!("user_agents:{}", bench.ann.id);
    ann.join("2", &own).await;
    let changes = AgentChanges { listed_in_directory: Some(true), ..AgentChanges::default() };
    bench.world.accounts.update_agent(bench.ann.caller, bench.one.id, changes).await.unwrap();
    let agent = ann.event("2", &own, "agent_updated").await;
    assert_eq!(agent["feature_flags"]["ff_room_tasks"], false);
    bench.end().await;
}
