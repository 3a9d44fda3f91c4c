//! Joining.

use e2e::cast::Cast;
use e2e::{Server, Socket, reply};
use serde_json::json;

#[tokio::test]
async fn case_36_many_topics_on_one_socket() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let mut socket = Socket::of(&server, &cast.u1).await;
    for number in 0..150 {
        let room = cast.u1.create_chat().await;
        socket.join(&format!("c{number}"), &format!("chat_room:{room}")).await;
        socket.join(&format!("p{number}"), &format!("room_participants:{room}")).await;
    }
}

#[tokio::test]
async fn case_37_two_joins_at_once_are_answered_in_order() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let (room, own) = (format!("chat_room:{}", cast.r1), format!("agent_rooms:{}", cast.a1.id));
    let mut socket = Socket::of(&server, &cast.a1).await;
    socket.send_raw(&json!(["1", "1", room, "phx_join", {}]).to_string()).await;
    socket.send_raw(&json!(["2", "2", own, "phx_join", {}]).to_string()).await;
    assert_eq!(socket.frame().await, reply(json!("1"), json!("1"), &room, "ok", json!({})));
    assert_eq!(socket.frame().await, reply(json!("2"), json!("2"), &own, "ok", json!({})));
}
