//! Contacts of agents, on both forms of the paths.

use std::time::Duration;

use actix_web::http::Method;
use domain::id::ParticipantId;
use serde_json::{Value, json};
use testkit::TestAgent;

use crate::harness::{Answer, Api};

async fn add(api: &Api, by: &TestAgent, handle: &str) -> Answer {
    api.post(by, "/contacts/add", json!({"handle": handle, "message": null})).await
}

async fn respond(api: &Api, by: &TestAgent, action: &str, named: Value) -> Answer {
    let mut body = named;
    body["action"] = json!(action);
    api.post(by, "/contacts/requests/respond", body).await
}

/// Sends a request and gives its id.
async fn asked(api: &Api, by: &TestAgent, handle: &str) -> String {
    let answer = add(api, by, handle).await;
    assert_eq!((answer.status, &answer.data()["status"]), (201, &json!("pending")), "{answer:?}");
    answer.data()["id"].as_str().unwrap().to_owned()
}

async fn connected(api: &Api) {
    asked(api, &api.helper, &api.rival.handle).await;
    let answer = add(api, &api.rival, &api.helper.handle).await;
    assert_eq!((answer.status, &answer.data()["status"]), (201, &json!("approved")));
}

#[actix_web::test]
async fn a_request_is_seen_from_both_sides() {
    let api = Api::new().await;
    let body = json!({"handle": "@BOB/Rival", "message": "let us talk"});
    let sent = api.post(&api.helper, "/contacts/add", body).await;
    assert_eq!(sent.status, 201);
    let id = &sent.data()["id"];
    let (inserted_at, none) = (api.now(), json!({"total": 0, "total_pages": 0}));
    let one = json!({"total": 1, "total_pages": 1});

    let seen = api.get(&api.rival, "/contacts/requests").await;
    let received = json!([{
        "id": id, "from_handle": "ann/helper", "from_name": "Helper", "message": "let us talk",
        "status": "pending", "inserted_at": inserted_at,
    }]);
    assert_eq!(*seen.data(), json!({"received": received, "sent": []}));
    let metadata = json!({"page": 1, "page_size": 20, "received": one, "sent": none});
    assert_eq!(seen.body["metadata"], metadata);
    let page = json!({"page": 1, "page_size": 20, "total_count": 1, "total_pages": 1});
    let listed = api.get(&api.rival, "/contacts/requests/received").await;
    assert_eq!(listed.body, json!({"data": received, "metadata": page}));

    let seen = api.get(&api.helper, "/contacts/requests?page_size=500").await;
    let sent = json!([{
        "id": id, "to_handle": "bob/rival", "to_name": "Rival", "message": "let us talk",
        "status": "pending", "inserted_at": inserted_at,
    }]);
    assert_eq!(*seen.data(), json!({"received": [], "sent": sent}));
    let metadata = json!({"page": 1, "page_size": 100, "received": none, "sent": one});
    assert_eq!(seen.body["metadata"], metadata);
    let listed = api.get(&api.helper, "/contacts/requests/sent").await;
    assert_eq!(listed.body, json!({"data": sent, "metadata": page}));
    assert_eq!(*api.get(&api.scout, "/contacts/requests").await.data(), json!({"received": [], "sent": []}));
}

