//! Who is there: what the socket tells and what the lists of participants say.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use e2e::cast::Cast;
use e2e::{Api, Closed, Server, Socket, is_spread, until};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

const CHANGED: &str = "participant_presence_changed";

/// What the list of participants says of somebody.
async fn listed(viewer: &Api, chat: &str, who: &Api) -> Value {
    let roster = viewer.get(&format!("/chats/{chat}/participants")).await.data();
    let row = roster.as_array().unwrap().iter().find(|row| row["id"] == who.id.as_str()).unwrap();
    let [id, kind, online, status] =
        ["id", "type", "online", "connection_status"].map(|name| row[name].clone());
    json!({"id": id, "type": kind, "online": online, "connection_status": status})
}

/// The list says of somebody what a socket was told; where they are of two servers, in a moment.
async fn agree(viewer: &Api, chat: &str, who: &Api, told: &Value) {
    let says_so = async || listed(viewer, chat, who).await == *told;
    if is_spread() {
        until("the list says it as well", says_so).await;
    } else {
        assert_eq!(listed(viewer, chat, who).await, *told);
    }
}

/// Joins the room's people; who is there already is told at once, or in a moment where that is on another server.
async fn join_and_see(socket: &mut Socket, people: &str, who: &Api) {
    let there = socket.join_people("1", people).await;
    let row = there.as_array().unwrap().iter().find(|row| row["id"] == who.id.as_str()).unwrap();
    if is_spread() && row["online"] == false {
        let came = socket.event("1", people, CHANGED).await;
        assert_eq!((&came["id"], &came["online"]), (&json!(who.id), &json!(true)));
        socket.event("1", people, "agent_connected").await;
    } else {
        assert_eq!(row["online"], true);
    }
}

#[tokio::test]
async fn the_socket_and_the_lists_agree_on_who_is_there() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let people = format!("room_participants:{}", cast.r1);
    let mut human = Socket::of(&server, &cast.u1).await;
    let snapshot = human.join_people("1", &people).await;
    let rows = snapshot.as_array().unwrap();
    assert_eq!(rows.len(), 3, "{snapshot}");
    for who in [&cast.u1, &cast.a1, &cast.a2] {
        let row = rows.iter().find(|row| row["id"] == who.id.as_str()).unwrap();
        agree(&cast.u1, &cast.r1, who, row).await;
        assert_eq!(row["online"], json!(who.id == cast.u1.id));
    }

    let mut agent = Socket::of(&server, &cast.a1).await;
    let came = human.event("1", &people, CHANGED).await;
    assert_eq!(came["online"], true);
    agree(&cast.u1, &cast.r1, &cast.a1, &came).await;
    human.event("1", &people, "agent_connected").await;
    agent.send_message(Message::Close(None)).await.unwrap();
    assert!(matches!(agent.closed().await, Closed::Code(_)));
    let went = human.event("1", &people, CHANGED).await;
    agree(&cast.u1, &cast.r1, &cast.a1, &went).await;
    assert_eq!((&went["online"], &went["connection_status"]), (&json!(false), &json!("disconnected")));
}

/// A connection that breaks and comes back is no news; nor is one that another takes over.
#[tokio::test]
async fn a_quick_return_is_no_news() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let people = format!("room_participants:{}", cast.r1);
    let mut human = Socket::of(&server, &cast.u1).await;
    let first = Socket::of(&server, &cast.a1).await;
    join_and_see(&mut human, &people, &cast.a1).await;
    drop(first);
    for _ in 0..5 {
        // The last is dropped before the next comes, or superseded by it.
        let socket = Socket::of(&server, &cast.a1).await;
        assert_eq!(listed(&cast.u1, &cast.r1, &cast.a1).await["online"], true);
        drop(socket);
    }
    assert_eq!(listed(&cast.u1, &cast.r1, &cast.a1).await["online"], true);
    human.alive().await;
}
