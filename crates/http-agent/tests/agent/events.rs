//! Posting events.

use serde_json::{Value, json};

use crate::harness::Api;

#[actix_web::test]
async fn an_event_is_stored_as_it_is() {
    let api = Api::new().await;
    let chat = api.room().await;
    let metadata = json!({"tool": "search", "arguments": {"q": [1, null, "x"]}, "delegation": {"forged": true}, "cause": "mine", "origin": {"foreign": false}});
    let body = json!({"event": {"message_type": "tool_call", "content": "searching", "metadata": metadata}});
    let answer = api.post(&api.helper, &format!("/chats/{chat}/events"), body).await;
    let id = answer.data()["id"].clone();
    let expected = json!({"data": {
        "id": id, "chat_room_id": chat.to_string(), "message_type": "tool_call", "success": true,
    }});
    assert_eq!((answer.status, answer.body), (201, expected));

    let context = api.get(&api.helper, &format!("/chats/{chat}/context")).await;
    let stored = &context.data()[0];
    assert_eq!((&stored["id"], &stored["message_type"]), (&id, &json!("tool_call")));
    let kept = json!({"tool": "search", "arguments": {"q": [1, null, "x"]}});
    assert_eq!(stored["metadata"], kept);
    // No agent gets it.
    assert_eq!(api.get(&api.scout, &format!("/chats/{chat}/messages/next")).await.status, 204);
    assert_eq!(*api.get(&api.scout, &format!("/chats/{chat}/context")).await.data(), json!([]));
}

#[actix_web::test]
async fn every_kind_and_every_form_is_accepted() {
    let api = Api::new().await;
    let path = format!("/chats/{}/events", api.room().await);
    for kind in ["tool_call", "tool_result", "thought", "error", "task"] {
        let flat = json!({"message_type": kind, "content": "x", "metadata": null});
        for body in [flat.clone(), json!({ "event": flat })] {
            assert_eq!(api.post(&api.helper, &path, body).await.status, 201, "{kind}");
        }
    }
    for kind in ["question", "assumption", "failure", "review"] {
        let body = json!({"message_type": "attention", "content": "x", "metadata": {"kind": kind}});
        assert_eq!(api.post(&api.helper, &path, body).await.status, 201, "{kind}");
    }
    let context = api.get(&api.helper, &path.replace("events", "context")).await;
    assert_eq!(context.data()[0]["metadata"], json!({}));
}

#[actix_web::test]
async fn only_prose_of_events_is_changed_and_only_where_it_feigns_a_mention() {
    let api = Api::new().await;
    let path = format!("/chats/{}/events", api.room().await);
    let call = format!(r#"{{"name": "ask", "args": {{"of": "@[[{}]]"}}, "tool_call_id": "1"}}"#, api.ann.id);
    let prose = format!("@[[{}]] agreed", api.ann.id);
    for (kind, content) in
        [("tool_call", &call), ("tool_result", &prose), ("task", &call), ("thought", &prose)]
    {
        let event = json!({"event": {"message_type": kind, "content": content}});
        assert_eq!(api.post(&api.helper, &path, event).await.status, 201, "{kind}");
    }
    let context = api.get(&api.helper, &path.replace("events", "context")).await;
    let escaped = format!("@\\[[{}]] agreed", api.ann.id);
    assert_eq!(context.column("content"), [&call, &prose, &call, &escaped]);
}

#[actix_web::test]
async fn wrong_events_are_refused() {
    let api = Api::new().await;
    let path = format!("/chats/{}/events", api.room().await);
    let event = |kind: &str, content: String, metadata: Value| json!({"event": {"message_type": kind, "content": content, "metadata": metadata}});
    let thought = |content: &str, metadata| event("thought", content.to_owned(), metadata);
    for (body, expected) in [
        (json!({"event": {}}), vec!["/event/content", "/event/message_type"]),
        (event("text", "x".into(), json!({})), vec!["/event/message_type"]),
        (event("system", "x".into(), json!({})), vec!["/event/message_type"]),
        (thought(" ", json!({})), vec!["/event/content"]),
        (event("thought", "ä".repeat(16_385), json!({})), vec!["/event/content"]),
        (thought("x", json!([])), vec!["/event/metadata"]),
        (thought("x", json!({"a": "x".repeat(65_536)})), vec!["/event/metadata"]),
        (event("attention", "x".into(), json!({})), vec!["/event/metadata/kind"]),
        (event("attention", "x".into(), json!({"kind": "other"})), vec!["/event/metadata/kind"]),
    ] {
        let answer = api.post(&api.helper, &path, body).await;
        assert_eq!(answer.refusal(), (422, "validation_error", expected));
    }
    let task = json!({"kind": "question", "task_id": "7"});
    let answer = api.post(&api.helper, &path, event("attention", "x".into(), task)).await;
    assert_eq!(answer.refusal(), (422, "validation_error", vec!["/event/metadata/task_id"]));
    let flat = json!({"message_type": "attention", "content": "x"});
    assert_eq!(api.post(&api.helper, &path, flat).await.refusal().2, ["/metadata/kind"]);
    let unknown = json!({"event": {"message_type": "thought", "content": "x", "mentions": []}});
    let answer = api.post(&api.helper, &path, unknown).await;
    assert_eq!(answer.refusal(), (400, "bad_request", vec!["/event/mentions"]));
    assert_eq!(
        api.post(&api.helper, &path, event("thought", "ä".repeat(16_384), json!({}))).await.status,
        201
    );
}

/// In either form of the body; the cause is shown where the event is read, with the ids only.
#[actix_web::test]
async fn an_event_names_its_cause() {
    let api = Api::new().await;
    let chat = api.room().await;
    let text = api.mention(api.ann.caller, chat, &api.helper, "question").await;
    let hidden = api.mention(api.ann.caller, chat, &api.scout, "another").await;
    let path = format!("/chats/{chat}/events");
    let event = |cause: &str| json!({"message_type": "thought", "content": "hm", "in_reply_to": cause});
    assert_eq!(api.post(&api.helper, &path, event(&text)).await.status, 201);
    let context = api.get(&api.helper, &format!("/chats/{chat}/context")).await;
    let originator = json!({"id": api.ann.id.to_string(), "type": "User"});
    let cause = json!({"message_id": text, "root_id": text, "hop": 1, "originator": originator});
    assert_eq!(context.data()[1]["metadata"], json!({ "cause": cause }));
    let wrapped = json!({ "event": event(&hidden) });
    let refused = api.post(&api.helper, &path, wrapped).await;
    assert_eq!(refused.refusal(), (422, "validation_error", vec!["/event/in_reply_to"]));
    let refused = api.post(&api.helper, &path, event("no id")).await;
    assert_eq!(refused.refusal().2, ["/in_reply_to"]);
}
