//! Presence on the socket and in the lists of participants.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use e2e::cast::Cast;
use e2e::{Api, Closed, Server, Socket, is_spread, until};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

const CHANGED: &str = "participant_presence_changed";

/// The entry of a participant in the list of participants.
async fn listed(viewer: &Api, chat: &str, who: &Api) -> Value {
    let roster = viewer.get(&format!("/chats/{chat}/participants")).await.data();
    let row = roster.as_array().unwrap().iter().find(|row| row["id"] == who.id.as_str()).unwrap();
    let [id, kind, online, status] =
        ["id", "type", "online", "connection_status"].map(|name| row[name].clone());
    json!({"id": id, "type": kind, "online": online, "connection_status": status})
}

/// Asserts that the list agrees with a socket's event; if they are on different servers, after a moment.
async fn agree(viewer: &Api, chat: &str, who: &Api, reported: &Value) {
    let says_so = async || listed(viewer, chat, who).await == *reported;
    if is_spread() {
        until("the list says it as well", says_so).await;
    } else {
        assert_eq!(listed(viewer, chat, who).await, *reported);
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
