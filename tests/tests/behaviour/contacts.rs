//! Contacts and contact requests, also after a crash.

use e2e::cast::Cast;
use e2e::{Answer, Api, Server};
use serde_json::json;

use crate::column;

async fn add(by: &Api, handle: &str) -> Answer {
    by.post("/contacts/add", json!({"handle": handle, "message": null})).await
}

/// Accepted changes survive a kill: contacts, and requests that can still be answered.
#[tokio::test]
async fn contacts_outlive_a_crash() {
    let mut server = Server::start().await;
    let cast = Cast::on(&server).await;
    let pending = add(&cast.a2, "ben/three").await.data()["id"].clone();
    add(&cast.a1, "ben/three").await;
    assert_eq!(add(&cast.a3, "ann/one").await.status, 201);
    let before = column(cast.a1.get("/contacts").await, "id");
    assert_eq!(before.len(), 1);
    server.crash().await;
    assert_eq!(column(cast.a1.get("/contacts").await, "id"), before);
    let answer = json!({"action": "approve", "request_id": pending});
    assert_eq!(cast.a3.post("/contacts/requests/respond", answer).await.status, 200);
    assert_eq!(column(cast.a2.get("/contacts").await, "handle"), ["ben/three"]);
}
