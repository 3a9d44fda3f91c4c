//! The caller's API keys, and those of the caller's agents.

use std::time::Duration;

use actix_web::http::Method;
use actix_web::test::TestRequest;
use domain::account::{MAX_KEYS, USE_RESOLUTION, UserHandle};
use domain::login::{CONFIRMED_FOR, Password, SessionKind};
use serde_json::{Value, json};

use crate::harness::Api;

/// Makes a key; its record and its text.
async fn made(api: &Api, body: Value) -> (Value, String) {
    let answer = api.post(&api.ann, "/api-keys", body).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    let key = answer.data()["credentials"]["api_key"].as_str().unwrap().to_owned();
    (answer.data()["api_key"].clone(), key)
}

async fn status_with(api: &Api, key: &str) -> u16 {
    api.call(key, Method::GET, "/profile", &Value::Null).await.status
}

#[actix_web::test]
async fn a_key_is_shown_once_and_counts_until_it_is_revoked() {
    let api = Api::new().await;
    api.world.clock.advance(Duration::from_secs(1));
    let (record, key) = made(&api, json!({"api_key": {"name": " my laptop "}})).await;
    let expected = json!({
        "id": record["id"], "name": "my laptop", "prefix": key, "expires_at": null, "read_only": false,
        "chat_id": null, "agent_id": null, "last_used_at": null, "revoked_at": null, "inserted_at": api.now(),
    });
    assert_eq!(record, expected);
    let rows = api.get(&api.ann, "/api-keys").await;
    assert_eq!(rows.data()[0], record);
    assert_eq!((&rows.data()[1]["name"], rows.data().as_array().unwrap().len()), (&Value::Null, 2));
    assert_eq!(rows.body["metadata"]["total_count"], 2);

    let used = api.now();
    assert_eq!(status_with(&api, &key).await, 200);
    api.world.accounts.write_uses().await.unwrap();
    assert_eq!(api.get(&api.ann, "/api-keys").await.data()[0]["last_used_at"], used);

    api.world.clock.advance(USE_RESOLUTION);
    let path = format!("/api-keys/{}", record["id"].as_str().unwrap());
    let revoked = api.delete(&api.ann, &path).await;
    assert_eq!((revoked.status, &revoked.data()["revoked_at"]), (200, &json!(api.now())));
    assert_eq!(status_with(&api, &key).await, 401);
    assert_eq!(api.delete(&api.ann, &path).await.code(), (404, "not_found"));
    assert_eq!(api.get(&api.ann, "/api-keys").await.data().as_array().unwrap().len(), 1);
}

