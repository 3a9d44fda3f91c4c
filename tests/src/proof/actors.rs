//! The callers: writers, repeaters, editors, readers, and workers. Each tries the next server when one does not
//! answer, and records every call.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use testkit::{elapse, pace, until_or};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::history::{Call, History, LastRow, Operation, Outcome, Row, Work};
use super::random::Random;
use crate::rest::{Api, message};
use crate::server::Server;

/// The time after which a caller gives up and records an unclear outcome.
const PATIENCE: Duration = Duration::from_millis(1_500);

const ROOMS: usize = 2;

/// Agents of each room that do what they are told.
const WORKERS: usize = 2;

/// The state that all actors share.
struct Shared {
    rooms: Vec<String>,
    /// The agents that work: who they are, and in which room.
    workers: Vec<(Api, usize)>,
    human: Api,
    calls: Mutex<Vec<Call>>,
    /// The messages of the human, which are edited and deleted.
    own: Mutex<Vec<(usize, String)>>,
    answered: AtomicUsize,
    since: Instant,
    over: AtomicBool,
}

/// The rooms and those who act in them.
pub struct Stage {
    shared: Arc<Shared>,
    actors: Vec<JoinHandle<()>>,
}

/// One who calls.
struct Actor {
    shared: Arc<Shared>,
    name: String,
    /// The same caller on every server.
    apis: Vec<Api>,
    turn: usize,
    random: Random,
    /// The room it acts in.
    room: usize,
    made: u64,
    /// It pauses for less than twice as long between what it does.
    pause: Duration,
}

impl Stage {
    /// Puts the rooms and the people into place and lets them begin.
    pub async fn begin(servers: &[Server], random: &mut Random) -> Self {
        let human = servers[0].user("ann");
        let mut rooms = Vec::new();
        let mut workers = Vec::new();
        let mut writers = Vec::new();
        for room in 0..ROOMS {
            let id = human.create_chat().await;
            for number in 0..WORKERS + 2 {
                let agent = human.register(&servers[0], &format!("Agent {room}-{number}")).await;
                assert_eq!(human.add(&id, &agent.id).await.status, 201);
                if number < WORKERS { workers.push((agent, room)) } else { writers.push((agent, room)) }
            }
            rooms.push(id);
        }
        let shared = Arc::new(Shared {
            rooms,
            workers,
            human: human.clone(),
            calls: Mutex::default(),
            own: Mutex::default(),
            answered: AtomicUsize::new(0),
            since: Instant::now(),
            over: AtomicBool::new(false),
        });
        let mut stage = Self { shared: shared.clone(), actors: Vec::new() };
        let mut actor = |name: String, api: &Api, room: usize, pause: u64| Actor {
            shared: shared.clone(),
            name,
            apis: servers.iter().map(|server| api.on(server).patient(PATIENCE)).collect(),
            turn: random.place(servers.len()),
            random: random.fork(),
            room,
            made: 0,
            pause: Duration::from_millis(pause),
        };
        for (number, (agent, room)) in writers.iter().enumerate() {
            // Of two agents that write in a room, one repeats what is unclear.
            let keyed = number % 2 == 1;
            let name = if keyed { format!("repeater-{number}") } else { format!("writer-{number}") };
            stage.actors.push(tokio::spawn(actor(name, agent, *room, 60).write(keyed)));
        }
        for room in 0..ROOMS {
            stage.actors.push(tokio::spawn(actor(format!("human-{room}"), &human, room, 60).write(false)));
            stage.actors.push(tokio::spawn(actor(format!("sender-{room}"), &human, room, 90).write(true)));
            stage.actors.push(tokio::spawn(actor(format!("editor-{room}"), &human, room, 90).edit()));
            stage.actors.push(tokio::spawn(actor(format!("reviser-{room}"), &human, room, 110).edit()));
            stage.actors.push(tokio::spawn(actor(format!("reader-{room}"), &human, room, 70).read()));
        }
        for (agent, (api, room)) in shared.workers.iter().enumerate() {
            stage.actors.push(tokio::spawn(actor(format!("worker-{agent}"), api, *room, 10).labour(agent)));
        }
        stage
    }

