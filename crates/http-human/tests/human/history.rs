//! The history of a room.

use std::time::Duration;

use domain::delivery::DeliveryStep;
use domain::id::MessageId;
use domain::message::{EventContent, EventMetadata, MessageKind, PostEvent};
use serde_json::{Value, json};

use crate::harness::Api;

async fn think(api: &Api, chat: domain::id::ChatId, content: &str) {
    let command = PostEvent {
        kind: MessageKind::Thought,
        content: EventContent::new(content.to_owned()).unwrap(),
        metadata: EventMetadata::default(),
        in_reply_to: None,
    };
    api.world.messages.post_event(api.helper.caller, chat, command).await.unwrap();
}

#[actix_web::test]
async fn a_human_sees_everything_newest_first_with_what_became_of_it() {
    let api = Api::new().await;
    let chat = api.room().await;
    let id = api.mention(api.ann.caller, chat, &api.helper, "question").await;
    let sent_at = api.now();
    let message = MessageId::parse(&id).unwrap();
    api.world.clock.advance(Duration::from_secs(1));
    let started_at = api.now();
    api.world.deliveries.advance(api.helper.caller, chat, message, DeliveryStep::Begin).await.unwrap();
    think(&api, chat, "hm").await;

    let answer = api.get(&api.ann, &format!("/chats/{chat}/messages")).await;
    assert_eq!(answer.column("message_type"), ["thought", "text"]);
    let attempt = |agent: bool| {
        let mut attempt = json!({
            "attempt_number": 1, "status": "processing", "error": null,
            "started_at": started_at, "completed_at": null,
        });
        if agent {
            attempt["agent_id"] = json!(api.helper.id.to_string());
        }
        attempt
    };
    let text = &answer.data()[1];
    let expected = json!({
        "id": id, "content": format!("@[[{}]] question", api.helper.id), "message_type": "text",
        "sender_id": api.ann.id.to_string(), "sender_type": "User", "sender_name": text["sender_name"],
        "sender_handle": "ann",
        "chat_room_id": chat.to_string(), "thread_id": null, "attachments": [],
        "inserted_at": sent_at, "updated_at": text["updated_at"], "sequence": 1,
        "metadata": {
            "mentions": [{
                "id": api.helper.id.to_string(), "handle": "ann/helper", "name": "Helper",
                "username": "ann/helper", "kind": "mention", "type": "Agent",
            }],
            "status": "sent",
            "delivery_status": {api.helper.id.to_string(): {
                "status": "processing", "current_attempt": 1, "attempts": [attempt(false)],
                "delivered_at": null, "processed_at": null,
            }},
            "attempts": [attempt(true)],
        },
    });
    assert_eq!(*text, expected);
    assert!(text["sender_name"].as_str().is_some_and(|name| !name.is_empty()));
    assert_eq!(answer.data()[0]["metadata"]["cause"]["message_id"], text["id"]);
    assert_eq!(answer.data()[0]["sender_name"], "Helper");
}

#[actix_web::test]
async fn history_pages_in_both_styles() {
    let api = Api::new().await;
    let chat = api.room().await;
    let mut ids = Vec::new();
    for _ in 0..25 {
        ids.insert(0, api.mention(api.ann.caller, chat, &api.helper, "hi").await);
    }
    let path = format!("/chats/{chat}/messages");
    let first = api.get(&api.ann, &path).await;
    let cursor = first.body["metadata"]["next_cursor"].as_str().unwrap();
    let expected = json!({
        "has_more": true, "limit": 20, "next_cursor": cursor,
        "page": 1, "page_size": 20, "total_count": 25, "total_pages": 2,
    });
    assert_eq!(
        (first.column("id"), &first.body["metadata"]),
        (ids[..20].iter().map(String::as_str).collect(), &expected)
    );
    let rest = api.get(&api.ann, &format!("{path}?cursor={cursor}&limit=10")).await;
    assert_eq!(rest.column("id"), ids[20..]);
    assert_eq!(rest.body["metadata"], json!({"has_more": false, "limit": 10, "next_cursor": null}));
    let page = api.get(&api.ann, &format!("{path}?page=3&page_size=10")).await;
    assert_eq!(page.column("id"), ids[20..]);
    assert_eq!(page.body["metadata"]["total_count"], 25);
    let all = api.get(&api.ann, &format!("{path}?page_size=100")).await;
    assert_eq!(all.column("id").len(), 25);
}

