//! Wrong callers on every operation, and rooms of others.

use actix_web::http::Method;
use actix_web::test::TestRequest;
use serde_json::{Value, json};

use crate::harness::{Api, text_for};

/// Every operation, with a body that would be accepted.
fn operations(chat: &str, message: &str, participant: &str) -> Vec<(Method, String, Value)> {
    let (get, post, delete) = (Method::GET, Method::POST, Method::DELETE);
    let room = format!("/chats/{chat}");
    let event = json!({"event": {"message_type": "thought", "content": "hm"}});
    vec![
        (get.clone(), "/me".to_owned(), Value::Null),
        (get.clone(), "/peers".to_owned(), Value::Null),
        (get.clone(), "/directory".to_owned(), Value::Null),
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
        (post.clone(), "/contacts/add".to_owned(), json!({"handle": "nobody"})),
        (
            post.clone(),
            "/contacts/requests/respond".to_owned(),
            json!({"action": "reject", "handle": "nobody"}),
        ),
        (get.clone(), "/chats".to_owned(), Value::Null),
        (post.clone(), "/chats".to_owned(), json!({"chat": {}})),
        (get.clone(), room.clone(), Value::Null),
        (get.clone(), format!("{room}/participants"), Value::Null),
        (post.clone(), format!("{room}/participants"), json!({"participant_id": participant})),
        (delete, format!("{room}/participants/{participant}"), Value::Null),
        (get.clone(), format!("{room}/messages"), Value::Null),
        (post.clone(), format!("{room}/messages"), text_for(participant, "hi")),
        (get.clone(), format!("{room}/messages/next"), Value::Null),
        (post.clone(), format!("{room}/messages/{message}/processing"), Value::Null),
        (post.clone(), format!("{room}/messages/{message}/processed"), Value::Null),
        (post.clone(), format!("{room}/messages/{message}/failed"), json!({"error": "no"})),
        (post.clone(), format!("{room}/events"), event),
        (get, format!("{room}/context"), Value::Null),
        (post, format!("{room}/activity"), json!({"working": true})),
    ]
}

#[actix_web::test]
async fn nobody_passes_without_an_agents_key() {
    let api = Api::new().await;
    let chat = api.room().await;
    let message = api.mention(api.ann.caller, chat, &api.helper, "hi").await;
    for (method, path, body) in operations(&chat.to_string(), &message, &api.scout.id.to_string()) {
        for (key, expected) in [
            (api.ann.key.as_str(), (403, "forbidden")),
            ("thnv_a_unknown", (401, "unauthorized")),
            ("", (401, "unauthorized")),
            (&"k".repeat(600), (401, "unauthorized")),
        ] {
            let answer = api.call(key, method.clone(), &path, &body).await;
            assert_eq!(answer.code(), expected, "{method} {path}");
        }
        let uri = format!("/api/v1/agent{path}");
        let bearer = ("authorization", format!("Bearer {}", api.helper.key));
        let request = TestRequest::with_uri(&uri).method(method.clone()).insert_header(bearer);
        assert_eq!(api.send(request).await.code(), (401, "unauthorized"), "{method} {path}");
    }
}

#[actix_web::test]
async fn who_is_refused_learns_nothing_about_paths_and_bodies() {
    let api = Api::new().await;
    for (method, path) in [
        (Method::GET, "/nowhere"),
        (Method::GET, ""),
        (Method::PUT, "/me"),
        (Method::GET, "/chats/odd"),
        (Method::GET, "/chats?color=red"),
    ] {
        let stranger = api.call("x", method.clone(), path, &Value::Null).await;
        assert_eq!(stranger.code(), (401, "unauthorized"), "{path}");
        let human = api.call(&api.ann.key, method, path, &Value::Null).await;
        assert_eq!(human.code(), (403, "forbidden"), "{path}");
    }
    let malformed = TestRequest::post()
        .uri("/api/v1/agent/chats")
        .insert_header(("content-type", "text/plain"))
        .set_payload("{");
    assert_eq!(api.send(malformed).await.code(), (401, "unauthorized"));
}

