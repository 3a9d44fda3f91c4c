//! Removals and deletions under concurrent writes: participants who leave receive every message accepted before, and
//! none accepted after.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use e2e::cast::Cast;
use e2e::{Api, Closed, Server, Socket, is_spread};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::Message;

/// Those who write into a room without a pause.
struct Writers {
    stop: Arc<AtomicBool>,
    tasks: Vec<JoinHandle<Vec<String>>>,
}

const REMOVED: &str = "room_removed";

/// Writers and the callers beside them send as fast as they can, so there are no rate limits.
const UNLIMITED: [(&str, &str); 1] = [("PARLANCE_RATE_LIMITS", "false")];

impl Writers {
    /// Each writes to `to`, until told to stop.
    fn begin(writers: &[&Api], room: &str, to: &Api) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let write = |writer: &&Api| {
            let (writer, room, to) = ((*writer).clone(), room.to_owned(), to.id.clone());
            let stop = stop.clone();
            tokio::spawn(async move {
                let mut accepted = Vec::new();
                while !stop.load(Ordering::SeqCst) {
                    let answer = writer.send(&room, "again", &[&to]).await;
                    match answer.status {
                        201 => accepted.push(answer.data()["id"].as_str().unwrap().to_owned()),
                        404 | 422 => {}
                        _ => panic!("{answer:?}"),
                    }
                }
                accepted
            })
        };
        Self { tasks: writers.iter().map(write).collect(), stop }
    }

    /// The messages that were accepted.
    async fn end(self) -> BTreeSet<String> {
        self.stop.store(true, Ordering::SeqCst);
        let mut accepted = BTreeSet::new();
        for task in self.tasks {
            accepted.extend(task.await.unwrap());
        }
        accepted
    }
}

/// Messages that a socket hears until all of `ends` have come, in this order. It is the order of one server: of another
/// one's removals the log of changes may tell before the last messages have come.
async fn heard_until(socket: &mut Socket, ends: &[&str]) -> BTreeSet<String> {
    let (mut messages, mut others) = (BTreeSet::new(), Vec::new());
    while others.len() < ends.len() {
        let mut frame = socket.frame().await;
        if frame[3] == "message_created" || frame[3] == "message_updated" {
            assert!(others.is_empty(), "after the end of the channel: {frame}");
            messages.insert(frame[4]["id"].as_str().unwrap().to_owned());
        } else {
            others.push(frame[3].take());
        }
    }
    assert_eq!(others, ends);
    messages
}

/// The agent on its rooms, and on the messages and the people of the room.
async fn listening(server: &Server, agent: &Api, room: &str) -> Socket {
    let mut socket = Socket::of(server, agent).await;
    socket.join("1", &format!("agent_rooms:{}", agent.id)).await;
    socket.join("2", &format!("chat_room:{room}")).await;
    socket.join("3", &format!("room_participants:{room}")).await;
    socket
}

/// A room with a title, so that nothing but messages is told while they write.
async fn titled_room(cast: &Cast) -> String {
    let room = cast.u1.post("/chats", json!({"chat": {"title": "Busy"}})).await.data();
    let room = room["id"].as_str().unwrap().to_owned();
    for agent in [&cast.a1, &cast.a2] {
        assert_eq!(cast.u1.add(&room, &agent.id).await.status, 201);
    }
    room
}

