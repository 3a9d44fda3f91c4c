//! Processing messages: `/next`, lists by state, and attempts.

use std::time::Duration;

use actix_web::http::Method;
use actix_web::test::TestRequest;
use domain::account::AgentChanges;
use domain::delivery::Claims;
use serde_json::{Value, json};

use crate::BASE;
use crate::harness::{Answer, Api};

async fn step(api: &Api, chat: &str, message: &str, step: &str) -> Answer {
    let body = if step == "failed" { json!({"error": "no luck"}) } else { Value::Null };
    api.post(&api.helper, &format!("/chats/{chat}/messages/{message}/{step}"), body).await
}

async fn listed(api: &Api, chat: &str, query: &str) -> Vec<String> {
    let answer = api.get(&api.helper, &format!("/chats/{chat}/messages{query}")).await;
    answer.column("id").into_iter().map(str::to_owned).collect()
}

#[actix_web::test]
async fn next_is_the_oldest_open_message_or_nothing() {
    let api = Api::new().await;
    let chat = api.room().await;
    let next = format!("/chats/{chat}/messages/next");
    let empty = api.get(&api.helper, &next).await;
    assert_eq!((empty.status, empty.body), (204, Value::Null));
    let one = api.mention(api.ann.caller, chat, &api.helper, "one").await;
    api.mention(api.ann.caller, chat, &api.helper, "two").await;
    assert_eq!(api.get(&api.helper, &next).await.data()["id"], one);
}

/// 204 means that the agent is stopped, and nothing else has it but an empty queue.
#[actix_web::test]
async fn a_stopped_agent_gets_no_content() {
    let api = Api::new().await;
    let room = api.world.chat(api.ann.caller, &[api.helper.id.into()]).await;
    let message = api.mention(api.ann.caller, room, &api.helper, "hi").await;
    let chat = room.to_string();
    assert_eq!(step(&api, &chat, &message, "processing").await.status, 200);
    api.world.control.stop(api.ann.caller, room).await.unwrap();
    let next = api.get(&api.helper, &format!("/chats/{chat}/messages/next")).await;
    assert_eq!((next.status, next.body), (204, Value::Null));
    for name in ["processing", "processed", "failed"] {
        let answer = step(&api, &chat, &message, name).await;
        assert_eq!((answer.status, answer.body), (204, Value::Null), "{name}");
    }
    let activity = api.post(&api.helper, &format!("/chats/{chat}/activity"), json!({"working": true})).await;
    assert_eq!((activity.status, activity.data()), (200, &json!({"working": false})));
    let event = json!({"event": {"message_type": "thought", "content": "hm"}});
    for (path, body) in
        [("messages", json!({"message": {"content": "done", "mentions": []}})), ("events", event)]
    {
        let refused = api.post(&api.helper, &format!("/chats/{chat}/{path}"), body).await;
        assert_eq!(refused.code(), (403, "forbidden"));
        assert_eq!(refused.body["error"]["message"], "Agent execution is stopped");
    }
    for path in ["", "/messages", "/context", "/participants", "/board", "/tasks"] {
        assert_eq!(api.get(&api.helper, &format!("/chats/{chat}{path}")).await.status, 200, "{path}");
    }
    api.world.control.play(api.ann.caller, room).await.unwrap();
    assert_eq!(api.get(&api.helper, &format!("/chats/{chat}/messages/next")).await.data()["id"], message);
    assert_eq!(step(&api, &chat, &message, "processed").await.status, 200);
}

