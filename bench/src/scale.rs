//! A hundred thousand agents in rooms of ten: what it costs that they are connected, ask, come and go, and that all
//! come back when the servers restart.
//!
//! The number of files that a process may open is limited, and each socket is one. With PostgreSQL there are therefore as
//! many servers as the sockets need, and each of them serves the rooms that are its own. The embedded store has one server.

pub(crate) mod crowd;
mod installation;
mod measured;
mod open_files;
mod population;

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::net::Ipv4Addr;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::Args;
use tokio::time::sleep;

use crate::places::Place;
use crate::report::{Row, Target, number};
use crowd::{Crowd, Part};
use installation::Installation;
use measured::{Cost, Measured, Restarted, Sent};
use population::IN_ROOM;

/// How many connect in a second.
const CONNECTS: f64 = 4000.0;

/// The most sockets of one address, which has about 28,000 ports.
const OF_ADDRESS: usize = 25_000;

/// The most servers on two cores.
const NODES: usize = 16;

/// How long connecting may take.
const PATIENCE: Duration = Duration::from_secs(240);

/// How long the servers have to come to rest.
const SETTLE: Duration = Duration::from_secs(5);

#[derive(Args, Clone, Copy)]
pub(crate) struct Wanted {
    /// How many agents, in rooms of ten.
    #[arg(long, default_value_t = 100_000)]
    agents: usize,
    /// For how many seconds each cost is measured.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// With NATS between the servers.
    #[arg(long)]
    nats: bool,
}

/// What was measured.
struct Shown {
    store: &'static str,
    agents: usize,
    nodes: usize,
    filled: Duration,
    connected: Duration,
    /// Bytes for each socket: of the servers, and of the kernel for the server's end.
    resident: f64,
    kernel: f64,
    /// In a second.
    idle: Cost,
    polls: Cost,
    visits: Cost,
    watched: Cost,
    watched_bytes: f64,
    few: usize,
    compared: Sent,
    sends: Sent,
    restarted: Restarted,
}

pub(crate) async fn run(place: &Place, wanted: Wanted) -> Vec<Row> {
    let most = open_files::raise();
    let agents = wanted.agents.next_multiple_of(IN_ROOM);
    let (nodes, agents) = match place {
        Place::Embedded => (1, agents.min(most / IN_ROOM * IN_ROOM)),
        Place::Postgres(_) => (agents.div_ceil(most.max(1)), agents),
    };
    assert!(
        nodes <= NODES && agents >= 100,
        "{} sockets need {nodes} servers of {most} sockets each, because the number of files that a process may open is limited. \
         Allow more (`ulimit -Hn`), or set --agents.",
        wanted.agents
    );
    if agents < wanted.agents {
        println!("{agents} sockets on the embedded store: a process may not open more files (`ulimit -Hn`)");
    }
    let part = |of: u64| Duration::from_secs((wanted.seconds / of).max(1));
    let (origin, now) = (Instant::now(), SystemTime::now().duration_since(UNIX_EPOCH).unwrap());
    let origin_micros = u64::try_from(now.as_micros()).unwrap();

    let begun = Instant::now();
    let mut installation = Installation::start(place, nodes, wanted.nats).await;
    let visitors = (agents / 100).next_multiple_of(IN_ROOM);
    population::fill(&mut installation, agents + visitors).await;
    let filled = begun.elapsed();
    sleep(SETTLE).await;
    let (resident, kernel) = (installation.resident(), kernel_bytes());

    // What is compared: few sockets on the same store.
    let few = (agents / 10).min(1000);
    let parts = parts(&installation, few, most, origin_micros);
    let crowd = Crowd::start(&parts);
    let mut measured = Measured { installation: &mut installation, crowd, connected: few, origin };
    measured.crowd.until_open(few, 0, PATIENCE).await;
    sleep(SETTLE).await;
    let idle = measured.idle(part(6)).await;
    let compared = measured.sends(part(2), idle).await;
    drop(measured);

    let begun = Instant::now();
    let parts = self::parts(&installation, agents, most, origin_micros);
    let crowd = Crowd::start(&parts);
    let mut measured = Measured { installation: &mut installation, crowd, connected: agents, origin };
    measured.crowd.until_open(agents, 0, PATIENCE).await;
    let connected = begun.elapsed();
    sleep(SETTLE).await;
    let resident = each(measured.installation.resident().saturating_sub(resident), agents);
    // Both ends of the sockets are here.
    let kernel = each(kernel_bytes().saturating_sub(kernel), 2 * agents);
    let idle = measured.idle(part(1)).await;
    let polls = measured.polls(few, part(3), idle).await;
    let (visits, _) = measured.visits(visitors, false, idle).await;
    let (watched, watched_bytes) = measured.visits(visitors, true, idle).await;
    let sends = measured.sends(part(1), idle).await;
    let restarted = measured.restart().await;
    let store = place.name();
    rows(&Shown {
        store,
        agents,
        nodes,
        filled,
        connected,
        resident,
        kernel,
        idle,
        polls,
        visits,
        watched,
        watched_bytes,
        few,
        compared,
        sends,
        restarted,
    })
}

/// The processes of the first agents, up to this number. Each has an address of its own, and no more sockets than a process may have.
fn parts(installation: &Installation, agents: usize, most: usize, origin: u64) -> Vec<Part> {
    let nodes = installation.nodes.len();
    let processes = agents.div_ceil(nodes).div_ceil(most.min(OF_ADDRESS));
    let of_each = (agents / processes).next_multiple_of(IN_ROOM);
    let all = (0..nodes).flat_map(|node| (0..processes).map(move |process| (node, process)));
    let part = |(place, (node, process)): (usize, (usize, usize))| Part {
        server: installation.nodes[node].address().parse().unwrap(),
        first: process * of_each,
        end: agents.min((process + 1) * of_each),
        nodes,
        node,
        source: Ipv4Addr::new(127, 0, 1, u8::try_from(place + 1).unwrap()),
        rate: CONNECTS / count(nodes * processes),
        origin,
    };
    all.enumerate().map(part).collect()
}

