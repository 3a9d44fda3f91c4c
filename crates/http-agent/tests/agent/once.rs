//! `Idempotency-Key` on the requests of agents.

use actix_web::test::TestRequest;
use serde_json::{Value, json};

use crate::harness::{Answer, Api, text_for};

async fn post(api: &Api, path: &str, once: &str, body: &Value) -> Answer {
    let request = TestRequest::post()
        .uri(&format!("/api/v1/agent{path}"))
        .insert_header(("x-api-key", api.helper.key.as_str()))
        .insert_header(("idempotency-key", once));
    api.send(request.set_json(body)).await
}

#[actix_web::test]
async fn messages_events_and_rooms_are_made_once_for_a_key() {
    let api = Api::new().await;
    let chat = api.room().await;
    let event = |content: &str| json!({"event": {"message_type": "thought", "content": content}});
    for (path, body, other) in [
        (format!("/chats/{chat}/messages"), text_for(api.ann.id, "hi"), text_for(api.ann.id, "ho")),
        (format!("/chats/{chat}/events"), event("hm"), event("ah")),
        ("/chats".to_owned(), json!({"chat": {}}), json!({"chat": {"title": "T"}})),
    ] {
        let first = post(&api, &path, "k", &body).await;
        assert_eq!(first.status, 201, "{path}");
        let again = post(&api, &path, "k", &body).await;
        let mut expected = first.body.clone();
        if let Some(recipient) = expected.pointer_mut("/data/recipients/0") {
            assert_eq!(recipient.as_object_mut().unwrap().remove("connected"), Some(json!(false)));
        }
        assert_eq!((again.status, &again.body), (201, &expected), "{path}");
        let refused = post(&api, &path, "k", &other).await;
        assert_eq!(refused.refusal(), (422, "validation_error", vec!["Idempotency-Key"]), "{path}");
        assert_ne!(post(&api, &path, "l", &body).await.body, first.body, "{path}");
    }
    let read = api.get(&api.helper, &format!("/chats/{chat}/context")).await;
    assert_eq!(read.data().as_array().unwrap().len(), 4, "two messages and two events");
}

#[actix_web::test]
async fn a_key_that_is_none_is_refused_before_anything_is_made() {
    let api = Api::new().await;
    let chat = api.room().await;
    let body = json!({"event": {"message_type": "thought", "content": "hm"}});
    let answer = post(&api, &format!("/chats/{chat}/events"), "two words", &body).await;
    assert_eq!(answer.refusal(), (422, "validation_error", vec!["Idempotency-Key"]));
    let read = api.get(&api.helper, &format!("/chats/{chat}/context")).await;
    assert_eq!(read.data(), &json!([]));
}
