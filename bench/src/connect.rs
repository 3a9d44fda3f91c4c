//! Ten thousand agents come, wait, and are sent away.

use std::time::Instant;

use e2e::{Api, Server};

use crate::flock::{Flock, Keep};
use crate::process::{self, Bare, resident, until_idle};
use crate::report::{Row, Target, number};
use crate::scene;

/// Agents in one room.
const ROOM: usize = 100;

pub(crate) async fn run(sockets: usize) -> Vec<Row> {
    let mut server = process::parlance().await;
    let ann = server.user("ann");
    let agents = scene::agents(&server, &ann, sockets).await;
    let rooms = scene::rooms(&ann, &agents, ROOM).await;
    // What setting up left in memory is not the sockets'; what the store keeps for everybody is not either.
    server.terminate().await;
    server.run().await;
    scene::show(&server, &agents).await;
    let mut wishes = wishes(&server, &agents, &rooms);
    let started = Instant::now();
    let second = wishes.split_off(sockets / 2);
    let first = Flock::open(wishes, Keep::First).await;
    let half_connected = started.elapsed();
    until_idle(server.pid()).await;
    let half = resident(server.pid());
    let started = Instant::now();
    let second = Flock::open(second, Keep::First).await;
    let connected = half_connected + started.elapsed();
    until_idle(server.pid()).await;
    let ours = each(resident(server.pid()).saturating_sub(half), sockets - sockets / 2);

    let stopped = server.terminate().await;
    let reported = first.until_ended().await + second.until_ended().await;
    drop((first, second));

    let bare = Bare::start().await;
    let wishes = || vec![scene::bare_wish(&bare.address); sockets / 2];
    let _first = Flock::open(wishes(), Keep::First).await;
    until_idle(bare.pid()).await;
    let half = resident(bare.pid());
    let _second = Flock::open(wishes(), Keep::First).await;
    until_idle(bare.pid()).await;
    let theirs = each(resident(bare.pid()).saturating_sub(half), sockets / 2);

    let seconds = |what: String, figure: String, judged: f64, most| Row {
        store: "embedded",
        what,
        figure,
        beside: String::new(),
        judged,
        unit: "s",
        target: Some(Target::AtMost(most)),
    };
    let connected = connected.as_secs_f64();
    let stopped = stopped.as_secs_f64();
    vec![
        seconds(
            format!("{sockets} agents connect and join two topics"),
            number(connected, "s"),
            connected,
            15.0,
        ),
        Row {
            beside: format!("bare actix-ws {}", number(theirs, "bytes")),
            unit: "x",
            ..seconds(
                "memory of an idle socket with two topics".to_owned(),
                number(ours, "bytes"),
                ours / theirs,
                1.15,
            )
        },
        seconds(
            format!("from SIGTERM to the end with {sockets} sockets"),
            format!("{reported} closed with 1012"),
            stopped,
            5.0,
        ),
    ]
}

/// The agents' sockets as a published client opens them: its own topic, and its room.
fn wishes(server: &Server, agents: &[Api], rooms: &[String]) -> Vec<crate::flock::Wish> {
    let wish = |(index, agent): (usize, &Api)| {
        let topics = vec![format!("agent_rooms:{}", agent.id), format!("chat_room:{}", rooms[index / ROOM])];
        scene::wish(server, &agent.key, topics)
    };
    agents.iter().enumerate().map(wish).collect()
}

#[expect(clippy::cast_precision_loss, reason = "far below the limit")]
fn each(bytes: u64, sockets: usize) -> f64 {
    bytes as f64 / sockets as f64
}
