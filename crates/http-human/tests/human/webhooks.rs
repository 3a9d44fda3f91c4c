//! The webhooks of agents and organizations. What is sent to them is tested with the running program.

use actix_web::http::Method;
use domain::webhook::{Reply, WebhookRoom};
use serde_json::{Value, json};
use testkit::webhook_walk::take_event;

use crate::harness::Api;

#[actix_web::test]
async fn a_webhook_is_set_shown_and_removed() {
    let api = Api::new().await;
    let path = format!("/agents/{}/webhook", api.helper.id);
    let key = &api.ann.key;
    let put = async |key: &str, body: Value| api.call(key, Method::PUT, &path, &body).await;
    assert_eq!(api.get(&api.ann, &path).await.code(), (404, "not_found"));
    assert_eq!(
        put(key, json!({"url": "ftp://a.example"})).await.refusal(),
        (422, "validation_error", vec!["/url"])
    );
    assert_eq!(put(key, json!({})).await.refusal(), (422, "validation_error", vec!["/url"]));
    let url = json!({"url": "https://hooks.example/in"});
    assert_eq!(put(&api.bob.key, url.clone()).await.code(), (404, "not_found"));
    let made = put(key, url.clone()).await;
    assert_eq!((made.status, &made.data()["secret"]), (201, &json!("whsec_0002")));
    let shown = json!({
        "url": "https://hooks.example/in", "status": "active", "failing_since": null, "disabled_at": null,
        "disabled_reason": null, "previous_secret_valid_until": null, "inserted_at": api.now(), "updated_at": api.now(),
    });
    assert_eq!(api.get(&api.ann, &path).await.data(), &shown);
    let again = put(key, url.clone()).await;
    assert_eq!((again.status, again.data()), (200, &shown));
    let rotated = api.post(&api.ann, &format!("{path}/rotate-secret"), Value::Null).await;
    assert_eq!(rotated.data()["secret"], "whsec_0004");
    assert!(rotated.data()["previous_secret_valid_until"].is_string());
    assert_eq!(api.post(&api.ann, &format!("{path}/enable"), Value::Null).await.data()["status"], "active");
    let revoked =
        api.post(&api.ann, &format!("{path}/rotate-secret"), json!({"revoke_previous": true})).await;
    assert_eq!(
        (&revoked.data()["secret"], &revoked.data()["previous_secret_valid_until"]),
        (&json!("whsec_0005"), &Value::Null)
    );
    let faulty = api.post(&api.ann, &format!("{path}/rotate-secret"), json!({"revoke_previous": 1})).await;
    assert_eq!(faulty.refusal(), (422, "validation_error", vec!["/revoke_previous"]));
    for (method, rest) in [
        (Method::GET, ""),
        (Method::DELETE, ""),
        (Method::GET, "/deliveries"),
        (Method::POST, "/rotate-secret"),
        (Method::POST, "/enable"),
    ] {
        let refused = api.call(&api.bob.key, method, &format!("{path}{rest}"), &Value::Null).await;
        assert_eq!(refused.code(), (404, "not_found"));
    }

    // Who acts as the agent does not decide where its messages are sent.
    let scope = json!({"api_key": {"name": "as helper", "agent_id": api.helper.id.to_string()}});
    let limited = api.post(&api.ann, "/api-keys", scope).await;
    let limited = limited.data()["credentials"]["api_key"].as_str().unwrap().to_owned();
    assert_eq!(put(&limited, url).await.code(), (403, "forbidden"));

    assert_eq!(api.call(key, Method::DELETE, &path, &Value::Null).await.status, 204);
    assert_eq!(api.call(key, Method::DELETE, &path, &Value::Null).await.code(), (404, "not_found"));
}

#[actix_web::test]
async fn deliveries_are_shown_newest_first() {
    let api = Api::new().await;
    let chat = api.room().await;
    let path = format!("/agents/{}/webhook", api.helper.id);
    let url = json!({"url": "https://hooks.example/in"});
    assert_eq!(api.call(&api.ann.key, Method::PUT, &path, &url).await.status, 201);
    let room = WebhookRoom { agent: api.helper.id, chat };
    let mut sent = Vec::new();
    for reply in [
        Reply::Answered { status: 200, retry_after: None },
        Reply::Unanswered { error: "connection refused".to_owned() },
    ] {
        let body = json!({"message": {"content": "hi", "mentions": [{"id": api.helper.id.to_string()}]}});
        let message = api.post(&api.ann, &format!("/chats/{chat}/messages"), body).await;
        let due = api.world.webhooks.take(room).await.unwrap().unwrap();
        api.world.webhooks.settle(&due, reply).await.unwrap();
        sent.push((message.data()["id"].clone(), due.delivery.id.to_string()));
    }
    let first = api.get(&api.ann, &format!("{path}/deliveries?limit=1")).await;
    let row = &first.data()[0];
    assert_eq!((&row["message_id"], &row["status"]), (&sent[1].0, &json!("waiting")));
    assert_eq!((&row["last_error"], &row["last_status"]), (&json!("connection refused"), &Value::Null));
    assert!(row["next_attempt_at"].is_string() && row["ended_at"].is_null(), "{row}");
    let cursor = first.body["metadata"]["next_cursor"].as_str().unwrap().to_owned();
    let rest = api.get(&api.ann, &format!("{path}/deliveries?limit=1&cursor={cursor}")).await;
    let row = &rest.data()[0];
    assert_eq!((&row["id"], &row["status"]), (&json!(sent[0].1), &json!("delivered")));
    assert_eq!((&row["chat_room_id"], &row["attempts"]), (&json!(chat.to_string()), &json!(1)));
    assert_eq!(rest.body["metadata"]["next_cursor"], Value::Null);

    let resend = |id: &str| format!("{path}/deliveries/{id}/resend");
    let busy = api.post(&api.ann, &resend(&sent[0].1), Value::Null).await;
    assert_eq!(busy.code(), (409, "conflict"), "another one of the room has not ended");
    let unknown = api.post(&api.ann, &resend(&chat.to_string()), Value::Null).await;
    assert_eq!(unknown.code(), (404, "not_found"));
    assert_eq!(api.post(&api.bob, &resend(&sent[0].1), Value::Null).await.code(), (404, "not_found"));
}