    /// The number of calls with a clear outcome.
    fn answered(&self) -> usize {
        self.shared.answered.load(Ordering::SeqCst)
    }

    /// Waits until this many more calls are answered.
    pub async fn goes_on(&self, calls: usize, servers: &[Server]) {
        let wanted = self.answered() + calls;
        let logs = || servers.iter().map(Server::log).collect::<Vec<_>>().join("\n---\n");
        until_or(|| format!("nobody gets on\n{}", logs()), async || self.answered() >= wanted).await;
    }

    /// Lets all actors finish, then reads the final state, which must be the same on every server.
    pub async fn end(self, servers: &[Server]) -> History {
        self.shared.over.store(true, Ordering::SeqCst);
        for actor in self.actors {
            actor.await.unwrap();
        }
        let Shared { rooms, workers, human, calls, .. } = &*self.shared;
        let mut reported = None;
        for server in servers {
            let human = human.on(server);
            let mut last = Vec::new();
            for room in rooms {
                let mut rows = settled(&human, room).await;
                rows.reverse();
                last.push(rows);
            }
            let mut waiting = Vec::new();
            for (worker, room) in workers {
                waiting.push(waiting_for(&worker.on(server), &rooms[*room]).await);
            }
            let all = (last, waiting);
            match &reported {
                None => reported = Some(all),
                Some(reported) => assert!(*reported == all, "the servers do not say the same"),
            }
        }
        let (last, waiting) = reported.expect("there is a server");
        let calls = std::mem::take(&mut *calls.lock().unwrap_or_else(PoisonError::into_inner));
        let rooms = last.iter().map(|rows| rows.iter().map(|message| last_row(message, workers)).collect());
        History {
            calls,
            agents: workers.iter().map(|(_, room)| *room).collect(),
            rooms: rooms.collect(),
            waiting,
        }
    }
}

/// Every message of a room, newest first, once no more arrive: requests that were given up may still be running. The
/// room's own count of its messages must be the same.
async fn settled(human: &Api, room: &str) -> Vec<Value> {
    let since = Instant::now();
    loop {
        let rows = human.history(room).await;
        let counted = human.get(&format!("/chats/{room}/messages?page=1&page_size=1")).await;
        let counted =
            counted.body["metadata"]["total_count"].as_u64().and_then(|total| usize::try_from(total).ok());
        elapse(Duration::from_secs(1)).await;
        let again = human.history(room).await;
        if counted == Some(rows.len()) && rows == again {
            return rows;
        }
        let reported = (rows.len(), counted, again.len());
        assert!(
            since.elapsed() < Duration::from_secs(30),
            "the room and its count do not agree: {reported:?}"
        );
    }
}

/// The ids of what waits for an agent, oldest first.
async fn waiting_for(worker: &Api, room: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut cursor = String::new();
    loop {
        let answer = worker.get(&format!("/chats/{room}/messages?limit=100{cursor}")).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        all.extend(answer.body["data"].as_array().unwrap().iter().map(|message| row(message).id));
        match answer.body["metadata"]["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return all,
        }
    }
}

/// The markers of those who are mentioned stand in front of the text.
fn row(message: &Value) -> Row {
    let content = message["content"].as_str().unwrap();
    let text = content.rsplit_once("]] ").map_or(content, |(_, text)| text);
    Row { id: message["id"].as_str().unwrap().to_owned(), text: text.to_owned() }
}

