//! Joining and leaving.

use std::time::{Duration, Instant};

use e2e::cast::Cast;
use e2e::{Server, Socket, reply};
use serde_json::{Value, json};

#[tokio::test]
async fn case_12_heartbeat() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let mut socket = Socket::of(&server, &cast.a1).await;
    socket.send_raw(r#"[null,"1","phoenix","heartbeat",{}]"#).await;
    assert_eq!(socket.frame().await, reply(Value::Null, json!("1"), "phoenix", "ok", json!({})));
}

#[tokio::test]
async fn case_20_28_references_come_back_as_they_were() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let topic = format!("agent_rooms:{}", cast.a1.id);
    let mut socket = Socket::of(&server, &cast.a1).await;
    socket.send_raw(&format!(r#"[1,1,"{topic}","phx_join",{{}}]"#)).await;
    assert_eq!(socket.frame().await, reply(json!("1"), json!("1"), &topic, "ok", json!({})));
    let mut socket = Socket::of(&server, &cast.u1).await;
    socket.join("007", &format!("user_rooms:{}", cast.u1.id)).await;
}

#[tokio::test]
async fn case_21_22_23_24_own_topics_only() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let (u1, u2, a1, a2) = (&cast.u1.id, &cast.u2.id, &cast.a1.id, &cast.a2.id);
    let mut agent = Socket::of(&server, &cast.a1).await;
    agent.join("1", &format!("agent_control:{a1}")).await;
    agent.refused("2", &format!("agent_control:{a2}"), "unauthorized").await;
    agent.join("3", &format!("agent_rooms:{a1}")).await;
    agent.refused("4", &format!("agent_rooms:{a2}"), "unauthorized").await;
    agent.refused("5", &format!("user_rooms:{u1}"), "unauthorized").await;
    agent.alive().await;

    let mut user = Socket::of(&server, &cast.u1).await;
    user.join("1", &format!("user_rooms:{u1}")).await;
    user.refused("2", &format!("user_rooms:{u2}"), "unauthorized").await;
    user.refused("3", &format!("agent_rooms:{a1}"), "unauthorized").await;
    user.refused("4", &format!("agent_contacts:{a1}"), "unauthorized").await;
    user.alive().await;
}

#[tokio::test]
async fn case_25_27_rooms_and_what_is_no_topic() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let mut socket = Socket::of(&server, &cast.a1).await;
    socket.join("1", &format!("chat_room:{}", cast.r1)).await;
    socket.join("2", &format!("room_participants:{}", cast.r1)).await;
    let unknown = "chat_room:0190c5a4-0000-7000-8000-00000000dead";
    for topic in [&format!("chat_room:{}", cast.r2), "chat_room:not-a-uuid", unknown] {
        socket.refused("3", topic, "unauthorized").await;
    }
    let asked = Instant::now();
    for topic in ["nonsense:1", "chat_room"] {
        socket.refused("4", topic, "unmatched topic").await;
    }
    // A client gives a join ten seconds, and takes a wrong reference for no answer.
    assert!(asked.elapsed() < Duration::from_secs(3), "{:?}", asked.elapsed());
}

#[tokio::test]
async fn case_29_30_31_leaving_and_coming_back() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let topic = format!("chat_room:{}", cast.r1);
    let mut socket = Socket::of(&server, &cast.a1).await;
    socket.send_raw(&json!(["1", "4", topic, "phx_leave", {}]).to_string()).await;
    assert_eq!(socket.frame().await, reply(Value::Null, json!("4"), &topic, "ok", json!({})));
    socket.silent().await;

    socket.join("1", &topic).await;
    socket.send_raw(&json!(["1", "5", topic, "phx_leave", {}]).to_string()).await;
    assert_eq!(socket.frame().await, reply(json!("1"), json!("5"), &topic, "ok", json!({})));
    assert_eq!(socket.frame().await, json!(["1", "1", topic, "phx_close", {}]));
    cast.u1.sent(&cast.r1, "not heard", &[&cast.a1.id]).await;
    socket.silent().await;

    socket.join("8", &topic).await;
    let id = cast.u1.sent(&cast.r1, "heard", &[&cast.a1.id]).await;
    assert_eq!(socket.event("8", &topic, "message_created").await["id"], json!(id));
}

#[tokio::test]
async fn case_32_33_joining_twice() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let topic = format!("chat_room:{}", cast.r1);
    let mut socket = Socket::of(&server, &cast.a1).await;
    socket.join("1", &topic).await;
    socket.join("2", &topic).await;
    assert_eq!(socket.frame().await, json!(["1", "1", topic, "phx_close", {}]));
    let id = cast.u1.sent(&cast.r1, "once", &[&cast.a1.id]).await;
    assert_eq!(socket.event("2", &topic, "message_created").await["id"], json!(id));
    socket.send_raw(&json!(["1", "6", topic, "phx_leave", {}]).to_string()).await;
    socket.silent().await;
    let id = cast.u1.sent(&cast.r1, "still there", &[&cast.a1.id]).await;
    assert_eq!(socket.event("2", &topic, "message_created").await["id"], json!(id));
}

#[tokio::test]
async fn case_34_35_clients_do_not_speak_on_topics() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let topic = format!("chat_room:{}", cast.r1);
    let mut socket = Socket::of(&server, &cast.a1).await;
    let said = |join_ref: &str| json!([join_ref, "9", topic, "new_msg", { "body": "x" }]).to_string();
    let refused = |reason: &str| json!({ "reason": reason });
    socket.send_raw(&said("9")).await;
    let expected = reply(Value::Null, json!("9"), &topic, "error", refused("unmatched topic"));
    assert_eq!(socket.frame().await, expected);
    socket.join("1", &topic).await;
    socket.send_raw(&said("1")).await;
    let expected = reply(json!("1"), json!("9"), &topic, "error", refused("unsupported event"));
    assert_eq!(socket.frame().await, expected);
    assert_eq!(cast.u1.history(&cast.r1).await, Vec::<Value>::new());
}

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
