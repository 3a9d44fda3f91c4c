//! From the moment a message is due to the moment its reader has it, at a rate that leaves the machine air.

use std::time::{Duration, Instant};

use e2e::message;

use crate::flock::{Flock, Keep};
use crate::http::of_agent;
use crate::load::{self, Asker, stamped_text};
use crate::process::{self, cpu};
use crate::report::{Row, Target, number};
use crate::scene;
use crate::stats::{micros, wait_quantile};

/// Rooms, each with two agents that write to one another.
const ROOMS: usize = 50;

/// Bytes of a text.
const CONTENT_BYTES: usize = 200;

pub(crate) async fn run(rate: u32, seconds: u32) -> Vec<Row> {
    let server = process::parlance().await;
    let ann = server.user("ann");
    let agents = scene::agents(&server, &ann, 2 * ROOMS).await;
    let rooms = scene::rooms(&ann, &agents, 2).await;
    let (mut askers, mut wishes) = (Vec::new(), Vec::new());
    for (pair, room) in agents.chunks(2).zip(&rooms) {
        for (from, to) in [(0, 1), (1, 0)] {
            let body = message(&stamped_text(CONTENT_BYTES), &[&pair[to].id]).to_string();
            let send = of_agent("POST", &pair[from], &format!("/chats/{room}/messages"), &body);
            askers.push(Asker::of(vec![send]));
            wishes.push(scene::wish(&server, &pair[to].key, vec![format!("chat_room:{room}")]));
        }
    }
    let origin = Instant::now();
    let flock = Flock::open(wishes, Keep::Waits(origin)).await;
    let before = cpu(server.pid());
    let time = Duration::from_secs(seconds.into());
    let ran = load::open(&server.address(), askers, origin, f64::from(rate), time).await;
    flock.until_frames(ran.asked).await;
    let waits = flock.take_waits();
    #[expect(clippy::cast_precision_loss, reason = "far below the limit")]
    let spent = micros(cpu(server.pid()).abs_diff(before)) / ran.asked as f64;
    let judged = wait_quantile(&waits, 0.99);
    vec![Row {
        store: "embedded",
        what: format!("from send to socket, p99, {rate} a second, {ROOMS} rooms"),
        figure: format!(
            "p50 {}, worst {}, {} of CPU each",
            number(wait_quantile(&waits, 0.5), "ms"),
            number(wait_quantile(&waits, 1.0), "ms"),
            number(spent, "us")
        ),
        beside: String::new(),
        judged,
        unit: "ms",
        target: Some(Target::AtMost(10.0)),
    }]
}
