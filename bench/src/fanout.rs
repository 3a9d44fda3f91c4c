//! What one frame to one socket costs the server's processors.

use std::time::Duration;

use crate::flock::{Flock, Keep};
use crate::process::{self, Bare, cpu, until_idle};
use crate::scene::{self, Voice};
use crate::stats::{median, micros};

/// Sockets in the room.
const SOCKETS: usize = 1_000;

/// Messages of one round.
const MESSAGES: u64 = 100;

/// Rounds, one server after the other in each.
const ROUNDS: usize = 7;

/// Content of a message, in bytes.
const CONTENT_BYTES: usize = 600;

pub(crate) async fn run() {
    let server = process::parlance().await;
    let ann = server.user("ann");
    let chat = ann.create_chat().await;
    let topic = format!("chat_room:{chat}");
    let wishes = (0..SOCKETS).map(|_| scene::wish(&server, &ann.key, vec![topic.clone()])).collect();
    let mut here = Flock::open(wishes, Keep::First).await;
    let voice = Voice::new(&server, "me", &ann, &chat, &[]);
    let elsewhere = Voice::new(&server, "me", &ann, &ann.create_chat().await, &[]);
    let content = "x".repeat(CONTENT_BYTES);
    voice.say(&content).await;
    let (_, frame) = here.next().await;

    let bare = Bare::start().await;
    let there = Flock::open(vec![scene::bare_wish(&bare.address); SOCKETS], Keep::First).await;
    let say = reqwest::Client::new();
    let url = format!("http://{}/say", bare.address);

    let (mut ours, mut theirs, mut storing) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let spent = spent(server.pid(), &here, || voice.say(&content)).await;
        let stored = spent_on_storing(server.pid(), &elsewhere, &content).await;
        let bare_spent = spent_by_bare(&bare, &there, &say, &url, frame.as_str()).await;
        // The first round is for warming up.
        if round > 0 {
            ours.push(spent);
            storing.push(stored);
            theirs.push(bare_spent);
        }
    }
    let ratio = |without: bool| {
        let all = ours.iter().zip(&storing).zip(&theirs);
        let ratios =
            all.map(|((ours, storing), theirs)| (ours - if without { *storing } else { 0.0 }) / theirs);
        median(&mut ratios.collect::<Vec<_>>())
    };
    let (with, without) = (ratio(false), ratio(true));
    println!(
        "fan-out: {SOCKETS} sockets, frames of {} bytes, {ROUNDS} rounds of {MESSAGES} messages, medians: \
         {:.2} us of CPU per delivered frame, of which {:.2} us are its share of taking and storing the message; \
         bare {:.2} us, ratio {with:.2} (target 1.2), {without:.2} without storing",
        frame.len(),
        median(&mut ours),
        median(&mut storing),
        median(&mut theirs),
    );
}

/// The share that one frame has of sending a round's messages where nobody listens.
async fn spent_on_storing(pid: u32, voice: &Voice, content: &str) -> f64 {
    until_idle(pid).await;
    let before = cpu(pid);
    for _ in 0..MESSAGES {
        voice.say(content).await;
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    #[expect(clippy::cast_precision_loss, reason = "far below the limit")]
    let frames = (MESSAGES * SOCKETS as u64) as f64;
    micros(cpu(pid).abs_diff(before)) / frames
}

async fn spent_by_bare(bare: &Bare, flock: &Flock, client: &reqwest::Client, url: &str, frame: &str) -> f64 {
    let say = || async {
        let answer = client.post(url).body(frame.to_owned()).send().await.unwrap();
        assert_eq!(answer.status(), 200);
    };
    spent(bare.pid(), flock, say).await
}

/// Microseconds of CPU for each frame of a round. The next message is sent when the last has come
/// to everybody.
async fn spent<F: Future<Output = ()>>(pid: u32, flock: &Flock, say: impl Fn() -> F) -> f64 {
    until_idle(pid).await;
    let (before, frames) = (cpu(pid), flock.frames());
    for message in 1..=MESSAGES {
        say().await;
        flock.until_frames(frames + message * SOCKETS as u64).await;
    }
    // What the server does behind the last frame is its work too.
    tokio::time::sleep(Duration::from_millis(200)).await;
    #[expect(clippy::cast_precision_loss, reason = "far below the limit")]
    let delivered = (flock.frames() - frames) as f64;
    micros(cpu(pid).abs_diff(before)) / delivered
}
