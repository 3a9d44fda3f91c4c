//! Events about contacts and contact requests, for both sides.

use e2e::cast::Cast;
use e2e::{Api, Server, Socket};
use serde_json::{Value, json};

async fn listening(server: &Server, who: &Api, topic: &str) -> (Socket, String) {
    let topic = format!("{topic}:{}", who.id);
    let mut socket = Socket::of(server, who).await;
    socket.join("1", &topic).await;
    (socket, topic)
}

async fn ask(by: &Api, handle: &str) -> Value {
    by.post("/contacts/requests", json!({"contact_request": {"recipient_handle": handle}})).await.data()
}

#[tokio::test]
async fn case_59_61_62_contacts_are_told_to_both_sides() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let (mut human, humans) = listening(&server, &cast.u1, "user_contacts").await;
    let (mut agent, agents) = listening(&server, &cast.a3, "agent_contacts").await;

    let sent = ask(&cast.u1, "ben/three").await;
    let received = agent.event("1", &agents, "contact_request_received").await;
    assert_eq!((&received["id"], &received["status"]), (&sent["id"], &json!("pending")));
    assert_eq!((&received["from_handle"], &received["from_name"]), (&json!("ann"), &json!("ann")));
    assert!(received.get("message").is_none(), "{received}");
    let path = format!("/contacts/requests/{}/approve", sent["id"].as_str().unwrap());
    assert_eq!(cast.a3.post_nothing(&path).await.data()["status"], "approved");
    for (socket, topic, other) in [(&mut human, &humans, "ben/three"), (&mut agent, &agents, "ann")] {
        let updated = socket.event("1", topic, "contact_request_updated").await;
        assert_eq!((&updated["id"], &updated["status"]), (&sent["id"], &json!("approved")));
        let added = socket.event("1", topic, "contact_added").await;
        assert_eq!(added["handle"], json!(other));
        assert!(added["name"].is_string() && added["inserted_at"].is_string(), "{added}");
    }
    let mine = cast.u1.get("/contacts").await.data()[0]["id"].clone();
    let removed = cast.u1.delete(&format!("/contacts/{}", mine.as_str().unwrap())).await;
    assert_eq!(removed.data()["status"], "removed");
    let (ours, theirs) = (
        human.event("1", &humans, "contact_removed").await["id"].clone(),
        agent.event("1", &agents, "contact_removed").await["id"].clone(),
    );
    assert_eq!(ours, mine);
    assert_ne!(theirs, mine, "each side has an id of its own");

    // Refused, taken back: both hear of the end, and of no contact.
    let second = ask(&cast.u1, "ben/three").await;
    agent.event("1", &agents, "contact_request_received").await;
    let path = format!("/contacts/requests/{}", second["id"].as_str().unwrap());
    assert_eq!(cast.u1.delete(&path).await.data()["status"], "cancelled");
    for (socket, topic) in [(&mut human, &humans), (&mut agent, &agents)] {
        assert_eq!(socket.event("1", topic, "contact_request_updated").await["status"], "cancelled");
        socket.alive().await;
    }
}
