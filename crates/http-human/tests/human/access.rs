//! Wrong callers on every operation, and rooms of others.

use actix_web::http::Method;
use actix_web::test::TestRequest;
use serde_json::{Value, json};

use crate::harness::{Api, text_for};

/// Every operation, with a body that would be accepted.
fn operations(chat: &str, participant: &str) -> Vec<(Method, String, Value)> {
    let (get, post, delete) = (Method::GET, Method::POST, Method::DELETE);
    let room = format!("/chats/{chat}");
    vec![
        (get.clone(), "/agents".to_owned(), Value::Null),
        (post.clone(), "/agents".to_owned(), json!({"name": "New"})),
        (get.clone(), format!("/agents/{participant}"), Value::Null),
        (Method::PATCH, format!("/agents/{participant}"), json!({"bio": "x"})),
        (delete.clone(), format!("/agents/{participant}"), Value::Null),
        (get.clone(), "/profile".to_owned(), Value::Null),
        (Method::PUT, "/profile".to_owned(), json!({"first_name": "x"})),
        (get.clone(), "/contacts".to_owned(), Value::Null),
        (post.clone(), "/contacts/remove".to_owned(), json!({"handle": "nobody"})),
        (post.clone(), "/contacts/resolve".to_owned(), json!({"handle": "nobody"})),
        (delete.clone(), format!("/contacts/{participant}"), Value::Null),
        (get.clone(), "/contacts/requests".to_owned(), Value::Null),
        (post.clone(), "/contacts/requests".to_owned(), json!({"recipient_handle": "nobody"})),
        (get.clone(), "/contacts/requests/received".to_owned(), Value::Null),
        (get.clone(), "/contacts/requests/sent".to_owned(), Value::Null),
        (delete.clone(), format!("/contacts/requests/{participant}"), Value::Null),
        (post.clone(), format!("/contacts/requests/{participant}/approve"), Value::Null),
        (post.clone(), format!("/contacts/requests/{participant}/reject"), Value::Null),
        (post.clone(), format!("/contacts/requests/{participant}/cancel"), Value::Null),
        (get.clone(), "/peers".to_owned(), Value::Null),
        (get.clone(), "/directory".to_owned(), Value::Null),
        (post.clone(), "/agents/register".to_owned(), json!({"name": "New", "description": "a new one"})),
        (get.clone(), "/chats".to_owned(), Value::Null),
        (post.clone(), "/chats".to_owned(), json!({"chat": {}})),
        (get.clone(), room.clone(), Value::Null),
        (get.clone(), format!("{room}/participants"), Value::Null),
        (post.clone(), format!("{room}/participants"), json!({"participant_id": participant})),
        (delete.clone(), format!("{room}/participants/{participant}"), Value::Null),
        (get.clone(), format!("{room}/messages/{participant}/receipts"), Value::Null),
        (get, format!("{room}/messages"), Value::Null),
        (post, format!("{room}/messages"), text_for(participant, "hi")),
        (Method::PATCH, format!("{room}/messages/{participant}"), json!({"content": "hi"})),
        (delete.clone(), format!("{room}/messages/{participant}"), Value::Null),
        (delete, room, Value::Null),
    ]
}

#[actix_web::test]
async fn nobody_passes_without_a_users_key() {
    let api = Api::new().await;
    let chat = api.room().await;
    for (method, path, body) in operations(&chat.to_string(), &api.scout.id.to_string()) {
        for (key, expected) in [
            (api.helper.key.as_str(), (403, "forbidden")),
            ("thnv_u_unknown", (401, "unauthorized")),
            ("", (401, "unauthorized")),
            (&"k".repeat(600), (401, "unauthorized")),
        ] {
            let answer = api.call(key, method.clone(), &path, &body).await;
            assert_eq!(answer.code(), expected, "{method} {path}");
        }
        let uri = format!("/api/v1/me{path}");
        for credential in [format!("Bearer {}", api.ann.key), api.ann.key.clone()] {
            let request = TestRequest::with_uri(&uri).method(method.clone());
            let request = request.insert_header(("authorization", credential));
            assert_eq!(api.send(request).await.code(), (401, "unauthorized"), "{method} {path}");
        }
    }
    assert_eq!(api.get(&api.ann, &format!("/chats/{chat}")).await.status, 200);
}