#[actix_web::test]
async fn attempts_are_numbered_and_shown() {
    let api = Api::new().await;
    let room = api.room().await;
    let message = api.mention(api.ann.caller, room, &api.helper, "hi").await;
    let chat = room.to_string();
    let expected = |status: &str, attempt: u32| {
        json!({"data": {
            "id": message, "chat_room_id": chat, "status": status, "attempt_number": attempt, "success": true,
        }})
    };
    let mut times = Vec::new();
    for (name, status, attempt) in [
        ("processing", "processing", 1),
        ("failed", "failed", 1),
        ("processing", "processing", 2),
        ("processing", "processing", 3),
        ("processed", "processed", 3),
    ] {
        times.push(api.now());
        let answer = step(&api, &chat, &message, name).await;
        assert_eq!((answer.status, answer.body), (200, expected(status, attempt)));
        api.world.clock.advance(Duration::from_secs(1));
    }
    let attempt = |number: u32, status: &str, started: usize, completed: usize, error: Value| {
        json!({
            "attempt_number": number, "status": status, "error": error,
            "started_at": times[started], "completed_at": times[completed],
        })
    };
    let attempts = json!([
        attempt(1, "failed", 0, 1, json!("no luck")),
        attempt(2, "failed", 2, 3, json!("superseded by a new attempt")),
        attempt(3, "success", 3, 4, Value::Null),
    ]);
    let answer = api.get(&api.helper, &format!("/chats/{chat}/messages?status=processed")).await;
    let metadata = &answer.data()[0]["metadata"];
    assert_eq!(metadata["attempts"], attempts);
    let own = json!({
        "status": "processed", "current_attempt": 3, "attempts": attempts,
        "delivered_at": null, "processed_at": times[4],
    });
    assert_eq!(metadata["delivery_status"], json!({api.helper.id.to_string(): own}));
}

#[actix_web::test]
async fn closing_needs_an_open_attempt() {
    let api = Api::new().await;
    let room = api.room().await;
    let message = api.mention(api.ann.caller, room, &api.helper, "hi").await;
    for close in ["processed", "failed"] {
        let answer = step(&api, &room.to_string(), &message, close).await;
        assert_eq!(answer.refusal(), (422, "validation_error", vec!["/processing_attempt"]));
    }
}

#[actix_web::test]
async fn a_message_of_another_room_is_not_there() {
    let api = Api::new().await;
    let (room, other) = (api.room().await, api.room().await);
    let message = api.mention(api.ann.caller, room, &api.helper, "hi").await;
    for name in ["processing", "processed", "failed"] {
        let answer = step(&api, &other.to_string(), &message, name).await;
        assert_eq!(answer.code(), (404, "not_found"), "{name}");
    }
}

#[actix_web::test]
async fn bodies_of_steps() {
    let api = Api::new().await;
    let chat = api.room().await;
    let message = api.mention(api.ann.caller, chat, &api.helper, "hi").await;
    let base = format!("/chats/{chat}/messages/{message}");
    for name in ["processing", "processed"] {
        let path = format!("{base}/{name}");
        // Some clients announce JSON and send nothing.
        let empty = TestRequest::with_uri(&format!("/api/v1/agent{path}"))
            .method(Method::POST)
            .insert_header(("x-api-key", api.helper.key.clone()))
            .insert_header(("content-type", "application/json"));
        assert_eq!(api.send(empty).await.status, 200, "{name}");
        api.post(&api.helper, &format!("{base}/processing"), Value::Null).await;
        assert_eq!(api.post(&api.helper, &path, json!({})).await.status, 200, "{name}");
        let answer = api.post(&api.helper, &path, json!({"x": 1})).await;
        assert_eq!(answer.refusal(), (400, "bad_request", vec!["/x"]), "{name}");
    }
    for name in ["processing", "processed", "failed"] {
        for wrong in [json!(0), json!("1"), json!(1.5), Value::Null] {
            let body = json!({"attempt_number": wrong, "error": "x"});
            let body = if name == "failed" { body } else { json!({"attempt_number": wrong}) };
            let answer = api.post(&api.helper, &format!("{base}/{name}"), body).await;
            assert_eq!(answer.refusal(), (422, "validation_error", vec!["/attempt_number"]), "{name}");
        }
    }
    let path = format!("{base}/failed");
    for body in
        [json!({}), json!({"error": ""}), json!({"error": null}), json!({"error": "x".repeat(16_385)})]
    {
        let answer = api.post(&api.helper, &path, body).await;
        assert_eq!(answer.refusal(), (422, "validation_error", vec!["/error"]));
    }
    let answer = api.post(&api.helper, &path, json!({"error": "x", "code": 1})).await;
    assert_eq!(answer.refusal(), (400, "bad_request", vec!["/code"]));
}

