//! What one frame to one socket costs the server's processors.

use std::time::Duration;

use e2e::Server;

use crate::flock::{Flock, Keep};
use crate::process::{self, Bare, cpu, until_idle};
use crate::report::{Row, Target, number};
use crate::scene::{self, Voice};
use crate::stats::{median, micros};

/// Frames of one round, to all sockets together.
const FRAMES: u64 = 100_000;

/// Content of a message, in bytes.
const CONTENT_BYTES: usize = 600;

/// Measures with so many sockets in one room; in each round one server after the other, so that both together have
/// no more connections than a process may.
#[expect(clippy::cast_precision_loss, reason = "far below the limit")]
pub(crate) async fn run(sockets: usize, rounds: usize) -> Vec<Row> {
    let server = process::parlance().await;
    let ann = server.user("ann");
    let chat = ann.create_chat().await;
    let voice = Voice::new(&server, "me", &ann, &chat, &[]);
    let elsewhere = Voice::new(&server, "me", &ann, &ann.create_chat().await, &[]);
    let wishes = vec![scene::wish(&server, &ann.key, vec![format!("chat_room:{chat}")]); sockets];
    let content = "x".repeat(CONTENT_BYTES);
    let bare = Bare::start().await;
    let messages = FRAMES / sockets as u64;

    let (mut ours, mut theirs, mut storing) = (Vec::new(), Vec::new(), Vec::new());
    // The first round is for warming up.
    for round in 0..=rounds {
        let (spent, frame) = spent_by(&server, &wishes, &voice, &content, messages).await;
        let stored = spent_on_storing(server.pid(), &elsewhere, &content, messages).await / sockets as f64;
        let bare_spent = spent_by_bare(&bare, sockets, &frame, messages).await;
        if round > 0 {
            ours.push(spent);
            storing.push(stored);
            theirs.push(bare_spent);
        }
    }
    rows(sockets, &ours, &theirs, &storing)
}

fn rows(sockets: usize, ours: &[f64], theirs: &[f64], storing: &[f64]) -> Vec<Row> {
    let ratio = |share: f64| {
        let all = ours.iter().zip(storing).zip(theirs);
        let ratios = all.map(|((ours, storing), theirs)| (ours - share * storing) / theirs);
        median(&mut ratios.collect::<Vec<_>>())
    };
    let row = |what: String, judged, target| Row {
        store: "embedded",
        what,
        figure: number(median(&mut ours.to_vec()), "us"),
        beside: format!("bare actix-ws {}", number(median(&mut theirs.to_vec()), "us")),
        judged,
        unit: "x",
        target,
    };
    let with = format!("server CPU for each frame, {sockets} sockets, with storing");
    let without = format!("server CPU for each frame, {sockets} sockets, without storing");
    vec![row(with, ratio(0.0), Some(Target::AtMost(1.2))), row(without, ratio(1.0), None)]
}

/// Microseconds of our server's CPU for each frame, and the frame.
async fn spent_by(
    server: &Server,
    wishes: &[crate::flock::Wish],
    voice: &Voice,
    content: &str,
    messages: u64,
) -> (f64, String) {
    let mut flock = Flock::open(wishes.to_vec(), Keep::First).await;
    voice.say(content).await;
    let frame = flock.next().await;
    let spent = spent(server.pid(), &flock, messages, || voice.say(content)).await;
    (spent, frame)
}

/// Microseconds of CPU for sending a round's messages where nobody listens, for each message.
#[expect(clippy::cast_precision_loss, reason = "far below the limit")]
async fn spent_on_storing(pid: u32, voice: &Voice, content: &str, messages: u64) -> f64 {
    until_idle(pid).await;
    let before = cpu(pid);
    for _ in 0..messages {
        voice.say(content).await;
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    micros(cpu(pid).abs_diff(before)) / messages as f64
}

async fn spent_by_bare(bare: &Bare, sockets: usize, frame: &str, messages: u64) -> f64 {
    let flock = Flock::open(vec![scene::bare_wish(&bare.address); sockets], Keep::First).await;
    let (client, url) = (reqwest::Client::new(), format!("http://{}/say", bare.address));
    let say = || async {
        let answer = client.post(&url).body(frame.to_owned()).send().await.unwrap();
        assert_eq!(answer.status(), 200);
    };
    let before = flock.frames();
    say().await;
    flock.until_frames(before + flock.len()).await;
    spent(bare.pid(), &flock, messages, say).await
}

/// Microseconds of CPU for each frame of a round. The next message is sent when the last has come
/// to everybody.
#[expect(clippy::cast_precision_loss, reason = "far below the limit")]
async fn spent<F: Future<Output = ()>>(pid: u32, flock: &Flock, messages: u64, say: impl Fn() -> F) -> f64 {
    until_idle(pid).await;
    let (before, frames) = (cpu(pid), flock.frames());
    for message in 1..=messages {
        say().await;
        flock.until_frames(frames + message * flock.len()).await;
    }
    // What the server does behind the last frame is its work too.
    tokio::time::sleep(Duration::from_millis(200)).await;
    let delivered = (flock.frames() - frames) as f64;
    micros(cpu(pid).abs_diff(before)) / delivered
}
