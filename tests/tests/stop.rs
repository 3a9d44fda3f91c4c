//! A graceful stop under load: sockets are closed with 1012, no accepted message is lost, and clients that do not read
//! do not delay it.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use e2e::{Api, Closed, Server, Socket, elapse, pace, until};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Message;

/// The maximum duration of a stop.
const STOP: Duration = Duration::from_secs(15);

/// The last message.
const LAST: &str = "the last one";

/// A human, four agents, and a room of all of them.
async fn cast(server: &Server) -> (Api, Vec<Api>, String) {
    let human = server.user("ann");
    let room = human.create_chat().await;
    let mut agents = Vec::new();
    for number in 0..4 {
        let agent = human.register(server, &format!("Agent {number}")).await;
        assert_eq!(human.add(&room, &agent.id).await.status, 201);
        agents.push(agent);
    }
    (human, agents, room)
}

/// The state that the writers share.
#[derive(Default)]
struct Load {
    stop: AtomicBool,
    accepted: AtomicUsize,
}

impl Load {
    /// Waits until so many more messages are accepted.
    async fn goes_on(&self, messages: usize) {
        let wanted = self.accepted.load(Ordering::SeqCst) + messages;
        until("messages are accepted", async || self.accepted.load(Ordering::SeqCst) >= wanted).await;
    }
}

/// Writes to all of `mentions` until told to stop: what was accepted, and when it was asked for.
fn writer(api: Api, room: &str, mentions: &[String], load: Arc<Load>) -> JoinHandle<Vec<Accepted>> {
    let path = format!("/chats/{room}/messages");
    let mentions = mentions.iter().map(|id| json!({ "id": id })).collect::<Value>();
    tokio::spawn(async move {
        let mut accepted = Vec::new();
        while !load.stop.load(Ordering::SeqCst) {
            let asked = Instant::now();
            let body = json!({ "message": { "content": "work", "mentions": mentions } });
            match api.try_call(Method::POST, &path, Some(body)).await {
                Ok(answer) if answer.status == 201 => {
                    load.accepted.fetch_add(1, Ordering::SeqCst);
                    accepted.push(Accepted { id: id_of(&answer.body["data"]), asked });
                }
                Ok(answer) => assert_eq!(answer.status, 503, "{answer:?}"),
                // The server is down; it comes back on the same port.
                Err(_) => {}
            }
            pace(Duration::from_millis(5)).await;
        }
        accepted
    })
}

struct Accepted {
    id: String,
    asked: Instant,
}

fn id_of(message: &Value) -> String {
    message["id"].as_str().unwrap().to_owned()
}

/// Reads what is pushed, and works through it, until the last message comes or the socket ends.
fn reader(mut socket: Socket, api: Api, room: &str) -> JoinHandle<(BTreeSet<String>, Option<Closed>)> {
    let messages = format!("/chats/{room}/messages");
    tokio::spawn(async move {
        let mut pushed = BTreeSet::new();
        loop {
            let frame = match socket.receive().await {
                Ok(Message::Text(text)) => serde_json::from_str::<Value>(&text).unwrap(),
                Ok(other) => panic!("a text was expected: {other:?}"),
                Err(closed) => return (pushed, Some(closed)),
            };
            assert_eq!(frame[3], "message_created", "{frame}");
            let id = id_of(&frame[4]);
            for step in ["processing", "processed"] {
                // Without an answer the message is found with `/next`.
                let _ = api.try_call(Method::POST, &format!("{messages}/{id}/{step}"), None).await;
            }
            pushed.insert(id);
            if frame[4]["content"].as_str().unwrap().ends_with(LAST) {
                return (pushed, None);
            }
        }
    })
}