/// What the kernel holds for sockets and other things of its own.
fn kernel_bytes() -> u64 {
    let number = |text: &str| text.split_whitespace().next().unwrap().parse::<u64>().unwrap();
    let memory = fs::read_to_string("/proc/meminfo").unwrap();
    let slab = memory.lines().find_map(|line| line.strip_prefix("Slab:")).unwrap();
    let sockets = fs::read_to_string("/proc/net/sockstat").unwrap();
    let tcp = sockets.lines().find(|line| line.starts_with("TCP:")).unwrap();
    let pages = tcp.split_once(" mem ").unwrap().1;
    number(slab) * 1024 + number(pages) * 4096
}

fn rows(shown: &Shown) -> Vec<Row> {
    let mut rows = rows_of_rest(shown);
    rows.extend(rows_of_work(shown));
    rows.extend(rows_of_restart(shown));
    rows
}

/// What it costs that the agents are there.
fn rows_of_rest(shown: &Shown) -> Vec<Row> {
    let Shown { agents, filled, connected, .. } = *shown;
    let thousands = count(agents) / 1000.0;
    let idle = Cost { servers: shown.idle.servers / thousands, store: shown.idle.store / thousands };
    vec![
        Row {
            unit: "s",
            ..row(
                shown,
                format!("a store filled with {agents} agents in {} rooms", agents / IN_ROOM),
                seconds(filled),
                String::new(),
                filled.as_secs_f64(),
            )
        },
        Row {
            unit: "s",
            ..row(
                shown,
                format!("{agents} sockets with two topics each, {CONNECTS} a second at most"),
                seconds(connected),
                format!("{} servers", shown.nodes),
                connected.as_secs_f64(),
            )
        },
        Row {
            unit: "bytes",
            ..row(
                shown,
                "memory of the servers for each socket".to_owned(),
                number(shown.resident, "bytes"),
                format!("kernel {}", number(shown.kernel, "bytes")),
                shown.resident + shown.kernel,
            )
        },
        of_cost(shown, "CPU in a second for 1,000 idle sockets".to_owned(), idle),
        of_cost(shown, "/next of an idle agent, 200 a second".to_owned(), shown.polls),
        of_cost(shown, "an agent connects, joins two topics, and leaves".to_owned(), shown.visits),
        of_cost(
            shown,
            format!("the same, watched by one socket ({})", number(shown.watched_bytes, "bytes")),
            shown.watched,
        ),
    ]
}

/// Messages, beside those with few sockets.
fn rows_of_work(shown: &Shown) -> [Row; 2] {
    let (sends, compared) = (&shown.sends, &shown.compared);
    let waits = |sent: &Sent| format!("{} (p50 {})", number(sent.p99, "ms"), number(sent.p50, "ms"));
    let cpu = |sent: &Sent| sent.cost.servers + sent.cost.store;
    let few = format!("{} sockets", shown.few);
    [
        row(
            shown,
            "from send to socket, p99, 200 a second".to_owned(),
            waits(sends),
            format!("{few} {}", waits(compared)),
            sends.p99 / compared.p99,
        ),
        row(
            shown,
            "CPU of servers and store for each send".to_owned(),
            number(cpu(sends), "us"),
            format!("{few} {}", number(cpu(compared), "us")),
            cpu(sends) / cpu(compared),
        ),
    ]
}

fn rows_of_restart(shown: &Shown) -> [Row; 2] {
    let Restarted { stopped, started, connected, ref report, accepted, lost, caught_up } = shown.restarted;
    let came = accepted - lost;
    [
        Row {
            unit: "s",
            ..row(
                shown,
                format!("from SIGTERM until all {} are connected again", shown.agents),
                seconds(connected),
                format!(
                    "stopped {}, serving {}; {} sockets told, {} not, {} failed attempts",
                    seconds(stopped),
                    seconds(started),
                    report.restarts,
                    report.broken,
                    report.failed
                ),
                connected.as_secs_f64(),
            )
        },
        Row {
            target: Some(Target::AtLeast(1.0)),
            ..row(
                shown,
                "messages accepted in that time that reached their socket".to_owned(),
                format!("{came} of {accepted}"),
                format!("the last one after {}", seconds(caught_up)),
                count(came) / count(accepted),
            )
        },
    ]
}

/// A ratio without a target.
fn row(shown: &Shown, what: String, figure: String, beside: String, judged: f64) -> Row {
    Row { store: shown.store, what, figure, beside, judged, unit: "x", target: None }
}

fn of_cost(shown: &Shown, what: String, cost: Cost) -> Row {
    let beside = if cost.store > 0.0 { format!("store {}", number(cost.store, "us")) } else { String::new() };
    let all = cost.servers + cost.store;
    Row { unit: "us", ..row(shown, what, number(cost.servers, "us"), beside, all) }
}

fn seconds(time: Duration) -> String {
    number(time.as_secs_f64(), "s")
}

#[expect(clippy::cast_precision_loss, reason = "far below the limit")]
fn count(number: usize) -> f64 {
    number as f64
}

#[expect(clippy::cast_precision_loss, reason = "far below the limit")]
fn each(bytes: u64, sockets: usize) -> f64 {
    bytes as f64 / count(sockets)
}

/// A number from 0 to 1, at random.
#[expect(clippy::cast_precision_loss, reason = "chance needs no more places")]
fn share() -> f64 {
    RandomState::new().hash_one(0) as f64 / u64::MAX as f64
}
