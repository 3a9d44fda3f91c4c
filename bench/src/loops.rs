//! Agents at work: each gets a message by its socket, says that it works on it and that it is done, and answers.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use e2e::{Api, message};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::flock::{Wish, skimmed};
use crate::http::{Connection, of_agent};
use crate::places::Place;
use crate::process::{cpu, until_idle};
use crate::report::{Row, Target, number};
use crate::scene;
use crate::skim::{Came, Skimmer};
use crate::stats::{median, micros, per_second};

/// Two in each room, who write to one another; each has one message on its way at a time.
const AGENTS: usize = 100;

const WARM: Duration = Duration::from_millis(500);
const TIME: Duration = Duration::from_secs(4);

/// The most bytes that a short text may take on disk with a delivery and an attempt, in kB.
const KB: f64 = 0.55;

/// Loops a second, beside the sends a second of the same run, if they were measured; and what a loop leaves on disk.
pub(crate) async fn run(place: &Place, rounds: usize, sends: Option<f64>) -> Vec<Row> {
    let mut here = place.serve().await;
    let server = &here.server;
    let ann = server.user("ann");
    let agents = scene::agents(server, &ann, AGENTS).await;
    let rooms = scene::rooms(&ann, &agents, 2).await;
    let (mut rates, mut costs, mut loops) = (Vec::new(), Vec::new(), 0);
    for round in 0..=rounds {
        until_idle(server.pid()).await;
        let (done, before) = (Arc::<AtomicU64>::default(), cpu(server.pid()));
        let started = Instant::now();
        let tasks = (0..AGENTS).map(|index| {
            let (agent, peer, room) = (&agents[index], &agents[index ^ 1], &rooms[index / 2]);
            let wish = scene::wish(server, &agent.key, vec![format!("chat_room:{room}")]);
            let worker = Worker::new(server.address(), wish, agent, peer, room);
            tokio::spawn(worker.work(done.clone()))
        });
        let tasks = tasks.collect::<Vec<_>>();
        tokio::time::sleep(WARM).await;
        let (warm, begun) = (done.load(Ordering::Relaxed), Instant::now());
        tokio::time::sleep(TIME).await;
        let all = done.load(Ordering::Relaxed);
        let rate = per_second(usize::try_from(all - warm).unwrap(), begun.elapsed());
        let cost = micros(cpu(server.pid()).saturating_sub(before));
        assert!(started.elapsed() > TIME);
        for task in &tasks {
            task.abort();
        }
        loops += done.load(Ordering::Relaxed);
        if round > 0 {
            rates.push(rate);
            #[expect(clippy::cast_precision_loss, reason = "far below the limit")]
            costs.push(cost / all as f64);
        }
    }
    here.server.terminate().await;
    #[expect(clippy::cast_precision_loss, reason = "far below the limit")]
    let kept = here.bytes() / loops as f64 / 1e3;
    let rate = median(&mut rates);
    let row = |what: String, figure, beside, judged, unit, target| Row {
        store: place.name(),
        what,
        figure,
        beside,
        judged,
        unit,
        target,
    };
    let what = format!("send, push, processing, processed: {AGENTS} agents");
    let (figure, cost) =
        (number(rate, "/s"), format!("server CPU {} each", number(median(&mut costs), "us")));
    let least = if matches!(place, Place::Postgres(_)) { 1.0 } else { 1.3 };
    let beside_sends = match sends {
        None => row(what, figure, cost, rate, "/s", None),
        Some(sends) => {
            let beside = format!("sends {}, {cost}", number(sends, "/s"));
            row(what, figure, beside, rate / sends, "x", Some(Target::AtLeast(least)))
        }
    };
    let what = "on disk for a short text, one delivery, one attempt".to_owned();
    let beside = format!("of {loops}");
    vec![beside_sends, row(what, number(kept, "kB"), beside, kept, "kB", Some(Target::AtMost(KB)))]
}

struct Worker {
    address: String,
    wish: Wish,
    agent: Api,
    room: String,
    send: Vec<u8>,
}

/// A frame of the second serializer.
#[derive(Deserialize)]
struct Frame<'f>(IgnoredAny, IgnoredAny, IgnoredAny, #[serde(borrow)] &'f str, #[serde(borrow)] Payload<'f>);

#[derive(Deserialize)]
struct Payload<'f> {
    id: Option<&'f str>,
}

impl Worker {
    fn new(address: String, wish: Wish, agent: &Api, peer: &Api, room: &str) -> Self {
        let body = message("Please look at this, and tell me what you think.", &[&peer.id]).to_string();
        let send = of_agent("POST", agent, &format!("/chats/{room}/messages"), &body);
        Self { address, wish, agent: agent.clone(), room: room.to_owned(), send }
    }

    /// Works until it is stopped; counts what is done.
    async fn work(self, done: Arc<AtomicU64>) {
        let mut socket = skimmed(&self.wish).await;
        let mut connection = Connection::open(&self.address).await;
        let mut seen = HashSet::new();
        // What a round before this one has left is worked through first, as after a crash.
        while let Some(id) = self.waiting(&mut connection).await {
            self.step(&mut connection, &id).await;
        }
        accepted(&mut connection, &self.send).await;
        while let Some(id) = message_of(&mut socket).await {
            if seen.insert(id.clone()) {
                self.step(&mut connection, &id).await;
                accepted(&mut connection, &self.send).await;
                done.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    async fn waiting(&self, connection: &mut Connection) -> Option<String> {
        let path = format!("/chats/{}/messages/next", self.room);
        let answer = connection.ask(&of_agent("GET", &self.agent, &path, "")).await;
        let next: serde_json::Value = serde_json::from_slice(answer.body).ok()?;
        Some(next["data"]["id"].as_str().unwrap().to_owned())
    }

    async fn step(&self, connection: &mut Connection, id: &str) {
        for step in ["processing", "processed"] {
            let path = format!("/chats/{}/messages/{id}/{step}", self.room);
            accepted(connection, &of_agent("POST", &self.agent, &path, "")).await;
        }
    }
}

async fn accepted(connection: &mut Connection, request: &[u8]) {
    let answer = connection.ask(request).await;
    let said = String::from_utf8_lossy(answer.body);
    assert!((200..300).contains(&answer.status), "{}: {said}", answer.status);
}

/// The id of the next message that is pushed.
async fn message_of(socket: &mut Skimmer) -> Option<String> {
    loop {
        let Came::Text(text) = socket.next().await? else { return None };
        let Frame(_, _, _, event, payload) = serde_json::from_slice(text).unwrap();
        if event == "message_created" {
            return payload.id.map(str::to_owned);
        }
    }
}
