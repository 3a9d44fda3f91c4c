//! The fields of a stored message.

use e2e::Server;
use e2e::cast::Cast;
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