/// A key in its own header counts, whatever else is sent along.
#[actix_web::test]
async fn a_bearer_token_beside_the_key_does_no_harm() {
    let api = Api::new().await;
    let request = TestRequest::get()
        .uri("/api/v1/me/chats")
        .insert_header(("x-api-key", api.ann.key.clone()))
        .insert_header(("authorization", "Bearer whatever"));
    assert_eq!(api.send(request).await.status, 200);
}

#[actix_web::test]
async fn agents_are_refused_on_every_path_existing_or_not() {
    let api = Api::new().await;
    for (method, path) in [
        (Method::GET, "/nowhere"),
        (Method::GET, ""),
        (Method::PUT, "/agents"),
        (Method::DELETE, "/profile"),
        (Method::GET, "/chats/odd"),
        (Method::GET, "/chats?color=red"),
    ] {
        let agent = api.call(&api.helper.key, method.clone(), path, &Value::Null).await;
        assert_eq!(agent.code(), (403, "forbidden"), "{path}");
        let stranger = api.call("x", method, path, &Value::Null).await;
        assert_eq!(stranger.code(), (401, "unauthorized"), "{path}");
    }
    let malformed = TestRequest::post().uri("/api/v1/me/agents/register").set_payload("{");
    assert_eq!(api.send(malformed).await.code(), (401, "unauthorized"));
}

#[actix_web::test]
async fn a_user_is_told_which_paths_and_methods_there_are() {
    let api = Api::new().await;
    assert_eq!(api.get(&api.ann, "/nowhere").await.code(), (404, "not_found"));
    assert_eq!(api.get(&api.ann, "").await.code(), (404, "not_found"));
    let answer = api.call(&api.ann.key, Method::PUT, "/agents", &Value::Null).await;
    assert_eq!(answer.code(), (405, "method_not_allowed"));
}

/// Another tenant, and its agent's owner, find nothing there, and change nothing.
#[actix_web::test]
async fn rooms_of_others_do_not_exist() {
    let api = Api::new().await;
    let chat = api.room().await;
    for (method, path, body) in operations(&chat.to_string(), &api.rival.id.to_string()) {
        if path.starts_with("/chats/") {
            let answer = api.call(&api.bob.key, method.clone(), &path, &body).await;
            assert_eq!(answer.code(), (404, "not_found"), "{method} {path}");
        }
    }
    assert_eq!(*api.get(&api.bob, "/chats").await.data(), json!([]));
    assert_eq!(api.get(&api.bob, "/agents").await.column("name"), ["Rival"]);
    let roster = api.get(&api.ann, &format!("/chats/{chat}/participants")).await;
    assert_eq!(roster.column("id").len(), 3);
    assert_eq!(*api.get(&api.ann, &format!("/chats/{chat}/messages")).await.data(), json!([]));
}

#[actix_web::test]
async fn malformed_ids_name_nothing() {
    let api = Api::new().await;
    let plain = api.room().await.to_string().replace('-', "");
    for odd in ["odd", "0", "%FF", plain.as_str()] {
        for (method, path, body) in operations(odd, odd) {
            if path.starts_with("/chats/") {
                let answer = api.call(&api.ann.key, method.clone(), &path, &body).await;
                assert_eq!(answer.code(), (404, "not_found"), "{method} {path}");
            }
        }
    }
}

#[actix_web::test]
async fn unknown_parameters_are_refused() {
    let api = Api::new().await;
    let chat = api.room().await;
    for path in [
        "/agents".to_owned(),
        format!("/agents/{}", api.helper.id),
        "/profile".to_owned(),
        "/peers".to_owned(),
        "/directory".to_owned(),
        "/chats".to_owned(),
        format!("/chats/{chat}"),
        format!("/chats/{chat}/participants"),
        format!("/chats/{chat}/messages"),
    ] {
        let answer = api.get(&api.ann, &format!("{path}?color=red")).await;
        assert_eq!(answer.refusal(), (422, "validation_error", vec!["/color"]), "{path}");
        assert_eq!(answer.body["error"]["details"]["/color"], json!(["Unexpected field: color"]));
    }
    // Nor does any operation with a body know one.
    let message = format!("/chats/{chat}/messages/{chat}?color=red");
    for (method, path) in [
        (Method::POST, "/chats?color=red"),
        (Method::PATCH, message.as_str()),
        (Method::DELETE, message.as_str()),
    ] {
        let answer = api.call(&api.ann.key, method.clone(), path, &json!({})).await;
        assert_eq!(answer.refusal(), (422, "validation_error", vec!["/color"]), "{method} {path}");
    }
}
