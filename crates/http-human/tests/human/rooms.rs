//! The list of rooms with its filters, orders, and parts; renaming; and rooms that a human observes.

use std::time::Duration;

use actix_web::http::Method;
use domain::chat::Role;
use domain::delivery::DeliveryStep;
use domain::id::{ChatId, MessageId, ParticipantId};
use domain::message::{EventContent, EventMetadata, MessageContent, MessageKind, PostEvent};
use serde_json::{Value, json};

use crate::harness::{Api, text_for};

/// Ann's room with Helper and Scout, one of Helper's with Scout, and Ann's own about a task.
async fn rooms(api: &Api) -> [ChatId; 3] {
    let mixed = api.room().await;
    api.world.clock.advance(Duration::from_secs(1));
    let observed = api.empty_room(api.helper.caller).await;
    api.add(api.helper.caller, observed, api.scout.id.into(), Role::Member).await;
    api.world.clock.advance(Duration::from_secs(1));
    let task = api.post(&api.ann, "/chats", json!({"chat": {"type": "task", "title": "T"}})).await;
    [mixed, observed, ChatId::parse(task.data()["id"].as_str().unwrap()).unwrap()]
}

fn texts(rooms: &[ChatId]) -> Vec<String> {
    rooms.iter().map(ToString::to_string).collect()
}

#[actix_web::test]
async fn rooms_are_narrowed_and_sorted() {
    let api = Api::new().await;
    let [mixed, observed, task] = rooms(&api).await;
    api.world.clock.advance(Duration::from_secs(1));
    api.mention(api.ann.caller, mixed, &api.helper, "newest").await;
    for (query, expected) in [
        ("", vec![task, mixed]),
        ("order=asc", vec![mixed, task]),
        ("sort_by=updated_at", vec![mixed, task]),
        ("sort_by=updated_at&order=asc&include=agent_rooms", vec![observed, task, mixed]),
        ("include=agent_rooms", vec![task, observed, mixed]),
        ("include=agent_rooms,membership&type=direct", vec![observed, mixed]),
        ("type=task", vec![task]),
        ("status=active", vec![task, mixed]),
        ("status=archived", vec![]),
    ] {
        let answer = api.get(&api.ann, &format!("/chats?{query}")).await;
        assert_eq!(answer.column("id"), texts(&expected), "{query}");
        assert_eq!(answer.body["metadata"]["total_count"], json!(expected.len()), "{query}");
    }
    assert_eq!(api.get(&api.bob, "/chats?include=agent_rooms").await.column("id"), Vec::<&str>::new());
}

#[actix_web::test]
async fn a_cursor_goes_on_in_its_own_list_only() {
    let api = Api::new().await;
    rooms(&api).await;
    let first = api.get(&api.ann, "/chats?limit=1&include=agent_rooms").await;
    let cursor = first.body["metadata"]["next_cursor"].as_str().unwrap();
    let same =
        api.get(&api.ann, &format!("/chats?cursor={cursor}&include=agent_rooms&include=membership")).await;
    assert_eq!((same.status, same.column("id").len()), (200, 2));
    for other in ["", "&include=agent_rooms&order=asc", "&include=agent_rooms&sort_by=updated_at"] {
        let answer = api.get(&api.ann, &format!("/chats?cursor={cursor}{other}")).await;
        assert_eq!(answer.refusal(), (422, "cursor_filter_mismatch", vec!["/cursor"]), "{other}");
    }
    let answer = api.get(&api.bob, &format!("/chats?cursor={cursor}&include=agent_rooms")).await;
    assert_eq!(answer.refusal(), (422, "validation_error", vec!["/cursor"]));
}

