//! Contacts, and what they open.

use e2e::cast::Cast;
use e2e::{Answer, Api, Server};
use serde_json::{Value, json};

use crate::{column, mark, refusal};

async fn ask(by: &Api, handle: &str) -> Answer {
    by.post("/contacts/requests", json!({"contact_request": {"recipient_handle": handle}})).await
}

async fn add(by: &Api, handle: &str) -> Answer {
    by.post("/contacts/add", json!({"handle": handle, "message": null})).await
}

async fn respond(by: &Api, action: &str, name: &str, value: &Value) -> Answer {
    by.post("/contacts/requests/respond", json!({"action": action, name: value})).await
}

/// A contact between the agents of the two tenants.
async fn befriend(cast: &Cast) {
    assert_eq!(add(&cast.a1, "ben/three").await.data()["status"], "pending");
    assert_eq!(add(&cast.a3, "@ANN/One").await.data()["status"], "approved");
}

#[tokio::test]
async fn case_6_a_contact_is_a_peer() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    befriend(&cast).await;
    let peers = cast.a1.get("/peers").await.data();
    let last = peers.as_array().unwrap().last().unwrap();
    assert_eq!((&last["id"], &last["source"]), (&json!(cast.a3.id), &json!("contact")));
    assert_eq!(last["is_contact"], json!(true));
    let path = format!("/peers?not_in_chat={}", cast.r1);
    assert_eq!(column(cast.a1.get(&path).await, "id"), std::slice::from_ref(&cast.a3.id));
    assert_eq!(cast.a1.add(&cast.r1, &cast.a3.id).await.status, 201);
    assert_eq!(column(cast.a1.get(&path).await, "id"), Vec::<String>::new());
    // Its sibling is no contact of it.
    assert!(!column(cast.a2.get("/peers").await, "id").contains(&cast.a3.id));
}

#[tokio::test]
async fn case_7_what_a_colleague_shares_is_a_peer() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    for (flag, expected) in [("--shared", 2), ("--listed", 2)] {
        mark(&server, "ben/three", flag);
        assert_eq!(column(cast.a1.get("/peers").await, "id").len(), expected, "of another organization");
    }
}

#[tokio::test]
async fn case_8_two_who_ask_each_other_are_contacts() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    befriend(&cast).await;
    let (ours, theirs) = (cast.a1.get("/contacts").await, cast.a3.get("/contacts").await);
    assert_eq!(column(ours.clone(), "handle"), ["ben/three"]);
    assert_eq!(column(theirs.clone(), "handle"), ["ann/one"]);
    assert_ne!(column(ours, "id"), column(theirs, "id"), "each side has a record of its own");
    let requests = cast.a1.get("/contacts/requests").await.data();
    assert_eq!((&requests["received"], &requests["sent"]), (&json!([]), &json!([])));
}

#[tokio::test]
async fn case_9_a_request_is_answered_once_and_by_the_right_side() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let sent = add(&cast.a1, "ben/three").await.data();
    for (by, action) in [(&cast.a1, "approve"), (&cast.a1, "reject"), (&cast.a3, "cancel")] {
        let answer = respond(by, action, "request_id", &sent["id"]).await;
        assert_eq!(refusal(&answer), (403, "forbidden"), "{action}");
    }
    assert_eq!(respond(&cast.a3, "approve", "handle", &json!("@ann/one")).await.data()["status"], "approved");
    let again = respond(&cast.a3, "approve", "request_id", &sent["id"]).await;
    assert_eq!(refusal(&again), (409, "conflict"));
    let second = add(&cast.a2, "ben/three").await.data();
    let cancelled = respond(&cast.a2, "cancel", "handle", &json!("ben/three")).await.data();
    assert_eq!((&cancelled["id"], &cancelled["status"]), (&second["id"], &json!("cancelled")));
    let nothing = respond(&cast.a2, "cancel", "handle", &json!("ben/three")).await;
    assert_eq!(refusal(&nothing), (404, "not_found"));
    let stranger = respond(&cast.a2, "approve", "request_id", &sent["id"]).await;
    assert_eq!(refusal(&stranger), (404, "not_found"));
}

#[tokio::test]
async fn case_10_what_cannot_be_asked() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    assert_eq!(refusal(&add(&cast.a1, "ann/one").await), (409, "conflict"));
    for malformed in ["", "a b", "ann/", "@", "a/b/c"] {
        assert_eq!(refusal(&add(&cast.a1, malformed).await).0, 400, "{malformed}");
    }
    assert_eq!(refusal(&add(&cast.a1, "nobody").await), (404, "not_found"));
    let first = add(&cast.a1, "ben").await.data();
    assert_eq!(refusal(&add(&cast.a1, "ben").await), (409, "conflict"));
    let path = format!("/contacts/requests/{}/reject", first["id"].as_str().unwrap());
    assert_eq!(cast.u2.post_nothing(&path).await.data()["status"], "rejected");
    assert_eq!(add(&cast.a1, "ben").await.status, 201, "a new one after the end of the old");
    assert_eq!(refusal(&ask(&cast.u1, "ann").await), (422, "validation_error"));
}

#[tokio::test]
async fn case_11_removal_is_for_both_and_leaves_rooms() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    befriend(&cast).await;
    assert_eq!(cast.a1.add(&cast.r1, &cast.a3.id).await.status, 201);
    let removed = cast.a3.post("/contacts/remove", json!({"handle": "ann/one"})).await.data();
    assert_eq!(removed["status"], "removed");
    for side in [&cast.a1, &cast.a3] {
        assert_eq!(side.get("/contacts").await.data(), json!([]));
    }
    let again = cast.a3.post("/contacts/remove", json!({"handle": "ann/one"})).await;
    assert_eq!(refusal(&again), (404, "not_found"));
    let neither = cast.a3.post("/contacts/remove", json!({})).await;
    assert_eq!(neither.status, 400);
    let roster = column(cast.u1.get(&format!("/chats/{}/participants", cast.r1)).await, "id");
    assert!(roster.contains(&cast.a3.id), "nobody is thrown out");
    let fresh = cast.a1.create_chat().await;
    assert_eq!(refusal(&cast.a1.add(&fresh, &cast.a3.id).await), (404, "not_found"));
}

#[tokio::test]
async fn case_12_a_request_says_at_most_five_hundred_characters() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    for (length, expected) in [(501, 422), (500, 201)] {
        let message = "ä".repeat(length);
        let body = json!({"handle": "ben", "message": message});
        assert_eq!(cast.a1.post("/contacts/add", body).await.status, expected);
        let body = json!({"contact_request": {"recipient_handle": "ben", "message": message}});
        assert_eq!(cast.u1.post("/contacts/requests", body).await.status, expected);
    }
}

/// What was accepted is there after a kill: contacts, and requests that can still be answered.
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
    assert_eq!(respond(&cast.a3, "approve", "request_id", &pending).await.status, 200);
    assert_eq!(column(cast.a2.get("/contacts").await, "handle"), ["ben/three"]);
}
