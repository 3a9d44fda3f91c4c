//! `kill -9` under load: what was answered with 201 is there afterwards, once, in its order; on one server, and on three
//! with one database.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use e2e::{Answer, Api, Fleet, Server};
use reqwest::Method;
use serde_json::{Value, json};
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

/// Somebody who goes to the next server where one gives no answer, as behind a proxy. Of one server alone it is the same
/// one, which comes back on its port.
struct Caller {
    apis: Vec<Api>,
    turn: usize,
}

impl Caller {
    /// Asks the server of this turn first.
    fn of(api: &Api, servers: &[Server], turn: usize) -> Self {
        Self { apis: servers.iter().map(|server| api.on(server)).collect(), turn }
    }

    /// One request; `None` without an answer.
    async fn call(&mut self, method: Method, path: &str, body: Option<Value>) -> Option<Answer> {
        let api = &self.apis[self.turn % self.apis.len()];
        let answer = api.try_call(method, path, body).await.ok();
        if answer.is_none() {
            self.turn += 1;
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        answer
    }
}

/// Writes as fast as it can until told to stop; a request without an answer counts as not accepted.
fn writer(
    mut caller: Caller,
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
            match caller.call(Method::POST, &format!("/chats/{room}/messages"), Some(body)).await {
                Some(answer) if answer.status == 201 => {
                    accepted.push(answer.body["data"]["id"].as_str().unwrap().to_owned());
                    total.fetch_add(1, Ordering::SeqCst);
                }
                Some(answer) => {
                    assert_eq!(answer.status, 503, "{answer:?}");
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
                None => {}
            }
        }
        accepted
    })
}

/// Works through what mentions it, one message after the other, until told to stop; what it was
/// told is done must not be offered to it again.
fn worker(mut caller: Caller, room: String, stop: Arc<AtomicBool>) -> JoinHandle<Accepted> {
    tokio::spawn(async move {
        let mut done = Vec::new();
        while !stop.load(Ordering::SeqCst) {
            let messages = format!("/chats/{room}/messages");
            let Some(next) = caller.call(Method::GET, &format!("{messages}/next"), None).await else {
                continue;
            };
            let Some(id) = next.body["data"]["id"].as_str() else { continue };
            assert!(!done.iter().any(|message| message == id), "{id} was done");
            for step in ["processing", "processed"] {
                match caller.call(Method::POST, &format!("{messages}/{id}/{step}"), None).await {
                    // Without a database nothing is known, and the step may be stored or not.
                    Some(answer) if answer.status == 503 => break,
                    Some(answer) => assert_eq!(answer.status, 200, "{step}: {answer:?}"),
                    None => {
                        // The database ends what a killed server has begun, while another one answers already.
                        tokio::time::sleep(Duration::from_millis(100)).await;
                        break;
                    }
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
    let mut server = [Server::start().await];
    eight_writers_and_kills(&mut server, async |servers, _| servers[0].crash().await).await;
}

/// The writers are spread over three servers, of which one after the other is killed and comes back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_writers_and_ten_kills_of_three_servers_lose_nothing() {
    let mut fleet = Fleet::with_nats(3, &[]).await;
    eight_writers_and_kills(&mut fleet.servers, async |servers, kill| servers[kill % 3].crash().await).await;
    let (client, connection) =
        tokio_postgres::connect(&fleet.database().url(), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let rooms = "SELECT count(*), min(sequence), max(sequence) FROM messages GROUP BY chat_id";
    let rooms = client.query(rooms, &[]).await.unwrap();
    assert_eq!(rooms.len(), 2);
    for room in rooms {
        let [count, first, last] = [0, 1, 2].map(|column| room.get::<_, i64>(column));
        assert_eq!((first, last), (1, count), "the order of a room has gaps");
    }
}

/// The database ends as in a crash and comes back, under a server that goes on: requests wait or are
/// told to come back, and what was accepted is there. Ten times, always.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_writers_and_ten_kills_of_the_database_lose_nothing() {
    let cluster = Cluster::own(Options::default());
    let database = cluster.server().database();
    let settings = [("PARLANCE_DATABASE_URL", database.url()), ("PARLANCE_RATE_LIMITS", "false".to_owned())];
    let settings = settings.each_ref().map(|(name, value)| (*name, value.as_str()));
    let mut server = [Server::start_with(&settings).await];
    let cluster = &cluster;
    eight_writers_and_kills(&mut server, async |_, _| {
        tokio::task::block_in_place(|| cluster.stop_immediately());
        tokio::time::sleep(Duration::from_millis(100)).await;
        tokio::task::block_in_place(|| cluster.start());
    })
    .await;
}

/// Who writes, and to whom.
struct Scene {
    human: Api,
    /// It only listens.
    listener: Api,
    /// It works in the first room.
    working: Api,
    /// Six agents and the human, twice; to one room or the other.
    writers: Vec<Api>,
    rooms: [String; 2],
}

impl Scene {
    async fn on(server: &Server) -> Self {
        let human = server.user("ann");
        let mut agents = Vec::new();
        for number in 0..8 {
            agents.push(human.register(server, &format!("Agent {number}")).await);
        }
        let rooms = [human.create_chat().await, human.create_chat().await];
        for room in &rooms {
            for agent in &agents {
                assert_eq!(human.add(room, &agent.id).await.status, 201);
            }
        }
        let mut writers = agents.split_off(2);
        writers.extend([human.clone(), human.clone()]);
        let [listener, working] = <[Api; 2]>::try_from(agents).unwrap();
        Self { human, listener, working, writers, rooms }
    }
}

async fn eight_writers_and_kills(servers: &mut [Server], mut kill: impl AsyncFnMut(&mut [Server], usize)) {
    let scene = Scene::on(&servers[0]).await;
    let (stop, total) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let tasks = scene.writers.iter().enumerate().map(|(name, api)| {
        let room = scene.rooms[name % scene.rooms.len()].clone();
        let mentions = [scene.listener.id.clone(), scene.working.id.clone()];
        let caller = Caller::of(api, servers, name);
        let task = writer(caller, room.clone(), mentions, name, stop.clone(), total.clone());
        (room, task)
    });
    let tasks = tasks.collect::<Vec<_>>();
    assert_eq!(tasks.len(), 8);
    let worker = worker(Caller::of(&scene.working, servers, 0), scene.rooms[0].clone(), stop.clone());

    for number in 1..=kills() {
        let wanted = total.load(Ordering::SeqCst) + between(number);
        let deadline = Instant::now() + Duration::from_secs(30);
        while total.load(Ordering::SeqCst) < wanted {
            let log = || servers.iter().map(Server::log).collect::<Vec<_>>().join("\n---\n");
            assert!(Instant::now() < deadline, "the writers do not get on\n{}", log());
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        kill(servers, number).await;
    }
    stop.store(true, Ordering::SeqCst);
    let mut accepted: HashMap<String, Vec<Accepted>> = HashMap::new();
    for (room, task) in tasks {
        accepted.entry(room).or_default().push(task.await.unwrap());
    }
    let done = worker.await.unwrap();
    // All servers say the same.
    for server in servers.iter() {
        let (human, listener) = (scene.human.on(server), scene.listener.on(server));
        let mut checked = 0;
        for room in &scene.rooms {
            checked += check(&human, &listener, room, &accepted[room]).await;
        }
        assert_eq!(checked, total.load(Ordering::SeqCst));
        check_done(&human, &scene.working.on(server), &scene.rooms[0], &done).await;
    }
    say(&format!(
        "kills: {}; accepted and found, once and in order: {}; worked on and still done: {}",
        kills(),
        total.load(Ordering::SeqCst),
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