#[actix_web::test]
async fn unknown_parameters_and_words_are_refused() {
    let api = Api::new().await;
    for (query, pointers) in [
        ("color=red", vec!["/color"]),
        ("status=open", vec!["/status"]),
        ("type=Direct", vec!["/type"]),
        ("sort_by=title", vec!["/sort_by"]),
        ("order=up", vec!["/order"]),
        ("include=participants,everything", vec!["/include/1"]),
        ("include=participants&include=&include=x", vec!["/include/1", "/include/2"]),
        ("status=active&status=active", vec!["/status"]),
    ] {
        let answer = api.get(&api.ann, &format!("/chats?{query}")).await;
        assert_eq!(answer.refusal(), (422, "validation_error", pointers), "{query}");
    }
    let wrong = api.get(&api.ann, "/chats?include=x").await;
    assert_eq!(wrong.body["error"]["details"]["/include/0"], json!(["Invalid value for enum"]));
    let one = api.get(&api.ann, "/chats?include=x").await;
    assert_eq!(one.body["error"]["message"], "Request validation failed");
    let chat = api.room().await;
    let answer = api.get(&api.ann, &format!("/chats/{chat}?include=members")).await;
    assert_eq!(answer.refusal(), (422, "validation_error", vec!["/include/0"]));
}

#[actix_web::test]
async fn a_row_holds_what_is_asked_for() {
    let api = Api::new().await;
    let [mixed, observed, _] = rooms(&api).await;
    api.world.presence.connect(ParticipantId::Agent(api.helper.id));
    let message = api.mention(api.ann.caller, mixed, &api.helper, "hello").await;
    let plain = api.get(&api.ann, "/chats").await;
    let row = plain.data().as_array().unwrap().iter().find(|row| row["id"] == mixed.to_string()).unwrap();
    for absent in ["participants", "participant_count", "last_message", "membership", "my_role"] {
        assert_eq!(row.get(absent), None, "{absent}");
    }
    let agent = |agent: &testkit::TestAgent, name: &str| json!({"id": agent.id.to_string(), "name": name, "handle": agent.handle, "type": "Agent"});
    let agents = json!([agent(&api.helper, "Helper"), agent(&api.scout, "Scout")]);
    assert_eq!(
        (&row["agents"], &row["description"], &row["work_status"]),
        (&agents, &Value::Null, &json!("idle"))
    );
    assert_eq!(row["task_counts"]["in_progress"], 0);

    let full = "/chats?include=agent_rooms,participants,last_message&include=membership";
    let full = api.get(&api.ann, full).await;
    let row = |id: ChatId| {
        let rows = full.data().as_array().unwrap().clone();
        rows.into_iter().find(|row| row["id"] == id.to_string()).unwrap()
    };
    let own = row(mixed);
    assert_eq!((&own["participant_count"], &own["participants_truncated"]), (&json!(3), &json!(false)));
    let mut ids = vec![api.ann.id.to_string(), api.helper.id.to_string(), api.scout.id.to_string()];
    ids.sort();
    let people = own["participants"].as_array().unwrap();
    assert_eq!(people.iter().map(|one| one["id"].as_str().unwrap()).collect::<Vec<_>>(), ids);
    let helper = people.iter().find(|one| one["name"] == "Helper").unwrap();
    assert_eq!((&helper["online"], &helper["connection_status"]), (&json!(true), &json!("connected")));
    let ann = people.iter().find(|one| one["type"] == "User").unwrap();
    assert_eq!((&ann["online"], &ann["connection_status"]), (&json!(false), &Value::Null));
    assert_eq!(
        (&own["last_message"]["id"], &own["last_message"]["metadata"]["status"]),
        (&json!(message), &json!("sent"))
    );
    assert_eq!(
        (&own["membership"], &own["my_role"], &own["my_status"]),
        (&json!("participant"), &json!("owner"), &json!("active"))
    );
    assert_eq!(own["via_agent_ids"].as_array().unwrap().len(), 2);
    let seen = row(observed);
    assert_eq!(
        (&seen["membership"], &seen["my_role"], &seen["my_status"]),
        (&json!("via_agent"), &Value::Null, &Value::Null)
    );
    assert_eq!(seen["via_agent_ids"], json!([api.helper.id.to_string(), api.scout.id.to_string()]));
    assert_eq!(seen["last_message"], Value::Null);
    // One room has the same parts.
    for (chat, row) in [(mixed, own), (observed, seen)] {
        let one = format!("/chats/{chat}?include=participants,last_message,membership");
        assert_eq!(api.get(&api.ann, &one).await.data(), &row);
    }
}

