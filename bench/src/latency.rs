//! From the moment a message is sent to the moment its reader has it.

use std::time::{Duration, Instant};

use tokio::time::sleep_until;

use crate::flock::{Flock, Keep};
use crate::process::{self, cpu};
use crate::scene::{self, Voice};
use crate::stats::{micros, millis, quantile};

/// Rooms, each with two agents that write to one another.
const ROOMS: usize = 50;

pub(crate) async fn run(rate: u32, seconds: u32) {
    let server = process::parlance().await;
    let ann = server.user("ann");
    let agents = scene::agents(&server, &ann, 2 * ROOMS).await;
    let rooms = scene::rooms(&ann, &agents, 2).await;
    let (mut voices, mut wishes) = (Vec::new(), Vec::new());
    for (pair, room) in agents.chunks(2).zip(&rooms) {
        voices.push(Voice::new(&server, "agent", &pair[0], room, &[&pair[1]]));
        voices.push(Voice::new(&server, "agent", &pair[1], room, &[&pair[0]]));
        for agent in pair {
            wishes.push(scene::wish(&server, &agent.key, vec![format!("chat_room:{room}")]));
        }
    }
    let mut flock = Flock::open(wishes, Keep::All).await;

    let count = rate * seconds;
    let origin = Instant::now() + Duration::from_millis(500);
    let before = cpu(server.pid());
    // At their time whatever became of those before: a slow answer delays nobody's question.
    let senders = (0..count).map(|number| {
        let due = origin + Duration::from_secs(1) * number / rate;
        let voice = voices[number as usize % voices.len()].clone();
        tokio::spawn(async move {
            sleep_until(due.into()).await;
            voice.say(&format!("sent={}.", micros(due - origin).round())).await;
        })
    });
    let senders = senders.collect::<Vec<_>>();
    let mut waits = Vec::with_capacity(count as usize);
    for _ in 0..count {
        let (came, text) = flock.next().await;
        let due = text.split("sent=").nth(1).and_then(|rest| rest.split('.').next()).unwrap();
        let due = origin + Duration::from_micros(due.parse().unwrap());
        waits.push(millis(came.saturating_duration_since(due)));
    }
    for sender in senders {
        sender.await.unwrap();
    }
    let spent = micros(cpu(server.pid()).abs_diff(before)) / f64::from(count);
    println!(
        "latency: {rate} messages a second for {seconds} s between agents of {ROOMS} rooms, from sending to \
         receiving: p50 {:.1} ms, p99 {:.1} ms, worst {:.1} ms (target: p99 10 ms); {spent:.0} us of CPU each",
        quantile(&mut waits, 0.5),
        quantile(&mut waits, 0.99),
        quantile(&mut waits, 1.0),
    );
}
