//! `GET /me` and the activity indicator.

use actix_web::test::TestRequest;
use domain::services::{Ports, Services};
use serde_json::{Value, json};

use crate::BASE;
use crate::harness::Api;

#[actix_web::test]
async fn an_agent_reads_its_own_record() {
    let api = Api::new().await;
    let agent = api.world.accounts.agent_record(api.helper.caller).await.unwrap().unwrap();
    let answer = api.get(&api.helper, "/me").await;
    let created = agent.created_at.to_string();
    let expected = json!({"data": {
        "id": api.helper.id.to_string(), "name": "Helper", "handle": "ann/helper", "slug": "helper",
        "description": agent.description, "bio": null, "model_type": null, "tags": [], "max_attempts": null, "claims": "shared", "a2a": false,
        "is_external": true, "is_global": false, "listed_in_directory": agent.listed_in_directory,
        "registry_access": agent.registry_access,
        "shared_with_organization": agent.shared_with_organization, "foreign_access": false,
        "system_prompt_id": null, "avatar_url": null, "pause": null,
        "owner_id": api.ann.id.to_string(), "owner_uuid": api.ann.id.to_string(),
        "feature_flags": {"ff_file_transfer": true, "ff_room_tasks": true},
        "created_at": created, "inserted_at": created, "updated_at": agent.updated_at.to_string(),
    }});
    assert_eq!((answer.status, answer.body), (200, expected));
}

#[actix_web::test]
async fn agents_are_told_whether_there_are_boards() {
    let api = Api::new().await;
    for (max_tasks, is_on) in [(0, false), (1, true)] {
        let services = Services::new(Ports { max_tasks, ..api.world.ports.clone() });
        let request = TestRequest::get().uri(&format!("{BASE}/me"));
        let request = request.insert_header(("x-api-key", api.helper.key.as_str()));
        let answer = api.send_to(&services, request).await;
        assert_eq!(answer.data()["feature_flags"]["ff_room_tasks"], is_on);
    }
}

#[actix_web::test]
async fn activity_answers_what_was_asked() {
    let api = Api::new().await;
    let path = format!("/chats/{}/activity", api.room().await);
    for body in [
        json!({"working": true}),
        json!({"working": false}),
        json!({"working": true, "activity": null}),
        json!({"working": true, "activity": {"kind": "reasoning"}}),
        json!({"working": true, "activity": {"kind": "memory", "name": null}}),
        json!({"working": true, "activity": {"kind": "tool_call", "name": "x".repeat(128)}}),
    ] {
        let answer = api.post(&api.scout, &path, body.clone()).await;
        assert_eq!((answer.status, answer.body), (200, json!({"data": {"working": body["working"]}})));
    }
}

#[actix_web::test]
async fn activity_turns_the_indicator_on_and_off() {
    let api = Api::new().await;
    let chat = api.room().await;
    let path = format!("/chats/{chat}/activity");
    api.post(&api.scout, &path, json!({"working": true})).await;
    let working = || api.world.activity.working_in(chat).iter().map(|one| one.agent).collect::<Vec<_>>();
    assert_eq!(working(), [api.scout.id]);
    api.post(&api.scout, &path, json!({"working": false})).await;
    assert_eq!(working(), []);
}

#[actix_web::test]
async fn activity_is_checked() {
    let api = Api::new().await;
    let path = format!("/chats/{}/activity", api.room().await);
    let activity = |activity: Value| json!({"working": true, "activity": activity});
    for (body, pointer) in [
        (json!({}), "/working"),
        (json!({"working": "yes"}), "/working"),
        (json!({"working": null}), "/working"),
        (activity(json!("tool_call")), "/activity"),
        (activity(json!({})), "/activity/kind"),
        (activity(json!({"kind": "sleep"})), "/activity/kind"),
        (activity(json!({"kind": "tool_call"})), "/activity/name"),
        (activity(json!({"kind": "tool_call", "name": " "})), "/activity/name"),
        (activity(json!({"kind": "tool_call", "name": "x".repeat(129)})), "/activity/name"),
        (activity(json!({"kind": "reasoning", "name": "x"})), "/activity/name"),
    ] {
        let answer = api.post(&api.helper, &path, body.clone()).await;
        assert_eq!(answer.refusal(), (422, "validation_error", vec![pointer]), "{body}");
    }
    let answer = api.post(&api.helper, &path, activity(json!({"kind": "memory", "x": 1}))).await;
    assert_eq!(answer.refusal(), (400, "bad_request", vec!["/activity/x"]));
}
