//! Channels of notifications, and their log. What is sent is tested with the running program.

use actix_web::http::Method;
use serde_json::{Value, json};

use crate::harness::Api;

const CHANNELS: &str = "/notifications/channels";

#[actix_web::test]
async fn a_channel_is_made_changed_and_removed() {
    let api = Api::new().await;
    let made = json!({
        "kind": "webhook", "url": "https://hooks.example/in", "content": "title",
        "quiet_hours": "22:00-07:00 Europe/Zurich", "digest_minutes": 5,
    });
    let made = api.post(&api.ann, CHANNELS, made).await;
    assert_eq!(made.status, 201);
    assert!(made.data()["secret"].as_str().unwrap().starts_with("whsec_"));
    let mut shown = json!({
        "id": made.data()["id"], "kind": "webhook", "url": "https://hooks.example/in", "content": "title",
        "quiet_hours": "22:00-07:00 Europe/Zurich", "digest_minutes": 5, "links": false, "status": "active",
        "last_error": null, "failing_since": null, "off_at": null, "off_reason": null, "off_note": null,
        "inserted_at": api.now(), "updated_at": api.now(),
    });
    assert_eq!(api.get(&api.ann, CHANNELS).await.data(), &json!([shown]));
    assert_eq!(api.get(&api.bob, CHANNELS).await.data(), &json!([]));
    let path = format!("{CHANNELS}/{}", made.data()["id"].as_str().unwrap());
    let change = async |key: &str, body: Value| api.call(key, Method::PATCH, &path, &body).await;
    let changed = change(&api.ann.key, json!({"quiet_hours": null, "links": true, "content": "none"})).await;
    for (name, value) in [("quiet_hours", Value::Null), ("links", json!(true)), ("content", json!("none"))] {
        shown[name] = value;
    }
    assert_eq!((changed.status, changed.data()), (200, &shown));
    assert_eq!(change(&api.ann.key, json!({})).await.refusal(), (422, "validation_error", vec!["/content"]));
    assert_eq!(change(&api.bob.key, json!({"links": true})).await.code(), (404, "not_found"));
    let test = format!("{path}/test");
    let tested = api.post(&api.ann, &test, Value::Null).await;
    assert_eq!((tested.status, &tested.data()["kind"]), (201, &json!("test")));
    assert_eq!(tested.data()["message_id"], Value::Null);
    assert_eq!(api.post(&api.bob, &test, Value::Null).await.code(), (404, "not_found"));
    assert_eq!(api.get(&api.ann, "/notifications").await.data(), &json!([tested.data()]));
    assert_eq!(api.get(&api.bob, "/notifications").await.data(), &json!([]));
    let off = change(&api.ann.key, json!({"enabled": false})).await;
    assert_eq!((&off.data()["status"], &off.data()["off_reason"]), (&json!("off"), &json!("user")));
    assert_eq!(api.post(&api.ann, &test, Value::Null).await.code(), (409, "conflict"));
    assert_eq!(api.get(&api.ann, "/notifications").await.data()[0]["status"], "dropped");
    assert_eq!(api.call(&api.bob.key, Method::DELETE, &path, &Value::Null).await.code(), (404, "not_found"));
    assert_eq!(api.call(&api.ann.key, Method::DELETE, &path, &Value::Null).await.status, 204);
    assert_eq!(api.get(&api.ann, &path).await.code(), (404, "not_found"));
    assert_eq!(api.get(&api.ann, "/notifications").await.data(), &json!([]));
}

#[actix_web::test]
async fn a_key_for_an_agent_decides_nothing_about_its_owners_notifications() {
    let api = Api::new().await;
    let scope = json!({"api_key": {"name": "as helper", "agent_id": api.helper.id.to_string()}});
    let limited = api.post(&api.ann, "/api-keys", scope).await;
    let limited = limited.data()["credentials"]["api_key"].as_str().unwrap().to_owned();
    let refused = api.call(&limited, Method::POST, CHANNELS, &json!({"kind": "email"})).await;
    assert_eq!(refused.code(), (403, "forbidden"));
    let scope = json!({"api_key": {"name": "reads", "read_only": true}});
    let reads = api.post(&api.ann, "/api-keys", scope).await;
    let reads = reads.data()["credentials"]["api_key"].as_str().unwrap().to_owned();
    let refused = api.call(&reads, Method::POST, CHANNELS, &json!({"kind": "email"})).await;
    assert_eq!(refused.code(), (403, "forbidden"));
}

#[actix_web::test]
async fn channels_are_limited() {
    let api = Api::new().await;
    for _ in 0..10 {
        assert_eq!(api.post(&api.ann, CHANNELS, json!({"kind": "email"})).await.status, 201);
    }
    assert_eq!(api.post(&api.ann, CHANNELS, json!({"kind": "email"})).await.code(), (409, "conflict"));
    assert!(api.get(&api.ann, "/notifications/web-push-key").await.data()["public_key"].is_string());
}
