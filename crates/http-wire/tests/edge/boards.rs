//! Tests of boards and tasks, which both interfaces share.

use actix_web::http::Method;
use actix_web::test::TestRequest;
use domain::board::{CreateTask, TaskDetail, TaskSubject};
use domain::id::ChatId;
use domain::services::{Ports, Services};
use serde_json::{Value, json};

use crate::BASE;
use crate::harness::{Answer, Api};

/// A room of the caller with a task of Scout in it, and the path of the room.
async fn board(api: &Api) -> (ChatId, String) {
    let chat = api.room().await;
    let command = CreateTask {
        subject: TaskSubject::new("of Scout".to_owned()).unwrap(),
        detail: TaskDetail::new(String::new()).unwrap(),
        supersedes: None,
    };
    api.world.boards.create_task(api.scout.caller, chat, command, None).await.unwrap();
    (chat, format!("/chats/{chat}"))
}

async fn change(api: &Api, path: &str, task: u32, body: Value) -> Answer {
    api.post(api.caller(), &format!("{path}/tasks/{task}"), body).await
}

fn faults(answer: &Answer, pointer: &str) -> Value {
    answer.body["error"]["details"][pointer].clone()
}

#[actix_web::test]
async fn a_task_is_created_worked_on_and_put_away() {
    let api = Api::new().await;
    let (chat, path) = board(&api).await;
    let body = json!({"subject": " Write the notes ", "detail": "Since 1.4"});
    let created = api.post(api.caller(), &format!("{path}/tasks"), body).await;
    let (id, kind, name, handle) = api.shown_caller();
    let actor = json!({"id": id, "type": kind, "name": name, "handle": handle});
    let mut expected = json!({
        "id": created.data()["id"], "chat_room_id": chat.to_string(), "number": 2,
        "subject": "Write the notes", "detail": "Since 1.4", "state": "active", "overall_status": "pending",
        "assignments": [], "created_by": actor, "superseded_by_id": null, "started_at": null,
        "completed_at": null, "inserted_at": api.now(), "updated_at": api.now(),
    });
    assert_eq!((created.status, created.data()), (201, &expected));

    let work = json!({"status": "in_progress", "active_form": "Reading", "linked_native_id": "t-1"});
    let worked = change(&api, &path, 2, work).await;
    let mut assignment = json!({
        "assignee": actor, "status": "in_progress", "active_form": "Reading", "linked_native_id": "t-1",
        "updated_at": api.now(),
    });
    expected["overall_status"] = json!("in_progress");
    expected["started_at"] = json!(api.now());
    expected["assignments"] = json!([assignment]);
    assert_eq!((worked.status, worked.data()), (200, &expected));

    let done = json!({"status": "completed", "comment": "Done.", "state": "archived", "detail": null});
    let done = change(&api, &path, 2, done).await;
    assignment["status"] = json!("completed");
    expected["assignments"] = json!([assignment]);
    expected["overall_status"] = json!("completed");
    expected["completed_at"] = json!(api.now());
    expected["state"] = json!("archived");
    assert_eq!((done.status, done.data()), (200, &expected));

    let upper = created.data()["id"].as_str().unwrap().to_uppercase();
    let read = api.get(api.caller(), &format!("{path}/tasks/{upper}?include=history")).await;
    let entry = |event: &str, payload: Value| json!({"event": event, "actor": actor, "at": api.now(), "payload": payload});
    let status = |from: Value, to: &str| json!({"from": from, "to": to});
    expected["history_truncated"] = json!(false);
    expected["history"] = json!([
        entry("created", json!({"subject": "Write the notes", "detail": "Since 1.4"})),
        entry(
            "status_changed",
            json!({"status": status(Value::Null, "in_progress"), "linked_native_id": "t-1"})
        ),
        entry("status_changed", json!({"status": status(json!("in_progress"), "completed")})),
        entry("commented", json!({"text": "Done."})),
        entry("archived", json!({"state": {"from": "active", "to": "archived"}})),
    ]);
    assert_eq!((read.status, read.data()), (200, &expected));

    let history = api.get(api.caller(), &format!("{path}/tasks/2/history?limit=2")).await;
    assert_eq!(history.column("event"), ["created", "status_changed"]);
    let cursor = history.body["metadata"]["next_cursor"].as_str().unwrap();
    assert_eq!(history.body["metadata"], json!({"has_more": true, "limit": 2, "next_cursor": cursor}));
    let rest = api.get(api.caller(), &format!("{path}/tasks/2/history?cursor={cursor}")).await;
    assert_eq!(rest.column("event"), ["status_changed", "commented", "archived"]);
    assert_eq!(rest.body["metadata"], json!({"has_more": false, "limit": 50, "next_cursor": null}));
}

