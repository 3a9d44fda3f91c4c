//! Events about contacts and contact requests.

use domain::caller::Caller;
use domain::contact::{
    ContactRequest, Handle, RequestAction, RequestMessage, SendRequest, WhichContact, WhichRequest,
};
use domain::ports::Clock;
use serde_json::{Value, json};

use crate::client::Client;
use crate::harness::Bench;

const ADDED: &str = "contact_added";
const REMOVED: &str = "contact_removed";
const RECEIVED: &str = "contact_request_received";
const UPDATED: &str = "contact_request_updated";

/// Ben asks, or one of his agents.
async fn ask(bench: &Bench, by: impl Into<Caller>, handle: &str, message: Option<&str>) -> ContactRequest {
    let message = RequestMessage::given(message.map(str::to_owned)).unwrap();
    let command = SendRequest { to: Handle::new(handle).unwrap(), message };
    bench.world.contacts.send(by, command).await.unwrap()
}

async fn answer(bench: &Bench, by: impl Into<Caller>, request: &ContactRequest, action: RequestAction) {
    bench.world.contacts.answer(by, WhichRequest::Id(request.id), action).await.unwrap();
}

/// A socket on its own topic of contacts.
async fn listening(bench: &Bench, key: &str, topic: &str) -> Client {
    let mut socket = bench.socket(key).await;
    socket.join("1", topic).await;
    socket
}

fn agents_topic(bench: &Bench) -> String {
    format!("agent_contacts:{}", bench.one.id)
}

fn users_topic(bench: &Bench) -> String {
    format!("user_contacts:{}", bench.ben.id)
}

fn has_no_null(payload: &Value) -> bool {
    payload.as_object().unwrap().values().all(|value| !value.is_null())
}

/// Case 59: flat, and without a message where none was given.
#[actix_web::test]
async fn an_agent_is_told_of_requests_flat() {
    let bench = Bench::new().await;
    let topic = agents_topic(&bench);
    let mut one = listening(&bench, &bench.one.key, &topic).await;
    for message in [None, Some("let us talk")] {
        let request = ask(&bench, bench.ben.caller, &bench.one.handle, message).await;
        let received = one.event("1", &topic, RECEIVED).await;
        let mut expected = json!({
            "id": request.id.to_string(), "from_handle": "ben", "from_name": "ben Example",
            "status": "pending", "inserted_at": request.created_at.to_string(),
        });
        if let Some(message) = message {
            expected["message"] = json!(message);
        }
        assert_eq!(received, expected);
        answer(&bench, bench.ben.caller, &request, RequestAction::Cancel).await;
        let received = one.event("1", &topic, UPDATED).await;
        assert_eq!(received, json!({"id": request.id.to_string(), "status": "cancelled"}));
    }
    one.nothing_came().await;
    bench.end().await;
}

/// Case 60: with both sides, for a human.
#[actix_web::test]
async fn a_human_is_told_of_requests_with_both_sides() {
    let bench = Bench::new().await;
    let topic = users_topic(&bench);
    let mut ben = listening(&bench, &bench.ben.key, &topic).await;
    let request = ask(&bench, bench.one.caller, "ben", None).await;
    let received = ben.event("1", &topic, RECEIVED).await;
    let (one, human) = (bench.one.id.to_string(), bench.ben.id.to_string());
    let expected = json!({
        "id": request.id.to_string(), "status": "pending", "message": null, "responded_at": null,
        "requester_id": one, "requester_type": "Agent",
        "requester": {"id": one, "handle": "ann/one", "name": "One"},
        "recipient_id": human, "recipient_type": "User",
        "recipient": {"id": human, "handle": "ben", "name": "ben Example"},
        "inserted_at": request.created_at.to_string(),
    });
    assert_eq!(received, expected);
    bench.end().await;
}

