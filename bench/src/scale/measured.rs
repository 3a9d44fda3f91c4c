//! What is measured while the agents are connected.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use e2e::message;
use futures_util::SinkExt;
use futures_util::future::join_all;
use tokio::time::{sleep, sleep_until};
use tokio_tungstenite::tungstenite::Message;

use super::crowd::{Crowd, Report};
use super::installation::{Installation, Spent};
use super::population::{IN_ROOM, agent_id, agent_key, owner_key, room_id, roommates};
use super::share;
use crate::flock::{Flock, Keep, STAMP, STAMP_DIGITS, joined};
use crate::http::request;
use crate::load::{self, Asker, stamped_text};
use crate::scene;
use crate::stats::{micros, wait_quantile};

/// Requests a second, and the connections of each server that they come over.
const RATE: f64 = 200.0;
const ASKERS: usize = 16;

/// Bytes of a text.
const CONTENT_BYTES: usize = 200;

/// Agents that come and go, in a second.
const VISITS: f64 = 100.0;

/// Between two messages while the servers restart.
const THROUGHOUT: Duration = Duration::from_millis(20);

/// How long reconnecting may take, and then a message that was sent meanwhile.
const PATIENCE: Duration = Duration::from_secs(120);

/// The servers with those who are connected to them.
pub(crate) struct Measured<'i> {
    pub(crate) installation: &'i mut Installation,
    pub(crate) crowd: Crowd,
    /// How many of the agents are connected, the first ones.
    pub(crate) connected: usize,
    /// From when stamps count.
    pub(crate) origin: Instant,
}

/// Microseconds on the processors.
#[derive(Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) servers: f64,
    pub(crate) store: f64,
}

impl Cost {
    #[expect(clippy::cast_precision_loss, reason = "far below the limit")]
    fn of(spent: Spent, idle: Self, time: Duration, count: u64) -> Self {
        let each = |spent, idle| (micros(spent) - idle * time.as_secs_f64()) / count as f64;
        Self { servers: each(spent.servers, idle.servers), store: each(spent.store, idle.store) }
    }
}

/// What became of messages.
pub(crate) struct Sent {
    pub(crate) cost: Cost,
    /// Milliseconds from when a message was due until its socket had it.
    pub(crate) p50: f64,
    pub(crate) p99: f64,
}

/// What a restart was.
pub(crate) struct Restarted {
    /// From the signal until the servers had ended, until they served, and until everybody was connected.
    pub(crate) stopped: Duration,
    pub(crate) started: Duration,
    pub(crate) connected: Duration,
    /// What the agents saw.
    pub(crate) report: Report,
    /// Messages that were accepted meanwhile, and those of them that no socket got.
    pub(crate) accepted: usize,
    pub(crate) lost: usize,
    /// From the signal until the last of them was there.
    pub(crate) caught_up: Duration,
}