async fn listen(server: &Server, agents: &[Api], room: &str) -> Vec<Socket> {
    let mut sockets = Vec::new();
    for agent in agents {
        let mut socket = Socket::of(server, agent).await;
        socket.join("1", &format!("chat_room:{room}")).await;
        sockets.push(socket);
    }
    sockets
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_under_load_loses_nothing() {
    let mut server = Server::start_with(&[("PARLANCE_RATE_LIMITS", "false")]).await;
    let (human, agents, room) = cast(&server).await;
    let load = Arc::new(Load::default());
    let everybody = agents.iter().map(|agent| agent.id.clone()).collect::<Vec<_>>();
    let read = |sockets: Vec<Socket>| {
        let pairs = sockets.into_iter().zip(&agents);
        pairs.map(|(socket, agent)| reader(socket, agent.clone(), &room)).collect::<Vec<_>>()
    };
    let before = read(listen(&server, &agents, &room).await);
    let writers = [(); 3].map(|()| writer(human.clone(), &room, &everybody, load.clone()));
    load.goes_on(50).await;
    let took = server.terminate().await;
    assert!(took < STOP, "{took:?}");
    let mut pushed = Vec::new();
    for reader in before {
        let (ids, closed) = reader.await.unwrap();
        assert_eq!(closed, Some(Closed::Code(1012)));
        assert!(!ids.is_empty(), "there was load before the stop");
        pushed.push(ids);
    }
    server.run().await;
    let after = read(listen(&server, &agents, &room).await);
    let back = Instant::now();
    load.goes_on(50).await;
    load.stop.store(true, Ordering::SeqCst);
    let mut accepted = Vec::new();
    for writer in writers {
        accepted.extend(writer.await.unwrap());
    }
    let to = everybody.iter().map(String::as_str).collect::<Vec<_>>();
    let last = human.sent(&room, LAST, &to).await;
    for ((reader, agent), before) in after.into_iter().zip(&agents).zip(pushed) {
        let (ids, closed) = reader.await.unwrap();
        assert_eq!(closed, None);
        let mut later = accepted.iter().filter(|message| message.asked > back).peekable();
        assert!(later.peek().is_some() && ids.contains(&last), "there was load afterwards");
        assert!(later.all(|message| ids.contains(&message.id)), "to who listens everything is pushed");
        let mut found = before.into_iter().chain(ids).collect::<BTreeSet<_>>();
        while let Some(id) = agent.next(&room).await {
            for step in ["processing", "processed"] {
                assert_eq!(agent.step(&room, &id, step).await.status, 200, "{step}");
            }
            found.insert(id);
        }
        let missing = accepted.iter().filter(|message| !found.contains(&message.id)).count();
        assert_eq!(missing, 0, "of {} messages", accepted.len());
    }
}

/// More waits for these than the buffers of both ends hold.
#[tokio::test]
async fn a_stop_does_not_wait_for_those_who_do_not_read() {
    let settings = [("PARLANCE_RATE_LIMITS", "false"), ("PARLANCE_SOCKET_QUEUE_BYTES", "67108864")];
    let mut server = Server::start_with(&settings).await;
    let (human, agents, room) = cast(&server).await;
    let stuck = listen(&server, &agents, &room).await;
    let everybody = agents.iter().map(|agent| agent.id.as_str()).collect::<Vec<_>>();
    let mut reading = listen(&server, std::slice::from_ref(&human), &room).await;
    let reading = tokio::spawn(async move { reading.remove(0).closed().await });
    let text = "x".repeat(500_000);
    for _ in 0..30 {
        human.sent(&room, &text, &everybody).await;
    }
    let took = server.terminate().await;
    assert!(took < STOP, "{took:?}");
    assert_eq!(reading.await.unwrap(), Closed::Code(1012), "who reads is told");
    for mut socket in stuck {
        let mut whole = 0;
        while socket.receive().await.is_ok() {
            whole += 1;
        }
        assert!(whole < 30, "it did not read, and something waited for it");
    }
    server.run().await;
    for agent in &agents {
        assert!(agent.next(&room).await.is_some(), "what it did not take is there");
    }
}

async fn ready(server: &Server) -> u16 {
    reqwest::get(format!("http://{}/ready", server.address())).await.unwrap().status().as_u16()
}

/// The times from `since` to the end of each socket, which must be closed with 1012.
async fn ends(sockets: Vec<Socket>, since: Instant) -> Vec<Duration> {
    let end = |mut socket: Socket| async move {
        assert_eq!(socket.closed().await, Closed::Code(1012));
        since.elapsed()
    };
    let mut all = futures_util::future::join_all(sockets.into_iter().map(end)).await;
    all.sort();
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_drains_answers_requests_and_sends_sockets_away_little_by_little() {
    let mut server = Server::start_with(&[("PARLANCE_DRAIN_MS", "8000")]).await;
    let (human, agents, room) = cast(&server).await;
    let mut sockets = listen(&server, &agents, &room).await;
    for _ in 0..8 {
        sockets.push(Socket::of(&server, &human).await);
    }
    assert_eq!(ready(&server).await, 200);
    let since = Instant::now();
    server.signal("-TERM");
    let ends = tokio::spawn(ends(sockets, since));
    until("it says that it stops", async || ready(&server).await == 503).await;
    elapse(Duration::from_secs(1)).await;
    assert_eq!(ready(&server).await, 503, "still, in the middle of it");
    let key = [("x-api-key", human.key.as_str())];
    assert_eq!(Socket::connect(&server, "vsn=2.0.0", &key).await.err(), Some(503));
    let sent = human.send(&room, "still here", &[&agents[0].id]).await;
    assert_eq!(sent.status, 201, "requests are answered meanwhile");
    let took = server.ended().await;
    assert!(took < STOP, "{took:?}");
    let ends = ends.await.unwrap();
    assert!(ends[ends.len() - 1] > Duration::from_secs(5), "{ends:?}");
    let spread = ends[ends.len() - 1].saturating_sub(ends[0]);
    assert!(spread > Duration::from_secs(3), "they are spread: {ends:?}");
    server.run().await;
    assert!(agents[0].next(&room).await.is_some());
}

#[tokio::test]
async fn a_second_signal_skips_draining() {
    let mut server = Server::start_with(&[("PARLANCE_DRAIN_MS", "600000")]).await;
    let human = server.user("ann");
    let sockets = [Socket::of(&server, &human).await, Socket::of(&server, &human).await];
    let since = Instant::now();
    server.signal("-TERM");
    until("it says that it stops", async || ready(&server).await == 503).await;
    let ends = tokio::spawn(ends(sockets.into(), since));
    let took = server.terminate().await;
    assert!(took < STOP, "{took:?}");
    assert!(ends.await.unwrap().into_iter().all(|end| end < STOP));
}