fn last_row(message: &Value, workers: &[(Api, usize)]) -> LastRow {
    let mut work = BTreeMap::new();
    for (agent, (api, _)) in workers.iter().enumerate() {
        let delivery = &message["metadata"]["delivery_status"][&api.id];
        if let Some(attempts) = delivery["attempts"].as_array() {
            let attempts = attempts.iter().map(|attempt| attempt["attempt_number"].as_u64().unwrap());
            let processed = delivery["status"] == "processed";
            work.insert(agent, Work { processed, attempts: attempts.collect() });
        }
    }
    LastRow { row: row(message), work }
}

impl Actor {
    fn is_over(&self) -> bool {
        self.shared.over.load(Ordering::SeqCst)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.shared.since.elapsed().as_micros()).unwrap()
    }

    async fn pause(&mut self) {
        let most = 2 * u64::try_from(self.pause.as_micros()).unwrap();
        pace(Duration::from_micros(self.random.below(most))).await;
    }

    fn path(&self, rest: &str) -> String {
        format!("/chats/{}/messages{rest}", self.shared.rooms[self.room])
    }

    /// One call, recorded; `read` makes an outcome of the body of a success.
    async fn call(
        &mut self,
        operation: Operation,
        (method, path, body): (Method, String, Option<Value>),
        key: Option<&str>,
        read: impl Fn(&Value) -> Outcome,
    ) -> Outcome {
        let api = &self.apis[self.turn % self.apis.len()];
        let begin = self.now();
        let answer = api.try_once(method, &path, body, key).await;
        let end = self.now();
        let outcome = match answer {
            Ok(answer) if (200..300).contains(&answer.status) => read(&answer.body["data"]),
            Ok(answer) if answer.status < 500 => Outcome::Refused(answer.status),
            Err(error) if error.is_connect() => Outcome::Unsent,
            Ok(_) | Err(_) => Outcome::Unclear,
        };
        if matches!(outcome, Outcome::Unsent | Outcome::Unclear) {
            self.turn += 1;
            pace(Duration::from_millis(50)).await;
        } else {
            self.shared.answered.fetch_add(1, Ordering::SeqCst);
        }
        let call = Call { actor: self.name.clone(), begin, end, operation, outcome: outcome.clone() };
        // What was not sent says nothing, and there is much of it while a server is away.
        if !matches!(outcome, Outcome::Unsent) {
            self.shared.calls.lock().unwrap_or_else(PoisonError::into_inner).push(call);
        }
        outcome
    }

    /// Sends one text after the other. Under a key it sends each again until the answer is clear, and sometimes once
    /// more.
    async fn write(mut self, keyed: bool) {
        while !self.is_over() {
            self.made += 1;
            let text = format!("{} says {}", self.name, self.made);
            let workers = self.shared.workers.iter().enumerate();
            let agents = workers.filter(|(_, (_, room))| *room == self.room).map(|(agent, _)| agent);
            let mut agents = agents.collect::<Vec<_>>();
            if self.random.percent(70) {
                let only = self.random.place(agents.len());
                agents = vec![agents[only]];
            }
            let ids =
                agents.iter().map(|agent| self.shared.workers[*agent].0.id.as_str()).collect::<Vec<_>>();
            let body = message(&text, &ids);
            let key = keyed.then(|| text.replace(' ', "-"));
            let mut again = true;
            while again {
                let operation = Operation::Send {
                    room: self.room,
                    text: text.clone(),
                    agents: agents.clone(),
                    key: key.clone(),
                };
                let request = (Method::POST, self.path(""), Some(body.clone()));
                let reported = |data: &Value| Outcome::Sent(data["id"].as_str().unwrap().to_owned());
                let outcome = self.call(operation, request, key.as_deref(), reported).await;
                again = keyed
                    && match outcome {
                        Outcome::Sent(id) => {
                            self.keep(id);
                            self.random.percent(10)
                        }
                        Outcome::Unclear | Outcome::Unsent => !self.is_over(),
                        _ => false,
                    };
            }
            self.pause().await;
        }
    }

    /// Remembers what the human has sent for those who edit.
    fn keep(&self, id: String) {
        if self.apis[0].id == self.shared.human.id {
            let mut own = self.shared.own.lock().unwrap_or_else(PoisonError::into_inner);
            let known = (self.room, id);
            if !own.contains(&known) {
                own.push(known);
            }
            // The oldest ones stay as they are.
            if own.len() > 12 {
                own.remove(0);
            }
        }
    }

    fn leave_alone(&self, id: &str) {
        let mut own = self.shared.own.lock().unwrap_or_else(PoisonError::into_inner);
        own.retain(|(_, other)| other != id);
    }

    /// Edits what was sent lately, and deletes a little of it.
    async fn edit(mut self) {
        while !self.is_over() {
            self.pause().await;
            let own = self.shared.own.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let own = own.into_iter().filter(|(room, _)| *room == self.room).collect::<Vec<_>>();
            if own.is_empty() {
                continue;
            }
            let (_, id) = own[self.random.place(own.len())].clone();
            let path = self.path(&format!("/{id}"));
            if self.random.percent(5) {
                // No other agent takes it from now on; one that has it already may get 404.
                self.leave_alone(&id);
                self.call(Operation::Delete { id }, (Method::DELETE, path, None), None, |_| Outcome::Done)
                    .await;
            } else {
                self.made += 1;
                let text = format!("{} writes {}", self.name, self.made);
                let body = json!({ "message": { "content": text } });
                let operation = Operation::Edit { id, text };
                self.call(operation, (Method::PATCH, path, Some(body)), None, |_| Outcome::Done).await;
            }
        }
    }

    /// Reads the newest page, or one before a message that it saw.
    async fn read(mut self) {
        let mut seen = Vec::<String>::new();
        while !self.is_over() {
            self.pause().await;
            // Every reading is on another server than the one before.
            self.turn += 1;
            let older = self.random.percent(30) && !seen.is_empty();
            let before = older.then(|| seen[self.random.place(seen.len())].clone());
            let mut query = "?limit=25".to_owned();
            if let Some(before) = &before {
                query = format!("{query}&before={before}");
            }
            let page = |data: &Value| {
                let rows = data.as_array().unwrap().iter().rev().map(row).collect::<Vec<_>>();
                Outcome::Page { oldest: !older && rows.len() < 25, rows, newest: !older }
            };
            let request = (Method::GET, self.path(&query), None);
            match self.call(Operation::Read { room: self.room, before }, request, None, page).await {
                Outcome::Page { rows, .. } => {
                    seen.extend(rows.into_iter().take(1).map(|row| row.id));
                    if seen.len() > 50 {
                        seen.remove(0);
                    }
                }
                // The anchor may have been deleted.
                _ => seen.clear(),
            }
        }
    }

    /// Does what the agent is told, message after message; now and then it fails first.
    async fn labour(mut self, agent: usize) {
        while !self.is_over() {
            let request = (Method::GET, self.path("/next"), None);
            let offered = |data: &Value| Outcome::Offered((!data.is_null()).then(|| row(data)));
            let outcome = self.call(Operation::Next { agent }, request, None, offered).await;
            let Outcome::Offered(Some(Row { id, .. })) = outcome else {
                self.pause().await;
                continue;
            };
            let mut steps = vec!["processing", "processed"];
            if self.random.percent(5) {
                steps.splice(..0, ["processing", "failed"]);
            }
            for step in steps {
                let id = id.clone();
                let path = self.path(&format!("/{id}/{step}"));
                let (operation, body) = match step {
                    "processing" => (Operation::Begin { agent, id }, None),
                    "processed" => (Operation::Finish { agent, id }, None),
                    _ => (Operation::Fail { agent, id }, Some(json!({ "error": "it did not work" }))),
                };
                let reported = |data: &Value| Outcome::Attempt(data["attempt_number"].as_u64().unwrap());
                let outcome = self.call(operation, (Method::POST, path, body), None, reported).await;
                if !matches!(outcome, Outcome::Attempt(_)) {
                    break;
                }
            }
        }
    }
}
