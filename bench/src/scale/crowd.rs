//! The agents' ends of the sockets, in processes of their own, because the number of files that a process may open is limited.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::Args;
use serde::{Deserialize, Serialize};
use tokio::time::{sleep, timeout};

use super::population::{IN_ROOM, agent_id, agent_key, room_id};
use crate::flock::{Wish, stamp, try_joined};
use crate::scene;
use crate::skim::{Came, Skimmer};
use crate::stats::wait;

/// How long a published client waits for its socket.
const OPEN: Duration = Duration::from_secs(10);

/// When a published client connects again: after a restart of the server within this time, and after a failure in twice
/// the time of the one before, both at random.
const AFTER_RESTART: (f64, f64) = (1.0, 5.0);
const AFTER_FAILURE: (f64, f64) = (0.5, 30.0);

/// What the server says when it restarts.
const RESTART: u16 = 1012;

/// Which agents a process is, and where they connect.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Part {
    /// The server.
    pub(crate) server: SocketAddr,
    /// The number of the first agent.
    pub(crate) first: usize,
    /// The number of the one after the last.
    pub(crate) end: usize,
    /// The number of servers. Of these agents, the process is those whose room number leaves `node` when divided by it.
    pub(crate) nodes: usize,
    /// The number of the server.
    pub(crate) node: usize,
    /// The address that they come from.
    pub(crate) source: Ipv4Addr,
    /// How many connect in a second.
    pub(crate) rate: f64,
    /// The moment from which stamps count, in microseconds since 1970.
    pub(crate) origin: u64,
}

impl Part {
    pub(crate) fn agents(&self) -> impl Iterator<Item = usize> + use<> {
        let Self { first, end, nodes, node, .. } = *self;
        (first..end).filter(move |agent| agent / IN_ROOM % nodes == node)
    }
}

/// What has happened since the last report.
#[derive(Default, Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    /// How many sockets are open and joined now.
    pub(crate) open: usize,
    /// How many attempts to connect have failed.
    pub(crate) failed: usize,
    /// How many sockets ended with the word that the server restarts, and how many otherwise.
    pub(crate) restarts: usize,
    pub(crate) broken: usize,
    /// The stamps of messages, and how long each took since then, in microseconds.
    pub(crate) heard: Vec<(u64, u32)>,
}

impl Report {
    fn add(&mut self, other: Self) {
        self.open += other.open;
        self.failed += other.failed;
        self.restarts += other.restarts;
        self.broken += other.broken;
        self.heard.extend(other.heard);
    }
}

/// All processes.
pub(crate) struct Crowd(Vec<Process>);

struct Process {
    child: Child,
    ask: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Crowd {
    /// Starts to connect.
    pub(crate) fn start(parts: &[Part]) -> Self {
        let start = |part: &Part| {
            let Part { server, first, end, nodes, node, source, rate, origin } = *part;
            let arguments = [
                server.to_string(),
                first.to_string(),
                end.to_string(),
                nodes.to_string(),
                node.to_string(),
                source.to_string(),
                rate.to_string(),
                origin.to_string(),
            ];
            let mut child = Command::new(std::env::current_exe().unwrap())
                .arg("crowd")
                .args(arguments)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let (ask, answers) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
            Process { child, ask, answers: BufReader::new(answers) }
        };
        Self(parts.iter().map(start).collect())
    }

    /// What has happened since this was asked last.
    pub(crate) fn report(&mut self) -> Report {
        for process in &mut self.0 {
            process.ask.write_all(b"\n").unwrap();
        }
        let mut all = Report::default();
        for process in &mut self.0 {
            let mut line = String::new();
            process.answers.read_line(&mut line).unwrap();
            all.add(serde_json::from_str(&line).expect("a process of the crowd reports"));
        }
        all
    }

    /// Waits until `ended` sockets have ended and `count` are connected. Returns the sum of the reports until then.
    pub(crate) async fn until_open(&mut self, count: usize, ended: usize, patience: Duration) -> Report {
        let deadline = Instant::now() + patience;
        let mut all = Report::default();
        loop {
            all.open = 0;
            all.add(self.report());
            if all.open == count && all.restarts + all.broken >= ended {
                return all;
            }
            assert!(Instant::now() < deadline, "{} of {count} sockets after {patience:?}: {all:?}", all.open);
            sleep(Duration::from_millis(100)).await;
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the agents of this process share.
struct Shared {
    report: Mutex<Report>,
    origin: Instant,
}

/// Connects these agents, and again whenever their sockets end; reports for each line on the standard input.
pub(crate) async fn be(part: Part) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let origin = Instant::now().checked_sub(now.saturating_sub(Duration::from_micros(part.origin))).unwrap();
    let shared = Arc::new(Shared { report: Mutex::default(), origin });
    let reporter = shared.clone();
    let done = tokio::task::spawn_blocking(move || {
        for line in std::io::stdin().lines() {
            if line.is_err() {
                return;
            }
            let mut report = reporter.report.lock().unwrap();
            let open = report.open;
            let last = std::mem::replace(&mut *report, Report { open, ..Report::default() });
            drop(report);
            println!("{}", serde_json::to_string(&last).unwrap());
        }
    });
    let begun = Instant::now();
    for (place, agent) in (0_u32..).zip(part.agents()) {
        let due = begun + Duration::from_secs_f64(f64::from(place) / part.rate);
        tokio::time::sleep_until(due.into()).await;
        tokio::spawn(live(part, agent, shared.clone()));
    }
    done.await.unwrap();
}

/// One agent, as a published client is.
async fn live(part: Part, agent: usize, shared: Arc<Shared>) {
    let wish = Wish {
        url: scene::socket_url(&part.server.to_string()),
        key: agent_key(agent),
        topics: vec![format!("agent_rooms:{}", agent_id(agent)), format!("chat_room:{}", room_id(agent))],
        source: Some(part.source),
    };
    let mut failure = AFTER_FAILURE.0;
    loop {
        // Boxed, as a socket that is open needs no memory for how it was opened.
        let opened = Box::pin(timeout(OPEN, try_joined(&wish))).await;
        let pause = if let Ok(Ok(socket)) = opened {
            failure = AFTER_FAILURE.0;
            shared.report.lock().unwrap().open += 1;
            let code = listen(Skimmer::new(socket.into_inner(), true), &shared).await;
            let mut report = shared.report.lock().unwrap();
            report.open -= 1;
            if code == Some(RESTART) {
                report.restarts += 1;
                between(AFTER_RESTART)
            } else {
                report.broken += 1;
                between((failure / 2.0, failure))
            }
        } else {
            shared.report.lock().unwrap().failed += 1;
            let pause = between((failure / 2.0, failure));
            failure = AFTER_FAILURE.1.min(failure * 2.0);
            pause
        };
        sleep(pause).await;
    }
}

/// Listens until the end; the code that came before it.
async fn listen(mut socket: Skimmer, shared: &Shared) -> Option<u16> {
    let mut code = None;
    while let Some(came) = socket.next().await {
        match came {
            Came::Close(with) => code = Some(with),
            Came::Text(text) => {
                if let Some(sent) = stamp(text) {
                    let took = wait(shared.origin.elapsed().saturating_sub(sent));
                    let sent = u64::try_from(sent.as_micros()).unwrap();
                    shared.report.lock().unwrap().heard.push((sent, took));
                }
            }
        }
    }
    code
}

/// A time between these, in seconds, at random.
fn between((least, most): (f64, f64)) -> Duration {
    Duration::from_secs_f64(least + (most - least) * super::share())
}