#[actix_web::test]
async fn totals_are_given_where_they_are_wanted() {
    let api = Api::new().await;
    rooms(&api).await;
    let counted = api.get(&api.ann, "/chats?limit=1&include=total_count").await;
    let cursor = counted.body["metadata"]["next_cursor"].as_str().unwrap();
    let expected = json!({"has_more": true, "limit": 1, "next_cursor": cursor, "total_count": 2});
    assert_eq!(counted.body["metadata"], expected);
    let rest = api.get(&api.ann, &format!("/chats?limit=1&include=total_count&cursor={cursor}")).await;
    assert_eq!(rest.body["metadata"], json!({"has_more": false, "limit": 1, "next_cursor": null}));
    let numbered = api.get(&api.ann, "/chats?page=1&include=total_count").await;
    assert_eq!(
        (&numbered.body["metadata"]["total_count"], &numbered.body["metadata"]["page"]),
        (&json!(2), &json!(1))
    );
}

#[actix_web::test]
async fn page_numbers_are_marked_as_deprecated() {
    let api = Api::new().await;
    let chat = api.room().await;
    for list in [
        "/chats".to_owned(),
        "/agents".to_owned(),
        format!("/chats/{chat}/messages"),
        format!("/chats/{chat}/participants"),
    ] {
        for (query, marked) in [("page=1", true), ("page_size=5", true), ("limit=5", false), ("", false)] {
            let answer = api.get(&api.ann, &format!("{list}?{query}")).await;
            assert_eq!(answer.status, 200, "{list}?{query}");
            for header in ["deprecation", "sunset"] {
                assert_eq!(answer.headers.contains_key(header), marked, "{list}?{query}");
            }
        }
    }
}

#[actix_web::test]
async fn one_room_tells_of_its_work_and_its_messages() {
    let api = Api::new().await;
    let chat = api.room().await;
    let path = format!("/chats/{chat}");
    let message = api.mention(api.ann.caller, chat, &api.helper, "work").await;
    let work = async || api.get(&api.ann, &path).await.data()["work_status"].clone();
    assert_eq!(work().await, "idle");
    let id = MessageId::parse(&message).unwrap();
    api.world.deliveries.advance(api.helper.caller, chat, id, DeliveryStep::Begin).await.unwrap();
    assert_eq!(work().await, "working");

    let thought = PostEvent {
        kind: MessageKind::Thought,
        content: EventContent::new("hm".to_owned()).unwrap(),
        metadata: EventMetadata::default(),
        in_reply_to: None,
    };
    api.world.messages.post_event(api.helper.caller, chat, thought).await.unwrap();
    let counted = api.get(&api.ann, &format!("{path}?include=message_counts")).await;
    assert_eq!(counted.data()["message_counts"], json!({"text": 1, "thought": 1}));
    assert_eq!(api.get(&api.ann, &path).await.data().get("message_counts"), None);
    assert_eq!(api.get(&api.bob, &format!("{path}?include=message_counts")).await.code(), (404, "not_found"));
}