/// A read-only key reads all and changes nothing; others reach what they name and nothing else.
#[actix_web::test]
async fn a_limited_key_reaches_what_it_names() {
    let api = Api::new().await;
    let (chat, other) = (api.room().await, api.empty_room(api.ann.caller).await);
    let (bot, second) = (&api.helper, &api.scout);
    let (of_chat, of_other) = (format!("/chats/{chat}"), format!("/chats/{other}"));
    let (of_bot, of_second) = (format!("/agents/{}", bot.id), format!("/agents/{}", second.id));
    let status = async |key: &str, method: Method, path: &str, body: Value| {
        let answer = api.call(key, method, path, &body).await;
        if answer.status == 403 {
            let message = answer.body["error"]["message"].as_str().unwrap();
            assert!(message.starts_with("The API key is "), "{message}");
        }
        answer.status
    };
    let reads = async |key: &str| {
        let mut seen = Vec::new();
        for path in ["/chats", "/agents", "/api-keys", "/profile", &of_chat, &of_other, &of_bot, &of_second] {
            seen.push(status(key, Method::GET, path, Value::Null).await);
        }
        seen
    };
    let (record, read_only) = made(&api, json!({"name": "r", "read_only": true})).await;
    assert_eq!((&record["read_only"], &record["chat_id"]), (&json!(true), &Value::Null));
    assert_eq!(reads(&read_only).await, [200; 8]);
    let text = || json!({"message": {"content": "hello", "mentions": []}});
    let say = format!("{of_chat}/messages");
    assert_eq!(status(&read_only, Method::POST, &say, text()).await, 403);
    assert_eq!(status(&read_only, Method::POST, "/api-keys", json!({"name": "more"})).await, 403);
    assert_eq!(status(&read_only, Method::DELETE, &of_bot, Value::Null).await, 403);

    let (record, in_chat) = made(&api, json!({"name": "c", "chat_id": chat.to_string()})).await;
    assert_eq!((&record["read_only"], &record["chat_id"]), (&json!(false), &json!(chat.to_string())));
    assert_eq!(reads(&in_chat).await, [403, 403, 403, 200, 200, 403, 403, 403]);
    assert_eq!(status(&in_chat, Method::POST, &say, text()).await, 201);
    let elsewhere = format!("{of_other}/messages");
    assert_eq!(status(&in_chat, Method::POST, &elsewhere, text()).await, 403);
    assert_eq!(status(&in_chat, Method::POST, "/api-keys", json!({"name": "more"})).await, 403);
    assert_eq!(status(&in_chat, Method::POST, "/chats", json!({"chat": {}})).await, 403);

    let (_, as_bot) = made(&api, json!({"name": "a", "agent_id": bot.id.to_string()})).await;
    assert_eq!(reads(&as_bot).await, [403, 403, 403, 200, 403, 403, 200, 403]);
    let rotate = format!("{of_bot}/rotate-key");
    assert_eq!(status(&as_bot, Method::POST, &rotate, json!({})).await, 403, "that key would outlive it");

    // A key can only be limited to a chat or an agent of the caller.
    let unseen = api.empty_room(api.bob.caller).await.to_string();
    for (wrong, at) in [
        (json!({"name": "x", "agent_id": api.rival.id.to_string()}), "/agent_id"),
        (json!({"name": "x", "chat_id": unseen}), "/chat_id"),
        (json!({"name": "x", "chat_id": ""}), "/chat_id"),
        (json!({"name": "x", "read_only": "yes"}), "/read_only"),
    ] {
        let answer = api.post(&api.ann, "/api-keys", wrong).await;
        assert_eq!(answer.refusal(), (422, "validation_error", vec![at]));
    }
}