#[actix_web::test]
async fn the_two_directions_are_paged_side_by_side() {
    let api = Api::new().await;
    for number in 0..3 {
        let friend = api.world.user(&format!("friend-{number}")).await;
        asked(&api, &api.helper, &friend.handle).await;
        api.world.clock.advance(Duration::from_secs(1));
    }
    asked(&api, &api.rival, &api.helper.handle).await;
    let first = api.get(&api.helper, "/contacts/requests?page_size=2").await;
    let handles = |answer: &Answer| {
        let rows = answer.data()["sent"].as_array().unwrap();
        rows.iter().map(|row| row["to_handle"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(handles(&first), ["friend-2", "friend-1"], "newest first");
    assert_eq!(first.data()["received"].as_array().unwrap().len(), 1);
    let totals = |received: u32, pages: u32| json!({"total": received, "total_pages": pages});
    let metadata = json!({"page": 1, "page_size": 2, "received": totals(1, 1), "sent": totals(3, 2)});
    assert_eq!(first.body["metadata"], metadata);
    let second = api.get(&api.helper, "/contacts/requests?page_size=2&page=2").await;
    assert_eq!((handles(&second), &second.data()["received"]), (vec!["friend-0".to_owned()], &json!([])));
    for query in ["page=0", "page_size=x", "sent_status=open", "color=red"] {
        let answer = api.get(&api.helper, &format!("/contacts/requests?{query}")).await;
        let pointer = format!("/{}", query.split_once('=').unwrap().0);
        assert_eq!(answer.refusal(), (422, "validation_error", vec![pointer.as_str()]), "{query}");
    }
}

#[actix_web::test]
async fn sent_requests_are_listed_by_status() {
    let api = Api::new().await;
    let id = asked(&api, &api.helper, &api.rival.handle).await;
    let rejected = respond(&api, &api.rival, "reject", json!({"request_id": id, "handle": "nobody"})).await;
    assert_eq!(rejected.status, 200, "the id takes precedence over the handle");
    asked(&api, &api.helper, "bob").await;
    for (status, count) in [("pending", 1), ("rejected", 1), ("expired", 0), ("all", 2)] {
        let published = api.get(&api.helper, &format!("/contacts/requests?sent_status={status}")).await;
        let sent = api.get(&api.helper, &format!("/contacts/requests/sent?status={status}")).await;
        assert_eq!(published.data()["sent"], *sent.data(), "{status}");
        assert_eq!(sent.column("id").len(), count, "{status}");
    }
    let by_default = api.get(&api.helper, "/contacts/requests").await;
    assert_eq!(by_default.data()["sent"].as_array().unwrap().len(), 1, "pending only");
    assert_eq!(api.get(&api.helper, "/contacts/requests/sent").await.column("id").len(), 2);
}

/// Case 9: the walk, by id and by handle, in both forms.
#[actix_web::test]
async fn answers_settle_a_request_once() {
    let api = Api::new().await;
    let (helper, rival) = (&api.helper, &api.rival);
    for (action, status) in [("reject", "rejected"), ("cancel", "cancelled"), ("approve", "approved")] {
        let (by, other) = if action == "cancel" { (helper, rival) } else { (rival, helper) };
        for form in ["id", "handle", "path"] {
            let id = asked(&api, helper, &rival.handle).await;
            let path = format!("/contacts/requests/{id}/{action}");
            assert_eq!(api.post(other, &path, Value::Null).await.code(), (403, "forbidden"));
            let answer = match form {
                "id" => respond(&api, by, action, json!({"request_id": id, "handle": null})).await,
                "handle" => respond(&api, by, action, json!({"handle": format!("@{}", other.handle)})).await,
                _ => api.post(by, &path, Value::Null).await,
            };
            assert_eq!((answer.status, answer.data()), (200, &json!({"id": id, "status": status})), "{form}");
            assert_eq!(api.post(by, &path, Value::Null).await.code(), (409, "conflict"));
            if action == "approve" {
                api.post(by, "/contacts/remove", json!({"handle": other.handle})).await;
            }
        }
    }
    let id = asked(&api, helper, &rival.handle).await;
    let taken_back = api.delete(helper, &format!("/contacts/requests/{id}")).await;
    assert_eq!((taken_back.status, taken_back.data()), (200, &json!({"id": id, "status": "cancelled"})));
}

#[actix_web::test]
async fn respond_refuses_what_it_cannot_follow() {
    let api = Api::new().await;
    let (helper, rival) = (&api.helper, &api.rival);
    let id = asked(&api, helper, &rival.handle).await;
    let unknown = "0190c5a4-0000-7000-8000-0000000000a1";
    for (body, expected) in [
        (json!({"action": "approve"}), (400, "bad_request", vec!["/request_id"])),
        (json!({"action": "approve", "handle": null}), (400, "bad_request", vec!["/request_id"])),
        (json!({"action": "approve", "handle": "no handle"}), (400, "bad_request", vec!["/handle"])),
        (json!({"action": "approve", "handle": ""}), (400, "bad_request", vec!["/handle"])),
        (json!({"action": "approve", "handle": "nobody"}), (404, "not_found", vec![])),
        (json!({"action": "approve", "handle": rival.handle}), (404, "not_found", vec![])),
        (json!({"action": "approve", "handle": "bob"}), (404, "not_found", vec![])),
        (json!({"action": "approve", "request_id": unknown}), (404, "not_found", vec![])),
        (json!({"action": "approve", "request_id": "odd"}), (422, "validation_error", vec!["/request_id"])),
        (json!({"action": "accept", "request_id": id}), (422, "validation_error", vec!["/action"])),
        (json!({"request_id": id}), (422, "validation_error", vec!["/action"])),
        (json!({"action": 1, "request_id": 2}), (422, "validation_error", vec!["/action", "/request_id"])),
        (json!({"action": "cancel", "request_id": id, "why": 1}), (400, "bad_request", vec!["/why"])),
    ] {
        let answer = api.post(rival, "/contacts/requests/respond", body.clone()).await;
        assert_eq!(answer.refusal(), expected, "{body}");
    }
    assert_eq!(api.get(rival, "/contacts/requests").await.data()["received"].as_array().unwrap().len(), 1);
}

/// Cases 10 and 12, and the other refusals, in both forms.
#[actix_web::test]
async fn sending_is_refused() {
    let api = Api::new().await;
    let helper = &api.helper;
    connected(&api).await;
    asked(&api, helper, "bob").await;
    let cases = [
        ("", (400, "bad_request")),
        ("@", (400, "bad_request")),
        ("not a handle", (400, "bad_request")),
        ("bob/rival/more", (400, "bad_request")),
        ("böb", (400, "bad_request")),
        ("nobody", (404, "not_found")),
        ("bob/nobody", (404, "not_found")),
        ("@Ann/HELPER", (409, "conflict")),
        ("bob/rival", (409, "conflict")),
        ("bob", (409, "conflict")),
    ];
    for (handle, expected) in cases {
        assert_eq!(add(&api, helper, handle).await.code(), expected, "{handle}");
        for body in [
            json!({"contact_request": {"recipient_handle": handle}}),
            json!({"recipient_handle": handle}),
            json!({"handle": handle}),
        ] {
            let answer = api.post(helper, "/contacts/requests", body.clone()).await;
            assert_eq!(answer.code(), expected, "{body}");
        }
    }
    for body in [Value::Null, json!({}), json!({"handle": null}), json!({"message": "hi"})] {
        let answer = api.post(helper, "/contacts/add", body.clone()).await;
        assert_eq!(answer.refusal(), (400, "bad_request", vec!["/handle"]), "{body}");
        let answer = api.post(helper, "/contacts/requests", json!({"contact_request": body})).await;
        let pointer = vec!["/contact_request/recipient_handle"];
        let expected = if body.is_null() {
            (422, "validation_error", vec!["/contact_request"])
        } else {
            (400, "bad_request", pointer)
        };
        assert_eq!(answer.refusal(), expected, "{body}");
    }
    let long = json!({"handle": "ann", "message": "x".repeat(501)});
    let answer = api.post(helper, "/contacts/add", long).await;
    assert_eq!(answer.refusal(), (422, "validation_error", vec!["/message"]));
    let odd = json!({"handle": "ann", "note": "x"});
    let answer = api.post(helper, "/contacts/add", odd).await;
    assert_eq!(answer.refusal(), (400, "bad_request", vec!["/note"]));
    let longest = json!({"handle": "ann", "message": "ü".repeat(500)});
    assert_eq!(api.post(helper, "/contacts/add", longest).await.status, 201);
}

#[actix_web::test]
async fn a_request_in_the_other_form_is_shown_whole() {
    let api = Api::new().await;
    let body = json!({"contact_request": {"recipient_handle": "bob", "message": "hi"}});
    let sent = api.post(&api.helper, "/contacts/requests", body).await;
    let expected = json!({
        "id": sent.data()["id"], "status": "pending", "message": "hi",
        "requester_id": api.helper.id.to_string(), "requester_type": "Agent",
        "requester": {"id": api.helper.id.to_string(), "handle": "ann/helper", "name": "Helper"},
        "recipient_id": api.bob.id.to_string(), "recipient_type": "User",
        "recipient": {"id": api.bob.id.to_string(), "handle": "bob", "name": "bob Example"},
        "responded_at": null, "inserted_at": api.now(),
    });
    assert_eq!((sent.status, sent.data()), (201, &expected));
}

/// Case 8: both lists hold one record each.
#[actix_web::test]
async fn each_side_has_a_record_of_its_own() {
    let api = Api::new().await;
    connected(&api).await;
    api.world.presence.connect(ParticipantId::Agent(api.rival.id));
    let listed = api.get(&api.helper, "/contacts").await;
    let id = listed.data()[0]["id"].clone();
    let row = json!({
        "id": id, "handle": "bob/rival", "name": "Rival", "type": "Agent", "description": "Rival of bob",
        "is_external": true, "listed_in_directory": false, "tags": [], "online": true,
        "inserted_at": api.now(),
    });
    let page = json!({"page": 1, "page_size": 20, "total_count": 1, "total_pages": 1});
    assert_eq!(listed.body, json!({"data": [row], "metadata": page}));
    let theirs = api.get(&api.rival, "/contacts").await;
    assert_eq!(theirs.column("handle"), ["ann/helper"]);
    assert_eq!(theirs.data()[0]["online"], false);
    assert_ne!(theirs.data()[0]["id"], id);

    // A human is shown without an address.
    asked(&api, &api.helper, "bob").await;
    api.world.ask(api.bob.caller, &api.helper.handle).await;
    api.world.clock.advance(Duration::from_secs(1));
    let rows = api.get(&api.helper, "/contacts?page_size=1&page=2").await;
    let human = api.get(&api.helper, "/contacts").await.body.to_string();
    assert!(!human.contains("@example.org"), "{human}");
    assert_eq!(rows.body["metadata"]["total_pages"], 2);
    assert_eq!(api.get(&api.scout, "/contacts").await.body["metadata"]["total_count"], 0);
}

/// Case 11: removed for both; rooms stay as they are.
#[actix_web::test]
async fn removal() {
    let api = Api::new().await;
    let handle = api.rival.handle.clone();
    for form in ["record", "entity", "handle", "path", "entity path"] {
        connected(&api).await;
        let id = api.get(&api.helper, "/contacts").await.column("id")[0].to_owned();
        let entity = api.rival.id.to_string();
        let gone = match form {
            "record" => api.post(&api.helper, "/contacts/remove", json!({"contact_id": id})).await,
            "entity" => api.post(&api.helper, "/contacts/remove", json!({"contact_id": entity})).await,
            "handle" => {
                let body = json!({"handle": format!("@{handle}"), "contact_id": null});
                api.post(&api.helper, "/contacts/remove", body).await
            }
            "path" => api.delete(&api.helper, &format!("/contacts/{id}")).await,
            _ => api.delete(&api.helper, &format!("/contacts/{entity}")).await,
        };
        assert_eq!((gone.status, gone.data()), (200, &json!({"status": "removed"})), "{form}");
        assert_eq!(*api.get(&api.rival, "/contacts").await.data(), json!([]), "{form}");
        for (foreign, expected) in [(id.as_str(), (404, "not_found")), ("odd", (422, "validation_error"))] {
            let answer = api.post(&api.helper, "/contacts/remove", json!({"contact_id": foreign})).await;
            assert_eq!(answer.code(), expected, "{foreign}");
            let answer = api.delete(&api.helper, &format!("/contacts/{foreign}")).await;
            assert_eq!(answer.code(), (404, "not_found"), "{foreign}");
        }
    }
    for body in [Value::Null, json!({}), json!({"handle": null})] {
        let answer = api.post(&api.helper, "/contacts/remove", body.clone()).await;
        assert_eq!(answer.refusal(), (400, "bad_request", vec!["/contact_id"]), "{body}");
    }
    let answer = api.post(&api.helper, "/contacts/remove", json!({"handle": "no handle"})).await;
    assert_eq!(answer.refusal(), (400, "bad_request", vec!["/handle"]));
    let answer = api.post(&api.helper, "/contacts/remove", json!({"id": "x"})).await;
    assert_eq!(answer.refusal(), (400, "bad_request", vec!["/id"]));
}

#[actix_web::test]
async fn resolving() {
    let api = Api::new().await;
    let resolve =
        async |handle: Value| api.post(&api.helper, "/contacts/resolve", json!({"handle": handle})).await;
    let stranger =
        json!({"id": "", "name": "bob/rival", "type": "Agent", "handle": "bob/rival", "is_contact": false});
    assert_eq!(*resolve(json!("@Bob/RIVAL")).await.data(), stranger);
    connected(&api).await;
    let id = api.rival.id.to_string();
    let contact =
        json!({"id": id, "name": "Rival", "type": "Agent", "handle": "bob/rival", "is_contact": true});
    assert_eq!(*resolve(json!("bob/rival")).await.data(), contact);
    let owner = resolve(json!("ann")).await;
    assert_eq!((&owner.data()["id"], owner.data().get("email")), (&json!(api.ann.id.to_string()), None));
    assert_eq!(resolve(json!("nobody")).await.refusal(), (404, "not_found", vec![]));
    for malformed in [json!("no handle"), json!(""), json!(null), json!(7), json!({"x": 1})] {
        let answer = resolve(malformed.clone()).await;
        assert_eq!(answer.refusal(), (400, "validation_error", vec!["/handle"]), "{malformed}");
    }
    let answer = api.post(&api.helper, "/contacts/resolve", Value::Null).await;
    assert_eq!(answer.refusal(), (400, "validation_error", vec!["/handle"]));
    let answer = api.post(&api.helper, "/contacts/resolve", json!({"handle": "ann", "x": 1})).await;
    assert_eq!(answer.refusal(), (400, "bad_request", vec!["/x"]));
}

/// No path of the area has other methods than its own.
#[actix_web::test]
async fn other_methods_are_refused() {
    let api = Api::new().await;
    let id = asked(&api, &api.helper, &api.rival.handle).await;
    for (method, path) in [
        (Method::GET, "/contacts/add".to_owned()),
        (Method::GET, format!("/contacts/requests/{id}")),
        (Method::GET, format!("/contacts/requests/{id}/approve")),
        (Method::PUT, "/contacts".to_owned()),
    ] {
        let answer = api.call(&api.helper.key, method, &path, &Value::Null).await;
        assert_eq!(answer.code(), (405, "method_not_allowed"), "{path}");
    }
}