#[actix_web::test]
async fn tasks_are_superseded_restored_and_edited() {
    let api = Api::new().await;
    let (_, path) = board(&api).await;
    let tasks = format!("{path}/tasks");
    let better = api.post(api.caller(), &tasks, json!({"subject": "better", "supersedes_id": "1"})).await;
    let old = api.get(api.caller(), &format!("{tasks}/1?include=history")).await;
    assert_eq!(old.data()["superseded_by_id"], better.data()["id"]);
    assert_eq!(
        old.data()["history"][1]["payload"],
        json!({"state": {"from": "active", "to": "superseded"}, "superseded_by_id": better.data()["id"]})
    );
    let new = api.get(api.caller(), &format!("{tasks}/2?include=history")).await;
    assert_eq!(new.data()["history"][0]["payload"]["supersedes_id"], old.data()["id"]);
    for body in [json!({"state": "archived"}), json!({"state": "active"}), json!({"subject": "best"})] {
        assert_eq!(change(&api, &path, 2, body).await.status, 200);
    }
    let edited = api.get(api.caller(), &format!("{tasks}/2?include=history")).await;
    let entries = edited.data()["history"].as_array().unwrap();
    assert_eq!(entries[2]["payload"], json!({"state": {"from": "archived", "to": "active"}}));
    assert_eq!(entries[3]["payload"], json!({"subject": {"from": "better", "to": "best"}}));
}

#[actix_web::test]
async fn tasks_are_listed_by_state_with_cursors() {
    let api = Api::new().await;
    let (chat, path) = board(&api).await;
    for subject in ["two", "three"] {
        api.post(api.caller(), &format!("{path}/tasks"), json!({"subject": subject})).await;
    }
    change(&api, &path, 2, json!({"state": "archived"})).await;
    let list = async |query: &str| api.get(api.caller(), &format!("{path}/tasks{query}")).await;
    for (query, expected) in [
        ("", vec!["of Scout", "three"]),
        ("?state=active", vec!["of Scout", "three"]),
        ("?state=archived", vec!["two"]),
        ("?state=cancelled", vec![]),
        ("?state=superseded", vec![]),
        ("?state=all&limit=1000", vec!["of Scout", "two", "three"]),
    ] {
        assert_eq!(list(query).await.column("subject"), expected, "{query}");
    }
    assert_eq!(list("").await.body["metadata"], json!({"has_more": false, "limit": 50, "next_cursor": null}));
    let first = list("?limit=1").await;
    let cursor = first.body["metadata"]["next_cursor"].as_str().unwrap();
    assert_eq!(list(&format!("?cursor={cursor}")).await.column("subject"), ["three"]);
    let other = list(&format!("?cursor={cursor}&state=all")).await;
    assert_eq!(other.refusal(), (422, "cursor_filter_mismatch", vec!["/cursor"]));
    for query in
        [&format!("/1/history?cursor={cursor}"), "?cursor=x", "?page=1", "?state=done", "/1?include=x"]
    {
        let pointer = query.split(['?', '=']).nth(1).unwrap();
        assert_eq!(list(query).await.refusal(), (422, "validation_error", vec![&*format!("/{pointer}")]));
    }
    let many = list("?state=all&limit=1000").await;
    assert_eq!(many.body["metadata"], json!({"has_more": false, "limit": 100, "next_cursor": null}));
    let second = api.get(api.caller(), &format!("{path}/tasks/1?include=history")).await;
    assert_eq!(second.data()["chat_room_id"], chat.to_string());
    // A cursor of a history belongs to the task, by whatever it is named.
    let walked = list("/2/history?limit=1").await;
    let cursor = walked.body["metadata"]["next_cursor"].as_str().unwrap();
    assert_eq!(list(&format!("/2/history?cursor={cursor}")).await.column("event"), ["archived"]);
    for (query, pointer) in [
        (format!("/1/history?cursor={cursor}"), "/cursor"),
        (format!("/2/history?cursor={cursor}x"), "/cursor"),
        ("/2/history?page=1".to_owned(), "/page"),
        (format!("?cursor={cursor}"), "/cursor"),
    ] {
        assert_eq!(list(&query).await.refusal(), (422, "validation_error", vec![pointer]), "{query}");
    }
    let history = list("/3/history?limit=1").await;
    assert_eq!(history.body["metadata"]["next_cursor"], Value::Null);
}

