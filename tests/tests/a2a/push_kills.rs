//! Push notifications of servers that are killed, and of two servers on one database.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use e2e::receiver::{Received, Receiver};
use e2e::{Fleet, Server, pace, until};
use serde_json::{Value, json};

use crate::client::{Binding, Client, listed, new_in};
use crate::pushes::{LOCAL, told, told_to};
use crate::tasks::{answer, begin};

/// What a receiver knows of a task, or of its only one: the states and the answers, in order. A notification comes again if its
/// server was killed before it knew of the response; it may have the whole task by then.
fn known(receiver: &Receiver, task: Option<&Value>) -> Vec<String> {
    let mut known = Vec::new();
    for event in receiver.received().iter().map(Received::json) {
        let [update, artifact] = [&event["statusUpdate"]["taskId"], &event["artifactUpdate"]["taskId"]];
        if task.is_some_and(|task| ![&event["task"]["id"], update, artifact].contains(&&task["id"])) {
            continue;
        }
        let answers = event["task"]["artifacts"].as_array().into_iter().flatten();
        let answers = answers.map(|answer| answer["parts"][0]["text"].as_str().unwrap().to_owned());
        let new = new_in(&event);
        let new = new.strip_prefix("task ").unwrap_or(&new).to_owned();
        for new in answers.chain([new]) {
            if !known.contains(&new) {
                known.push(new);
            }
        }
    }
    known
}

/// What happens while a server is down is sent when it runs again.
#[tokio::test]
async fn a_restart_loses_nothing() {
    let mut server = Server::start_alone(&[LOCAL]).await;
    let cast = listed(&server).await;
    let client = Client::new(&server, &cast.u1, &cast.a1, Binding::Rpc);
    let receiver = Receiver::always(200, "").await;
    let task = client.send(told_to("m1", &receiver.url())).await;
    let (room, message) = begin(&cast.a1, &task).await;
    until("the receiver is not told", async || {
        known(&receiver, None).last().is_some_and(|last| last == "TASK_STATE_WORKING")
    })
    .await;
    let before = known(&receiver, None).len();
    for is_killed in [true, false] {
        if is_killed {
            server.kill9();
        } else {
            server.terminate().await;
        }
        server.run().await;
        let said = if is_killed { "One" } else { "Two" };
        answer(&cast.a1.on(&server), &room, said, &cast.u1).await;
        until("the answer is not told", async || known(&receiver, None).iter().any(|new| new == said)).await;
    }
    assert_eq!(cast.a1.on(&server).step(&room, &message, "processed").await.status, 200);
    until("the end is not told", async || known(&receiver, None).len() >= before + 3).await;
    assert_eq!(known(&receiver, None)[before..], ["One", "Two", "TASK_STATE_COMPLETED"]);
}

/// A request that was in flight is repeated when the lease of the server that died has ended.
#[tokio::test]
async fn a_request_of_a_killed_server_is_repeated() {
    let mut server = Server::start_alone(&[LOCAL]).await;
    let cast = listed(&server).await;
    let count = Arc::<AtomicUsize>::default();
    let receiver = Receiver::start(move |_| {
        let is_first = count.fetch_add(1, Ordering::SeqCst) == 0;
        Box::pin(async move {
            if is_first {
                pace(Duration::from_secs(60)).await;
            }
            (200, "")
        })
    })
    .await;
    let client = Client::new(&server, &cast.u1, &cast.a1, Binding::Http);
    client.send(told_to("m1", &receiver.url())).await;
    receiver.wait(1).await;
    server.kill9();
    server.run().await;
    until("the request is not repeated", async || told(&receiver).len() == 2).await;
    assert_eq!(told(&receiver), ["task TASK_STATE_SUBMITTED"; 2]);
}

/// What happens on one server is sent for a configuration that was made on the other, also when the other is dead.
#[tokio::test]
async fn two_servers_tell_everything_at_least_once() {
    let mut fleet = Fleet::start(2, &[LOCAL]).await;
    let cast = listed(&fleet.servers[0]).await;
    let client = Client::new(&fleet.servers[0], &cast.u1, &cast.a1, Binding::Rpc);
    let there = cast.a1.on(&fleet.servers[1]);
    let receiver = Receiver::always(200, "").await;
    let mut tasks = Vec::new();
    for number in 0..10 {
        tasks.push(client.send(told_to(&format!("m{number}"), &receiver.url())).await);
    }
    until("the tasks are not told", async || told(&receiver).len() == tasks.len()).await;
    fleet.servers[0].kill9();
    for task in &tasks {
        let (room, message) = begin(&there, task).await;
        answer(&there, &room, "One", &cast.u1).await;
        assert_eq!(there.step(&room, &message, "processed").await.status, 200);
    }
    let has_ended = |task| known(&receiver, Some(task)).iter().any(|new| new == "TASK_STATE_COMPLETED");
    until("the ends are not told", async || tasks.iter().all(has_ended)).await;
    for task in &tasks {
        let mut known = known(&receiver, Some(task));
        known.retain(|new| new != "TASK_STATE_WORKING");
        assert_eq!(known, ["TASK_STATE_SUBMITTED", "One", "TASK_STATE_COMPLETED"], "{}", task["id"]);
    }
    let survivor = Client::new(&fleet.servers[1], &cast.u1, &cast.a1, Binding::Rpc);
    let listed = survivor.call("ListTaskPushNotificationConfigs", json!({"taskId": tasks[0]["id"]})).await;
    assert_eq!(listed["configs"].as_array().map(Vec::len), Some(1), "{listed}");
}
