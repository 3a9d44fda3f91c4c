//! `kill -9` under load: what was answered with 201 is there afterwards, once, in its order.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use e2e::{Api, Server};
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// How often the server is killed; each time after this many more messages were accepted.
const KILLS: usize = 10;
const BETWEEN_KILLS: usize = 300;

/// What one writer was told is accepted, in its order.
type Accepted = Vec<String>;

/// Writes as fast as it can until told to stop; a request without an answer counts as not accepted.
fn writer(
    api: Api,
    room: String,
    mention: String,
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
                "mentions": [{ "id": mention }],
            }});
            let path = format!("/chats/{room}/messages");
            match api.try_call(reqwest::Method::POST, &path, Some(body)).await {
                Ok(answer) if answer.status == 201 => {
                    accepted.push(answer.body["data"]["id"].as_str().unwrap().to_owned());
                    total.fetch_add(1, Ordering::SeqCst);
                }
                Ok(answer) => assert_eq!(answer.status, 503, "{answer:?}"),
                // The server is down; it comes back on the same port.
                Err(_) => tokio::time::sleep(Duration::from_millis(2)).await,
            }
        }
        accepted
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_writers_and_ten_kills_lose_nothing() {
    let mut server = Server::start().await;
    let human = server.user("ann");
    let mut agents = Vec::new();
    for number in 0..7 {
        agents.push(human.register(&server, &format!("Agent {number}")).await);
    }
    let rooms = [human.create_chat().await, human.create_chat().await];
    for room in &rooms {
        for agent in &agents {
            assert_eq!(human.add(room, &agent.id).await.status, 201);
        }
    }
    // The first agent only listens; six others and the human, twice, write to it.
    let listener = &agents[0];
    let writers = agents[1..].iter().chain([&human, &human]).cloned().collect::<Vec<_>>();
    assert_eq!(writers.len(), 8);
    let (stop, total) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let tasks = writers.into_iter().enumerate().map(|(name, api)| {
        let room = rooms[name % rooms.len()].clone();
        let task = writer(api, room.clone(), listener.id.clone(), name, stop.clone(), total.clone());
        (room, task)
    });
    let tasks = tasks.collect::<Vec<_>>();

    for kill in 1..=KILLS {
        let wanted = kill * BETWEEN_KILLS;
        let deadline = Instant::now() + Duration::from_secs(30);
        while total.load(Ordering::SeqCst) < wanted {
            assert!(Instant::now() < deadline, "the writers do not get on\n{}", server.log());
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        server.crash().await;
    }
    stop.store(true, Ordering::SeqCst);
    let mut accepted: HashMap<String, Vec<Accepted>> = HashMap::new();
    for (room, task) in tasks {
        accepted.entry(room).or_default().push(task.await.unwrap());
    }
    let mut checked = 0;
    for room in &rooms {
        checked += check(&human, listener, room, &accepted[room]).await;
    }
    assert!(checked >= KILLS * BETWEEN_KILLS);
    println!("kills: {KILLS}; accepted and found, once and in order: {checked}");
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