/// A worker that names its attempt goes on with that, and learns that another one has begun.
#[actix_web::test]
async fn a_named_attempt_is_not_superseded() {
    let api = Api::new().await;
    let chat = api.room().await;
    let message = api.mention(api.ann.caller, chat, &api.helper, "hi").await;
    let base = format!("/chats/{chat}/messages/{message}");
    let named = async |name: &str, attempt: u32| {
        let body = json!({"attempt_number": attempt});
        api.post(&api.helper, &format!("{base}/{name}"), body).await
    };
    assert_eq!(named("processing", 1).await.refusal().0, 422, "nothing is begun by a name");
    for number in 1..=2 {
        let begun = step(&api, &chat.to_string(), &message, "processing").await;
        assert_eq!(begun.data()["attempt_number"], number);
        assert_eq!(named("processing", number).await.data()["attempt_number"], number);
    }
    for name in ["processing", "processed"] {
        let late = named(name, 1).await;
        assert_eq!(late.refusal(), (422, "validation_error", vec!["/processing_attempt"]), "{name}");
    }
    assert_eq!(named("processed", 2).await.data()["status"], "processed");
}

/// What an agent with exclusive claims gets for messages that it has claimed or processed.
#[actix_web::test]
async fn a_claimed_message_is_refused_with_the_end_of_the_claim() {
    let api = Api::new().await;
    let room = api.room().await;
    let (chat, message) = (room.to_string(), api.mention(api.ann.caller, room, &api.helper, "hi").await);
    let claims = AgentChanges { claims: Some(Claims::Exclusive), ..AgentChanges::default() };
    api.world.accounts.update_agent(api.ann.caller, api.helper.id, claims).await.unwrap();
    let begun = step(&api, &chat, &message, "processing").await;
    let until = begun.data()["claimed_until"].clone();
    assert!(until.is_string(), "{until}");
    let refused = step(&api, &chat, &message, "processing").await;
    let error = &refused.body["error"];
    assert_eq!((refused.status, &error["code"]), (409, &json!("already_claimed")));
    assert_eq!(error["details"], json!({"attempt_number": 1, "claimed_until": until}));
    step(&api, &chat, &message, "processed").await;
    let refused = step(&api, &chat, &message, "processing").await;
    let error = &refused.body["error"];
    assert_eq!((refused.status, &error["code"]), (409, &json!("already_processed")));
    assert!(error["details"]["processed_at"].is_string(), "{error}");
}

#[actix_web::test]
async fn listings_by_state() {
    let api = Api::new().await;
    let room = api.room().await;
    let chat = room.to_string();
    let mut ids = Vec::new();
    for steps in [&[][..], &["processing"], &["processing", "processed"], &["processing", "failed"]] {
        let id = api.mention(api.ann.caller, room, &api.helper, "hi").await;
        for name in steps {
            step(&api, &chat, &id, name).await;
        }
        ids.push(id);
    }
    api.mention(api.ann.caller, room, &api.scout, "for another agent").await;
    api.mention(api.helper.caller, room, &api.scout, "own").await;
    for (query, expected) in [
        ("", vec![0, 1, 3]),
        ("?status=pending", vec![0, 3]),
        ("?status=processing", vec![1]),
        ("?status=processed", vec![2]),
        ("?status=failed", vec![3]),
        ("?status=all", vec![0, 1, 2, 3]),
        ("?status=all&sort_order=asc", vec![0, 1, 2, 3]),
        ("?status=all&sort_order=desc", vec![3, 2, 1, 0]),
    ] {
        let expected = expected.into_iter().map(|index: usize| ids[index].clone()).collect::<Vec<_>>();
        assert_eq!(listed(&api, &chat, query).await, expected, "{query}");
    }
    let answer = api.get(&api.helper, &format!("/chats/{chat}/messages?status=all&limit=9")).await;
    let expected = json!({"has_more": false, "limit": 9, "next_cursor": null, "status_filter": "all"});
    assert_eq!(answer.body["metadata"], expected);
}

