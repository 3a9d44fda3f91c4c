//! The generic paths under a base that ends in `/v1`.

use actix_web::http::Method;
use actix_web::test::TestRequest;
use serde_json::{Value, json};

use crate::harness::{Answer, Api};

async fn call(api: &Api, key: &str, method: Method, uri: &str, body: &Value) -> Answer {
    let request = TestRequest::with_uri(uri).method(method).insert_header(("authorization", key));
    let request = if body.is_null() { request } else { request.set_json(body) };
    api.send(request).await
}

#[actix_web::test]
async fn agents_are_made_and_listed_by_their_owner() {
    let api = Api::new().await;
    for (base, name) in [("/v1", "One"), ("/api/v1", "Two")] {
        let agents = format!("{base}/agents");
        let body = json!({"name": name, "model_type": "large", "description": "made by the short form"});
        let made = call(&api, &api.ann.key, Method::POST, &agents, &body).await;
        assert_eq!(made.status, 201);
        for (name, value) in body.as_object().unwrap() {
            assert_eq!((&made.body[name], &made.data()[name]), (value, value));
        }
        assert!(made.body["created_at"].is_string() && made.body["is_external"] == json!(false));
        let listed = call(&api, &api.ann.key, Method::GET, &agents, &Value::Null).await;
        assert!(listed.column("name").contains(&name));
        let one = format!("{agents}/{}", made.body["id"].as_str().unwrap());
        assert_eq!(call(&api, &api.ann.key, Method::GET, &one, &Value::Null).await.data(), made.data());
        assert_eq!(
            call(&api, &api.bob.key, Method::GET, &one, &Value::Null).await.code(),
            (404, "not_found")
        );
        for (method, uri) in [(Method::GET, &agents), (Method::POST, &agents), (Method::GET, &one)] {
            let body = if method == Method::POST { json!({"name": "x"}) } else { Value::Null };
            let agent = call(&api, &api.helper.key, method.clone(), uri, &body).await;
            assert_eq!(agent.code(), (403, "forbidden"));
            let unknown = call(&api, "thnv_u_unknown", method, uri, &body).await;
            assert_eq!(unknown.code(), (401, "unauthorized"));
        }
        let odd = call(&api, &api.ann.key, Method::POST, &agents, &json!({"name": "x", "y": 1})).await;
        assert_eq!(odd.refusal(), (400, "bad_request", vec!["/y"]));
    }
}

#[actix_web::test]
async fn rooms_are_made_by_either_kind_of_caller() {
    let api = Api::new().await;
    for base in ["/v1", "/api/v1"] {
        let chats = format!("{base}/chats");
        for key in [&api.ann.key, &api.helper.key] {
            let body = json!({"title": "Plan", "chat_type": "group"});
            let made = call(&api, key, Method::POST, &chats, &body).await;
            assert_eq!(made.status, 201);
            assert_eq!((&made.body["title"], &made.data()["chat_type"]), (&json!("Plan"), &json!("group")));
            let listed = call(&api, key, Method::GET, &chats, &Value::Null).await;
            assert_eq!(listed.data()[0], *made.data());
        }
        let odd = call(&api, &api.ann.key, Method::POST, &chats, &json!({"chat_type": "party"})).await;
        assert_eq!(odd.refusal(), (422, "validation_error", vec!["/chat_type"]));
        assert_eq!(call(&api, "x", Method::POST, &chats, &Value::Null).await.code(), (401, "unauthorized"));
    }
    // Two each, and each its own.
    for key in [&api.ann.key, &api.helper.key] {
        let listed = call(&api, key, Method::GET, "/v1/chats?limit=10", &Value::Null).await;
        assert_eq!(listed.column("id").len(), 2);
    }
}