/// Cases 61 and 62: each side hears of the answer, and of a contact under its own id.
#[actix_web::test]
async fn both_sides_hear_of_answers_and_contacts() {
    let bench = Bench::new().await;
    let (agents, users) = (agents_topic(&bench), users_topic(&bench));
    let mut one = listening(&bench, &bench.one.key, &agents).await;
    let mut ben = listening(&bench, &bench.ben.key, &users).await;

    let rejected = ask(&bench, bench.ben.caller, &bench.one.handle, None).await;
    one.event("1", &agents, RECEIVED).await;
    answer(&bench, bench.one.caller, &rejected, RequestAction::Reject).await;
    let received = json!({"id": rejected.id.to_string(), "status": "rejected"});
    assert_eq!(one.event("1", &agents, UPDATED).await, received);
    assert_eq!(ben.event("1", &users, UPDATED).await, received);

    let request = ask(&bench, bench.ben.caller, &bench.one.handle, None).await;
    one.event("1", &agents, RECEIVED).await;
    answer(&bench, bench.one.caller, &request, RequestAction::Approve).await;
    let received = json!({"id": request.id.to_string(), "status": "approved"});
    assert_eq!(one.event("1", &agents, UPDATED).await, received);
    assert_eq!(ben.event("1", &users, UPDATED).await, received);
    let (to_agent, to_human) = (one.event("1", &agents, ADDED).await, ben.event("1", &users, ADDED).await);
    assert_eq!(
        (&to_agent["handle"], &to_agent["name"], &to_agent["type"]),
        (&json!("ben"), &json!("ben Example"), &json!("User"))
    );
    assert_eq!(to_agent.get("description"), None);
    let of_agent = json!({
        "id": to_human["id"], "handle": "ann/one", "name": "One", "type": "Agent",
        "description": "One of ann", "is_external": true, "is_remote": true, "listed_in_directory": false,
        "tags": [], "inserted_at": to_agent["inserted_at"],
    });
    assert_eq!(to_human, of_agent);
    assert_ne!(to_agent["id"], to_human["id"]);
    assert!(has_no_null(&to_agent) && has_no_null(&to_human));
    assert!(!format!("{to_agent}{to_human}").contains("@example.org"));

    bench.world.contacts.remove(bench.ben.caller, WhichContact::Id(bench.one.id.into())).await.unwrap();
    assert_eq!(one.event("1", &agents, REMOVED).await, json!({"id": to_agent["id"]}));
    assert_eq!(ben.event("1", &users, REMOVED).await, json!({"id": to_human["id"]}));
    one.nothing_came().await;
    ben.nothing_came().await;
    bench.end().await;
}

/// Case 63: the inverse request makes them contacts at once.
#[actix_web::test]
async fn inverse_requests_are_told_as_an_approval() {
    let bench = Bench::new().await;
    let (agents, users) = (agents_topic(&bench), users_topic(&bench));
    let request = ask(&bench, bench.ben.caller, &bench.one.handle, None).await;
    let mut one = listening(&bench, &bench.one.key, &agents).await;
    let mut ben = listening(&bench, &bench.ben.key, &users).await;
    ask(&bench, bench.one.caller, "ben", None).await;
    for (socket, topic) in [(&mut one, &agents), (&mut ben, &users)] {
        let received = socket.event("1", topic, UPDATED).await;
        assert_eq!(received, json!({"id": request.id.to_string(), "status": "approved"}));
        socket.event("1", topic, ADDED).await;
        socket.nothing_came().await;
    }
    bench.end().await;
}

/// Nobody answered: both sides hear of it when it is written down, and nobody else does.
#[actix_web::test]
async fn both_sides_hear_of_an_expiry() {
    let bench = Bench::new().await;
    let (agents, users) = (agents_topic(&bench), users_topic(&bench));
    let request = ask(&bench, bench.ben.caller, &bench.one.handle, None).await;
    let mut one = listening(&bench, &bench.one.key, &agents).await;
    let mut ben = listening(&bench, &bench.ben.key, &users).await;
    let mut ann = listening(&bench, &bench.ann.key, &format!("user_contacts:{}", bench.ann.id)).await;
    bench.world.clock.advance(std::time::Duration::from_secs(30 * 24 * 60 * 60));
    assert_eq!(bench.world.contacts.expire(bench.world.clock.now()).await.unwrap(), 1);
    for (socket, topic) in [(&mut one, &agents), (&mut ben, &users)] {
        let received = socket.event("1", topic, UPDATED).await;
        assert_eq!(received, json!({"id": request.id.to_string(), "status": "expired"}));
    }
    ann.nothing_came().await;
    bench.end().await;
}
