//! Contacts of humans.

use std::time::Duration;

use domain::id::ParticipantId;
use serde_json::{Value, json};
use testkit::TestUser;

use crate::harness::{Answer, Api};

const REQUESTS: &str = "/contacts/requests";

async fn ask(api: &Api, by: &TestUser, handle: &str) -> Answer {
    api.post(by, REQUESTS, json!({"contact_request": {"recipient_handle": handle}})).await
}

/// Sends a request and gives its id.
async fn asked(api: &Api, by: &TestUser, handle: &str) -> String {
    let answer = ask(api, by, handle).await;
    assert_eq!((answer.status, &answer.data()["status"]), (201, &json!("pending")), "{answer:?}");
    answer.data()["id"].as_str().unwrap().to_owned()
}

async fn answer(api: &Api, by: &TestUser, id: &str, action: &str) -> Answer {
    api.post(by, &format!("{REQUESTS}/{id}/{action}"), Value::Null).await
}

async fn connected(api: &Api) {
    let id = asked(api, &api.ann, "bob").await;
    assert_eq!(answer(api, &api.bob, &id, "approve").await.status, 200);
}

#[actix_web::test]
async fn a_request_is_seen_from_both_sides() {
    let api = Api::new().await;
    let body = json!({"contact_request": {"recipient_handle": "@BOB", "message": "hi"}});
    let sent = api.post(&api.ann, REQUESTS, body).await;
    let request = json!({
        "id": sent.data()["id"], "status": "pending", "message": "hi",
        "requester_id": api.ann.id.to_string(), "requester_type": "User",
        "requester": {"id": api.ann.id.to_string(), "handle": "ann", "name": "ann Example"},
        "recipient_id": api.bob.id.to_string(), "recipient_type": "User",
        "recipient": {"id": api.bob.id.to_string(), "handle": "bob", "name": "bob Example"},
        "responded_at": null, "inserted_at": api.now(),
    });
    assert_eq!((sent.status, sent.data()), (201, &request));
    let page = json!({"page": 1, "page_size": 20, "total_count": 1, "total_pages": 1});
    let listed = json!({"data": [request], "metadata": page});
    for path in [REQUESTS, "/contacts/requests/received"] {
        assert_eq!(api.get(&api.bob, path).await.body, listed);
        assert_eq!(*api.get(&api.ann, path).await.data(), json!([]));
    }
    assert_eq!(api.get(&api.ann, "/contacts/requests/sent").await.body, listed);
    assert_eq!(*api.get(&api.bob, "/contacts/requests/sent").await.data(), json!([]));
}

#[actix_web::test]
async fn flat_bodies_are_understood_and_pointed_into() {
    let api = Api::new().await;
    for name in ["recipient_handle", "handle"] {
        let answer = api.post(&api.ann, REQUESTS, json!({ name: "bob" })).await;
        assert_eq!(answer.status, 201, "{name}");
        let id = answer.data()["id"].as_str().unwrap();
        assert_eq!(api.delete(&api.ann, &format!("{REQUESTS}/{id}")).await.status, 200);
    }
    let oneself = api.post(&api.ann, REQUESTS, json!({"handle": "ann"})).await;
    assert_eq!(oneself.refusal(), (422, "validation_error", vec!["/recipient_handle"]));
    let long = api.post(&api.ann, REQUESTS, json!({"handle": "bob", "message": "x".repeat(501)})).await;
    assert_eq!(long.refusal(), (422, "validation_error", vec!["/message"]));
}