#[actix_web::test]
async fn a_goal_is_shown_set_and_cleared() {
    let api = Api::new().await;
    let (chat, path) = board(&api).await;
    let path = format!("{path}/board");
    let empty = json!({
        "chat_room_id": chat.to_string(), "goal_title": null, "goal_summary": null, "created_by": null,
        "updated_by": null, "inserted_at": null, "updated_at": null,
    });
    let read = api.get(api.caller(), &path).await;
    assert_eq!((read.status, read.data()), (200, &empty));
    let set = api.put(api.caller(), &path, json!({"goal_title": "Ship it", "goal_summary": "soon"})).await;
    let (id, kind, name, handle) = api.shown_caller();
    let actor = json!({"id": id, "type": kind, "name": name, "handle": handle});
    let mut expected = json!({
        "chat_room_id": chat.to_string(), "goal_title": "Ship it", "goal_summary": "soon", "created_by": actor,
        "updated_by": actor, "inserted_at": api.now(), "updated_at": api.now(),
    });
    assert_eq!((set.status, set.data()), (200, &expected));
    api.put(api.caller(), &path, json!({"goal_summary": ""})).await;
    let read = api.get(api.caller(), &format!("{path}?include=history")).await;
    expected["goal_summary"] = Value::Null;
    expected["history_truncated"] = json!(false);
    let edit = |from: Value, to: Value| json!({"from": from, "to": to});
    let first = json!({
        "goal_title": edit(Value::Null, json!("Ship it")), "goal_summary": edit(Value::Null, json!("soon")),
    });
    let second = json!({"goal_summary": edit(json!("soon"), Value::Null)});
    expected["history"] = json!([
        {"event": "goal_set", "actor": actor, "at": api.now(), "payload": first},
        {"event": "goal_edited", "actor": actor, "at": api.now(), "payload": second},
    ]);
    assert_eq!(read.data(), &expected);
    for (body, pointer) in [
        (json!({}), "/"),
        (json!({"goal_title": null, "goal_summary": null}), "/"),
        (json!({"goal_title": " "}), "/goal_title"),
        (json!({"goal_title": "x".repeat(501)}), "/goal_title"),
        (json!({"goal_summary": "x".repeat(10_001)}), "/goal_summary"),
        (json!({"goal_summary": 1}), "/goal_summary"),
    ] {
        let refused = api.put(api.caller(), &path, body).await;
        assert_eq!(refused.refusal(), (422, "validation_error", vec![pointer]));
    }
    let other = api.room().await;
    let path = format!("/chats/{other}/board");
    assert_eq!(api.put(api.caller(), &path, json!({"goal_summary": "soon"})).await.status, 200);
    let refused = api.put(api.caller(), &path, json!({"goal_summary": ""})).await;
    assert_eq!(refused.refusal(), (422, "validation_error", vec!["/goal_summary"]));
}