/// Waits until the socket has heard something, so that all are at it.
async fn under_way(socket: &mut Socket) -> String {
    let mut frame = socket.frame().await;
    // Of another server it may be late to learn who is connected there.
    while is_spread() && frame[3] == "participant_presence_changed" {
        frame = socket.frame().await;
    }
    assert_eq!(frame[3], "message_created", "{frame}");
    frame[4]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn who_is_removed_hears_nothing_after_it() {
    let server = Server::start_alone(&UNLIMITED).await;
    let cast = Cast::on(&server).await;
    let (u1, a2) = (&cast.u1, &cast.a2);
    let room = titled_room(&cast).await;
    for _ in 0..4 {
        let mut socket = listening(&server, &cast.a1, &room).await;
        let writers = Writers::begin(&[u1, u1, a2, a2], &room, &cast.a1);
        let first = under_way(&mut socket).await;
        let path = format!("/chats/{room}/participants/{}", cast.a1.id);
        assert_eq!(u1.delete(&path).await.status, 200);
        let ends = ["participant_removed", "phx_close", "phx_close", REMOVED];
        let mut heard = heard_until(&mut socket, &ends).await;
        heard.insert(first);
        socket.silent().await;
        assert_eq!(heard, writers.end().await, "all that was accepted, and nothing else");
        socket.alive().await;
        socket.refused("4", &format!("chat_room:{room}"), "unauthorized").await;
        assert_eq!(cast.u1.add(&room, &cast.a1.id).await.status, 201);
    }
}

#[tokio::test]
async fn a_deleted_agents_socket_ends_at_once() {
    let server = Server::start_with(&UNLIMITED).await;
    let cast = Cast::on(&server).await;
    // Events of one server keep their order.
    let (u1, a2) = (cast.u1.on(&server), cast.a2.on(&server));
    let room = titled_room(&cast).await;
    let mut human = Socket::of(&server, &cast.u1).await;
    human.join("1", &format!("user_agents:{}", cast.u1.id)).await;
    let mut socket = listening(&server, &cast.a1, &room).await;
    let writers = Writers::begin(&[&u1, &u1, &a2], &room, &cast.a1);
    let first = under_way(&mut socket).await;
    let path = format!("/agents/{}?force=true", cast.a1.id);
    assert_eq!(u1.delete(&path).await.status, 200);
    let mut heard = BTreeSet::from([first]);
    let mut ended = false;
    let close = loop {
        match socket.receive().await {
            Ok(Message::Text(text)) => {
                let frame = serde_json::from_str::<Value>(&text).unwrap();
                if frame[3] == "message_created" {
                    assert!(!ended || is_spread(), "{frame}");
                    heard.insert(frame[4]["id"].as_str().unwrap().to_owned());
                } else {
                    ended = true;
                }
            }
            Ok(other) => panic!("{other:?}"),
            Err(closed) => break closed,
        }
    };
    assert_eq!(close, Closed::Code(1008));
    let accepted = writers.end().await;
    // Of another server it may hear the end first.
    assert!(heard.is_subset(&accepted));
    assert!(heard == accepted || is_spread(), "{}", accepted.len() - heard.len());
    let topic = format!("user_agents:{}", cast.u1.id);
    assert_eq!(human.event("1", &topic, "agent_deleted").await["id"], json!(cast.a1.id));
    let again = Socket::connect(&server, "vsn=2.0.0", &[("x-api-key", &cast.a1.key)]).await;
    assert_eq!(again.err(), Some(403));
}

#[tokio::test]
async fn a_deleted_room_is_told_last() {
    let server = Server::start_alone(&UNLIMITED).await;
    let cast = Cast::on(&server).await;
    let (u1, a2) = (&cast.u1, &cast.a2);
    let room = titled_room(&cast).await;
    let mut human = Socket::of(&server, &cast.u1).await;
    human.join("1", &format!("user_rooms:{}", cast.u1.id)).await;
    human.join("2", &format!("chat_room:{room}")).await;
    let mut socket = listening(&server, &cast.a1, &room).await;
    let writers = Writers::begin(&[u1, u1, a2, a2], &room, &cast.a1);
    let first = under_way(&mut socket).await;
    assert_eq!(u1.delete(&format!("/chats/{room}")).await.status, 200);
    let mut heard = heard_until(&mut socket, &["room_deleted", "phx_close", "phx_close", REMOVED]).await;
    heard.insert(first);
    let seen = heard_until(&mut human, &["phx_close", REMOVED]).await;
    socket.silent().await;
    let accepted = writers.end().await;
    assert_eq!((&heard, &seen), (&accepted, &accepted));
    for socket in [&mut socket, &mut human] {
        socket.alive().await;
        socket.refused("9", &format!("room_participants:{room}"), "unauthorized").await;
    }
}