impl Measured<'_> {
    /// What a second costs in which nothing is done.
    pub(crate) async fn idle(&self, time: Duration) -> Cost {
        let (before, begun) = (self.installation.spent(), Instant::now());
        sleep(time).await;
        let spent = self.installation.spent().since(before);
        let seconds = begun.elapsed().as_secs_f64();
        Cost { servers: micros(spent.servers) / seconds, store: micros(spent.store) / seconds }
    }

    /// What one of `/next` costs where nothing waits, of agents from this one on.
    pub(crate) async fn polls(&self, from: usize, time: Duration, idle: Cost) -> Cost {
        let (before, begun) = (self.installation.spent(), Instant::now());
        let asked = self.ask(from, time, |agent| {
            let path = format!("/api/v1/agent/chats/{}/messages/next", room_id(agent));
            request("GET", &path, &agent_key(agent), "")
        });
        let asked = asked.await;
        Cost::of(self.installation.spent().since(before), idle, begun.elapsed(), asked)
    }

    /// Messages to connected agents.
    pub(crate) async fn sends(&mut self, time: Duration, idle: Cost) -> Sent {
        self.crowd.report();
        let (before, begun) = (self.installation.spent(), Instant::now());
        let asked = self.ask(0, time, |agent| {
            let body = message(&stamped_text(CONTENT_BYTES), &[&agent_id(roommate(agent))]).to_string();
            let path = format!("/api/v1/agent/chats/{}/messages", room_id(agent));
            request("POST", &path, &agent_key(agent), &body)
        });
        let asked = asked.await;
        let deadline = Instant::now() + PATIENCE;
        let mut waits = Vec::new();
        loop {
            waits.extend(self.crowd.report().heard.into_iter().map(|(_, took)| took));
            if waits.len() as u64 >= asked {
                break;
            }
            assert!(Instant::now() < deadline, "{} of {asked} messages came", waits.len());
            sleep(Duration::from_millis(50)).await;
        }
        let cost = Cost::of(self.installation.spent().since(before), idle, begun.elapsed(), asked);
        Sent { cost, p50: wait_quantile(&waits, 0.5), p99: wait_quantile(&waits, 0.99) }
    }

    /// Each server is asked at its share of the rate, each time in the name of another connected agent from this one
    /// on; how much was asked.
    async fn ask(&self, from: usize, time: Duration, request: impl Fn(usize) -> Vec<u8>) -> u64 {
        let nodes = &self.installation.nodes;
        #[expect(clippy::cast_precision_loss, reason = "few")]
        let rate = RATE / nodes.len() as f64;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small number")]
        let each = (rate * time.as_secs_f64()) as usize / ASKERS + 1;
        let ran = (0..nodes.len()).map(|node| {
            let askers = (0..ASKERS).map(|_| {
                let requests = (0..each).map(|_| request(self.somebody(from, node)));
                Asker::of(requests.collect())
            });
            let (address, askers) = (nodes[node].address(), askers.collect::<Vec<_>>());
            async move { load::open(&address, askers, self.origin, rate, time).await.asked }
        });
        join_all(ran.collect::<Vec<_>>()).await.into_iter().sum()
    }

    /// A connected agent from this one on, at random, of a room of this server.
    fn somebody(&self, from: usize, node: usize) -> usize {
        loop {
            let agent = from + pick(self.connected - from);
            if agent / IN_ROOM % self.installation.nodes.len() == node {
                return agent;
            }
        }
    }

    /// Agents behind those who are connected come and go; what a visit costs, and how many bytes each one causes at
    /// those who watch the participants of its room, if somebody does.
    pub(crate) async fn visits(&self, count: usize, watched: bool, idle: Cost) -> (Cost, f64) {
        let visitors = self.connected..self.connected + count;
        let watch = |agent: usize| {
            let topics = vec![format!("room_participants:{}", room_id(agent))];
            scene::wish(self.installation.node_of(agent), &owner_key(agent), topics)
        };
        let wishes = visitors.clone().step_by(IN_ROOM).map(watch);
        let watchers = Flock::open(wishes.filter(|_| watched).collect(), Keep::First).await;
        sleep(Duration::from_secs(1)).await;
        let (before, begun, bytes) = (self.installation.spent(), Instant::now(), watchers.bytes());
        let visits = (0_u32..).zip(visitors).map(|(place, agent)| {
            let topics =
                vec![format!("agent_rooms:{}", agent_id(agent)), format!("chat_room:{}", room_id(agent))];
            let wish = scene::wish(self.installation.node_of(agent), &agent_key(agent), topics);
            let due = begun + Duration::from_secs_f64(f64::from(place) / VISITS);
            async move {
                sleep_until(due.into()).await;
                let mut socket = joined(&wish).await;
                socket.send(Message::Close(None)).await.unwrap();
                // It is over when the server has answered.
                while let Some(Ok(_)) = futures_util::StreamExt::next(&mut socket).await {}
            }
        });
        for visit in join_all(visits.map(tokio::spawn)).await {
            visit.unwrap();
        }
        // What is written behind a visit is its cost too.
        sleep(Duration::from_secs(2)).await;
        let spent = self.installation.spent().since(before);
        #[expect(clippy::cast_precision_loss, reason = "far below the limit")]
        let (count, bytes) = (count as u64, (watchers.bytes() - bytes) as f64 / count as f64);
        (Cost::of(spent, idle, begun.elapsed(), count), bytes)
    }

    /// All servers stop and start again, while messages are sent.
    pub(crate) async fn restart(&mut self) -> Restarted {
        self.crowd.report();
        let (accepted, over) = (Arc::<Mutex<Vec<u64>>>::default(), Arc::<AtomicBool>::default());
        let rooms = (0..100 * self.installation.nodes.len()).map(|turn| {
            let agent = self.somebody(0, turn % self.installation.nodes.len());
            (self.installation.node_of(agent).address(), agent)
        });
        let ways = rooms.collect();
        let sender = tokio::spawn(throughout(ways, self.origin, accepted.clone(), over.clone()));
        sleep(Duration::from_secs(1)).await;
        let begun = Instant::now();
        self.installation.stop().await;
        let stopped = begun.elapsed();
        self.installation.serve().await;
        let started = begun.elapsed();
        let mut report = self.crowd.until_open(self.connected, self.connected, PATIENCE).await;
        let connected = begun.elapsed();
        over.store(true, Ordering::Relaxed);
        sender.await.unwrap();
        let accepted = accepted.lock().unwrap().clone();
        let deadline = Instant::now() + PATIENCE;
        let mut heard = HashSet::<u64>::new();
        let lost = loop {
            heard.extend(std::mem::take(&mut report.heard).into_iter().map(|(sent, _)| sent));
            let lost = accepted.iter().filter(|sent| !heard.contains(sent)).count();
            if lost == 0 || Instant::now() > deadline {
                break lost;
            }
            sleep(Duration::from_millis(100)).await;
            report.heard = self.crowd.report().heard;
        };
        let caught_up = begun.elapsed();
        Restarted { stopped, started, connected, report, accepted: accepted.len(), lost, caught_up }
    }
}

