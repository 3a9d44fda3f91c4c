//! `kill -9` under load: what was answered with 201 is there afterwards, once, in its order.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use e2e::{Api, Server};
use serde_json::json;
use testkit::postgres::{Cluster, Options};
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// What one writer was told is accepted, or one worker that it is done, in its order.
type Accepted = Vec<String>;

/// How often the server is killed: ten times, a hundred in the long form.
fn kills() -> usize {
    if std::env::var_os("PARLANCE_TEST_FULL").is_some() { 100 } else { 10 }
}

/// How many more messages are accepted before the next kill: from a few, in the midst of the
/// first writes after a start, to many.
fn between(kill: usize) -> usize {
    1 + (kill * 7919) % 600
}

/// Says how it went, also when the test passes and its output is not shown.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Writes as fast as it can until told to stop; a request without an answer counts as not accepted.
fn writer(
    api: Api,
    room: String,
    mentions: [String; 2],
    name: usize,
    stop: Arc<AtomicBool>,
    total: Arc<AtomicUsize>,
) -> JoinHandle<Accepted> {
    tokio::spawn(async move {
        let mut accepted = Vec::new();
        let mut number = 0_u64;
        while !stop.load(Ordering::SeqCst) {
            number += 1;
            let body = json!({ "message": {
                "content": format!("writer {name} message {number}"),
                "mentions": [{ "id": mentions[0] }, { "id": mentions[1] }],
            }});
            let path = format!("/chats/{room}/messages");
            match api.try_call(reqwest::Method::POST, &path, Some(body)).await {
                Ok(answer) if answer.status == 201 => {
                    accepted.push(answer.body["data"]["id"].as_str().unwrap().to_owned());
                    total.fetch_add(1, Ordering::SeqCst);
                }
                Ok(answer) => {
                    assert_eq!(answer.status, 503, "{answer:?}");
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
                // The server is down; it comes back on the same port.
                Err(_) => tokio::time::sleep(Duration::from_millis(2)).await,
            }
        }
        accepted
    })
}

/// Works through what mentions it, one message after the other, until told to stop; what it was
/// told is done must not be offered to it again.
fn worker(api: Api, room: String, stop: Arc<AtomicBool>) -> JoinHandle<Accepted> {
    tokio::spawn(async move {
        let mut done = Vec::new();
        while !stop.load(Ordering::SeqCst) {
            let messages = format!("/chats/{room}/messages");
            let Ok(next) = api.try_call(reqwest::Method::GET, &format!("{messages}/next"), None).await else {
                tokio::time::sleep(Duration::from_millis(2)).await;
                continue;
            };
            let Some(id) = next.body["data"]["id"].as_str() else { continue };
            assert!(!done.iter().any(|message| message == id), "{id} was done");
            for step in ["processing", "processed"] {
                let path = format!("{messages}/{id}/{step}");
                match api.try_call(reqwest::Method::POST, &path, None).await {
                    // Without a database nothing is known, and the step may be stored or not.
                    Ok(answer) if answer.status == 503 => break,
                    Ok(answer) => assert_eq!(answer.status, 200, "{step}: {answer:?}"),
                    Err(_) => break,
                }
                if step == "processed" {
                    done.push(id.to_owned());
                }
            }
        }
        done
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_writers_and_ten_kills_lose_nothing() {
    let server = Server::start().await;
    eight_writers_and_kills(server, async |server| server.crash().await).await;
}

/// The database ends as in a crash and comes back, under a server that goes on: requests wait or are
/// told to come back, and what was accepted is there. Ten times, always.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_writers_and_ten_kills_of_the_database_lose_nothing() {
    let cluster = Cluster::own(Options::default());
    let database = cluster.server().database();
    let settings = [("PARLANCE_DATABASE_URL", database.url()), ("PARLANCE_RATE_LIMITS", "false".to_owned())];
    let settings = settings.each_ref().map(|(name, value)| (*name, value.as_str()));
    let server = Server::start_with(&settings).await;
    let cluster = &cluster;
    eight_writers_and_kills(server, async |_| {
        tokio::task::block_in_place(|| cluster.stop_immediately());
        tokio::time::sleep(Duration::from_millis(100)).await;
        tokio::task::block_in_place(|| cluster.start());
    })
    .await;
}

async fn eight_writers_and_kills(mut server: Server, mut kill: impl AsyncFnMut(&mut Server)) {
    let human = server.user("ann");
    let mut agents = Vec::new();
    for number in 0..8 {
        agents.push(human.register(&server, &format!("Agent {number}")).await);
    }
    let rooms = [human.create_chat().await, human.create_chat().await];
    for room in &rooms {
        for agent in &agents {
            assert_eq!(human.add(room, &agent.id).await.status, 201);
        }
    }
    // The first agent only listens, the second works; six others and the human, twice, write to both.
    let (listener, working) = (&agents[0], &agents[1]);
    let writers = agents[2..].iter().chain([&human, &human]).cloned().collect::<Vec<_>>();
    assert_eq!(writers.len(), 8);
    let (stop, total) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let tasks = writers.into_iter().enumerate().map(|(name, api)| {
        let room = rooms[name % rooms.len()].clone();
        let mentions = [listener.id.clone(), working.id.clone()];
        let task = writer(api, room.clone(), mentions, name, stop.clone(), total.clone());
        (room, task)
    });
    let tasks = tasks.collect::<Vec<_>>();
    let worker = worker(working.clone(), rooms[0].clone(), stop.clone());

    for number in 1..=kills() {
        let wanted = total.load(Ordering::SeqCst) + between(number);
        let deadline = Instant::now() + Duration::from_secs(30);
        while total.load(Ordering::SeqCst) < wanted {
            assert!(Instant::now() < deadline, "the writers do not get on\n{}", server.log());
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        kill(&mut server).await;
    }
    stop.store(true, Ordering::SeqCst);
    let mut accepted: HashMap<String, Vec<Accepted>> = HashMap::new();
    for (room, task) in tasks {
        accepted.entry(room).or_default().push(task.await.unwrap());
    }
    let done = worker.await.unwrap();
    let mut checked = 0;
    for room in &rooms {
        checked += check(&human, listener, room, &accepted[room]).await;
    }
    assert_eq!(checked, total.load(Ordering::SeqCst));
    check_done(&human, working, &rooms[0], &done).await;
    say(&format!(
        "kills: {}; accepted and found, once and in order: {checked}; worked on and still done: {}",
        kills(),
        done.len()
    ));
}

/// What the worker was told is done is done once, to every reader.
async fn check_done(human: &Api, working: &Api, room: &str, done: &[String]) {
    assert!(!done.is_empty());
    let history = human.history(room).await;
    let states = history.iter().map(|message| {
        let state = &message["metadata"]["delivery_status"][&working.id]["status"];
        (message["id"].as_str().unwrap(), state.as_str())
    });
    let states = states.collect::<HashMap<_, _>>();
    assert!(done.iter().all(|id| states[id.as_str()] == Some("processed")));
    let open = waiting(working, room).await;
    assert!(done.iter().all(|id| !open.contains(id)));
    // The answer to its last step may have been lost with a kill, but only that.
    let processed = states.values().filter(|state| **state == Some("processed")).count();
    assert!(processed <= done.len() + kills(), "{processed} against {}", done.len());
}

/// A command that opens and closes the store beside the server takes nothing from it.
#[tokio::test]
async fn commands_beside_the_server_cost_no_message() {
    let mut server = Server::start().await;
    let human = server.user("ann");
    let room = human.create_chat().await;
    let mut accepted = Vec::new();
    for number in 0..5 {
        accepted.push(human.sent(&room, &format!("before user {number}"), &[]).await);
        let created = server.user(&format!("user-{number}"));
        assert_eq!(created.get("/agents").await.status, 200);
        accepted.push(human.sent(&room, &format!("after user {number}"), &[]).await);
    }
    server.crash().await;
    let mut found = human.history(&room).await;
    found.reverse();
    let found = found.iter().map(|message| message["id"].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(found, accepted);
}

/// Everything that was accepted stands in the room once, each writer's in its order, and waits
/// for the listener in the same order. How many there were.
async fn check(human: &Api, listener: &Api, room: &str, writers: &[Accepted]) -> usize {
    let mut history = human.history(room).await;
    history.reverse();
    let ids = history.iter().map(|message| message["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    let places = ids.iter().enumerate().map(|(place, id)| (id.as_str(), place)).collect::<HashMap<_, _>>();
    assert_eq!(places.len(), ids.len(), "a message stands in the room twice");
    let mut count = 0;
    for accepted in writers {
        let found = accepted.iter().map(|id| places.get(id.as_str()).copied());
        let found = found.collect::<Option<Vec<_>>>().expect("every accepted message is there");
        assert!(found.is_sorted_by(|a, b| a < b), "a writer's messages are out of their order");
        count += found.len();
    }
    assert_eq!(waiting(listener, room).await, ids, "the listener's deliveries are the room's messages");
    assert_eq!(listener.next(room).await.as_ref(), ids.first());
    count
}

/// The ids of what waits for an agent, oldest first.
async fn waiting(listener: &Api, room: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut cursor = String::new();
    loop {
        let answer = listener.get(&format!("/chats/{room}/messages?limit=100{cursor}")).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let rows = answer.body["data"].as_array().unwrap();
        all.extend(rows.iter().map(|message| message["id"].as_str().unwrap().to_owned()));
        match answer.body["metadata"]["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return all,
        }
    }
}
