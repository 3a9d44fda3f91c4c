//! Registering and listing agents.

use std::time::Duration;

use actix_web::http::Method;
use actix_web::test::TestRequest;
use domain::account::{Disconnect, Door, EndReason, LastDisconnect};
use domain::delivery::DeliveryStep;
use domain::id::{MessageId, ParticipantId};
use domain::ports::Clock;
use domain::services::{Ports, Services};
use serde_json::{Value, json};

use crate::BASE;
use crate::harness::Api;

#[actix_web::test]
async fn a_registered_agent_comes_with_its_key_once() {
    let api = Api::new().await;
    let body = json!({"agent": {"name": " Größe & Co ", "description": "Weighs things."}});
    let answer = api.post(&api.ann, "/agents/register", body).await;
    assert_eq!(answer.status, 201);
    let agent = answer.data()["agent"].clone();
    let now = api.now();
    let expected = json!({
        "id": agent["id"], "name": "Größe & Co", "handle": "ann/groesse-co", "slug": "groesse-co",
        "description": "Weighs things.", "bio": null, "model_type": null, "tags": [], "max_attempts": null, "claims": "shared", "a2a": false, "is_external": true, "is_global": false,
        "listed_in_directory": agent["listed_in_directory"], "registry_access": agent["registry_access"],
        "shared_with_organization": agent["shared_with_organization"], "foreign_access": false,
        "system_prompt_id": null, "avatar_url": null, "pause": null,
        "owner_id": api.ann.id.to_string(), "owner_uuid": api.ann.id.to_string(),
        "feature_flags": {"ff_file_transfer": true, "ff_room_tasks": true},
        "created_at": now, "inserted_at": now, "updated_at": now,
    });
    assert_eq!(agent, expected);
    let key = answer.data()["credentials"]["api_key"].as_str().unwrap().to_owned();
    // The key is an agent's.
    assert_eq!(api.call(&key, Method::GET, "/agents", &Value::Null).await.code(), (403, "forbidden"));
    let listed = api.get(&api.ann, "/agents").await;
    assert!(!listed.body.to_string().contains(&key));
    let rows = listed.data().as_array().unwrap();
    assert!(rows.contains(&agent), "the list shows the same record");
}

/// Every answer with an agent says the same of the server.
#[actix_web::test]
async fn owners_are_told_whether_there_are_boards() {
    let api = Api::new().await;
    let off = Services::new(Ports { max_tasks: 0, ..api.world.ports.clone() });
    let own = format!("/agents/{}", api.helper.id);
    let new = json!({"agent": {"name": "New", "description": "x"}});
    let calls = [
        (Method::GET, "/agents".to_owned(), Value::Null),
        (Method::GET, "/agents?include=work".to_owned(), Value::Null),
        (Method::GET, own.clone(), Value::Null),
        (Method::POST, "/agents/register".to_owned(), new),
        (Method::POST, "/agents".to_owned(), json!({"agent": {"name": "Platform"}})),
        (Method::PATCH, own.clone(), json!({"agent": {"bio": "Helps"}})),
        (Method::POST, format!("{own}/pause"), json!({"reason": "costs"})),
        (Method::POST, format!("{own}/resume"), Value::Null),
        (Method::POST, format!("{own}/rotate-key"), Value::Null),
    ];
    for (method, path, body) in calls {
        let request = TestRequest::with_uri(&format!("{BASE}{path}")).method(method);
        let request = request.insert_header(("x-api-key", api.ann.key.as_str()));
        let request = if body.is_null() { request } else { request.set_json(body) };
        let answer = api.send_to(&off, request).await;
        let text = answer.body.to_string();
        assert!(text.contains("\"ff_room_tasks\":false"), "{path}: {text}");
        assert!(!text.contains("\"ff_room_tasks\":true"), "{path}: {text}");
    }
}

#[actix_web::test]
async fn a_name_is_taken_once_per_owner() {
    let api = Api::new().await;
    let body = json!({"name": "Helper", "description": "another"});
    let answer = api.post(&api.ann, "/agents/register", body.clone()).await;
    assert_eq!(answer.refusal(), (422, "validation_error", vec!["name"]));
    assert_eq!(answer.body["error"]["details"]["name"], json!(["has already been taken"]));
    assert_eq!(api.post(&api.bob, "/agents/register", body).await.status, 201);
}

#[actix_web::test]
async fn wrong_agents_are_refused() {
    let api = Api::new().await;
    for (body, expected) in [
        (json!({}), (422, "validation_error", vec!["/description", "/name"])),
        (json!({"agent": {}}), (422, "validation_error", vec!["/agent/description", "/agent/name"])),
        (
            json!({"agent": {"name": "a\nb", "description": "x".repeat(501)}}),
            (422, "validation_error", vec!["/agent/description", "/agent/name"]),
        ),
        (
            json!({"agent": {"name": 1, "description": " "}}),
            (422, "validation_error", vec!["/agent/description", "/agent/name"]),
        ),
        (json!({"agent": {"name": "x", "owner": "bob"}}), (400, "bad_request", vec!["/agent/owner"])),
        (json!({"agent": {}, "x": 1}), (400, "bad_request", vec!["/x"])),
    ] {
        let answer = api.post(&api.ann, "/agents/register", body).await;
        assert_eq!(answer.refusal(), expected);
    }
    assert_eq!(api.get(&api.ann, "/agents").await.column("name").len(), 2);
}

