//! Several servers on one PostgreSQL, with NATS between them.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::collections::BTreeSet;
use std::process::Output;
use std::time::Duration;

use e2e::{Api, Closed, Fleet, Server, Socket, free_port, isolated, program, soon, until};
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::nats::Nats;
use testkit::postgres::server as postgres;
use tokio::time::Instant;

/// So many servers with NATS between them, which know each other.
async fn fleet_with(count: usize, settings: &[(&str, &str)]) -> Fleet {
    let fleet = Fleet::with_nats(count, settings).await;
    fleet.acquainted().await;
    fleet
}

async fn fleet_of(count: usize) -> Fleet {
    fleet_with(count, &[]).await
}

async fn dropped(fleet: &Fleet, server: usize, reason: &str) -> f64 {
    fleet.figure(server, &format!("parlance_bus_dropped_total{{reason=\"{reason}\"}}")).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_done_on_one_server_is_heard_on_the_others() {
    let fleet = fleet_of(3).await;
    let [one, two, three] = &fleet.servers[..] else { panic!("three") };
    let ann = one.user("ann");
    let bot = ann.register(one, "Bot").await;
    let mut of_ann = Socket::of(two, &ann).await;
    of_ann.join("1", &format!("user_rooms:{}", ann.id)).await;
    let mut of_bot = Socket::of(three, &bot).await;
    of_bot.join("1", &format!("agent_rooms:{}", bot.id)).await;

    let room = ann.create_chat().await;
    assert_eq!(ann.add(&room, &bot.id).await.status, 201);
    assert_eq!(of_ann.event("1", &format!("user_rooms:{}", ann.id), "room_added").await["id"], json!(room));
    assert_eq!(of_bot.event("1", &format!("agent_rooms:{}", bot.id), "room_added").await["id"], json!(room));

    let topic = format!("chat_room:{room}");
    of_ann.join("2", &topic).await;
    of_bot.join("2", &topic).await;
    // The human hears what the agent was told, that it was delivered, and what comes of it; each is on another server.
    let sent = ann.sent(&room, "hello", &[&bot.id]).await;
    assert_eq!(of_bot.payload("message_created").await["id"], json!(sent));
    assert_eq!(of_ann.payload("message_created").await["id"], json!(sent));
    let delivered = of_ann.payload("message_updated").await;
    assert_eq!(delivered["metadata"]["delivery_status"][&bot.id]["status"], "delivered", "{delivered}");
    let on_two = bot.on(two);
    assert_eq!(on_two.step(&room, &sent, "processing").await.status, 200);
    let answer = bot.sent(&room, "hello yourself", &[&ann.id]).await;
    assert_eq!(of_ann.payload("message_created").await["id"], json!(answer));
    assert_eq!(bot.step(&room, &sent, "processed").await.status, 200);
    loop {
        let updated = of_ann.payload("message_updated").await;
        if updated["metadata"]["delivery_status"][&bot.id]["status"] == "processed" {
            break;
        }
    }

    assert_eq!(ann.delete(&format!("/chats/{room}/participants/{}", bot.id)).await.status, 200);
    // What is the room's and what is the agent's come by two ways.
    let mut heard = BTreeSet::new();
    while !(heard.contains("phx_close") && heard.contains("room_removed")) {
        heard.insert(of_bot.frame().await[3].as_str().unwrap().to_owned());
    }
    assert_eq!(ann.delete(&format!("/agents/{}?force=true", bot.id)).await.status, 200);
    assert_eq!(of_bot.closed().await, Closed::Code(1008));
    let is_out = soon(async || on_two.get("/me").await.status == 401).await;
    assert!(is_out, "its key is nobody's on any server");
}

/// Everything an agent is sent wakes it, whichever server took it and whichever it is connected to.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_on_different_servers_talk() {
    const ROUNDS: usize = 100;
    let fleet = fleet_of(2).await;
    let [one, two] = &fleet.servers[..] else { panic!("two") };
    let ann = one.user("ann");
    let (left, right) = (ann.register(one, "Left").await, ann.register(two, "Right").await);
    let room = ann.create_chat().await;
    for agent in [&left, &right] {
        assert_eq!(ann.add(&room, &agent.id).await.status, 201);
    }
    let topic = format!("chat_room:{room}");
    let (mut of_left, mut of_right) = (Socket::of(one, &left).await, Socket::of(two, &right).await);
    of_left.join("1", &topic).await;
    of_right.join("1", &topic).await;
    for round in 0..ROUNDS {
        let ping = left.sent(&room, &format!("ping {round}"), &[&right.id]).await;
        assert_eq!(of_right.event("1", &topic, "message_created").await["id"], json!(ping));
        let back = right.sent(&room, &format!("pong {round}"), &[&left.id]).await;
        assert_eq!(of_left.event("1", &topic, "message_created").await["id"], json!(back));
    }
    let again = fleet.figure(0, "parlance_redeliveries_total").await
        + fleet.figure(1, "parlance_redeliveries_total").await;
    assert!(again <= 2.0, "the bus has carried them: {again} were pushed again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_nats_everything_is_answered_and_nothing_is_lost() {
    let mut fleet = fleet_with(2, &[("PARLANCE_REDELIVERY_AFTER_MS", "500")]).await;
    let ann = fleet.servers[0].user("ann");
    let bot = ann.register(&fleet.servers[0], "Bot").await;
    let room = ann.create_chat().await;
    assert_eq!(ann.add(&room, &bot.id).await.status, 201);
    let topic = format!("chat_room:{room}");
    let mut socket = Socket::of(&fleet.servers[1], &bot).await;
    socket.join("1", &topic).await;
    fleet.all_are("ready").await;

    fleet.nats().kill();
    fleet.all_are("degraded").await;
    let mut lost = Vec::new();
    for number in 0..5 {
        let asked = Instant::now();
        lost.push(ann.sent(&room, &format!("while it is away {number}"), &[&bot.id]).await);
        assert!(asked.elapsed() < Duration::from_secs(5), "no request waits for the bus");
    }
    for id in &lost {
        assert_eq!(socket.event("1", &topic, "message_created").await["id"], json!(id), "from the store");
    }
    // What no message brings is found in the store as well.
    let rooms = format!("agent_rooms:{}", bot.id);
    socket.join("2", &rooms).await;
    let new = ann.create_chat().await;
    assert_eq!(ann.add(&new, &bot.id).await.status, 201);
    // The other room is not long ago either, and this socket was not told of it.
    while socket.payload("room_added").await["id"] != json!(new) {}
    assert!(dropped(&fleet, 0, "disconnected").await >= 1.0);
    assert!((fleet.figure(0, "parlance_bus_connected").await - 0.0).abs() < 0.5);

    fleet.nats().run();
    fleet.all_are("ready").await;
    fleet.acquainted().await;
    let received = fleet.figure(1, "parlance_bus_received_total").await;
    let sent = ann.sent(&room, "it is back", &[&bot.id]).await;
    assert_eq!(socket.event("1", &topic, "message_created").await["id"], json!(sent));
    assert!(fleet.figure(1, "parlance_bus_received_total").await > received, "over the bus");

    // Hanging is no other than being away.
    fleet.nats().pause();
    let asked = Instant::now();
    let sent = ann.sent(&room, "it hangs", &[&bot.id]).await;
    assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
    assert_eq!(socket.event("1", &topic, "message_created").await["id"], json!(sent));
    fleet.all_are("degraded").await;
    fleet.nats().resume();
    fleet.all_are("ready").await;
    for server in &fleet.servers {
        let logged = |text: &str| {
            let log = server.logged();
            log.lines().filter(|line| line.contains(text)).map(str::to_owned).collect::<Vec<_>>()
        };
        let over = || logged("NATS available again");
        assert!(soon(async || over().len() >= 2).await, "{}", server.log());
        assert_eq!(logged("NATS unavailable").len(), over().len(), "each outage once, and its end once");
        assert!(over().iter().all(|line| line.contains("duration_ms=")), "{:?}", over());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_others_put_on_the_bus_is_dropped_and_counted() {
    let mut fleet = fleet_of(2).await;
    let ann = fleet.servers[0].user("ann");
    let room = ann.create_chat().await;
    let topic = format!("chat_room:{room}");
    let mut socket = Socket::of(&fleet.servers[1], &ann).await;
    socket.join("1", &topic).await;
    let spy = fleet.nats().spy();
    ann.sent(&room, "true", &[]).await;
    socket.payload("message_created").await;
    let subject = format!("parlance.t.room.{room}");
    // It may reach the other server before the spy.
    let mut heard = Vec::new();
    let over_the_bus = async || {
        heard.extend(spy.heard(&subject));
        !heard.is_empty()
    };
    until("it does not go over the bus", over_the_bus).await;
    let (_, message) = &heard[0];
    let mut forged = message.clone();
    *forged.last_mut().unwrap() ^= 1;
    let mut later = message.clone();
    later[1] = 9;
    fleet.nats().publish(&subject, &forged);
    fleet.nats().publish(&subject, b"{\"event\":\"message_created\"}");
    fleet.nats().publish(&subject, &later);
    fleet.nats().publish(&subject, message);
    for why in ["forged", "malformed", "unknown", "repeated"] {
        until(why, async || dropped(&fleet, 1, why).await >= 1.0).await;
    }
    let last = ann.sent(&room, "the end", &[]).await;
    assert_eq!(socket.payload("message_created").await["id"], json!(last));
}

/// Runs `parlance serve` where it is to end by itself; what it says in its one line.
fn refused(settings: &[(&str, &str)]) -> String {
    let directory = TempDir::new().unwrap();
    let mut command = isolated("timeout");
    command.arg("20").arg(program()).current_dir(directory.path()).args(["--listen", "127.0.0.1:0"]);
    let output: Output = command.envs(settings.iter().copied()).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let text = String::from_utf8(output.stderr).unwrap();
    let said = text.lines().filter(|line| line.starts_with("parlance: ")).collect::<Vec<_>>();
    assert_eq!(said.len(), 1, "{text}");
    assert!(!text.contains("hunter2"), "{text}");
    said[0].to_owned()
}

#[tokio::test]
async fn a_bus_that_can_never_work_is_said_at_the_start() {
    let nats = Nats::start_with(&["--user", "ann", "--pass", "swordfish"]);
    let database = postgres().database();
    let url = database.url();
    let at = |bus: &str| refused(&[("PARLANCE_DATABASE_URL", &url), ("PARLANCE_NATS_URL", bus)]);
    let line = at(&format!("nats://ann:hunter2@127.0.0.1:{}", nats.port()));
    assert!(line.contains("refuses the credentials"), "{line}");
    for bus in ["http://127.0.0.1", "nats://ann:hunter2@host/path", "nats://"] {
        let line = at(bus);
        assert!(line.contains("nats_url") && line.contains("nats://host:4222"), "{line}");
    }
    let embedded = refused(&[("PARLANCE_NATS_URL", "nats://127.0.0.1")]);
    assert!(embedded.contains("PostgreSQL"), "{embedded}");
    let credentials = [
        ("PARLANCE_DATABASE_URL", url.as_str()),
        ("PARLANCE_NATS_URL", "nats://127.0.0.1"),
        ("PARLANCE_NATS_CREDENTIALS", "missing.creds"),
    ];
    let line = refused(&credentials);
    assert!(line.contains("missing.creds"), "{line}");
}

/// A wrong host may be right in a moment: the server says so, serves, and is degraded.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bus_that_cannot_be_reached_is_waited_for() {
    let database = postgres().database();
    let (url, bus) = (database.url(), format!("nats://127.0.0.1:{}", free_port()));
    let server = Server::start_with(&[("PARLANCE_DATABASE_URL", &url), ("PARLANCE_NATS_URL", &bus)]).await;
    let answer = reqwest::get(format!("http://{}/ready", server.address())).await.unwrap();
    assert_eq!(answer.json::<Value>().await.unwrap()["status"], "degraded");
    let human = Api::new(&server, "me", &server.user("ann").key, "");
    assert_eq!(human.get("/chats").await.status, 200);
    assert!(server.logged().contains("cannot connect to NATS"), "{}", server.log());
}