#[actix_web::test]
async fn listings_go_on_by_cursor_with_the_same_filters_only() {
    let api = Api::new().await;
    let room = api.room().await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(api.mention(api.ann.caller, room, &api.helper, "hi").await);
    }
    let base = format!("/chats/{room}/messages?status=all&limit=2&sort_order=desc");
    let first = api.get(&api.helper, &base).await;
    let cursor = first.body["metadata"]["next_cursor"].as_str().unwrap();
    let second = api.get(&api.helper, &format!("{base}&cursor={cursor}")).await;
    let seen = [first.column("id"), second.column("id")].concat();
    assert_eq!(seen, [&*ids[4], &*ids[3], &*ids[2], &*ids[1]]);
    for other in ["status=all&sort_order=asc", "status=pending&sort_order=desc", "sort_order=desc"] {
        let answer = api.get(&api.helper, &format!("/chats/{room}/messages?{other}&cursor={cursor}")).await;
        assert_eq!(answer.refusal(), (422, "cursor_filter_mismatch", vec!["/cursor"]), "{other}");
    }
    // Page numbers are exact too.
    let page = api.get(&api.helper, &format!("/chats/{room}/messages?page=3&page_size=2")).await;
    assert_eq!(page.column("id"), [&*ids[4]]);
    let metadata = json!({
        "has_more": false, "limit": 2, "next_cursor": null,
        "page": 3, "page_size": 2, "total_count": 5, "total_pages": 3,
    });
    assert_eq!(page.body["metadata"], metadata);
}

#[actix_web::test]
async fn wrong_filters_are_refused() {
    let api = Api::new().await;
    let chat = api.room().await;
    let answer =
        api.get(&api.helper, &format!("/chats/{chat}/messages?status=open&sort_order=up&limit=0")).await;
    assert_eq!(answer.refusal(), (422, "validation_error", vec!["/limit", "/sort_order", "/status"]));
}

/// The header of a request that stores a message is handed on with it; a malformed one is as if it were not there.
#[actix_web::test]
async fn a_trace_is_handed_on_with_its_message() {
    let api = Api::new().await;
    let room = api.room().await;
    let chat = room.to_string();
    let at = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let post = async |path: &str, body: Value, header: &str| {
        let request = TestRequest::post().uri(&format!("{BASE}/chats/{chat}/{path}"));
        let request = request.insert_header(("x-api-key", api.helper.key.as_str()));
        let answer = api.send(request.insert_header(("traceparent", header)).set_json(body)).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.data()["id"].as_str().unwrap().to_owned()
    };
    let mention = json!([{"id": api.scout.id.to_string()}]);
    let text = json!({"message": {"content": "go", "mentions": mention}});
    let traced = post("messages", text.clone(), at).await;
    let forged =
        json!({"event": {"message_type": "thought", "content": "hm", "metadata": {"traceparent": at}}});
    let event = post("events", forged.clone(), &at.replace("0af", "1af")).await;
    let malformed = post("messages", text, &at.to_uppercase()).await;
    let without = post("events", forged, "00").await;

    let context = api.get(&api.helper, &format!("/chats/{chat}/context")).await;
    let shown = context.data().as_array().unwrap();
    let shown = |id: &str| {
        let message = shown.iter().find(|message| message["id"] == id).unwrap();
        message["metadata"].get("traceparent").cloned()
    };
    assert_eq!(shown(&traced), Some(json!(at)));
    assert_eq!(shown(&event), Some(json!(at.replace("0af", "1af"))));
    assert_eq!((shown(&malformed), shown(&without)), (None, None));

    let as_scout = async |step: &str, message: &str| {
        let body = if step == "failed" { json!({"error": "no luck"}) } else { Value::Null };
        let answer = api.post(&api.scout, &format!("/chats/{chat}/messages/{message}/{step}"), body).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.header("traceparent").to_owned()
    };
    let next = api.get(&api.scout, &format!("/chats/{chat}/messages/next")).await;
    assert_eq!((&next.data()["id"], &next.data()["metadata"]["traceparent"]), (&json!(traced), &json!(at)));
    for step in ["processing", "failed", "processing", "processed"] {
        assert_eq!(as_scout(step, &traced).await, at, "{step}");
    }
    assert_eq!(as_scout("processing", &malformed).await, "");
}