#[actix_web::test]
async fn history_can_be_of_one_kind_or_since_a_moment() {
    let api = Api::new().await;
    let chat = api.room().await;
    let path = format!("/chats/{chat}/messages");
    api.mention(api.ann.caller, chat, &api.helper, "one").await;
    let then = api.now();
    api.world.clock.advance(Duration::from_secs(1));
    think(&api, chat, "two").await;
    api.mention(api.ann.caller, chat, &api.helper, "three").await;

    let kinds = async |query: String| -> Vec<Value> {
        let answer = api.get(&api.ann, &format!("{path}?{query}")).await;
        answer.data().as_array().unwrap().iter().map(|row| row["message_type"].clone()).collect()
    };
    assert_eq!(kinds("message_type=thought".into()).await, ["thought"]);
    assert_eq!(kinds("message_type=error".into()).await, Vec::<Value>::new());
    assert_eq!(kinds(format!("since={then}")).await, ["text", "thought"]);
    assert_eq!(kinds(format!("since={then}&message_type=text&page=1")).await, ["text"]);
    assert_eq!(kinds(format!("since={}", then.replace('Z', "%2B00:00"))).await, ["text", "thought"]);

    for (query, pointer) in
        [("message_type=shout", "/message_type"), ("since=yesterday", "/since"), ("limit=x", "/limit")]
    {
        let answer = api.get(&api.ann, &format!("{path}?{query}")).await;
        assert_eq!(answer.refusal(), (422, "validation_error", vec![pointer]), "{query}");
    }
}

#[actix_web::test]
async fn a_cursor_belongs_to_its_filters() {
    let api = Api::new().await;
    let chat = api.room().await;
    let path = format!("/chats/{chat}/messages");
    for _ in 0..3 {
        api.mention(api.ann.caller, chat, &api.helper, "hi").await;
    }
    let first = api.get(&api.ann, &format!("{path}?limit=1&message_type=text")).await;
    let cursor = first.body["metadata"]["next_cursor"].as_str().unwrap();
    let same = api.get(&api.ann, &format!("{path}?limit=1&message_type=text&cursor={cursor}")).await;
    assert_eq!(same.status, 200);
    assert_ne!(same.column("id"), first.column("id"));
    for other in ["", "&message_type=error", "&message_types=text,error", "&exclude_message_types=error"] {
        let answer = api.get(&api.ann, &format!("{path}?cursor={cursor}{other}")).await;
        assert_eq!(answer.refusal(), (422, "cursor_filter_mismatch", vec!["/cursor"]), "{other}");
    }
}

#[actix_web::test]
async fn history_can_be_of_some_kinds_or_all_but_some() {
    let api = Api::new().await;
    let chat = api.room().await;
    let path = format!("/chats/{chat}/messages");
    api.mention(api.ann.caller, chat, &api.helper, "one").await;
    think(&api, chat, "two").await;
    api.mention(api.ann.caller, chat, &api.helper, "three").await;
    for (query, expected) in [
        ("message_types=text,thought", vec!["text", "thought", "text"]),
        ("message_types=thought&message_types=error", vec!["thought"]),
        ("message_type=thought&message_types=text", vec!["text", "thought", "text"]),
        ("exclude_message_types=text,error", vec!["thought"]),
        ("message_types=text,thought&exclude_message_types=text", vec!["thought"]),
        ("message_types=text&exclude_message_types=text", vec![]),
        ("message_types=system,participant", vec![]),
        ("message_type=system", vec![]),
        ("exclude_message_types=system", vec!["text", "thought", "text"]),
    ] {
        let answer = api.get(&api.ann, &format!("{path}?{query}")).await;
        assert_eq!(answer.column("message_type"), expected, "{query}");
        assert_eq!(answer.body["metadata"]["total_count"], json!(expected.len()), "{query}");
    }
    for (query, pointers) in [
        ("message_types=text,shout", vec!["/message_types/1"]),
        ("exclude_message_types=guidelines", vec!["/exclude_message_types/0"]),
        ("message_types=", vec!["/message_types/0"]),
        ("after=x&before=", vec!["/after", "/before"]),
    ] {
        let answer = api.get(&api.ann, &format!("{path}?{query}")).await;
        assert_eq!(answer.refusal(), (422, "validation_error", pointers), "{query}");
    }
}

