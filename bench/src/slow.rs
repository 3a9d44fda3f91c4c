//! One socket stops reading: what the other 999 in its room notice, and what it costs.

use std::time::Instant;

use crate::flock::{self, Flock, Keep};
use crate::process::{self, resident, until_idle};
use crate::report::{Row, Target, number};
use crate::scene::{self, Voice};
use crate::stats::{median, millis, quantile};

/// Sockets that read.
const READERS: usize = 999;

/// Messages of one part, and the bytes of their contents: more than a queue and the system's buffers hold.
const MESSAGES: u64 = 200;
const CONTENT_BYTES: usize = 60_000;

pub(crate) async fn run() -> Vec<Row> {
    let server = process::parlance().await;
    let ann = server.user("ann");
    let chat = ann.create_chat().await;
    let wish = scene::wish(&server, &ann.key, vec![format!("chat_room:{chat}")]);
    let readers = Flock::open(vec![wish.clone(); READERS], Keep::First).await;
    let voice = Voice::new(&server, "me", &ann, &chat, &[]);

    // The first part is for warming up.
    spread(&readers, &voice).await;
    let mut without = spread(&readers, &voice).await;
    until_idle(server.pid()).await;
    let before = resident(server.pid());
    let stalled = flock::joined(&wish).await;
    let mut beside = spread(&readers, &voice).await;
    let after = resident(server.pid());
    drop(stalled);

    #[expect(clippy::cast_precision_loss, reason = "far below the limit")]
    let grown = (after as f64 - before as f64) / f64::from(1 << 20);
    let (alone, stalling) = (median(&mut without), median(&mut beside));
    vec![Row {
        store: "embedded",
        what: format!("{READERS} sockets beside one that does not read, {CONTENT_BYTES} bytes to all"),
        figure: format!(
            "{} (p99 {}, {grown:.1} MiB more)",
            number(stalling, "ms"),
            number(quantile(&mut beside, 0.99), "ms")
        ),
        beside: format!(
            "without it {} (p99 {})",
            number(alone, "ms"),
            number(quantile(&mut without, 0.99), "ms")
        ),
        judged: stalling / alone,
        unit: "x",
        target: Some(Target::AtMost(1.1)),
    }]
}

/// How long each of the messages took to reach all readers.
async fn spread(readers: &Flock, voice: &Voice) -> Vec<f64> {
    let (content, mut times, frames) = ("x".repeat(CONTENT_BYTES), Vec::new(), readers.frames());
    for message in 1..=MESSAGES {
        let started = Instant::now();
        voice.say(&content).await;
        readers.until_frames(frames + message * READERS as u64).await;
        times.push(millis(started.elapsed()));
    }
    times
}