#[actix_web::test]
async fn an_admin_sets_the_webhook_of_the_organization() {
    let api = Api::new().await;
    let cai = api.world.colleague("cai", "ann").await;
    let path = "/organization/webhook";
    let put = async |key: &str, body: Value| api.call(key, Method::PUT, path, &body).await;
    let (key, url) = (&api.ann.key, "https://hooks.example/in");
    assert_eq!(api.get(&api.ann, path).await.code(), (404, "not_found"));
    for (body, pointer) in [
        (json!({}), "/url"),
        (json!({"url": "ftp://a.example"}), "/url"),
        (json!({"url": url, "events": ["agents.*"]}), "/events"),
        (json!({"url": url, "events": "agent.*"}), "/events"),
    ] {
        assert_eq!(put(key, body).await.refusal(), (422, "validation_error", vec![pointer]));
    }
    assert_eq!(put(&cai.key, json!({"url": url})).await.code(), (403, "forbidden"));
    let made = put(key, json!({"url": url, "events": ["webhook.*", "agent.*"]})).await;
    assert_eq!(made.status, 201);
    assert!(made.data()["secret"].as_str().unwrap().starts_with("whsec_"));
    let shown = json!({
        "url": url, "status": "active", "failing_since": null, "disabled_at": null, "disabled_reason": null,
        "previous_secret_valid_until": null, "inserted_at": api.now(), "updated_at": api.now(),
        "events": ["agent.*", "webhook.*"],
    });
    assert_eq!(api.get(&api.ann, path).await.data(), &shown);
    let all = put(key, json!({"url": url, "events": null})).await;
    assert_eq!((all.status, &all.data()["events"]), (200, &json!([])));
    let rotated = api.post(&api.ann, &format!("{path}/rotate-secret"), Value::Null).await;
    assert!(
        rotated.data()["secret"].is_string() && rotated.data()["previous_secret_valid_until"].is_string()
    );
    assert_eq!(api.post(&api.ann, &format!("{path}/enable"), Value::Null).await.data()["status"], "active");
    for (method, rest) in [
        (Method::GET, ""),
        (Method::DELETE, ""),
        (Method::GET, "/deliveries"),
        (Method::POST, "/rotate-secret"),
        (Method::POST, "/enable"),
    ] {
        let refused = api.call(&cai.key, method, &format!("{path}{rest}"), &Value::Null).await;
        assert_eq!(refused.code(), (403, "forbidden"), "{rest}");
    }

    // A key that is limited to an agent is not the admin.
    let scope = json!({"api_key": {"name": "as helper", "agent_id": api.helper.id.to_string()}});
    let limited = api.post(&api.ann, "/api-keys", scope).await;
    let limited = limited.data()["credentials"]["api_key"].as_str().unwrap().to_owned();
    for other in [&limited, &api.helper.key] {
        assert_eq!(put(other, json!({"url": url})).await.code(), (403, "forbidden"));
    }

    while api.world.audit.seal_some().await.unwrap() > 0 {}
    let due = take_event(&api.world, api.ann.caller.organization).await.unwrap();
    let lost = Reply::Unanswered { error: "connection refused".to_owned() };
    api.world.webhooks.settle_event(&due, lost).await.unwrap();
    let listed = api.get(&api.ann, &format!("{path}/deliveries?limit=1")).await;
    let (row, id) = (&listed.data()[0], due.delivery.id.to_string());
    assert_eq!((&row["id"], &row["event"]), (&json!(id), &json!(due.record.action.as_str())));
    assert_eq!((&row["status"], &row["last_error"]), (&json!("waiting"), &json!("connection refused")));
    let resend = async |user: &testkit::TestUser, id: &str| {
        api.post(user, &format!("{path}/deliveries/{id}/resend"), Value::Null).await
    };
    assert_eq!(resend(&api.ann, &id).await.data()["next_attempt_at"], api.now());
    assert_eq!(resend(&api.bob, &id).await.code(), (404, "not_found"));
    assert_eq!(resend(&cai, &id).await.code(), (403, "forbidden"));
    take_event(&api.world, api.ann.caller.organization).await.unwrap();
    assert_eq!(resend(&api.ann, &id).await.code(), (409, "conflict"));

    assert_eq!(api.call(key, Method::DELETE, path, &Value::Null).await.status, 204);
    assert_eq!(api.call(key, Method::DELETE, path, &Value::Null).await.code(), (404, "not_found"));
}