#[actix_web::test]
async fn a_cursor_knows_since_when() {
    let api = Api::new().await;
    let chat = api.room().await;
    let path = format!("/chats/{chat}/messages");
    api.mention(api.ann.caller, chat, &api.helper, "too early").await;
    let then = api.now();
    let mut ids = Vec::new();
    for _ in 0..3 {
        api.world.clock.advance(Duration::from_secs(1));
        ids.insert(0, api.mention(api.ann.caller, chat, &api.helper, "hi").await);
    }
    let first = api.get(&api.ann, &format!("{path}?since={then}&limit=2")).await;
    assert_eq!(first.column("id"), ids[..2]);
    let cursor = first.body["metadata"]["next_cursor"].as_str().unwrap();
    let rest = api.get(&api.ann, &format!("{path}?cursor={cursor}")).await;
    assert_eq!(
        (rest.column("id"), &rest.body["metadata"]["has_more"]),
        (vec![ids[2].as_str()], &json!(false))
    );
    let both = api.get(&api.ann, &format!("{path}?since={then}&cursor={cursor}")).await;
    assert_eq!(both.refusal(), (422, "validation_error", vec!["/since"]));
}

#[actix_web::test]
async fn what_lies_around_a_message() {
    let api = Api::new().await;
    let chat = api.room().await;
    let path = format!("/chats/{chat}/messages");
    let mut ids = Vec::new();
    for number in 0..7 {
        ids.push(api.mention(api.ann.caller, chat, &api.helper, &format!("m{number}")).await);
    }
    api.world.clock.advance(Duration::from_secs(60));
    let last = api.now();
    think(&api, chat, "hm").await;
    let at = |place: usize| ids[place].clone();
    for (query, expected, older, newer) in [
        (format!("after={}&limit=2", at(2)), vec![at(3), at(4)], true, true),
        (format!("after={}&message_types=text", at(4)), vec![at(5), at(6)], true, false),
        (format!("before={}&limit=2", at(2)), vec![at(1), at(0)], false, true),
        (format!("around={}&limit=3", at(3)), vec![at(4), at(3), at(2)], true, true),
        ("at=2026-01-01T00:00:00Z&limit=3".to_owned(), vec![at(2), at(1), at(0)], false, true),
        ("from_sequence=4&limit=3".to_owned(), vec![at(4), at(3), at(2)], true, true),
        (format!("at={last}&limit=2&message_types=text"), vec![at(6), at(5)], true, false),
    ] {
        let answer = api.get(&api.ann, &format!("{path}?{query}")).await;
        assert_eq!(answer.column("id"), expected, "{query}");
        let limit = answer.body["metadata"]["limit"].clone();
        let metadata = json!({
            "has_more": false, "limit": limit, "next_cursor": null,
            "has_older": older, "has_newer": newer,
        });
        assert_eq!(answer.body["metadata"], metadata, "{query}");
    }

    let cursor = api.get(&api.ann, &format!("{path}?limit=1")).await.body["metadata"]["next_cursor"].clone();
    let cursor = cursor.as_str().unwrap();
    for (query, pointer) in [
        (format!("after={}&before={}", at(1), at(2)), "/before"),
        (format!("around={}&after={}", at(1), at(1)), "/around"),
        (format!("after={}&cursor={cursor}", at(1)), "/after"),
        (format!("after={}&since=2026-01-01T00:00:00Z", at(1)), "/after"),
        (format!("before={}&page=1", at(1)), "/before"),
        (format!("around={}&page_size=5", at(1)), "/around"),
        (format!("before={}&at={last}", at(1)), "/at"),
        (format!("at={last}&page=1"), "/at"),
        ("from_sequence=4&page=1".to_owned(), "/from_sequence"),
    ] {
        let answer = api.get(&api.ann, &format!("{path}?{query}")).await;
        assert_eq!(answer.refusal(), (422, "invalid_params", vec![pointer]), "{query}");
    }
    let other = api.room().await;
    let elsewhere = api.mention(api.ann.caller, other, &api.helper, "elsewhere").await;
    let unknown = "0190c5a4-0000-7000-8000-00000000ffff";
    for anchor in [elsewhere.as_str(), unknown] {
        let answer = api.get(&api.ann, &format!("{path}?around={anchor}")).await;
        assert_eq!(answer.code(), (404, "not_found"));
    }
    for anchor in [format!("around={}", at(1)), format!("at={last}")] {
        assert_eq!(api.get(&api.bob, &format!("{path}?{anchor}")).await.code(), (404, "not_found"));
    }
    let wrong = api.get(&api.ann, &format!("{path}?at=today")).await;
    assert_eq!(wrong.refusal(), (422, "validation_error", vec!["/at"]));
}

