//! Sending texts: stored fields, and every rule on mentions.

use serde_json::{Value, json};

use crate::harness::{Api, text_for};

#[actix_web::test]
async fn a_sent_text_tells_its_recipients() {
    let api = Api::new().await;
    let chat = api.room().await;
    let path = format!("/chats/{chat}/messages");
    let mentions = json!([
        {"handle": "@ANN/Scout"},
        {"id": api.ann.id.to_string(), "handle": null, "kind": "reference"},
    ]);
    let body = json!({"message": {"content": "@ann/scout, ask Ann", "mentions": mentions}});
    let answer = api.post(&api.helper, &path, body).await;
    let id = answer.data()["id"].clone();
    let recipient = json!({
        "id": api.scout.id.to_string(), "handle": "ann/scout", "name": "Scout", "type": "Agent", "connected": false,
        "status": "new", "stopped": false, "paused": false,
    });
    let expected = json!({"data": {
        "id": id, "chat_room_id": chat.to_string(), "success": true, "recipients": [recipient],
    }});
    assert_eq!((answer.status, answer.body), (201, expected));

    let next = api.get(&api.scout, &format!("{path}/next")).await;
    let mentioned = |id: String, of: &str, handle: &str, name: &Value, kind: &str| json!({"id": id, "type": of, "handle": handle, "name": name, "username": handle, "kind": kind});
    let ann_name = &next.data()["metadata"]["mentions"][1]["name"];
    let now = api.now();
    let expected = json!({"data": {
        "id": id, "content": format!("@[[{}]], ask Ann", api.scout.id), "message_type": "text",
        "sender_id": api.helper.id.to_string(), "sender_type": "Agent", "sender_name": "Helper",
        "sender_handle": "ann/helper",
        "chat_room_id": chat.to_string(), "thread_id": null, "attachments": [],
        "inserted_at": now, "updated_at": now,
        "metadata": {
            "mentions": [
                mentioned(api.scout.id.to_string(), "Agent", "ann/scout", &json!("Scout"), "mention"),
                mentioned(api.ann.id.to_string(), "User", "ann", ann_name, "reference"),
            ],
            "delivery_status": {}, "attempts": [],
        },
    }});
    assert_eq!((next.status, &next.body), (200, &expected));
}

#[actix_web::test]
async fn the_first_text_gives_the_room_its_title() {
    let api = Api::new().await;
    let chat = api.room().await;
    api.post(&api.helper, &format!("/chats/{chat}/messages"), text_for(api.scout.id, "book a flight")).await;
    let room = api.get(&api.helper, &format!("/chats/{chat}")).await;
    assert_eq!(room.data()["title"], "book a flight");
    assert_eq!(room.data()["last_message_at"], api.now());
}