/// Sends messages in these agents' names in turn, until it is over; notes the stamps of those that are accepted.
async fn throughout(
    ways: Vec<(String, usize)>,
    origin: Instant,
    accepted: Arc<Mutex<Vec<u64>>>,
    over: Arc<AtomicBool>,
) {
    let client = reqwest::Client::builder().timeout(Duration::from_secs(5)).build().unwrap();
    let mut under_way = Vec::new();
    for (server, agent) in ways.iter().cycle() {
        if over.load(Ordering::Relaxed) {
            break;
        }
        let stamp = u64::try_from(origin.elapsed().as_micros()).unwrap();
        let text = format!("{STAMP}{stamp:0STAMP_DIGITS$}. Please look at this.");
        let url = format!("http://{server}/api/v1/agent/chats/{}/messages", room_id(*agent));
        let body = message(&text, &[&agent_id(roommate(*agent))]);
        let send = client.post(url).header("x-api-key", agent_key(*agent)).json(&body).send();
        let accepted = accepted.clone();
        under_way.push(tokio::spawn(async move {
            if send.await.is_ok_and(|answer| answer.status() == 201) {
                accepted.lock().unwrap().push(stamp);
            }
        }));
        sleep(THROUGHOUT).await;
    }
    join_all(under_way).await;
}

/// Another agent of the same room, at random.
fn roommate(agent: usize) -> usize {
    let others = roommates(agent).filter(|other| *other != agent).collect::<Vec<_>>();
    others[pick(others.len())]
}

/// A number below this one, at random.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "an index"
)]
fn pick(count: usize) -> usize {
    ((share() * count as f64) as usize).min(count - 1)
}
