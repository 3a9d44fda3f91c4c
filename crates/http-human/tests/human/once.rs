//! `Idempotency-Key` when creating rooms and messages.

use actix_web::test::TestRequest;
use domain::chat::Role;
use serde_json::{Value, json};

use crate::harness::{Answer, Api, text_for};

async fn post(api: &Api, key: &str, path: &str, once: &[&str], body: &Value) -> Answer {
    let mut request = TestRequest::post().uri(&format!("/api/v1/me{path}")).insert_header(("x-api-key", key));
    for once in once {
        request = request.append_header(("idempotency-key", *once));
    }
    api.send(request.set_json(body)).await
}

#[actix_web::test]
async fn a_repeated_message_is_sent_once_and_answered_the_same_but_for_states() {
    let api = Api::new().await;
    let chat = api.room().await;
    let path = format!("/chats/{chat}/messages");
    let body = text_for(api.helper.id, "hi");
    let first = post(&api, &api.ann.key, &path, &["k"], &body).await;
    assert_eq!(first.status, 201);
    let again = post(&api, &api.ann.key, &path, &["k"], &body).await;
    // What a recipient was then may be wrong by now, and is left out.
    let mut expected = first.body.clone();
    let recipient =
        json!({"id": api.helper.id.to_string(), "handle": "ann/helper", "name": "Helper", "type": "Agent"});
    expected["data"]["recipients"] = json!([recipient]);
    assert_eq!((again.status, &again.body), (201, &expected));
    api.world.chats.remove_participant(api.ann.caller, chat, api.helper.id).await.unwrap();
    let outlived = post(&api, &api.ann.key, &path, &["k"], &body).await;
    assert_eq!((outlived.status, &outlived.body), (201, &expected));
    api.world.add(api.ann.caller, chat, api.helper.id.into(), Role::Member).await;
    let other = post(&api, &api.ann.key, &path, &["k"], &text_for(api.helper.id, "ho")).await;
    assert_eq!(other.refusal(), (422, "validation_error", vec!["Idempotency-Key"]));
    assert_eq!(api.get(&api.ann, &path).await.column("content").len(), 1);
    let without = post(&api, &api.ann.key, &path, &[], &body).await;
    assert_ne!(without.body, first.body);
}

#[actix_web::test]
async fn a_repeated_room_is_made_once() {
    let api = Api::new().await;
    let body = json!({"chat": {"title": "One"}});
    let first = post(&api, &api.ann.key, "/chats", &["k"], &body).await;
    assert_eq!(first.status, 201);
    assert_eq!(post(&api, &api.ann.key, "/chats", &["k"], &body).await.body, first.body);
    let other = post(&api, &api.ann.key, "/chats", &["k"], &json!({"chat": {}})).await;
    assert_eq!(other.refusal(), (422, "validation_error", vec!["Idempotency-Key"]));
    // The same key of another user is another key.
    assert_ne!(post(&api, &api.bob.key, "/chats", &["k"], &body).await.body, first.body);
    assert_eq!(api.get(&api.ann, "/chats").await.column("id").len(), 1);
}

#[actix_web::test]
async fn a_key_must_be_sound() {
    let api = Api::new().await;
    let chat = api.room().await;
    let body = text_for(api.helper.id, "hi");
    let long = "k".repeat(256);
    for once in [&[""][..], &["a b"], &[&long], &["one", "two"], &["ä"]] {
        for (path, body) in [(format!("/chats/{chat}/messages"), &body), ("/chats".to_owned(), &json!({}))] {
            let answer = post(&api, &api.ann.key, &path, once, body).await;
            assert_eq!(answer.refusal(), (422, "validation_error", vec!["Idempotency-Key"]), "{once:?}");
        }
    }
}