#[actix_web::test]
async fn an_agent_is_told_which_paths_and_methods_there_are() {
    let api = Api::new().await;
    assert_eq!(api.get(&api.helper, "/nowhere").await.code(), (404, "not_found"));
    assert_eq!(api.get(&api.helper, "/chats/").await.code(), (404, "not_found"));
    let answer = api.call(&api.helper.key, Method::PUT, "/me", &Value::Null).await;
    assert_eq!(answer.code(), (405, "method_not_allowed"));
}

/// Another tenant's agent, and a sibling that is not in the room, find nothing there.
#[actix_web::test]
async fn rooms_of_others_do_not_exist() {
    let api = Api::new().await;
    let chat = api.empty_room(api.helper.caller).await;
    api.add(api.helper.caller, chat, api.ann.id.into(), domain::chat::Role::Member).await;
    let message = api.mention(api.ann.caller, chat, &api.helper, "hi").await;
    for outsider in [&api.rival, &api.scout] {
        for (method, path, body) in operations(&chat.to_string(), &message, &api.helper.id.to_string()) {
            if !path.starts_with("/chats/") {
                continue;
            }
            let answer = api.call(&outsider.key, method.clone(), &path, &body).await;
            assert_eq!(answer.code(), (404, "not_found"), "{method} {path}");
        }
        assert_eq!(*api.get(outsider, "/chats").await.data(), json!([]));
    }
    // Nothing of all that left a trace.
    let roster = api.get(&api.helper, &format!("/chats/{chat}/participants")).await;
    assert_eq!(roster.column("id").len(), 2);
    assert_eq!(api.get(&api.helper, &format!("/chats/{chat}/messages")).await.column("id"), [message]);
}

#[actix_web::test]
async fn malformed_ids_name_nothing() {
    let api = Api::new().await;
    let chat = api.room().await.to_string();
    let braced = format!("{{{chat}}}").replace('{', "%7B").replace('}', "%7D");
    for odd in ["odd", "0", "%00", braced.as_str(), &chat.replace('-', "")] {
        for (method, path, body) in operations(odd, odd, odd) {
            if path.starts_with("/chats/") {
                let answer = api.call(&api.helper.key, method.clone(), &path, &body).await;
                assert_eq!(answer.code(), (404, "not_found"), "{method} {path}");
            }
        }
    }
    let upper = format!("/chats/{}", chat.to_uppercase());
    assert_eq!(api.get(&api.helper, &upper).await.status, 200);
}

#[actix_web::test]
async fn unknown_parameters_are_refused() {
    let api = Api::new().await;
    let chat = api.room().await;
    for path in [
        "/me".to_owned(),
        "/chats".to_owned(),
        format!("/chats/{chat}"),
        format!("/chats/{chat}/participants"),
        format!("/chats/{chat}/messages"),
        format!("/chats/{chat}/messages/next"),
        format!("/chats/{chat}/context"),
    ] {
        let answer = api.get(&api.helper, &format!("{path}?color=red")).await;
        assert_eq!(answer.refusal(), (422, "validation_error", vec!["/color"]), "{path}");
        assert_eq!(answer.body["error"]["details"]["/color"], json!(["Unexpected field: color"]));
    }
}

/// A valid token is a human's, and humans are refused; any other is no credential at all.
#[actix_web::test]
async fn a_token_is_forbidden_when_it_is_good_and_unauthorized_when_not() {
    let api = Api::new().await;
    let good = api.world.token(&api.ann).await;
    for (token, expected) in [(good.as_str(), (403, "forbidden")), ("no.such.token", (401, "unauthorized"))] {
        for path in ["/me", "/nowhere"] {
            let request = TestRequest::get().uri(&format!("/api/v1/agent{path}"));
            let request = request.insert_header(("authorization", format!("Bearer {token}")));
            assert_eq!(api.send(request).await.code(), expected, "{token} {path}");
        }
    }
    let beside = TestRequest::get()
        .uri("/api/v1/agent/me")
        .insert_header(("x-api-key", api.helper.key.clone()))
        .insert_header(("authorization", format!("Bearer {good}")));
    assert_eq!(api.send(beside).await.status, 200, "the key counts");
}
