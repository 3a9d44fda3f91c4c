//! Who is in a room, and the whole table of roles over HTTP.

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

/// A room of Helper's in which Ann has `role`.
async fn room_with_ann_as(api: &Api, role: Role) -> ChatId {
    let chat = api.empty_room(api.helper.caller).await;
    api.add(api.helper.caller, chat, api.ann.id.uuid(), role).await;
    chat
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
        "role": "member", "status": "inactive", "is_external": true,
        "online": false, "connection_status": "disconnected",
        "description": answer.data()["description"],
    });
    assert_eq!((answer.status, answer.data()), (201, &expected));
    assert!(expected["description"].is_string());
}

#[actix_web::test]
async fn nobody_gives_more_than_they_have() {
    let api = Api::new().await;
    let roles = [Role::Member, Role::Admin, Role::Owner];
    for own in roles {
        for given in roles {
            let chat = room_with_ann_as(&api, own).await;
            let answer = add(&api, chat, api.scout.id, given.as_str()).await;
            let expected = if given <= own { (201, "") } else { (403, "forbidden") };
            assert_eq!(answer.code(), expected, "{own:?} gives {given:?}");
        }
    }
}

#[actix_web::test]
async fn only_own_agents_are_added_and_only_once() {
    let api = Api::new().await;
    let chat = api.empty_room(api.ann.caller).await;
    for stranger in [api.rival.id.to_string(), api.bob.id.to_string(), chat.to_string(), "bob".to_owned()] {
        assert_eq!(add(&api, chat, stranger, "member").await.code(), (404, "not_found"));
    }
    assert_eq!(add(&api, chat, api.helper.id, "member").await.status, 201);
    assert_eq!(add(&api, chat, api.helper.id, "admin").await.code(), (409, "conflict"));
    assert_eq!(add(&api, chat, api.ann.id, "member").await.code(), (409, "conflict"));
}

#[actix_web::test]
async fn who_may_remove_whom() {
    let api = Api::new().await;
    let roles = [Role::Member, Role::Admin, Role::Owner];
    for own in roles {
        for theirs in roles {
            let chat = room_with_ann_as(&api, own).await;
            api.add(api.helper.caller, chat, api.scout.id.uuid(), theirs).await;
            let answer = remove(&api, chat, api.scout.id).await;
            let allowed = own == Role::Owner || (own == Role::Admin && theirs == Role::Member);
            let expected = if allowed { (200, "") } else { (403, "forbidden") };
            assert_eq!(answer.code(), expected, "{own:?} removes {theirs:?}");
        }
    }
}

#[actix_web::test]
async fn all_but_the_only_owner_may_leave() {
    let api = Api::new().await;
    for role in [Role::Member, Role::Admin, Role::Owner] {
        let chat = room_with_ann_as(&api, role).await;
        let left = remove(&api, chat, api.ann.id).await;
        assert_eq!((left.status, &left.data()["id"]), (200, &json!(api.ann.id.to_string())));
        // What is left is an observer's right, since Helper is in the room.
        assert_eq!(add(&api, chat, api.scout.id, "member").await.code(), (404, "not_found"));
    }
    let chat = api.room().await;
    assert_eq!(remove(&api, chat, api.ann.id).await.code(), (403, "cannot_remove_sole_owner"));
    assert_eq!(remove(&api, chat, api.rival.id).await.code(), (404, "not_found"));
    assert_eq!(remove(&api, chat, api.helper.id).await.status, 200);
    assert_eq!(remove(&api, chat, api.helper.id).await.code(), (404, "not_found"));
}

#[actix_web::test]
async fn wrong_bodies_are_refused() {
    let api = Api::new().await;
    let chat = api.room().await;
    let answer = api.post(&api.ann, &path(chat), json!({"participant": {"role": "king"}})).await;
    let pointers = vec!["/participant/participant_id", "/participant/role"];
    assert_eq!(answer.refusal(), (422, "validation_error", pointers));
}