#[actix_web::test]
async fn every_rule_on_mentions_has_its_code() {
    let api = Api::new().await;
    let path = format!("/chats/{}/messages", api.room().await);
    let (scout, helper) = (api.scout.id.to_string(), api.helper.id.to_string());
    let good = json!({ "id": scout });
    let cases = [
        (json!([]), "mentions_required", "/mentions"),
        (json!(null), "mentions_required", "/mentions"),
        (json!([{"id": scout, "kind": "reference"}]), "mentions_required", "/mentions"),
        (json!([good, {"name": "Ann"}]), "mention_missing_identifier", "/mentions/1"),
        (json!([{"id": "", "handle": " "}]), "mention_missing_identifier", "/mentions/0"),
        (json!([{"id": scout, "kind": null}]), "invalid_mention_kind", "/mentions/0"),
        (json!([{"id": scout, "kind": "shout"}]), "invalid_mention_kind", "/mentions/0"),
        (json!([good, {"handle": "nobody"}]), "handle_not_found", "/mentions/1"),
        (json!([{"id": api.rival.id.to_string()}]), "mentioned_participant_not_in_room", "/mentions/0"),
        (json!([{"id": "odd"}]), "mentioned_participant_not_in_room", "/mentions/0"),
        (json!([{ "id": helper }]), "cannot_mention_self", "/mentions/0"),
        (json!([good, {"handle": "ann/scout"}]), "duplicate_mentions", "/mentions/1"),
    ];
    for (mentions, code, pointer) in cases {
        let body = json!({"content": "hi", "mentions": mentions});
        let lists = ["handle_not_found", "mentioned_participant_not_in_room"].contains(&code);
        for (prefix, body) in [("", body.clone()), ("/message", json!({ "message": body }))] {
            let answer = api.post(&api.helper, &path, body).await;
            let pointer = format!("{prefix}{pointer}");
            let mut pointers = vec![pointer.as_str()];
            if lists {
                pointers.push("available_handles");
            }
            assert_eq!(answer.refusal(), (422, code, pointers), "{mentions}");
        }
    }
    let answer = api.post(&api.helper, &path, text_for(api.rival.id, "hi")).await;
    assert_eq!(answer.body["error"]["message"], "mentioned_participant_not_in_room");
    let mut handles = answer.body["error"]["details"]["available_handles"].as_array().unwrap().clone();
    handles.sort_by_key(ToString::to_string);
    assert_eq!(handles, ["ann", "ann/helper", "ann/scout"]);
    // A refusal leaves no trace.
    assert_eq!(*api.get(&api.helper, &path.replace("messages", "context")).await.data(), json!([]));
}

#[actix_web::test]
async fn wrong_bodies_are_refused() {
    let api = Api::new().await;
    let path = format!("/chats/{}/messages", api.room().await);
    for (body, expected) in [
        (json!({}), (422, "validation_error", vec!["/content"])),
        (json!({"message": {"content": " \n"}}), (422, "validation_error", vec!["/message/content"])),
        (
            json!({"message": {"content": 1, "mentions": {}}}),
            (422, "validation_error", vec!["/message/content", "/message/mentions"]),
        ),
        (json!({"message": {"content": "hi", "role": "x"}}), (400, "bad_request", vec!["/message/role"])),
        (
            json!({"content": "hi", "mentions": [], "attachment_ids": ["f"]}),
            (422, "unknown_attachment", vec!["/attachment_ids/0"]),
        ),
    ] {
        let answer = api.post(&api.helper, &path, body).await;
        assert_eq!(answer.refusal(), expected);
    }
}

#[actix_web::test]
async fn the_longest_text_fits_even_if_every_character_is_escaped() {
    let api = Api::new().await;
    let chat = api.room().await;
    let send = async |content: String| {
        let text =
            format!(r#"{{"message":{{"content":"{content}","mentions":[{{"id":"{}"}}]}}}}"#, api.scout.id);
        let request = actix_web::test::TestRequest::post()
            .uri(&format!("/api/v1/agent/chats/{chat}/messages"))
            .insert_header(("x-api-key", api.helper.key.clone()))
            .set_payload(text);
        api.send(request).await
    };
    assert_eq!(send("\\u0061".repeat(524_288)).await.status, 201);
    let over = send("\\u0061".repeat(524_289)).await;
    assert_eq!(over.refusal(), (422, "validation_error", vec!["/message/content"]));
}

#[actix_web::test]
async fn an_agent_sees_the_receipts_of_its_own_messages() {
    let api = Api::new().await;
    let chat = api.room().await;
    let message = api.mention(api.helper.caller, chat, &api.scout, "do it").await;
    let path = format!("/chats/{chat}/messages/{message}/receipts");
    let answer = api.get(&api.helper, &path).await;
    assert_eq!((answer.status, answer.column("status")), (200, vec!["new"]));
    assert_eq!(
        (&answer.data()[0]["id"], &answer.data()[0]["queue_position"]),
        (&json!(api.scout.id.to_string()), &json!(0))
    );
    for other in [&api.scout, &api.rival] {
        assert_eq!(api.get(other, &path).await.code(), (404, "not_found"));
    }
}
