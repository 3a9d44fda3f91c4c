//! The participants of a chat.

use actix_web::http::Method;
use domain::chat::Role;
use domain::id::ChatId;
use serde_json::json;

use crate::harness::{Answer, Api};

fn path(chat: ChatId) -> String {
    format!("/chats/{chat}/participants")
}

async fn add(api: &Api, chat: ChatId, who: impl ToString, role: &str) -> Answer {
    let body = json!({"participant": {"participant_id": who.to_string(), "role": role}});
    api.post(&api.ann, &path(chat), body).await
}

async fn remove(api: &Api, chat: ChatId, who: impl ToString) -> Answer {
    api.delete(&api.ann, &format!("{}/{}", path(chat), who.to_string())).await
}

#[actix_web::test]
async fn the_list_pages_in_both_styles() {
    let api = Api::new().await;
    let chat = api.room().await;
    let whole = api.get(&api.ann, &path(chat)).await;
    let expected = json!({
        "has_more": false, "limit": 20, "next_cursor": null,
        "page": 1, "page_size": 20, "total_count": 3, "total_pages": 1,
    });
    assert_eq!((whole.status, &whole.body["metadata"]), (200, &expected));
    let ids = whole.column("id");
    assert_eq!(ids.len(), 3);

    let (mut seen, mut query) = (Vec::new(), "?limit=1".to_owned());
    loop {
        let answer = api.get(&api.ann, &format!("{}{query}", path(chat))).await;
        seen.extend(answer.column("id").into_iter().map(str::to_owned));
        assert_eq!(answer.body["metadata"].get("total_count"), None);
        let Some(cursor) = answer.body["metadata"]["next_cursor"].as_str() else { break };
        query = format!("?limit=1&cursor={cursor}");
    }
    assert_eq!(seen, ids);
    let page = api.get(&api.ann, &format!("{}?page=2&page_size=2", path(chat))).await;
    assert_eq!(page.column("id"), ids[2..]);
    assert_eq!(page.body["metadata"]["total_pages"], 2);
    let beyond = api.get(&api.ann, &format!("{}?page=9", path(chat))).await;
    assert_eq!((beyond.status, beyond.data()), (200, &json!([])));
}

#[actix_web::test]
async fn the_list_can_be_of_one_kind() {
    let api = Api::new().await;
    let chat = api.room().await;
    let users = api.get(&api.ann, &format!("{}?participant_type=User", path(chat))).await;
    assert_eq!(users.column("id"), [api.ann.id.to_string()]);
    let agents = api.get(&api.ann, &format!("{}?participant_type=Agent&page=1", path(chat))).await;
    assert_eq!((agents.column("id").len(), &agents.body["metadata"]["total_count"]), (2, &json!(2)));
    let wrong = api.get(&api.ann, &format!("{}?participant_type=agent", path(chat))).await;
    assert_eq!(wrong.refusal(), (422, "validation_error", vec!["/participant_type"]));

    let first = api.get(&api.ann, &format!("{}?participant_type=Agent&limit=1", path(chat))).await;
    let cursor = first.body["metadata"]["next_cursor"].as_str().unwrap();
    let mismatch = api.get(&api.ann, &format!("{}?cursor={cursor}", path(chat))).await;
    assert_eq!(mismatch.code(), (422, "cursor_filter_mismatch"));
}

#[actix_web::test]
async fn adding_answers_the_participant() {
    let api = Api::new().await;
    let chat = api.empty_room(api.ann.caller).await;
    let answer = api.post(&api.ann, &path(chat), json!({"participant_id": api.helper.id.to_string()})).await;
    let expected = json!({
        "id": api.helper.id.to_string(), "type": "Agent", "name": "Helper", "handle": "ann/helper",
        "role": "member", "status": "inactive", "is_external": true, "joined_at": api.now(),
        "online": false, "connection_status": "disconnected",
        "description": answer.data()["description"],
    });
    assert_eq!((answer.status, answer.data()), (201, &expected));
    assert!(expected["description"].is_string());
}

/// The domain decides; each refusal has its status.
#[actix_web::test]
async fn refused_changes_have_their_status() {
    let api = Api::new().await;
    let chat = api.room().await;
    for (who, expected) in [
        (api.rival.id.to_string(), (404, "not_found")),
        ("bob".to_owned(), (422, "validation_error")),
        (api.helper.id.to_string(), (409, "conflict")),
    ] {
        assert_eq!(add(&api, chat, &who, "member").await.code(), expected, "{who}");
    }
    for (who, expected) in [
        (api.ann.id.to_string(), (403, "cannot_remove_sole_owner")),
        (api.rival.id.to_string(), (404, "not_found")),
        (api.helper.id.to_string(), (200, "")),
        (api.helper.id.to_string(), (404, "not_found")),
    ] {
        assert_eq!(remove(&api, chat, &who).await.code(), expected, "{who}");
    }
    let theirs = api.empty_room(api.helper.caller).await;
    api.add(api.helper.caller, theirs, api.ann.id.into(), Role::Member).await;
    assert_eq!(add(&api, theirs, api.scout.id, "admin").await.code(), (403, "forbidden"));
    assert_eq!(remove(&api, theirs, api.helper.id).await.code(), (403, "forbidden"));
}

#[actix_web::test]
async fn wrong_bodies_are_refused() {
    let api = Api::new().await;
    let chat = api.room().await;
    let answer = api.post(&api.ann, &path(chat), json!({"participant": {"role": "king"}})).await;
    let pointers = vec!["/participant/participant_id", "/participant/role"];
    assert_eq!(answer.refusal(), (422, "validation_error", pointers));
}

#[actix_web::test]
async fn roles_are_changed_by_those_who_may() {
    let api = Api::new().await;
    let chat = api.room().await;
    let at = |who: &dyn ToString| format!("{}/{}", path(chat), who.to_string());
    let set = async |by: &testkit::TestUser, who: &dyn ToString, role: &str| {
        let body = json!({"participant": {"role": role}});
        api.call(&by.key, Method::PATCH, &at(who), &body).await
    };
    let changed = set(&api.ann, &api.helper.id, "admin").await;
    assert_eq!((changed.status, &changed.data()["role"]), (200, &json!("admin")));
    assert_eq!(changed.data()["id"], api.helper.id.to_string());
    assert_eq!(set(&api.ann, &api.ann.id, "member").await.code(), (409, "conflict"), "the only owner");
    assert_eq!(set(&api.ann, &api.bob.id, "admin").await.code(), (404, "not_found"));
    assert_eq!(set(&api.bob, &api.helper.id, "member").await.code(), (404, "not_found"));
    let wrong = set(&api.ann, &api.helper.id, "boss").await;
    assert_eq!(wrong.refusal(), (422, "validation_error", vec!["/participant/role"]));
    let cai = api.world.colleague("cai", "ann").await;
    assert_eq!(add(&api, chat, cai.id, "member").await.status, 201);
    assert_eq!(set(&cai, &api.helper.id, "member").await.code(), (403, "forbidden"));
    assert_eq!(set(&api.ann, &cai.id, "owner").await.status, 200);
    assert_eq!(set(&api.ann, &api.ann.id, "member").await.data()["role"], "member");
}