#[actix_web::test]
async fn owners_rename_rooms() {
    let api = Api::new().await;
    let [mixed, observed, _] = rooms(&api).await;
    let patch = async |user: &testkit::TestUser, chat: ChatId, body: Value| {
        api.call(&user.key, Method::PATCH, &format!("/chats/{chat}"), &body).await
    };
    let before = api.get(&api.ann, &format!("/chats/{mixed}")).await;
    let renamed = patch(&api.ann, mixed, json!({"chat": {"title": "  Plan B "}})).await;
    assert_eq!((renamed.status, &renamed.data()["title"]), (200, &json!("Plan B")));
    assert_eq!(renamed.data()["last_message_at"], before.data()["last_message_at"]);
    assert_eq!(renamed.data()["agents"], before.data()["agents"]);
    assert_eq!(api.get(&api.ann, &format!("/chats/{mixed}")).await.body, renamed.body);
    let body = json!({"chat": {"title": "Mine"}});
    assert_eq!(patch(&api.ann, observed, body.clone()).await.code(), (403, "forbidden"), "an observer");
    assert_eq!(patch(&api.bob, mixed, body).await.code(), (404, "not_found"));
    for (body, expected) in [
        (json!({"chat": {}}), (422, "validation_error", vec!["/chat/title"])),
        (json!({"chat": {"title": null}}), (422, "validation_error", vec!["/chat/title"])),
        (json!({"chat": {"title": "  "}}), (422, "validation_error", vec!["/chat/title"])),
        (json!({"chat": {"respond_within": 0}}), (422, "validation_error", vec!["/chat/respond_within"])),
        (
            json!({"chat": {"respond_within": 2_592_001}}),
            (422, "validation_error", vec!["/chat/respond_within"]),
        ),
        (json!({"chat": {"respond_within": "1"}}), (422, "validation_error", vec!["/chat/respond_within"])),
        (json!({"chat": {"max_hops": 0}}), (422, "validation_error", vec!["/chat/max_hops"])),
        (json!({"chat": {"max_hops": 1_000_001}}), (422, "validation_error", vec!["/chat/max_hops"])),
        (json!({"chat": {"title": "x", "status": "closed"}}), (400, "bad_request", vec!["/chat/status"])),
    ] {
        assert_eq!(patch(&api.ann, mixed, body).await.refusal(), expected);
    }
    for (within, shown) in [(json!(2_592_000), Some(json!(2_592_000))), (Value::Null, None)] {
        let changed = patch(&api.ann, mixed, json!({"chat": {"respond_within": within}})).await;
        assert_eq!((changed.status, changed.data().get("respond_within")), (200, shown.as_ref()));
        assert_eq!(changed.data()["title"], "Plan B");
    }
    for (max, shown) in [(json!(1_000_000), Some(json!(1_000_000))), (Value::Null, None)] {
        let changed = patch(&api.ann, mixed, json!({"chat": {"max_hops": max}})).await;
        assert_eq!((changed.status, changed.data().get("max_hops")), (200, shown.as_ref()));
    }
}

/// The table of the observer's right, row by row.
#[actix_web::test]
async fn an_observer_reads_and_may_do_nothing_else() {
    let api = Api::new().await;
    let [_, observed, _] = rooms(&api).await;
    api.mention(api.helper.caller, observed, &api.scout, "between agents").await;
    let path = format!("/chats/{observed}");
    let read = [
        path.clone(),
        format!("{path}?include=message_counts"),
        format!("{path}/messages"),
        format!("{path}/participants"),
    ];
    for path in &read {
        assert_eq!(api.get(&api.ann, path).await.status, 200, "{path}");
        assert_eq!(api.get(&api.bob, path).await.code(), (404, "not_found"), "{path}");
    }
    let post = api.post(&api.ann, &format!("{path}/messages"), text_for(api.helper.id, "hi")).await;
    assert_eq!(post.code(), (404, "not_found"));
    let body = json!({"participant": {"participant_id": api.ann.id.to_string()}});
    assert_eq!(api.post(&api.ann, &format!("{path}/participants"), body).await.code(), (404, "not_found"));
    let member = format!("{path}/participants/{}", api.scout.id);
    assert_eq!(api.delete(&api.ann, &member).await.code(), (404, "not_found"));

    let deleted = api.delete(&api.ann, &path).await;
    assert_eq!((deleted.status, &deleted.data()["id"]), (200, &json!(observed.to_string())));
    for path in &read {
        assert_eq!(api.get(&api.ann, path).await.code(), (404, "not_found"), "{path}");
    }
}

/// By cursor a heavy page ends early; by number it is refused, since it would hide rows.
#[actix_web::test]
async fn heavy_pages_are_bounded() {
    let api = Api::new().await;
    let large = "x".repeat(MessageContent::MAX_BYTES);
    for _ in 0..17 {
        let chat = api.empty_room(api.ann.caller).await;
        api.world.send(api.ann.caller, chat, &large, &[]).await;
        api.world.clock.advance(Duration::from_secs(1));
    }
    let numbered = api.get(&api.ann, "/chats?page_size=100&include=last_message").await;
    assert_eq!(numbered.refusal(), (422, "validation_error", vec!["/page_size"]));
    let unsaid = api.get(&api.ann, "/chats?include=last_message").await;
    assert_eq!(unsaid.status, 200);
    assert_eq!(
        (&unsaid.body["metadata"]["has_more"], unsaid.body["metadata"].get("page")),
        (&json!(true), None)
    );
}