/// The bytes of a page are bounded; by number, where a short page would hide rows, it is refused.
#[actix_web::test]
async fn heavy_histories_are_read_in_light_pages() {
    let api = Api::new().await;
    let chat = api.room().await;
    let path = format!("/chats/{chat}/messages");
    let large = "x".repeat(500_000);
    for _ in 0..20 {
        api.mention(api.ann.caller, chat, &api.helper, &large).await;
    }
    let refused = api.get(&api.ann, &format!("{path}?page_size=20")).await;
    assert_eq!(refused.refusal(), (422, "validation_error", vec!["/page_size"]));
    assert_eq!(api.get(&api.ann, &format!("{path}?page=2&page_size=10")).await.column("id").len(), 10);
    // Without parameters, the next page is by cursor: a page number would skip the rows that did not fit.
    let unsaid = api.get(&api.ann, &path).await;
    let metadata = &unsaid.body["metadata"];
    assert_eq!((&metadata["has_more"], metadata.get("total_pages")), (&json!(true), None));
}

/// The root first, with the places of all; the history of the room shows its part of the tree.
#[actix_web::test]
async fn a_tree_is_listed_with_hops() {
    let api = Api::new().await;
    let chat = api.room().await;
    let root = api.mention(api.ann.caller, chat, &api.helper, "question").await;
    api.mention(api.ann.caller, chat, &api.helper, "another").await;
    let message = MessageId::parse(&root).unwrap();
    api.world.deliveries.advance(api.helper.caller, chat, message, DeliveryStep::Begin).await.unwrap();
    think(&api, chat, "hm").await;
    let reply = json!({"message": {"content": "and?", "mentions": [], "in_reply_to": root.as_str()}});
    let sent = api.post(&api.ann, &format!("/chats/{chat}/messages"), reply).await;
    assert_eq!(sent.status, 201);
    let first = api.get(&api.ann, &format!("/chats/{chat}/messages/{root}/tree?limit=2")).await;
    assert_eq!(first.column("content")[1], "hm");
    let cursor = first.body["metadata"]["next_cursor"].as_str().unwrap();
    let second = api.get(&api.ann, &format!("/chats/{chat}/messages/{root}/tree?cursor={cursor}")).await;
    let rows = [first.data().as_array().unwrap().clone(), second.data().as_array().unwrap().clone()].concat();
    let places = rows.iter().map(|row| (&row["hop"], &row["cause_id"])).collect::<Vec<_>>();
    let (zero, one, caused) = (json!(0), json!(1), json!(root));
    assert_eq!(places, [(&zero, &Value::Null), (&one, &caused), (&zero, &caused)]);
    assert_eq!(rows[2]["id"], sent.data()["id"]);
    assert_eq!(rows[0]["metadata"]["attempts"][0]["status"], "processing");
    let originator = json!({"id": api.ann.id.to_string(), "type": "User"});
    let cause = json!({"message_id": root, "root_id": root, "hop": 1, "originator": originator});
    assert_eq!(rows[1]["metadata"], json!({ "cause": cause }));

    let part = api.get(&api.ann, &format!("/chats/{chat}/messages?root={root}&limit=2")).await;
    assert_eq!(part.column("content"), ["and?", "hm"]);
    let cursor = part.body["metadata"]["next_cursor"].as_str().unwrap();
    let rest = api.get(&api.ann, &format!("/chats/{chat}/messages?root={root}&cursor={cursor}")).await;
    assert_eq!(rest.column("id"), [root.as_str()]);
    let unfiltered = api.get(&api.ann, &format!("/chats/{chat}/messages?cursor={cursor}")).await;
    assert_eq!(unfiltered.code(), (422, "cursor_filter_mismatch"));
    let both = api.get(&api.ann, &format!("/chats/{chat}/messages?root={root}&after={root}")).await;
    assert_eq!(both.refusal(), (422, "invalid_params", vec!["/after"]));
    let strange = api.get(&api.bob, &format!("/chats/{chat}/messages/{root}/tree")).await;
    assert_eq!(strange.code(), (404, "not_found"));
    let missing = api.get(&api.ann, &format!("/chats/{chat}/messages/{chat}/tree")).await;
    assert_eq!(missing.code(), (404, "not_found"));
    let reply = json!({"message": {"content": "and?", "mentions": [], "in_reply_to": chat.to_string()}});
    let refused = api.post(&api.ann, &format!("/chats/{chat}/messages"), reply).await;
    assert_eq!(refused.refusal(), (422, "validation_error", vec!["/message/in_reply_to"]));
}
