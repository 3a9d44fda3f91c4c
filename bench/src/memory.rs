//! What the process keeps: when nothing is asked of it, and after a million messages.

use std::fs;
use std::time::{Duration, Instant};

use e2e::message;

use crate::http::of_agent;
use crate::load::{self, Asker, stamped_text};
use crate::places::Place;
use crate::process::{resident, until_idle};
use crate::report::{Row, Target, number};
use crate::scene;

/// Senders, each with a room and a reader who reads nothing.
const SENDERS: usize = 32;

/// Messages that are stored before the memory is looked at.
const WARM: u64 = 200_000;

/// What the allocator may keep at one time and not at another, in MB.
const NOISE_MB: f64 = 4.0;

pub(crate) async fn run(place: &Place, messages: u64) -> Vec<Row> {
    let here = place.serve().await;
    let server = &here.server;
    until_idle(server.pid()).await;
    let idle = resident(server.pid());
    let ann = server.user("ann");
    let agents = scene::agents(server, &ann, 2 * SENDERS).await;
    let rooms = scene::rooms(&ann, &agents, 2).await;
    let send = |(pair, room): (&[e2e::Api], &String)| {
        let body = message(&stamped_text(200), &[&pair[1].id]).to_string();
        of_agent("POST", &pair[0], &format!("/chats/{room}/messages"), &body)
    };
    let requests = agents.chunks(2).zip(&rooms).map(send).collect::<Vec<_>>();
    let address = server.address();
    store(&address, &requests, WARM).await;
    until_idle(server.pid()).await;
    let before = resident(server.pid());
    let stored = store(&address, &requests, messages).await;
    until_idle(server.pid()).await;
    let after = resident(server.pid());
    #[expect(clippy::cast_precision_loss, reason = "far below the limit")]
    let grown = (mb(after) - mb(before)) * 1e6 / stored as f64;
    let row = |what: &str, figure: String, judged, most| Row {
        store: place.name(),
        what: what.to_owned(),
        figure,
        beside: String::new(),
        judged,
        unit: "MB",
        target: Some(Target::AtMost(most)),
    };
    let program = mb(fs::metadata(e2e::program()).unwrap().len());
    vec![
        row("size of the program", number(program, "MB"), program, 30.0),
        row("memory of an idle server", number(mb(idle), "MB"), mb(idle), 20.0),
        row(
            "growth for each million messages",
            format!("{} to {}, {stored} messages", number(mb(before), "MB"), number(mb(after), "MB")),
            grown,
            NOISE_MB,
        ),
    ]
}

/// Stores at least so many; how many there were.
async fn store(address: &str, requests: &[Vec<u8>], count: u64) -> u64 {
    let mut stored = 0;
    while stored < count {
        let askers = requests.iter().map(|request| Asker::of(vec![request.clone()])).collect();
        let ran = load::closed(address, askers, Instant::now(), Duration::ZERO, Duration::from_secs(5));
        stored += ran.await.asked;
    }
    stored
}

#[expect(clippy::cast_precision_loss, reason = "far below the limit")]
fn mb(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