/// The repetition gets another key for the same agent, and the first is no longer good.
#[actix_web::test]
async fn a_repeated_request_for_a_key_replaces_the_lost_one() {
    let api = Api::new().await;
    let key = |answer: &Answer| answer.data()["credentials"]["api_key"].as_str().unwrap().to_owned();
    let good = async |key: &str| api.world.accounts.authenticate(key).await.is_ok();
    let body = json!({"agent": {"name": "Writer", "description": "Writes."}});
    let first = post(&api, &api.ann.key, "/agents/register", &["k"], &body).await;
    assert_eq!(first.status, 201);
    let again = post(&api, &api.ann.key, "/agents/register", &["k"], &body).await;
    assert_eq!((again.status, &again.data()["agent"]), (201, &first.data()["agent"]));
    assert_ne!(key(&again), key(&first));
    let last = post(&api, &api.ann.key, "/agents/register", &["k"], &body).await;
    let other = json!({"agent": {"name": "Other", "description": "Writes."}});
    let other = post(&api, &api.ann.key, "/agents/register", &["k"], &other).await;
    assert_eq!(other.refusal(), (422, "validation_error", vec!["Idempotency-Key"]));
    assert!(!good(&key(&first)).await);
    assert!(good(&key(&last)).await);
    api.world.accounts.write_uses().await.unwrap();
    let spent = post(&api, &api.ann.key, "/agents/register", &["k"], &body).await;
    assert_eq!(spent.code(), (409, "conflict"));
    assert!(good(&key(&last)).await);

    let id = last.data()["agent"]["id"].as_str().unwrap();
    let rotate = format!("/agents/{id}/rotate-key");
    let rotated = post(&api, &api.ann.key, &rotate, &["k"], &json!({})).await;
    let again = post(&api, &api.ann.key, &rotate, &["k"], &json!({})).await;
    assert_eq!((again.status, &again.data()["agent"]), (200, &rotated.data()["agent"]));
    assert!(!good(&key(&rotated)).await);
    assert!(good(&key(&again)).await);

    let body = json!({"api_key": {"name": "laptop"}});
    let first = post(&api, &api.ann.key, "/api-keys", &["k"], &body).await;
    let again = post(&api, &api.ann.key, "/api-keys", &["k"], &body).await;
    assert_eq!((again.status, &again.data()["api_key"]["name"]), (201, &json!("laptop")));
    assert!(!good(&key(&first)).await);
    assert!(good(&key(&again)).await);
    let other = post(&api, &api.ann.key, "/api-keys", &["k"], &json!({"api_key": {"name": "phone"}})).await;
    assert_eq!(other.refusal(), (422, "validation_error", vec!["Idempotency-Key"]));
}

/// A request that was refused may be mended and sent under its key.
#[actix_web::test]
async fn a_refusal_does_not_use_up_the_key() {
    let api = Api::new().await;
    let chat = api.room().await;
    let path = format!("/chats/{chat}/messages");
    let key = &api.ann.key;
    for (body, status) in [
        (json!({"message": {"content": "hi", "colour": 1}}), 400),
        (json!({"message": {"content": " "}}), 422),
        (text_for(api.rival.id, "hi"), 422),
        (text_for(api.helper.id, "hi"), 201),
    ] {
        assert_eq!(post(&api, key, &path, &["k"], &body).await.status, status, "{body}");
    }
    let stranger = post(&api, &api.bob.key, &path, &["k"], &text_for(api.helper.id, "hi")).await;
    assert_eq!(stranger.code(), (404, "not_found"), "a stranger learns nothing by a key");
}

/// The generic path makes the same rooms, under the same keys.
#[actix_web::test]
async fn a_repeated_room_of_a_generic_path_is_made_once() {
    let api = Api::new().await;
    for key in [&api.ann.key, &api.helper.key] {
        let ask = || {
            let request = TestRequest::post().uri("/v1/chats").insert_header(("authorization", key.as_str()));
            api.send(request.insert_header(("idempotency-key", "k")).set_json(json!({"title": "One"})))
        };
        let first = ask().await;
        assert_eq!(first.status, 201);
        assert_eq!(ask().await.body, first.body);
    }
}