#[actix_web::test]
async fn agents_are_listed_newest_first_in_both_styles() {
    let api = Api::new().await;
    for number in 0..23 {
        api.world.clock.advance(Duration::from_secs(1));
        let body = json!({"name": format!("agent {number:02}"), "description": "x"});
        assert_eq!(api.post(&api.bob, "/agents/register", body).await.status, 201);
    }
    let mut names = (0..23).rev().map(|number| format!("agent {number:02}")).collect::<Vec<_>>();
    names.push("Rival".to_owned());

    let first = api.get(&api.bob, "/agents").await;
    assert_eq!(first.column("name"), names[..20]);
    let cursor = first.body["metadata"]["next_cursor"].as_str().unwrap();
    let filters = json!([
        {"label": "Name", "param": "name", "type": "string"},
        {"label": "External", "param": "is_external", "type": "boolean"},
        {"label": "Listed in directory", "param": "listed_in_directory", "type": "boolean"},
    ]);
    let fields = json!([
        {"label": "Created", "param": "inserted_at"},
        {"label": "Name", "param": "name"},
        {"label": "Updated", "param": "updated_at"},
    ]);
    let expected = json!({
        "available_filters": filters, "sortable_fields": fields, "has_more": true, "limit": 20,
        "next_cursor": cursor, "page": 1, "page_size": 20, "total_count": 24, "total_pages": 2,
    });
    assert_eq!(first.body["metadata"], expected);

    let rest = api.get(&api.bob, &format!("/agents?cursor={cursor}")).await;
    assert_eq!(rest.column("name"), names[20..]);
    let expected = json!({
        "available_filters": filters, "sortable_fields": fields, "has_more": false, "limit": 20, "next_cursor": null,
    });
    assert_eq!(rest.body["metadata"], expected);
    assert_eq!(api.get(&api.bob, "/agents?page=2").await.column("name"), names[20..]);
    assert_eq!(api.get(&api.bob, "/agents?page=1&page_size=100").await.column("name"), names);
    // A cursor of another user's list is not valid for this one.
    let foreign = api.get(&api.ann, &format!("/agents?cursor={cursor}")).await;
    assert_eq!(foreign.refusal(), (422, "validation_error", vec!["/cursor"]));
}

#[actix_web::test]
async fn agents_are_narrowed_and_sorted() {
    let api = Api::new().await;
    api.world.clock.advance(Duration::from_secs(1));
    let body = json!({"name": "helpful Zebra", "description": "stripes"});
    assert_eq!(api.post(&api.ann, "/agents/register", body).await.status, 201);
    for (query, expected) in [
        ("", vec!["helpful Zebra", "Scout", "Helper"]),
        ("order=asc", vec!["Helper", "Scout", "helpful Zebra"]),
        ("sort=name&order=asc", vec!["Helper", "helpful Zebra", "Scout"]),
        ("sort=name", vec!["Scout", "helpful Zebra", "Helper"]),
        ("sort=updated_at&order=desc", vec!["helpful Zebra", "Scout", "Helper"]),
        ("name=HELP", vec!["helpful Zebra", "Helper"]),
        ("name=%25", vec![]),
        ("name=", vec!["helpful Zebra", "Scout", "Helper"]),
        ("name=help&sort=name&order=asc&is_external=true", vec!["Helper", "helpful Zebra"]),
        ("is_external=false", vec![]),
        ("listed_in_directory=true", vec![]),
        ("listed_in_directory=false&name=scout", vec!["Scout"]),
    ] {
        let answer = api.get(&api.ann, &format!("/agents?{query}")).await;
        assert_eq!(answer.column("name"), expected, "{query}");
        assert_eq!(answer.body["metadata"]["total_count"], json!(expected.len()), "{query}");
    }
    for (query, pointer) in [
        ("sort=age", "/sort"),
        ("order=random", "/order"),
        ("is_external=1", "/is_external"),
        ("listed_in_directory=TRUE", "/listed_in_directory"),
        (&format!("name={}", "x".repeat(101)), "/name"),
        ("description=x", "/description"),
    ] {
        let answer = api.get(&api.ann, &format!("/agents?{query}")).await;
        assert_eq!(answer.refusal(), (422, "validation_error", vec![pointer]), "{query}");
    }
}