#[actix_web::test]
async fn wrong_bodies_of_tasks_are_refused() {
    let api = Api::new().await;
    let (_, path) = board(&api).await;
    let long = |number: usize| "😀".repeat(number);
    let create = format!("{path}/tasks");
    for (body, pointer) in [
        (Value::Null, "/subject"),
        (json!({}), "/subject"),
        (json!({"subject": null}), "/subject"),
        (json!({"subject": " \n"}), "/subject"),
        (json!({"subject": "a\0b"}), "/subject"),
        (json!({"subject": long(501)}), "/subject"),
        (json!({"subject": "x", "detail": long(20_001)}), "/detail"),
        (json!({"subject": "x", "supersedes_id": 1}), "/supersedes_id"),
        (json!({"subject": "x", "supersedes_id": "#1"}), "/supersedes_id"),
        (json!({"subject": "x", "supersedes_id": "7"}), "/supersedes_id"),
    ] {
        let refused = api.post(api.caller(), &create, body).await;
        assert_eq!(refused.refusal(), (422, "validation_error", vec![pointer]));
    }
    let refused = api.post(api.caller(), &create, json!({"subject": long(501)})).await;
    assert_eq!(faults(&refused, "/subject"), json!(["must be at most 500 characters"]));
    assert_eq!(api.post(api.caller(), &create, json!({"subject": long(500)})).await.status, 201);
    for (body, pointer) in [
        (Value::Null, "/"),
        (json!({}), "/"),
        (json!({"status": null, "comment": null}), "/"),
        (json!({"status": "done"}), "/status"),
        (json!({"state": "superseded"}), "/state"),
        (json!({"comment": " "}), "/comment"),
        (json!({"comment": "x".repeat(10_001)}), "/comment"),
        (json!({"active_form": "x".repeat(501)}), "/active_form"),
        (json!({"linked_native_id": "x".repeat(256)}), "/linked_native_id"),
    ] {
        assert_eq!(change(&api, &path, 1, body).await.refusal(), (422, "validation_error", vec![pointer]));
    }
    let nothing = change(&api, &path, 1, json!({})).await;
    assert_eq!(faults(&nothing, "/"), json!(["at least one field is required"]));
    let unknown = change(&api, &path, 1, json!({"status": "failed", "colour": "red"})).await;
    assert_eq!(unknown.refusal(), (400, "bad_request", vec!["/colour"]));
    let wrapped = api.post(api.caller(), &create, json!({"task": {"subject": "x"}})).await;
    assert_eq!(wrapped.code(), (400, "bad_request"));
    assert_eq!(api.get(api.caller(), &format!("{path}/tasks/1")).await.data()["overall_status"], "pending");
}

#[actix_web::test]
async fn what_is_put_away_is_not_worked_on() {
    let api = Api::new().await;
    let (_, path) = board(&api).await;
    assert_eq!(change(&api, &path, 1, json!({"state": "cancelled"})).await.status, 200);
    assert_eq!(change(&api, &path, 1, json!({"state": "cancelled"})).await.status, 200, "again");
    for body in [json!({"status": "pending"}), json!({"comment": "x"}), json!({"subject": "x"})] {
        let refused = change(&api, &path, 1, body).await;
        assert_eq!(refused.refusal(), (422, "task_not_active", vec![]));
        let error = &refused.body["error"];
        assert_eq!(error["message"], "Work fields and comments require an active task");
        assert_eq!(error["details"], json!({}));
    }
    let stuck = change(&api, &path, 1, json!({"state": "active"})).await;
    assert_eq!(stuck.refusal(), (422, "validation_error", vec!["/state"]));
    let refused =
        api.post(api.caller(), &format!("{path}/tasks"), json!({"subject": "x", "supersedes_id": "1"})).await;
    assert_eq!(refused.refusal(), (422, "task_not_active", vec![]));
}

