//! Who is in a room, and the whole table of roles over HTTP.

use domain::chat::Role;
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

/// A room of Ann's in which Helper has `role`.
async fn room_with_helper_as(api: &Api, role: Role) -> ChatId {
    let chat = api.empty_room(api.ann.caller).await;
    api.add(api.ann.caller, chat, api.helper.id.uuid(), role).await;
    chat
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
        "role": "member", "status": "inactive", "is_external": true,
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

#[actix_web::test]
async fn nobody_gives_more_than_they_have() {
    let api = Api::new().await;
    let roles = [Role::Member, Role::Admin, Role::Owner];
    for own in roles {
        for given in roles {
            let chat = room_with_helper_as(&api, own).await;
            let answer = add(&api, &api.helper, chat, api.scout.id, given.as_str()).await;
            let expected = if given <= own { (201, "") } else { (403, "forbidden") };
            assert_eq!(answer.code(), expected, "{own:?} gives {given:?}");
        }
    }
}

#[actix_web::test]
async fn only_peers_are_added() {
    let api = Api::new().await;
    let chat = api.empty_room(api.helper.caller).await;
    for stranger in [api.rival.id.to_string(), api.bob.id.to_string(), chat.to_string(), "bob".to_owned()] {
        let answer = add(&api, &api.helper, chat, stranger, "member").await;
        assert_eq!(answer.code(), (404, "not_found"));
    }
    assert_eq!(add(&api, &api.helper, chat, api.ann.id, "member").await.status, 201);
    assert_eq!(add(&api, &api.helper, chat, api.scout.id, "member").await.status, 201);
}

#[actix_web::test]
async fn who_is_there_stays_what_they_are() {
    let api = Api::new().await;
    let chat = api.room().await;
    assert_eq!(add(&api, &api.helper, chat, api.scout.id, "admin").await.code(), (409, "conflict"));
    assert_eq!(add(&api, &api.scout, chat, api.scout.id, "admin").await.code(), (403, "forbidden"));
    let listed = api.get(&api.scout, &path(chat)).await;
    let rows = listed.data().as_array().unwrap();
    assert!(rows.iter().any(|row| row["name"] == "Scout" && row["role"] == "member"));
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
async fn who_may_remove_which_agent() {
    let api = Api::new().await;
    let roles = [Role::Member, Role::Admin, Role::Owner];
    for own in roles {
        for theirs in roles {
            let chat = room_with_helper_as(&api, own).await;
            api.add(api.ann.caller, chat, api.scout.id.uuid(), theirs).await;
            let answer = remove(&api, &api.helper, chat, api.scout.id).await;
            let allowed = own == Role::Owner || (own == Role::Admin && theirs == Role::Member);
            let expected = if allowed { (200, "") } else { (403, "forbidden") };
            assert_eq!(answer.code(), expected, "{own:?} removes {theirs:?}");
        }
    }
}

#[actix_web::test]
async fn removing_answers_who_it_was() {
    let api = Api::new().await;
    let chat = api.room().await;
    let answer = remove(&api, &api.helper, chat, api.scout.id).await;
    assert_eq!((answer.status, &answer.data()["id"]), (200, &json!(api.scout.id.to_string())));
    assert_eq!(remove(&api, &api.helper, chat, api.scout.id).await.code(), (404, "not_found"));
    assert_eq!(remove(&api, &api.helper, chat, api.rival.id).await.code(), (404, "not_found"));
}

#[actix_web::test]
async fn an_agent_never_removes_a_user() {
    let api = Api::new().await;
    let chat = api.room().await;
    assert_eq!(remove(&api, &api.helper, chat, api.ann.id).await.code(), (403, "forbidden"));
}

#[actix_web::test]
async fn all_but_the_only_owner_may_leave() {
    let api = Api::new().await;
    let chat = api.room().await;
    let alone = remove(&api, &api.helper, chat, api.helper.id).await;
    assert_eq!(alone.code(), (403, "cannot_remove_sole_owner"));
    assert_eq!(remove(&api, &api.scout, chat, api.scout.id).await.status, 200);
    assert_eq!(add(&api, &api.scout, chat, api.scout.id, "member").await.code(), (404, "not_found"));
    assert_eq!(add(&api, &api.helper, chat, api.scout.id, "owner").await.status, 201);
    assert_eq!(remove(&api, &api.helper, chat, api.helper.id).await.status, 200);
}
