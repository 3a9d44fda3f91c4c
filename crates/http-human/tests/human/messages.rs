//! Sending texts as a human.

use domain::delivery::{DeliveryStep, FailureText};
use domain::id::{MessageId, ParticipantId};
use domain::ports::Clock;
use serde_json::{Value, json};

use crate::harness::{Api, text_for};

#[actix_web::test]
async fn a_sent_text_tells_its_recipients() {
    let api = Api::new().await;
    let chat = api.room().await;
    let path = format!("/chats/{chat}/messages");
    let body =
        json!({"message": {"content": "hi", "mentions": [{"id": api.helper.id.to_string(), "name": "?"}]}});
    api.world.presence.connect(ParticipantId::Agent(api.helper.id));
    let answer = api.post(&api.ann, &path, body).await;
    let recipient = json!({
        "id": api.helper.id.to_string(), "handle": "ann/helper", "name": "Helper", "type": "Agent", "connected": true,
        "status": "new", "stopped": false, "paused": false,
    });
    let expected = json!({"data": {
        "id": answer.data()["id"], "chat_room_id": chat.to_string(), "success": true, "recipients": [recipient],
    }});
    assert_eq!((answer.status, &answer.body), (201, &expected));
    let waiting = api.world.deliveries.next(api.helper.caller, chat).await.unwrap().unwrap();
    assert_eq!(json!(waiting.id.to_string()), answer.data()["id"]);
}

#[actix_web::test]
async fn a_text_for_nobody_is_accepted() {
    let api = Api::new().await;
    let chat = api.room().await;
    let path = format!("/chats/{chat}/messages");
    for body in [json!({"content": "one"}), json!({"message": {"content": "two", "mentions": []}})] {
        let answer = api.post(&api.ann, &path, body).await;
        assert_eq!((answer.status, &answer.data()["recipients"]), (201, &json!([])));
    }
    assert!(api.world.deliveries.next(api.helper.caller, chat).await.unwrap().is_none());
    assert_eq!(api.get(&api.ann, &path).await.column("content"), ["two", "one"]);
}

#[actix_web::test]
async fn who_writes_a_handle_without_a_mention_is_warned() {
    let api = Api::new().await;
    let path = format!("/chats/{}/messages", api.room().await);
    let body = |text: &str| json!({"content": text});
    let answer = api.post(&api.ann, &path, body("@ann/helper, please help")).await;
    assert_eq!((answer.status, &answer.data()["recipients"]), (201, &json!([])));
    let warning = &answer.data()["warnings"][0];
    assert_eq!((&warning["code"], &warning["handles"]), (&json!("not_mentioned"), &json!(["ann/helper"])));
    let answer = api.post(&api.ann, &path, body("nobody in particular")).await;
    assert!(answer.data().get("warnings").is_none());
}

#[actix_web::test]
async fn rules_on_mentions_hold_for_humans_too() {
    let api = Api::new().await;
    let path = format!("/chats/{}/messages", api.room().await);
    for (mentions, code) in [
        (json!([{}]), "mention_missing_identifier"),
        (json!([{"id": api.helper.id.to_string(), "kind": null}]), "invalid_mention_kind"),
        (json!([{"handle": "bob/rival"}]), "handle_not_found"),
        (json!([{"id": api.rival.id.to_string()}]), "mentioned_participant_not_in_room"),
        (json!([{"handle": "@Ann"}]), "cannot_mention_self"),
        (json!([{"handle": "ann/helper"}, {"username": "ann/helper"}]), "duplicate_mentions"),
    ] {
        let answer = api.post(&api.ann, &path, json!({"content": "hi", "mentions": mentions})).await;
        assert_eq!(answer.code(), (422, code), "{mentions}");
    }
    assert_eq!(*api.get(&api.ann, &path).await.data(), json!([]));
}

#[actix_web::test]
async fn wrong_bodies_are_refused() {
    let api = Api::new().await;
    let path = format!("/chats/{}/messages", api.room().await);
    let typed = json!({"message": {"content": "x", "message_type": "thought"}});
    let answer = api.post(&api.ann, &path, typed).await;
    assert_eq!(answer.refusal(), (400, "bad_request", vec!["/message/message_type"]));
    let answer = api.post(&api.ann, &path, text_for(api.helper.id, " ")).await;
    assert_eq!(answer.refusal(), (422, "validation_error", vec!["/message/content"]));
    let attached = json!({"content": "x", "attachment_ids": ["f"]});
    assert_eq!(api.post(&api.ann, &path, attached).await.code(), (422, "unknown_attachment"));
}

