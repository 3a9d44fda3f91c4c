//! The participants of a chat.

use domain::id::ChatId;
use serde_json::{Value, json};
use testkit::TestAgent;

use crate::harness::{Answer, Api};

fn path(chat: ChatId) -> String {
    format!("/chats/{chat}/participants")
}

async fn add(api: &Api, by: &TestAgent, chat: ChatId, who: impl ToString, role: &str) -> Answer {
    let body = json!({"participant": {"participant_id": who.to_string(), "role": role}});
    api.post(by, &path(chat), body).await
}

async fn remove(api: &Api, by: &TestAgent, chat: ChatId, who: impl ToString) -> Answer {
    api.delete(by, &format!("{}/{}", path(chat), who.to_string())).await
}

#[actix_web::test]
async fn the_list_shows_everybody() {
    let api = Api::new().await;
    let chat = api.room().await;
    let answer = api.get(&api.scout, &path(chat)).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.body.get("metadata"), None);
    let rows = answer.data().as_array().unwrap();
    let row = |id: &str| rows.iter().find(|row| row["id"] == id).cloned().unwrap();
    assert_eq!(rows.len(), 3);
    let scout = json!({
        "id": api.scout.id.to_string(), "type": "Agent", "name": "Scout", "handle": "ann/scout",
        "role": "member", "status": "inactive", "is_external": true, "joined_at": api.now(),
        "online": false, "connection_status": "disconnected",
        "description": row(&api.scout.id.to_string())["description"],
    });
    assert_eq!(row(&api.scout.id.to_string()), scout);
    let ann = row(&api.ann.id.to_string());
    assert_eq!(
        (&ann["type"], &ann["handle"], &ann["role"]),
        (&json!("User"), &json!("ann"), &json!("admin"))
    );
    assert_eq!((&ann["description"], &ann["is_external"]), (&Value::Null, &Value::Null));
    let helper = row(&api.helper.id.to_string());
    assert_eq!((&helper["role"], &helper["status"]), (&json!("owner"), &json!("active")));
}

#[actix_web::test]
async fn adding_answers_the_participant() {
    let api = Api::new().await;
    let chat = api.empty_room(api.helper.caller).await;
    let id = api.scout.id.to_string();
    let answer = api.post(&api.helper, &path(chat), json!({ "participant_id": id })).await;
    assert_eq!(answer.status, 201);
    let listed = api.get(&api.helper, &path(chat)).await;
    let row = listed.data().as_array().unwrap().iter().find(|row| row["id"] == id.as_str()).unwrap().clone();
    assert_eq!(*answer.data(), row);
    assert_eq!(answer.data()["role"], "member");
}

/// The domain decides; each refusal has its status.
#[actix_web::test]
async fn refused_changes_have_their_status() {
    let api = Api::new().await;
    let chat = api.room().await;
    let (helper, scout) = (&api.helper, &api.scout);
    for (by, who, role, expected) in [
        (helper, api.rival.id.to_string(), "member", (404, "not_found")),
        (helper, "bob".to_owned(), "member", (422, "validation_error")),
        (helper, scout.id.to_string(), "admin", (409, "conflict")),
        (scout, api.ann.id.to_string(), "admin", (403, "forbidden")),
    ] {
        assert_eq!(add(&api, by, chat, &who, role).await.code(), expected, "{who}");
    }
    for (by, who, expected) in [
        (helper, helper.id.to_string(), (403, "cannot_remove_sole_owner")),
        (helper, api.ann.id.to_string(), (403, "forbidden")),
        (helper, api.rival.id.to_string(), (404, "not_found")),
        (scout, scout.id.to_string(), (200, "")),
        (scout, scout.id.to_string(), (404, "not_found")),
    ] {
        assert_eq!(remove(&api, by, chat, &who).await.code(), expected, "{who}");
    }
}

#[actix_web::test]
async fn wrong_bodies_are_refused() {
    let api = Api::new().await;
    let chat = api.room().await;
    for (body, expected) in [
        (json!({}), (422, "validation_error", vec!["/participant_id"])),
        (json!({"participant": {}}), (422, "validation_error", vec!["/participant/participant_id"])),
        (
            json!({"participant_id": 1, "role": "king"}),
            (422, "validation_error", vec!["/participant_id", "/role"]),
        ),
        (json!({"participant_id": "x", "name": "y"}), (400, "bad_request", vec!["/name"])),
    ] {
        let answer = api.post(&api.helper, &path(chat), body).await;
        assert_eq!(answer.refusal(), expected);
    }
}

#[actix_web::test]
async fn removing_answers_who_it_was() {
    let api = Api::new().await;
    let chat = api.room().await;
    let answer = remove(&api, &api.helper, chat, api.scout.id).await;
    assert_eq!((answer.status, &answer.data()["id"]), (200, &json!(api.scout.id.to_string())));
}