#[actix_web::test]
async fn rooms_are_marked_as_read_and_unread() {
    let api = Api::new().await;
    let [mixed, observed, _] = rooms(&api).await;
    let to_ann = [ParticipantId::User(api.ann.id)];
    let first = api.world.send(api.helper.caller, mixed, "one", &to_ann).await.id.to_string();
    let second = api.world.send(api.helper.caller, mixed, "two", &to_ann).await.id.to_string();
    let path = format!("/chats/{mixed}/read");
    let unread = async || {
        let listed = api.get(&api.ann, "/chats?include=unread&include=agent_rooms").await;
        let row = |chat: ChatId| {
            let rows = listed.data().as_array().unwrap().iter();
            rows.clone().find(|row| row["id"] == json!(chat.to_string())).unwrap()["unread"].clone()
        };
        assert_eq!(row(observed), Value::Null, "an observer has no mark");
        row(mixed)
    };
    let state = |count, mentions, read_sequence, muted| json!({"count": count, "mentions": mentions, "read_sequence": read_sequence, "muted": muted});
    let is = |count, mentions, read_sequence| state(count, mentions, read_sequence, false);
    assert_eq!(unread().await, is(2, 2, 0));
    for (body, expected) in [
        (json!({"message_id": first}), is(1, 1, 1)),
        (json!({"muted": true}), state(1, 1, 1, true)),
        (json!({"muted": false}), is(1, 1, 1)),
        (json!({"muted": true, "unread": false}), state(1, 1, 1, true)),
        (json!({"message_id": second, "muted": false}), is(0, 0, 2)),
        (json!({}), is(0, 0, 2)),
        (json!({"message_id": first, "unread": false}), is(0, 0, 2)),
        (json!({"message_id": second, "unread": true}), is(1, 1, 1)),
        (Value::Null, is(0, 0, 2)),
    ] {
        let marked = api.call(&api.ann.key, Method::PUT, &path, &body).await;
        assert_eq!(marked.status, 200, "{body}");
        assert_eq!(marked.data(), &json!({"id": mixed.to_string(), "unread": expected}), "{body}");
        assert_eq!(unread().await, expected, "{body}");
        let one = api.get(&api.ann, &format!("/chats/{mixed}?include=unread")).await;
        assert_eq!(one.data()["unread"], expected, "{body}");
    }
    let unknown = json!({"message_id": "0190c5a4-0000-7000-8000-0000000000a1"});
    for (chat, body, status, code) in [
        (mixed, json!({"unread": true}), 422, "validation_error"),
        (mixed, json!({"message_id": "x"}), 422, "validation_error"),
        (mixed, json!({"unread": "yes"}), 422, "validation_error"),
        (mixed, json!({"muted": "yes"}), 422, "validation_error"),
        (observed, json!({"muted": true}), 403, "forbidden"),
        (mixed, unknown, 404, "not_found"),
        (observed, json!({}), 403, "forbidden"),
    ] {
        let refused = api.call(&api.ann.key, Method::PUT, &format!("/chats/{chat}/read"), &body).await;
        assert_eq!(refused.code(), (status, code), "{body}");
    }
    assert_eq!(api.call(&api.bob.key, Method::PUT, &path, &json!({})).await.code(), (404, "not_found"));
    let listed = api.get(&api.ann, "/chats").await;
    assert_eq!(listed.data()[0].get("unread"), None, "only on demand");
}

#[actix_web::test]
async fn all_rooms_are_marked_as_read() {
    let api = Api::new().await;
    let [mixed, _, _] = rooms(&api).await;
    api.world.send(api.helper.caller, mixed, "one", &[ParticipantId::User(api.ann.id)]).await;
    for (rooms, user) in [(0, &api.bob), (1, &api.ann), (0, &api.ann)] {
        let marked = api.call(&user.key, Method::POST, "/chats/read", &Value::Null).await;
        assert_eq!((marked.status, &marked.data()["has_more"]), (200, &json!(false)));
        assert_eq!(marked.data()["rooms"].as_array().unwrap().len(), rooms);
    }
}