/// In a foreign room, for what is no task of the room, and on a server without boards.
#[actix_web::test]
async fn what_is_not_there_is_404() {
    let api = Api::new().await;
    let (chat, path) = board(&api).await;
    let foreign = api.empty_room(api.bob.caller).await;
    let calls = |path: &str, task: &str| {
        [
            (Method::GET, format!("{path}/board"), Value::Null),
            (Method::PUT, format!("{path}/board"), json!({"goal_title": "x"})),
            (Method::GET, format!("{path}/tasks"), Value::Null),
            (Method::POST, format!("{path}/tasks"), json!({"subject": "x"})),
            (Method::GET, format!("{path}/tasks/{task}"), Value::Null),
            (Method::POST, format!("{path}/tasks/{task}"), json!({"comment": "x"})),
            (Method::GET, format!("{path}/tasks/{task}/history"), Value::Null),
        ]
    };
    let key = &api.caller().key;
    for (method, path, body) in calls(&format!("/chats/{foreign}"), "1") {
        let answer = api.call(key, method, &path, &body).await;
        assert_eq!(answer.refusal(), (404, "not_found", vec![]), "{path}");
        assert_eq!(answer.body["error"]["message"], "Resource not found");
    }
    for task in ["2", "0", "01", "-1", "1.0", "%231", "x", &chat.to_string()] {
        for (method, path, body) in calls(&path, task).into_iter().skip(4) {
            let answer = api.call(key, method, &path, &body).await;
            assert_eq!(answer.refusal(), (404, "not_found", vec![]), "{path}");
        }
    }
    let off = Services::new(Ports { max_tasks: 0, ..api.world.ports.clone() });
    for (method, path, body) in calls(&path, "1") {
        let request = TestRequest::with_uri(&format!("{BASE}{path}")).method(method);
        let request = request.insert_header(("x-api-key", key.as_str()));
        let request = if body.is_null() { request } else { request.set_json(body) };
        let answer = api.send_to(&off, request).await;
        assert_eq!(answer.refusal(), (404, "not_found", vec![]), "{path}");
    }
}

#[actix_web::test]
async fn a_room_has_a_maximum_of_tasks() {
    let api = Api::new().await;
    let (_, path) = board(&api).await;
    let few = Services::new(Ports { max_tasks: 1, ..api.world.ports.clone() });
    let request = TestRequest::post().uri(&format!("{BASE}{path}/tasks"));
    let request = request.insert_header(("x-api-key", api.caller().key.as_str()));
    let answer = api.send_to(&few, request.set_json(json!({"subject": "x"}))).await;
    assert_eq!(answer.code(), (403, "limit_reached"));
    let details = &answer.body["error"]["details"];
    assert_eq!(details, &json!({"resource": "tasks", "limit": 1, "current": 1}));
}

#[actix_web::test]
async fn one_key_creates_one_task() {
    let api = Api::new().await;
    let (_, path) = board(&api).await;
    let create = async |body: Value| {
        let request = TestRequest::post().uri(&format!("{BASE}{path}/tasks"));
        let request = request.insert_header(("x-api-key", api.caller().key.as_str()));
        api.send(request.insert_header(("idempotency-key", "k")).set_json(body)).await
    };
    let first = create(json!({"subject": "once"})).await;
    change(&api, &path, 2, json!({"status": "blocked"})).await;
    let again = create(json!({"subject": "once"})).await;
    assert_eq!((again.status, again.body), (201, first.body));
    let other = create(json!({"subject": "twice"})).await;
    assert_eq!(other.refusal(), (422, "validation_error", vec!["Idempotency-Key"]));
}
