//! The fields of a stored message.

use e2e::cast::Cast;
use e2e::{Api, Server, Socket, until};
use serde_json::json;

#[tokio::test]
async fn case_24_what_every_message_carries() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    cast.u1.sent(&cast.r1, "hello", &[&cast.a1.id]).await;
    assert_eq!(cast.u1.history(&cast.r1).await[0]["metadata"]["status"], "sent");
    cast.a1.sent(&cast.r1, "hello", &[&cast.u1.id]).await;
    let body = json!({"event": {"message_type": "thought", "content": "hm"}});
    cast.a1.post(&format!("/chats/{}/events", cast.r1), body).await.data();
    let history = cast.u1.history(&cast.r1).await;
    let every = |member: &str| history.iter().map(|m| m[member].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(every("sender_name"), ["One", "One", "ann"]);
    assert_eq!(every("sender_handle"), ["ann/one", "ann/one", "ann"]);
}

#[tokio::test]
async fn a_sender_follows_a_message_by_its_receipts() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let path = |message: &str| format!("/chats/{}/messages/{message}/receipts", cast.r1);
    let receipt = async |by: &Api, message: &str| by.get(&path(message)).await.data()[0].clone();
    let first = cast.a1.sent(&cast.r1, "one", &[&cast.a2.id]).await;
    let second = cast.a1.sent(&cast.r1, "two", &[&cast.a2.id]).await;
    let seen = receipt(&cast.a1, &second).await;
    let state = |seen: &serde_json::Value| (seen["status"].clone(), seen["queue_position"].clone());
    assert_eq!((state(&seen), &seen["connected"]), ((json!("new"), json!(1)), &json!(false)));
    for step in ["processing", "processed"] {
        assert_eq!(cast.a2.step(&cast.r1, &first, step).await.status, 200);
    }
    assert_eq!(state(&receipt(&cast.a1, &first).await), (json!("processed"), json!(null)));
    assert_eq!(state(&receipt(&cast.u1, &second).await), (json!("new"), json!(0)));
    assert_eq!(cast.a2.get(&path(&second)).await.status, 404, "it is not the sender");
    let _socket = Socket::of(&server, &cast.a2).await;
    let connected = async || receipt(&cast.a1, &second).await["connected"] == json!(true);
    until("the receipt says that the agent is connected", connected).await;
    let connected = async || {
        let sent = cast.a1.send(&cast.r1, "three", &[&cast.a2.id]).await.data();
        let recipient = &sent["recipients"][0];
        let state = ["status", "stopped", "paused"].map(|member| &recipient[member]);
        assert_eq!(state, [&json!("new"), &json!(false), &json!(false)]);
        recipient["connected"] == json!(true)
    };
    until("the answer to a send says it as well", connected).await;
}
