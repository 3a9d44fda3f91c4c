//! Creating, listing, and reading rooms.

use std::time::Duration;

use actix_web::http::Method;
use actix_web::test::TestRequest;
use domain::id::ParticipantId;
use serde_json::{Value, json};

use crate::harness::Api;

#[actix_web::test]
async fn a_new_room_has_a_title_a_kind_and_its_times() {
    let api = Api::new().await;
    let answer = api.post(&api.helper, "/chats", json!({"chat": {"task_id": null}})).await;
    let id = answer.data()["id"].clone();
    let now = api.now();
    let expected = json!({"data": {
        "id": id, "title": "Untitled room", "task_id": null, "type": "direct", "chat_type": "direct",
        "status": "active", "last_message_at": null,
        "created_at": now, "inserted_at": now, "updated_at": now,
    }});
    assert_eq!((answer.status, &answer.body), (201, &expected));
    let read = api.get(&api.helper, &format!("/chats/{}", id.as_str().unwrap())).await;
    assert_eq!((read.status, read.body), (200, expected));
}

#[actix_web::test]
async fn rooms_are_created_from_every_form_of_body() {
    let api = Api::new().await;
    for body in [json!({}), json!({"chat": {}}), json!({"chat": {"title": "Plan"}}), json!({"title": "Plan"})]
    {
        let titled = body.to_string().contains("Plan");
        let answer = api.post(&api.helper, "/chats", body).await;
        assert_eq!(answer.status, 201);
        assert_eq!(answer.data()["title"], if titled { "Plan" } else { "Untitled room" });
    }
    let bare =
        TestRequest::post().uri("/api/v1/agent/chats").insert_header(("x-api-key", api.helper.key.clone()));
    assert_eq!(api.send(bare).await.status, 201);
}

#[actix_web::test]
async fn pages_are_exact() {
    let api = Api::new().await;
    let mut newest_first = Vec::new();
    for _ in 0..3 {
        newest_first.insert(0, api.empty_room(api.helper.caller).await.to_string());
        api.world.clock.advance(Duration::from_secs(1));
    }
    let metadata = |page: u32, size: u32, pages: u32| json!({"page": page, "page_size": size, "total_count": 3, "total_pages": pages});
    for (query, rows, expected) in [
        ("", 0..3, metadata(1, 20, 1)),
        ("?page=2&page_size=2", 2..3, metadata(2, 2, 2)),
        ("?page=4294967295&page_size=101", 3..3, metadata(u32::MAX, 100, 1)),
    ] {
        let answer = api.get(&api.helper, &format!("/chats{query}")).await;
        assert_eq!(answer.column("id"), newest_first[rows], "{query}");
        assert_eq!(answer.body["metadata"], expected, "{query}");
    }
}

#[actix_web::test]
async fn rooms_are_listed_with_their_first_participants() {
    let api = Api::new().await;
    let chat = api.room().await;
    api.world.presence.connect(ParticipantId::User(api.ann.id));
    let plain = api.get(&api.scout, "/chats").await;
    assert_eq!(plain.data()[0].get("participants"), None);
    assert_eq!((&plain.data()[0]["type"], &plain.data()[0]["status"]), (&json!("direct"), &json!("active")));
    let full = api.get(&api.scout, "/chats?include=participants&page_size=100").await;
    let row = &full.data()[0];
    assert_eq!((&row["id"], &row["participant_count"]), (&json!(chat.to_string()), &json!(3)));
    assert_eq!(row["participants_truncated"], false);
    let people = row["participants"].as_array().unwrap();
    let ids = people.iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    assert!(ids.is_sorted() && ids.len() == 3, "{ids:?}");
    let ann = people.iter().find(|one| one["type"] == "User").unwrap();
    assert_eq!((&ann["online"], &ann["handle"]), (&json!(true), &json!("ann")));
    assert_eq!(
        full.body["metadata"],
        json!({"page": 1, "page_size": 100, "total_count": 1, "total_pages": 1})
    );
    let refused = api.get(&api.scout, "/chats?include=last_message").await;
    assert_eq!(refused.refusal(), (422, "validation_error", vec!["/include/0"]));
}

#[actix_web::test]
async fn an_owning_agent_renames_its_room() {
    let api = Api::new().await;
    let chat = api.room().await;
    let path = format!("/chats/{chat}");
    let patch = async |agent: &testkit::TestAgent, body: Value| {
        api.call(&agent.key, Method::PATCH, &path, &body).await
    };
    let renamed = patch(&api.helper, json!({"chat": {"title": "Plan"}})).await;
    assert_eq!((renamed.status, &renamed.data()["title"]), (200, &json!("Plan")));
    assert_eq!(renamed.body, api.get(&api.scout, &path).await.body);
    let body = json!({"chat": {"title": "Mine"}});
    assert_eq!(patch(&api.scout, body.clone()).await.code(), (403, "forbidden"));
    assert_eq!(patch(&api.rival, body.clone()).await.code(), (404, "not_found"));
    assert_eq!(api.call(&api.ann.key, Method::PATCH, &path, &body).await.code(), (403, "forbidden"));
    let wrong = patch(&api.helper, json!({"title": ""})).await;
    assert_eq!(wrong.refusal(), (422, "validation_error", vec!["/title"]));
    let unknown = patch(&api.helper, json!({"chat": {"title": "x", "color": "red"}})).await;
    assert_eq!(unknown.refusal(), (400, "bad_request", vec!["/chat/color"]));
    // The owner's human sees the room, the agent itself sees nothing through its owner.
    let private = api.empty_room(api.ann.caller).await;
    assert_eq!(api.get(&api.helper, &format!("/chats/{private}")).await.code(), (404, "not_found"));
}