/// An access token alone does not make a key that outlives it.
#[actix_web::test]
async fn a_session_that_began_a_while_ago_makes_no_key_without_the_password() {
    let api = Api::new().await;
    let reset = api.world.logins.issue_reset(&UserHandle::new("ann").unwrap()).await.unwrap();
    let password = Password::new("correct horse".to_owned()).unwrap();
    let open = api.world.logins.reset_password(&reset.token, password, SessionKind::Program).await.unwrap();
    let make = async |token: &str, given: Value| {
        let mut body = json!({"name": "laptop"});
        body.as_object_mut().unwrap().extend(given.as_object().unwrap().clone());
        let request = TestRequest::post().uri("/api/v1/me/api-keys").set_json(body);
        api.send(request.insert_header(("authorization", format!("Bearer {token}")))).await
    };
    let token = &open.access.token;
    api.world.clock.advance(CONFIRMED_FOR.saturating_sub(Duration::from_secs(1)));
    assert_eq!(make(token, json!({})).await.status, 201);
    api.world.clock.advance(Duration::from_secs(1));
    let wrong = (422, "validation_error", vec!["/current_password"]);
    for given in [json!({}), json!({"current_password": "battery staple"}), json!({"current_password": null})]
    {
        assert_eq!(make(token, given).await.refusal(), wrong);
    }
    assert_eq!(make(token, json!({"current_password": "correct horse"})).await.status, 201);
    // A key is as lasting as what it makes, and the operator's token is made by a command.
    assert_eq!(api.post(&api.ann, "/api-keys", json!({"name": "next"})).await.status, 201);
    let issued = api.world.token(&api.ann).await;
    assert_eq!(make(&issued, json!({})).await.status, 201);
    let wrapped = json!({"api_key": {"name": "next", "current_password": "battery staple"}});
    let answer = api.post(&api.ann, "/api-keys", wrapped).await;
    assert_eq!(answer.refusal(), (422, "validation_error", vec!["/api_key/current_password"]));

    // A key of an agent is one as well.
    let bot = api.world.agent(&api.ann, "Bot").await;
    let rotate = format!("/agents/{}/rotate-key", bot.id);
    let call = async |token: &str, path: &str, body: Value| {
        let request = TestRequest::post().uri(&format!("/api/v1/me{path}")).set_json(body);
        api.send(request.insert_header(("authorization", format!("Bearer {token}")))).await
    };
    for given in [json!({}), json!({"current_password": "battery staple"})] {
        assert_eq!(call(token, &rotate, given).await.refusal(), wrong);
    }
    assert_eq!(call(token, &rotate, json!({"current_password": "correct horse"})).await.status, 200);
    assert_eq!(call(&issued, &rotate, json!({})).await.status, 200);
    let agent = |name: &str, password: Value| json!({"agent": {"name": name, "description": "New", "current_password": password}});
    let refused = call(token, "/agents/register", agent("One", Value::Null)).await;
    assert_eq!(refused.refusal(), (422, "validation_error", vec!["/agent/current_password"]));
    assert_eq!(call(token, "/agents/register", agent("One", json!("correct horse"))).await.status, 201);
    assert_eq!(call(&issued, "/agents/register", agent("Two", Value::Null)).await.status, 201);
}

#[actix_web::test]
async fn a_key_expires() {
    let api = Api::new().await;
    let until = "2026-07-01T14:00:10.5+02:00";
    let (record, key) = made(&api, json!({"name": "short", "expires_at": until})).await;
    assert_eq!(record["expires_at"], "2026-07-01T12:00:10.500000Z");
    assert_eq!(status_with(&api, &key).await, 200);
    api.world.clock.advance(Duration::from_millis(10_500));
    assert_eq!(status_with(&api, &key).await, 401);
    assert_eq!(api.get(&api.ann, "/api-keys").await.data()[0]["id"], record["id"], "it can still be revoked");
    made(&api, json!({"name": "unlimited", "expires_at": null})).await;
}

#[actix_web::test]
async fn wrong_keys_are_not_made() {
    let api = Api::new().await;
    let at = |expires_at: Value| json!({"api_key": {"name": "x", "expires_at": expires_at}});
    for (body, pointer) in [
        (json!({}), "/name"),
        (json!({"api_key": {"name": " "}}), "/api_key/name"),
        (json!({"api_key": {"name": "x".repeat(101)}}), "/api_key/name"),
        (at(json!("tomorrow")), "/api_key/expires_at"),
        (at(json!("")), "/api_key/expires_at"),
        (at(json!("2026-07-01T12:00:00")), "/api_key/expires_at"),
        (at(json!(7)), "/api_key/expires_at"),
        (at(json!("2026-07-01T12:00:00Z")), "/api_key/expires_at"),
        (json!({"name": "x", "expires_at": "2026-07-01T11:59:59Z"}), "/expires_at"),
    ] {
        let pointers = if body == json!({}) { vec!["/name"] } else { vec![pointer] };
        let answer = api.post(&api.ann, "/api-keys", body).await;
        assert_eq!(answer.refusal(), (422, "validation_error", pointers));
    }
    for number in 1..MAX_KEYS {
        made(&api, json!({"name": format!("key {number}")})).await;
    }
    let answer = api.post(&api.ann, "/api-keys", json!({"name": "one too many"})).await;
    assert_eq!(answer.code(), (409, "conflict"));
}