#[actix_web::test]
async fn a_cursor_of_agents_belongs_to_its_order_and_filters() {
    let api = Api::new().await;
    let first = api.get(&api.ann, "/agents?limit=1&sort=name&order=asc").await;
    let cursor = first.body["metadata"]["next_cursor"].as_str().unwrap();
    let rest = api.get(&api.ann, &format!("/agents?cursor={cursor}&sort=name&order=asc")).await;
    assert_eq!((first.column("name"), rest.column("name")), (vec!["Helper"], vec!["Scout"]));
    for other in ["", "&sort=name", "&sort=name&order=asc&name=s", "&sort=updated_at&order=asc"] {
        let answer = api.get(&api.ann, &format!("/agents?cursor={cursor}{other}")).await;
        assert_eq!(answer.refusal(), (422, "cursor_filter_mismatch", vec!["/cursor"]), "{other}");
    }
}

#[actix_web::test]
async fn an_owner_sees_whether_an_agent_is_connected_and_what_it_owes() {
    let api = Api::new().await;
    let chat = api.room().await;
    let at = api.now();
    let message = MessageId::parse(&api.mention(api.ann.caller, chat, &api.helper, "do it").await).unwrap();
    api.mention(api.ann.caller, chat, &api.helper, "and this").await;
    api.world.deliveries.advance(api.helper.caller, chat, message, DeliveryStep::Begin).await.unwrap();
    let last = LastDisconnect { at: api.world.clock.now(), reason: EndReason::IdleTimeout };
    let ended = Disconnect { agent: api.helper.id, began_at: None, last };
    api.world.accounts.note_disconnects(vec![ended]).await.unwrap();

    let one = format!("/agents/{}", api.helper.id);
    let bare = api.get(&api.ann, &one).await.data().clone();
    assert_eq!((bare.get("connected"), bare.get("work")), (None, None));
    let mut expected = bare;
    let parts = json!({
        "connected": false, "last_seen_at": null, "last_disconnected_at": at,
        "last_disconnect_reason": "idle_timeout", "last_taken_at": at, "last_finished_at": null,
        "work": {"open": 2, "unanswered": 0, "stuck": 0, "failing": 0, "dead": 0, "held": 0, "oldest_at": at},
    });
    expected.as_object_mut().unwrap().extend(parts.as_object().unwrap().clone());
    assert_eq!(api.get(&api.ann, &format!("{one}?include=work")).await.data(), &expected);
    api.world.presence.connect(ParticipantId::Agent(api.helper.id));
    let listed = api.get(&api.ann, "/agents?include=work&sort=name&order=asc").await;
    expected["connected"] = json!(true);
    assert_eq!(listed.data()[0], expected);
    let idle = json!({"open": 0, "unanswered": 0, "stuck": 0, "failing": 0, "dead": 0, "held": 0, "oldest_at": null});
    assert_eq!((&listed.data()[1]["name"], &listed.data()[1]["work"]), (&json!("Scout"), &idle));

    let path = format!("{one}/connections");
    let connections = json!([{"began_at": null, "ended_at": at, "reason": "idle_timeout"}]);
    assert_eq!(api.get(&api.ann, &path).await.data(), &connections);
    for path in [format!("{one}?include=work"), path] {
        assert_eq!(api.get(&api.bob, &path).await.code(), (404, "not_found"), "{path}");
    }
    for path in ["/agents", &one] {
        let refused = api.get(&api.ann, &format!("{path}?include=keys")).await;
        assert_eq!(refused.refusal(), (422, "validation_error", vec!["/include/0"]), "{path}");
    }
}

/// The last use of each way by which the agent and the server reach each other, for the owner who asks for it.
#[actix_web::test]
async fn an_owner_sees_the_last_calls_and_failures_of_an_agent() {
    let api = Api::new().await;
    let (accounts, at) = (&api.world.accounts, api.now());
    let one = format!("/agents/{}", api.helper.id);
    let asked = format!("{one}?include=doors");
    assert_eq!(api.get(&api.ann, &asked).await.data()["doors"], json!([]));
    accounts.note_call(api.helper.id, Door::A2a);
    accounts.note_failure(api.helper.id, Door::Rest, "forbidden", Some("GET /chats".to_owned()));
    accounts.write_uses().await.unwrap();
    let bare = api.get(&api.ann, &one).await.data().clone();
    assert_eq!(bare.get("doors"), None);
    let doors = json!([
        {"door": "rest", "called_at": null, "failed_at": at, "failure": {"code": "forbidden", "detail": "GET /chats"}},
        {"door": "a2a", "called_at": at, "failed_at": null, "failure": null},
    ]);
    let mut expected = bare;
    expected["doors"] = doors.clone();
    assert_eq!(api.get(&api.ann, &asked).await.data(), &expected);
    let listed = api.get(&api.ann, "/agents?include=work,doors&sort=name&order=asc").await;
    assert_eq!((&listed.data()[0]["doors"], &listed.data()[0]["work"]["open"]), (&doors, &json!(0)));
    assert_eq!(listed.data()[1]["doors"], json!([]));
    assert_eq!(api.get(&api.bob, &asked).await.code(), (404, "not_found"));
}
