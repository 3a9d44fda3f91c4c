//! Every message for an agent that listens reaches it, even if events are lost between the commit and the
//! socket, or the server stops or is killed between the push and its acknowledgement.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::time::Duration;

use e2e::cast::Cast;
use e2e::{Api, Server, Socket, elapse, isolated, program, until};
use serde_json::{Value, json};
use tokio::time::timeout;

/// The maximum wait for all messages of a test.
const PATIENCE: Duration = Duration::from_secs(60);

/// Says how it went, also when the test passes and its output is not shown.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// The status of the agent's delivery of each message of the room; null is new.
async fn states(human: &Api, agent: &Api, room: &str) -> BTreeMap<String, Value> {
    let state = |message: &Value| message["metadata"]["delivery_status"][&agent.id]["status"].clone();
    let id = |message: &Value| message["id"].as_str().unwrap().to_owned();
    human.history(room).await.iter().map(|message| (id(message), state(message))).collect()
}

/// Reads what is pushed to an agent until all of `wanted` came; how often each did.
async fn receive(mut socket: Socket, topic: String, wanted: usize) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    while counts.len() < wanted {
        let message = socket.event("1", &topic, "message_created").await;
        *counts.entry(message["id"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    counts
}

async fn nothing_stays_undelivered(lose_one_of: &str) {
    let settings = [("PARLANCE_FAULT_LOSE_MESSAGES", lose_one_of), ("PARLANCE_REDELIVERY_AFTER_MS", "200")];
    let server = Server::start_with(&settings).await;
    let cast = Cast::on(&server).await;
    let topic = format!("chat_room:{}", cast.r1);
    let mut sockets = Vec::new();
    for agent in [&cast.a1, &cast.a2] {
        let mut socket = Socket::of(&server, agent).await;
        socket.join("1", &topic).await;
        sockets.push(socket);
    }
    // Each of three writers in its own time; what one agent says is for the other.
    let (number, one, both) = (25, [&cast.a2.id], [&cast.a1.id, &cast.a2.id]);
    let write = async |who: &Api, to: &[&String]| {
        let to = to.iter().map(|id| id.as_str()).collect::<Vec<_>>();
        let mut sent = Vec::new();
        for index in 0..number {
            sent.push(who.sent(&cast.r1, &format!("message {index}"), &to).await);
        }
        sent
    };
    let [first, second] = <[Socket; 2]>::try_from(sockets).ok().unwrap();
    let received = async {
        tokio::join!(receive(first, topic.clone(), 2 * number), receive(second, topic.clone(), 3 * number))
    };
    let all = async {
        tokio::join!(write(&cast.u1, &both), write(&cast.u1, &both), write(&cast.a1, &one), received)
    };
    let (mine, more, agents, (first, second)) = timeout(PATIENCE, all).await.expect("all of it arrives");

    let for_both = mine.into_iter().chain(more).collect::<BTreeSet<_>>();
    assert_eq!(first.keys().cloned().collect::<BTreeSet<_>>(), for_both);
    let for_second = for_both.into_iter().chain(agents).collect::<BTreeSet<_>>();
    assert_eq!(second.keys().cloned().collect::<BTreeSet<_>>(), for_second);
    for (agent, received) in [(&cast.a1, &first), (&cast.a2, &second)] {
        until("everything that was taken is written down", async || {
            let states = states(&cast.u1, agent, &cast.r1).await;
            received.keys().all(|id| states[id] == "delivered")
        })
        .await;
    }
    let pushes = first.values().chain(second.values()).sum::<usize>();
    say(&format!("lost one of {lose_one_of}: {} deliveries, {pushes} pushes", first.len() + second.len()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_message_arrives_though_every_event_is_lost() {
    nothing_stays_undelivered("1").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_message_arrives_though_every_third_event_is_lost() {
    nothing_stays_undelivered("3").await;
}

/// An agent that was away and never asks gets what waits for it over its socket, once, the oldest first.
#[tokio::test]
async fn a_backlog_is_pushed_to_an_agent_that_never_asks() {
    let settings = [("PARLANCE_FAULT_LOSE_MESSAGES", "1"), ("PARLANCE_REDELIVERY_AFTER_MS", "100")];
    let server = Server::start_with(&settings).await;
    let cast = Cast::on(&server).await;
    let topic = format!("chat_room:{}", cast.r1);
    let mut older = Vec::new();
    // More than are pushed at once.
    for number in 0..10 {
        older.push(cast.u1.sent(&cast.r1, &format!("message {number}"), &[&cast.a1.id]).await);
    }
    let mut socket = Socket::of(&server, &cast.a1).await;
    socket.join("1", &topic).await;
    let newer = cast.u1.sent(&cast.r1, "newer", &[&cast.a1.id]).await;
    let mut received = Vec::new();
    for _ in 0..=older.len() {
        let message = socket.event("1", &topic, "message_created").await;
        received.push(message["id"].as_str().unwrap().to_owned());
    }
    socket.silent().await;
    // What was written after the join need not wait for it.
    received.retain(|id| *id != newer);
    assert_eq!(received, older);
    assert_eq!(cast.a1.next(&cast.r1).await.as_ref(), older.first());
}

/// An agent that works through its backlog with `/next` gets nothing of it over its socket, however long it takes
/// for one message. When it has stopped, it gets the rest.
#[tokio::test]
async fn a_backlog_is_left_to_an_agent_that_drains_it() {
    let server = Server::start_with(&[("PARLANCE_REDELIVERY_AFTER_MS", "1500")]).await;
    let cast = Cast::on(&server).await;
    let topic = format!("chat_room:{}", cast.r1);
    let mut sent = Vec::new();
    for number in 0..3 {
        sent.push(cast.u1.sent(&cast.r1, &format!("message {number}"), &[&cast.a1.id]).await);
    }
    let mut socket = Socket::of(&server, &cast.a1).await;
    socket.join("1", &topic).await;
    for (id, end) in sent.iter().zip(["processed", "failed"]) {
        assert_eq!(cast.a1.next(&cast.r1).await.as_ref(), Some(id));
        assert_eq!(cast.a1.step(&cast.r1, id, "processing").await.status, 200);
        // Longer than an agent has to begin.
        elapse(Duration::from_secs(6)).await;
        assert_eq!(cast.a1.step(&cast.r1, id, end).await.status, 200);
        socket.alive().await;
    }
    assert_eq!(socket.event("1", &topic, "message_created").await["id"], json!(sent[2]));
    socket.silent().await;
}

/// Messages that wait for a client that does not read are neither delivered nor queued twice; the client gets each once
/// when it reads on.
#[tokio::test]
async fn a_client_that_reads_late_gets_each_message_once() {
    // However long the messages take, the client is not idle for too long.
    let settings = [
        ("PARLANCE_SOCKET_QUEUE_BYTES", "67108864"),
        ("PARLANCE_REDELIVERY_AFTER_MS", "1000"),
        ("PARLANCE_SOCKET_IDLE_TIMEOUT_MS", "600000"),
    ];
    let server = Server::start_with(&settings).await;
    let cast = Cast::on(&server).await;
    let topic = format!("chat_room:{}", cast.r1);
    let mut socket = Socket::of(&server, &cast.a1).await;
    socket.join("1", &topic).await;
    // More than the buffers of both ends hold.
    let text = "x".repeat(500_000);
    let mut sent = Vec::new();
    for _ in 0..20 {
        sent.push(cast.u1.sent(&cast.r1, &text, &[&cast.a1.id]).await);
    }
    // Three times as long as a message has to wait.
    elapse(Duration::from_secs(3)).await;
    let before = states(&cast.u1, &cast.a1, &cast.r1).await;
    let taken = sent.iter().filter(|id| before[*id] == "delivered").count();
    assert!((1..20).contains(&taken), "{taken} of what was not read is said to be delivered");
    assert!(sent[..taken].iter().all(|id| before[id] == "delivered"), "the first ones");
    for id in &sent {
        assert_eq!(socket.event("1", &topic, "message_created").await["id"], json!(id));
    }
    socket.silent().await;
    until("everything that was taken is written down", async || {
        states(&cast.u1, &cast.a1, &cast.r1).await.values().all(|state| state == "delivered")
    })
    .await;
}

/// Killed between the push and its record: the delivery may be new as before, and `/next` has it.
#[tokio::test]
async fn killed_between_the_push_and_its_record_the_message_waits_for_next() {
    let mut server = Server::start_alone(&[]).await;
    let cast = Cast::on(&server).await;
    let topic = format!("chat_room:{}", cast.r1);
    let (mut sent, mut unacknowledged) = (Vec::new(), 0);
    for number in 0..5 {
        let mut socket = Socket::of(&server, &cast.a1).await;
        socket.join("1", &topic).await;
        let id = cast.u1.sent(&cast.r1, &format!("message {number}"), &[&cast.a1.id]).await;
        assert_eq!(socket.event("1", &topic, "message_created").await["id"], json!(id));
        server.crash().await;
        sent.push(id.clone());
        match &states(&cast.u1, &cast.a1, &cast.r1).await[&id] {
            Value::Null => unacknowledged += 1,
            state => assert_eq!(state, "delivered"),
        }
        // It was written before this join, so it is not pushed again at once.
        let mut socket = Socket::of(&server, &cast.a1).await;
        socket.join("1", &topic).await;
        socket.alive().await;
        assert_eq!(cast.a1.next(&cast.r1).await.as_ref(), sent.first());
    }
    say(&format!("kills between push and record: {unacknowledged} of {}", sent.len()));
    for id in &sent {
        assert_eq!(cast.a1.next(&cast.r1).await.as_ref(), Some(id));
        for step in ["processing", "processed"] {
            assert_eq!(cast.a1.step(&cast.r1, id, step).await.status, 200, "{step}");
        }
    }
    assert_eq!(cast.a1.next(&cast.r1).await, None);
}

#[tokio::test]
async fn a_stop_in_order_writes_down_what_was_taken() {
    let mut server = Server::start_alone(&[]).await;
    let cast = Cast::on(&server).await;
    let topic = format!("chat_room:{}", cast.r1);
    let mut socket = Socket::of(&server, &cast.a1).await;
    socket.join("1", &topic).await;
    let id = cast.u1.sent(&cast.r1, "the last one", &[&cast.a1.id]).await;
    socket.event("1", &topic, "message_created").await;
    server.terminate().await;
    server.run().await;
    assert_eq!(states(&cast.u1, &cast.a1, &cast.r1).await[&id], "delivered");
}

/// The switch that loses messages is not offered, not kept in a file, and not overlooked.
#[tokio::test]
async fn losing_messages_on_purpose_is_said_aloud() {
    let server = Server::start_with(&[("PARLANCE_FAULT_LOSE_MESSAGES", "2")]).await;
    assert!(server.logged().contains("FOR TESTS ONLY"), "{}", server.logged());
    assert!(!Server::start().await.logged().contains("FOR TESTS ONLY"));
    // Ended by itself, with success or without; what it said.
    let run = |arguments: &[&str]| {
        let output = isolated("timeout").arg("20").arg(program()).args(arguments).output().unwrap();
        assert_ne!(output.status.code(), Some(124), "it serves: {arguments:?}");
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(said).unwrap())
    };
    let (shown, help) = run(&["serve", "--help"]);
    assert!(shown && help.contains("redelivery-after-ms") && !help.contains("lose-messages"), "{help}");
    for refused in [["serve", "--fault-lose-messages=0"], ["serve", "--redelivery-after-ms=99"]] {
        let (well, said) = run(&refused);
        assert!(!well && said.contains("is not a whole number from"), "{said}");
    }
    let place = tempfile::TempDir::new().unwrap();
    let file = place.path().join("parlance.toml");
    std::fs::write(&file, "fault_lose_messages = 2").unwrap();
    let (well, said) = run(&["serve", "--config", file.to_str().unwrap()]);
    assert!(!well && said.contains("fault_lose_messages"), "{said}");
}