#[actix_web::test]
async fn sending_is_refused() {
    let api = Api::new().await;
    connected(&api).await;
    asked(&api, &api.ann, "bob/rival").await;
    let pointer = "/contact_request/recipient_handle";
    for (handle, expected) in [
        (json!(""), (400, "bad_request", vec![pointer])),
        (json!("not a handle"), (400, "bad_request", vec![pointer])),
        (json!(null), (422, "validation_error", vec![pointer])),
        (json!(7), (422, "validation_error", vec![pointer])),
        (json!("nobody"), (404, "not_found", vec![])),
        (json!("bob/nobody"), (404, "not_found", vec![])),
        (json!("@ANN"), (422, "validation_error", vec![pointer])),
        (json!("bob"), (409, "conflict", vec![])),
        (json!("bob/rival"), (409, "conflict", vec![])),
    ] {
        let body = json!({"contact_request": {"recipient_handle": handle}});
        let answer = api.post(&api.ann, REQUESTS, body).await;
        assert_eq!(answer.refusal(), expected, "{handle}");
    }
    for (body, expected) in [
        (json!({"contact_request": {}}), (422, "validation_error", vec![pointer])),
        (json!({}), (422, "validation_error", vec!["/recipient_handle"])),
        (json!({"contact_request": 7}), (422, "validation_error", vec!["/contact_request"])),
        (
            json!({"contact_request": {"recipient_handle": "bob", "message": "x".repeat(501)}}),
            (422, "validation_error", vec!["/contact_request/message"]),
        ),
        (
            json!({"contact_request": {"recipient_handle": "bob", "x": 1}}),
            (400, "bad_request", vec!["/contact_request/x"]),
        ),
    ] {
        assert_eq!(api.post(&api.ann, REQUESTS, body.clone()).await.refusal(), expected, "{body}");
    }
}

#[actix_web::test]
async fn answers_settle_a_request_once() {
    let api = Api::new().await;
    for (action, status) in
        [("reject", "rejected"), ("cancel", "cancelled"), ("DELETE", "cancelled"), ("approve", "approved")]
    {
        let is_mine = status == "cancelled";
        let (by, other) = if is_mine { (&api.ann, &api.bob) } else { (&api.bob, &api.ann) };
        let id = asked(&api, &api.ann, "bob").await;
        let take = async |by| match action {
            "DELETE" => api.delete(by, &format!("{REQUESTS}/{id}")).await,
            action => answer(&api, by, &id, action).await,
        };
        assert_eq!(take(other).await.code(), (403, "forbidden"), "{action}");
        api.world.clock.advance(Duration::from_secs(1));
        let settled = take(by).await;
        assert_eq!((settled.status, settled.data()), (200, &json!({"id": id, "status": status})));
        assert_eq!(take(by).await.code(), (409, "conflict"));
        let newest = api.get(&api.ann, "/contacts/requests/sent").await;
        assert_eq!(newest.data()[0]["responded_at"], api.now());
    }
    for id in ["odd", "0190c5a4-0000-7000-8000-0000000000a1"] {
        assert_eq!(answer(&api, &api.bob, id, "approve").await.code(), (404, "not_found"), "{id}");
    }
}

#[actix_web::test]
async fn sent_requests_are_listed_by_status() {
    let api = Api::new().await;
    let id = asked(&api, &api.ann, "bob").await;
    assert_eq!(answer(&api, &api.bob, &id, "reject").await.status, 200);
    api.world.clock.advance(Duration::from_secs(1));
    asked(&api, &api.ann, "bob/rival").await;
    let list = async |query: &str| api.get(&api.ann, &format!("/contacts/requests/sent?{query}")).await;
    for (status, count) in [("pending", 1), ("rejected", 1), ("expired", 0), ("all", 2)] {
        assert_eq!(list(&format!("status={status}")).await.column("id").len(), count, "{status}");
    }
    let second = list("page=2&page_size=1").await;
    assert_eq!(second.column("status"), ["rejected"], "newest first");
    let metadata = json!({"page": 2, "page_size": 1, "total_count": 2, "total_pages": 2});
    assert_eq!(second.body["metadata"], metadata);
    assert_eq!(list("status=open").await.refusal(), (422, "validation_error", vec!["/status"]));
}

/// A request to a user who has sent one already makes both contacts.
#[actix_web::test]
async fn inverse_requests_meet() {
    let api = Api::new().await;
    asked(&api, &api.ann, "bob").await;
    let met = ask(&api, &api.bob, "ann").await;
    assert_eq!((met.status, &met.data()["status"]), (201, &json!("approved")));
    assert_eq!(met.data()["responded_at"], api.now());
    api.world.presence.connect(ParticipantId::User(api.bob.id));
    let listed = api.get(&api.ann, "/contacts").await;
    let id = &listed.data()[0]["id"];
    let row = json!({
        "id": id, "contact_id": api.bob.id.to_string(), "contact_type": "User", "status": "active",
        "source": "request", "online": true, "inserted_at": api.now(),
        "user": {
            "id": api.bob.id.to_string(), "handle": "bob", "name": "bob Example",
            "email": "bob@example.org", "listed_in_directory": null, "tags": [],
        },
    });
    let page = json!({
        "has_more": false, "limit": 20, "next_cursor": null,
        "page": 1, "page_size": 20, "total_count": 1, "total_pages": 1,
    });
    assert_eq!(listed.body, json!({"data": [row], "metadata": page}));
    for (query, count) in
        [("q=BOB", 1), ("q=eve", 0), ("limit=1", 1), ("page=1&page_size=1", 1), ("page=2", 0)]
    {
        let found = api.get(&api.ann, &format!("/contacts?{query}")).await;
        assert_eq!((found.status, found.data().as_array().unwrap().len()), (200, count), "{query}");
    }
    assert_ne!(api.get(&api.bob, "/contacts").await.data()[0]["id"], *id);
}

