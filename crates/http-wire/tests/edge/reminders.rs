//! Tests of texts that are sent later, which both interfaces share.

use std::time::Duration;

use domain::ports::Clock;
use serde_json::{Value, json};

use crate::BASE;
use crate::harness::{Answer, Api};

/// A body for Scout, an hour ahead, with more properties.
fn later(api: &Api, more: &Value) -> Value {
    let at = api.world.clock.now().plus(Duration::from_secs(3600)).to_string();
    let mut message =
        json!({"content": "again", "mentions": [{"id": api.scout.id.to_string()}], "deliver_at": at});
    let more = more.as_object().unwrap().clone();
    message.as_object_mut().unwrap().extend(more);
    json!({"message": message})
}

async fn schedule(api: &Api, path: &str, more: Value) -> Answer {
    api.post(api.caller(), path, later(api, &more)).await
}

#[actix_web::test]
async fn a_text_is_scheduled_shown_and_cancelled() {
    let api = Api::new().await;
    let chat = api.room().await;
    let path = format!("/chats/{chat}/messages");
    let at = api.world.clock.now().plus(Duration::from_secs(3600)).to_string();
    let created = schedule(&api, &path, json!({"every": "byday=we,fr;freq=weekly;count=3"})).await;
    let id = created.data()["id"].as_str().unwrap();
    let (sender, kind, _, handle) = api.shown_caller();
    let mention = json!({
        "id": api.scout.id.to_string(), "handle": api.scout.handle, "name": "Scout", "kind": "mention",
        "type": "Agent",
    });
    let mut expected = json!({
        "id": id, "chat_id": chat.to_string(), "sender_id": sender, "sender_type": kind, "sender_handle": handle,
        "content": created.data()["content"], "mentions": [mention], "state": "scheduled", "deliver_at": at,
        "first_at": at, "every": "FREQ=WEEKLY;BYDAY=WE,FR;COUNT=3", "sent_count": 0, "last_message_id": null,
        "last_sent_at": null, "last_failure": null, "end": null, "cancelled_by": null, "inserted_at": api.now(),
    });
    assert_eq!((created.status, created.data()), (202, &expected));
    let shown = format!("/reminders/{id}");
    assert_eq!(created.header("location"), format!("{BASE}{shown}"));
    assert_eq!(api.get(api.caller(), &shown).await.data(), &expected);
    let listed = api.get(api.caller(), &format!("/reminders?chat_id={chat}")).await;
    assert_eq!((listed.column("id"), &listed.body["metadata"]["has_more"]), (vec![id], &json!(false)));
    assert!(api.get(api.caller(), "/reminders?state=ended").await.column("id").is_empty());

    let cancelled = api.delete(api.caller(), &shown).await;
    expected["state"] = json!("ended");
    expected["deliver_at"] = Value::Null;
    expected["end"] = json!({"code": "cancelled", "message": "It was cancelled.", "at": api.now()});
    expected["cancelled_by"] = json!(sender);
    assert_eq!((cancelled.status, cancelled.data()), (200, &expected));
    assert_eq!(api.delete(api.caller(), &shown).await.data(), &expected, "again");
    assert!(api.get(api.caller(), "/reminders").await.column("id").is_empty());
    assert_eq!(api.get(api.caller(), "/reminders?state=all").await.column("id"), [id]);
}

#[actix_web::test]
async fn what_cannot_be_scheduled_is_refused() {
    let api = Api::new().await;
    let path = format!("/chats/{}/messages", api.room().await);
    for (more, pointer) in [
        (json!({"deliver_at": "tomorrow"}), "/message/deliver_at"),
        (json!({"deliver_at": api.now()}), "/message/deliver_at"),
        (json!({"deliver_at": null, "every": "FREQ=DAILY"}), "/message/deliver_at"),
        (json!({"every": "FREQ=MINUTELY"}), "/message/every"),
        (json!({"every": "FREQ=DAILY;UNTIL=20200101T000000Z"}), "/message/every"),
        (json!({"respond_by": "2030-01-01T00:00:00Z"}), "/message/respond_by"),
        (json!({"content": "x".repeat(65_537)}), "/message/content"),
    ] {
        let refused = schedule(&api, &path, more.clone()).await;
        assert_eq!(refused.refusal(), (422, "validation_error", vec![pointer]), "{more}");
    }
    let unknown = "/reminders/00000000-0000-4000-8000-000000000000";
    for answer in [api.get(api.caller(), unknown).await, api.delete(api.caller(), unknown).await] {
        assert_eq!(answer.code(), (404, "not_found"));
    }
    let created = schedule(&api, &path, json!({})).await;
    api.world.clock.advance(Duration::from_secs(3600));
    assert_eq!(api.world.reminders.send_due(&mut None).await.unwrap().sent, 1);
    let shown = format!("/reminders/{}", created.data()["id"].as_str().unwrap());
    assert_eq!(api.delete(api.caller(), &shown).await.code(), (409, "conflict"));
    let sent = api.get(api.caller(), &shown).await;
    assert_eq!((&sent.data()["sent_count"], &sent.data()["end"]["code"]), (&json!(1), &json!("finished")));
}