/// On a text that mentions an agent, and ahead.
#[actix_web::test]
async fn a_deadline_is_shown_or_refused() {
    let api = Api::new().await;
    let chat = api.room().await;
    let path = format!("/chats/{chat}/messages");
    let at = |seconds: u64| api.world.clock.now().plus(std::time::Duration::from_secs(seconds)).to_string();
    let mention = json!([{"id": api.helper.id.to_string()}]);
    let text = |by: Value, mentions: &Value| json!({"message": {"content": "hi", "mentions": mentions, "respond_by": by}});
    for (by, mentions) in [
        (json!(at(0)), &mention),
        (json!(at(31 * 24 * 60 * 60)), &mention),
        (json!("2999-01-01T00:00:00Z"), &mention),
        (json!("tomorrow"), &mention),
        (json!("2999-01-01"), &mention),
        (json!(60), &mention),
        (json!(at(60)), &json!([])),
        (json!(at(60)), &json!([{"id": api.helper.id.to_string(), "kind": "reference"}])),
    ] {
        let answer = api.post(&api.ann, &path, text(by.clone(), mentions)).await;
        assert_eq!(answer.refusal(), (422, "validation_error", vec!["/message/respond_by"]), "{by}");
    }
    let none = api.post(&api.ann, &path, text(Value::Null, &mention)).await;
    assert_eq!((none.status, none.data().get("respond_by")), (201, None));
    let by = at(60);
    let sent = api.post(&api.ann, &path, text(json!(by), &mention)).await;
    assert_eq!((sent.status, &sent.data()["respond_by"]), (201, &json!(by)));
    let shown = api.get(&api.ann, &path).await;
    let shown = shown.data().as_array().unwrap().iter().map(|text| text.get("respond_by"));
    assert_eq!(shown.collect::<Vec<_>>(), [Some(&json!(by)), None]);
    let receipts = format!("{path}/{}/receipts", sent.data()["id"].as_str().unwrap());
    assert_eq!(api.get(&api.ann, &receipts).await.data()[0]["respond_by"], by);
    let work = api.get(&api.ann, "/work").await;
    let work = work.data().as_array().unwrap().iter().map(|item| item["respond_by"].clone());
    assert_eq!(work.collect::<Vec<_>>(), [Value::Null, json!(by)]);
}

/// The state of a message, and no error, which may be that of another tenant.
#[actix_web::test]
async fn a_message_has_a_receipt_of_each_agent() {
    let api = Api::new().await;
    let chat = api.room().await;
    api.mention(api.ann.caller, chat, &api.helper, "first").await;
    let message = api.mention(api.ann.caller, chat, &api.helper, "second").await;
    let path = format!("/chats/{chat}/messages/{message}/receipts");
    let receipt = |status: &str, connected: bool, position: Option<u32>| {
        json!([{
            "id": api.helper.id.to_string(), "handle": "ann/helper", "name": "Helper", "type": "Agent",
            "status": status, "changed_at": api.now(), "connected": connected, "stopped": false,
            "paused": false, "in_room": true, "queue_position": position,
            "replaced_by": null, "respond_by": null,
        }])
    };
    api.world.clock.advance(std::time::Duration::from_micros(1));
    let answer = api.get(&api.ann, &path).await;
    assert_eq!((answer.status, answer.data()), (200, &receipt("new", false, Some(1))));
    api.world.presence.connect(ParticipantId::Agent(api.helper.id));
    let failed = DeliveryStep::Fail(FailureText::new("it broke".to_owned()).unwrap());
    for step in [DeliveryStep::Begin, failed] {
        let message = MessageId::parse(&message).unwrap();
        api.world.deliveries.advance(api.helper.caller, chat, message, step).await.unwrap();
    }
    let answer = api.get(&api.ann, &path).await;
    assert_eq!(answer.data(), &receipt("failed", true, Some(1)));
    let dead = format!("/work/{message}/{}/dead-letter", api.helper.id);
    assert_eq!(api.post(&api.ann, &dead, json!({"reason": "no key"})).await.status, 200);
    assert_eq!(api.get(&api.ann, &path).await.data(), &receipt("dead", true, None));
    let other = format!("/chats/{chat}/messages/{}/receipts", api.ann.id);
    assert_eq!(api.get(&api.ann, &other).await.code(), (404, "not_found"));
}