#[actix_web::test]
async fn removal() {
    let api = Api::new().await;
    for form in ["record", "entity", "handle", "path", "entity path"] {
        connected(&api).await;
        let id = api.get(&api.ann, "/contacts").await.column("id")[0].to_owned();
        let entity = api.bob.id.to_string();
        let remove = async |body: Value| api.post(&api.ann, "/contacts/remove", body).await;
        let gone = match form {
            "record" => remove(json!({"contact_id": id})).await,
            "entity" => remove(json!({"contact_id": entity})).await,
            "handle" => remove(json!({"handle": "@Bob"})).await,
            "path" => api.delete(&api.ann, &format!("/contacts/{id}")).await,
            _ => api.delete(&api.ann, &format!("/contacts/{entity}")).await,
        };
        assert_eq!((gone.status, gone.data()), (200, &json!({"status": "removed"})), "{form}");
        assert_eq!(*api.get(&api.bob, "/contacts").await.data(), json!([]), "{form}");
    }
    let nothing = api.post(&api.ann, "/contacts/remove", json!({})).await;
    assert_eq!(nothing.refusal(), (400, "bad_request", vec!["/contact_id"]));
    let odd = api.post(&api.ann, "/contacts/remove", json!({"contact_id": "odd"})).await;
    assert_eq!(odd.refusal(), (422, "validation_error", vec!["/contact_id"]));
    let unknown = api.post(&api.ann, "/contacts/remove", json!({"handle": "nobody"})).await;
    assert_eq!(unknown.code(), (404, "not_found"));
}

#[actix_web::test]
async fn resolving() {
    let api = Api::new().await;
    let resolve =
        async |handle: Value| api.post(&api.ann, "/contacts/resolve", json!({"handle": handle})).await;
    let stranger =
        json!({"id": "", "name": "bob Example", "type": "User", "handle": "bob", "is_contact": false});
    for handle in ["bob", "@bob", " @BOB "] {
        let answer = resolve(json!(handle)).await;
        assert_eq!((answer.status, answer.data()), (200, &stranger));
    }
    let own = resolve(json!("ann/helper")).await;
    assert_eq!(own.data()["id"], api.helper.id.to_string(), "one's own agent is no secret");
    connected(&api).await;
    let contact = json!({
        "id": api.bob.id.to_string(), "name": "bob Example", "type": "User", "handle": "bob",
        "is_contact": true, "email": "bob@example.org",
    });
    assert_eq!(*resolve(json!("bob")).await.data(), contact);
    assert_eq!(resolve(json!("bob/nobody")).await.refusal(), (404, "not_found", vec![]));
    for malformed in [json!("no handle"), json!("@@bob"), json!(""), json!(null), json!([])] {
        let answer = resolve(malformed.clone()).await;
        assert_eq!(answer.refusal(), (400, "validation_error", vec!["/handle"]), "{malformed}");
    }
}

/// An agent that runs here is there without a socket, in the list as in rooms.
#[actix_web::test]
async fn a_contact_that_runs_here_is_online() {
    let api = Api::new().await;
    let made = api.post(&api.bob, "/agents", json!({"name": "Housed", "description": "runs here"})).await;
    let handle = made.data()["handle"].as_str().unwrap();
    let id = asked(&api, &api.ann, handle).await;
    assert_eq!(answer(&api, &api.bob, &id, "approve").await.status, 200);
    connected(&api).await;
    let listed = api.get(&api.ann, "/contacts").await;
    let online = |row: &Value| (row["user"]["handle"].clone(), row["online"].clone());
    let rows = listed.data().as_array().unwrap().iter().map(online).collect::<Vec<_>>();
    assert_eq!(rows, [(json!("bob"), json!(false)), (json!(handle), json!(true))], "{listed:?}");
}