/// Keys of other users and of agents are not found.
#[actix_web::test]
async fn keys_of_others_are_not_found() {
    let api = Api::new().await;
    let bobs = api.get(&api.bob, "/api-keys").await.data()[0]["id"].as_str().unwrap().to_owned();
    let authenticated = api.world.accounts.authenticate(&api.helper.key).await.unwrap();
    let helpers = authenticated.presented.key().unwrap().id.to_string();
    for id in [bobs.as_str(), &helpers, "0190c5a4-0000-7000-8000-0000000000a1", "odd"] {
        let answer = api.delete(&api.ann, &format!("/api-keys/{id}")).await;
        assert_eq!(answer.code(), (404, "not_found"), "{id}");
    }
    for agent in [api.rival.id.to_string().as_str(), "0190c5a4-0000-7000-8000-0000000000a1"] {
        let answer = api.post(&api.ann, &format!("/agents/{agent}/rotate-key"), Value::Null).await;
        assert_eq!(answer.code(), (404, "not_found"), "{agent}");
    }
    let still = [&api.bob.key, &api.ann.key];
    for key in still {
        assert_eq!(status_with(&api, key).await, 200);
    }
    for key in [&api.helper.key, &api.rival.key] {
        assert_eq!(status_with(&api, key).await, 403, "good, but an agent's");
    }
}

#[actix_web::test]
async fn an_agents_key_is_replaced() {
    let api = Api::new().await;
    let path = format!("/agents/{}/rotate-key", api.helper.id);
    let answer = api.post(&api.ann, &path, json!({})).await;
    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.data()["agent"],
        *api.get(&api.ann, &format!("/agents/{}", api.helper.id)).await.data()
    );
    let key = answer.data()["credentials"]["api_key"].as_str().unwrap();
    assert_eq!(status_with(&api, &api.helper.key).await, 401);
    assert_eq!(status_with(&api, key).await, 403, "good, but an agent's");
    let platform = api.post(&api.ann, "/agents", json!({"name": "Platform"})).await;
    let path = format!("/agents/{}/rotate-key", platform.data()["id"].as_str().unwrap());
    assert_eq!(api.post(&api.ann, &path, Value::Null).await.code(), (409, "conflict"));
}

#[actix_web::test]
async fn a_key_is_replaced_on_either_path() {
    let api = Api::new().await;
    let path = format!("/agents/{}/api-key/regenerate", api.helper.id);
    let answer = api.post(&api.ann, &path, Value::Null).await;
    assert_eq!((answer.status, &answer.data()["agent"]["id"]), (200, &json!(api.helper.id.to_string())));
    let key = answer.data()["credentials"]["api_key"].as_str().unwrap();
    assert_eq!(status_with(&api, &api.helper.key).await, 401);
    assert_eq!(status_with(&api, key).await, 403, "good, but an agent's");
    assert_eq!(api.post(&api.bob, &path, Value::Null).await.code(), (404, "not_found"));
    // A key that is limited to the agent makes no key that outlives it.
    let limits = json!({"api_key": {"name": "limited", "agent_id": api.helper.id.to_string()}});
    let limited = api.post(&api.ann, "/api-keys", limits).await;
    let limited = limited.data()["credentials"]["api_key"].as_str().unwrap().to_owned();
    for path in [path, "/agents/bulk-delete".to_owned(), "/chats/bulk-delete".to_owned()] {
        let refused = api.call(&limited, Method::POST, &path, &Value::Null).await;
        assert_eq!(refused.code(), (403, "forbidden"), "{path}");
    }
}

/// The last key too; the operator can create another.
#[actix_web::test]
async fn the_last_key_may_be_revoked() {
    let api = Api::new().await;
    let id = api.get(&api.ann, "/api-keys").await.data()[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(api.delete(&api.ann, &format!("/api-keys/{id}")).await.status, 200);
    assert_eq!(api.get(&api.ann, "/api-keys").await.code(), (401, "unauthorized"));
}
