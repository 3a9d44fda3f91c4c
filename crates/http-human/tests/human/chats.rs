//! Creating, listing, reading, and deleting rooms.

use std::time::Duration;

use actix_web::test::TestRequest;
use domain::chat::Role;
use serde_json::{Value, json};

use crate::harness::Api;

#[actix_web::test]
async fn a_new_room_has_a_title_a_kind_and_its_times() {
    let api = Api::new().await;
    let task = "0190c5a4-0000-7000-8000-000000000001";
    let body = json!({"chat": {"title": " Plan ", "task_id": task, "type": "task"}});
    let answer = api.post(&api.ann, "/chats", body).await;
    let id = answer.data()["id"].clone();
    let now = api.now();
    let expected = json!({"data": {
        "id": id, "title": "Plan", "task_id": task, "type": "task", "chat_type": "task",
        "status": "active", "last_message_at": null,
        "created_at": now, "inserted_at": now, "updated_at": now,
        "description": null, "agents": [], "work_status": "idle",
        "task_counts": {
            "pending": 0, "in_progress": 0, "blocked": 0, "in_review": 0, "failed": 0, "completed": 0,
        },
    }});
    assert_eq!((answer.status, &answer.body), (201, &expected));
    let read = api.get(&api.ann, &format!("/chats/{}", id.as_str().unwrap())).await;
    assert_eq!((read.status, read.body), (200, expected));
}

#[actix_web::test]
async fn a_room_needs_no_body() {
    let api = Api::new().await;
    let bare = TestRequest::post().uri("/api/v1/me/chats").insert_header(("x-api-key", api.ann.key.clone()));
    assert_eq!(api.send(bare).await.status, 201);
    assert_eq!(api.post(&api.ann, "/chats", json!({})).await.status, 201);
    let refused = api.post(&api.ann, "/chats", json!({"chat": {"title": 1, "name": 2}})).await;
    assert_eq!(refused.refusal(), (400, "bad_request", vec!["/chat/name"]));
}

#[actix_web::test]
async fn rooms_are_listed_newest_first_in_both_styles() {
    let api = Api::new().await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.insert(0, api.empty_room(api.ann.caller).await.to_string());
        api.world.clock.advance(Duration::from_secs(1));
    }
    let first = api.get(&api.ann, "/chats?limit=2").await;
    assert_eq!(first.column("id"), ids[..2]);
    let cursor = first.body["metadata"]["next_cursor"].as_str().unwrap();
    assert_eq!(first.body["metadata"], json!({"has_more": true, "limit": 2, "next_cursor": cursor}));
    // A room that is made meanwhile moves nothing.
    api.empty_room(api.ann.caller).await;
    let second = api.get(&api.ann, &format!("/chats?limit=100&cursor={cursor}")).await;
    assert_eq!(second.column("id"), ids[2..]);
    assert_eq!(second.body["metadata"], json!({"has_more": false, "limit": 100, "next_cursor": null}));

    let page = api.get(&api.ann, "/chats?page=2&page_size=4").await;
    assert_eq!(page.column("id"), ids[3..]);
    let expected = json!({
        "has_more": false, "limit": 4, "next_cursor": null,
        "page": 2, "page_size": 4, "total_count": 6, "total_pages": 2,
    });
    assert_eq!(page.body["metadata"], expected);
}

#[actix_web::test]
async fn an_owner_deletes_a_room_for_everybody() {
    let api = Api::new().await;
    let chat = api.room().await;
    let path = format!("/chats/{chat}");
    let answer = api.delete(&api.ann, &path).await;
    assert_eq!((answer.status, &answer.data()["id"]), (200, &json!(chat.to_string())));
    for path in [path.clone(), format!("{path}/participants"), format!("{path}/messages")] {
        assert_eq!(api.get(&api.ann, &path).await.code(), (404, "not_found"), "{path}");
    }
    assert_eq!(api.delete(&api.ann, &path).await.code(), (404, "not_found"));
}

#[actix_web::test]
async fn who_is_no_owner_does_not_delete() {
    let api = Api::new().await;
    api.make_global(&api.helper).await;
    let chat = api.empty_room(api.bob.caller).await;
    api.add(api.bob.caller, chat, api.helper.id.into(), Role::Admin).await;
    api.add(api.helper.caller, chat, api.ann.id.into(), Role::Admin).await;
    assert_eq!(api.delete(&api.ann, &format!("/chats/{chat}")).await.code(), (403, "forbidden"));
    assert_eq!(api.post(&api.ann, "/chats/x", Value::Null).await.code(), (405, "method_not_allowed"));
}
