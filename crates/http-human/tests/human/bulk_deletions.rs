//! Bulk deletions: their requests and answers. Nothing runs the jobs here, so no item is deleted.

use domain::chat::Role;
use domain::id::ParticipantId;
use serde_json::{Value, json};

use crate::harness::Api;

async fn run(api: &Api) {
    while api.world.bulk_deletions.delete_next().await.unwrap().is_some() {}
}

fn failed(id: &str, code: &str, message: &str) -> Value {
    json!({"id": id, "status": "failed", "error": {"code": code, "message": message}})
}

const NOT_FOUND: &str = "Nothing with this id exists, or you cannot see it.";

#[actix_web::test]
async fn a_job_is_accepted_and_shown() {
    let api = Api::new().await;
    let own = api.empty_room(api.ann.caller).await.to_string();
    let foreign = api.empty_room(api.bob.caller).await.to_string();
    let guest = api.empty_room(api.helper.caller).await;
    api.add(api.helper.caller, guest, api.ann.id.into(), Role::Member).await;
    let body = json!({"ids": [own, foreign, "odd", guest.to_string()]});
    let answer = api.post(&api.ann, "/chats/bulk-delete", body).await;
    assert_eq!(answer.status, 202, "{:?}", answer.body);
    let (job, now) = (answer.data().clone(), api.now());
    let location = format!("/api/v1/me/bulk-deletions/{}", job["id"].as_str().unwrap());
    assert_eq!(answer.header("location"), location);
    let mut expected = json!({
        "id": job["id"], "resource_type": "chat", "status": "queued", "total": 4, "processed": 2, "succeeded": 0,
        "failed": 2, "force": false, "inserted_at": now, "started_at": null, "completed_at": null,
        "results": [
            {"id": own, "status": "pending"},
            failed(&foreign, "not_found", NOT_FOUND),
            failed("odd", "not_found", NOT_FOUND),
            {"id": guest.to_string(), "status": "pending"},
        ],
    });
    assert_eq!(job, expected);
    let path = location.strip_prefix("/api/v1/me").unwrap();
    assert_eq!(api.get(&api.ann, path).await.data(), &job);
    run(&api).await;
    for (member, value) in [
        ("status", json!("completed")),
        ("processed", json!(4)),
        ("succeeded", json!(2)),
        ("started_at", json!(now)),
        ("completed_at", json!(now)),
    ] {
        expected[member] = value;
    }
    expected["results"][0]["status"] = json!("succeeded");
    expected["results"][3]["status"] = json!("succeeded");
    assert_eq!(api.get(&api.ann, path).await.data(), &expected);
    assert_eq!(api.get(&api.ann, &format!("/chats/{own}")).await.status, 404);
    assert_eq!(api.get(&api.bob, path).await.refusal(), (404, "not_found", vec![]));
}

#[actix_web::test]
async fn agents_are_deleted_with_force() {
    let api = Api::new().await;
    let room = api.room().await;
    api.world.send(api.helper.caller, room, "hello", &[ParticipantId::User(api.ann.id)]).await;
    let helper = api.helper.id.to_string();
    for (force, result) in [
        (
            Value::Null,
            failed(
                &helper,
                "execution_history_exists",
                "The agent has execution history. Retry with force=true to delete the agent and its history.",
            ),
        ),
        (json!(true), json!({"id": helper, "status": "succeeded"})),
    ] {
        let body = json!({"ids": [helper], "force": force});
        let job = api.post(&api.ann, "/agents/bulk-delete", body).await.data().clone();
        assert_eq!((&job["resource_type"], &job["force"]), (&json!("agent"), &json!(force == true)));
        run(&api).await;
        let path = format!("/bulk-deletions/{}", job["id"].as_str().unwrap());
        assert_eq!(api.get(&api.ann, &path).await.data()["results"], json!([result]));
    }
}

#[actix_web::test]
async fn wrong_bulk_deletions_do_nothing() {
    let api = Api::new().await;
    let own = api.empty_room(api.ann.caller).await.to_string();
    let many = (0..=100).map(|number| number.to_string()).collect::<Vec<_>>();
    let unprocessable = |pointer| (422, "validation_error", vec![pointer]);
    for path in ["/agents/bulk-delete", "/chats/bulk-delete"] {
        for (body, refusal) in [
            (json!({}), unprocessable("/ids")),
            (json!({"ids": null}), unprocessable("/ids")),
            (json!({"ids": own}), unprocessable("/ids")),
            (json!({"ids": []}), unprocessable("/ids")),
            (json!({"ids": many}), unprocessable("/ids")),
            (json!({"ids": [own, "x", own.to_uppercase()]}), unprocessable("/ids/2")),
            (json!({"ids": [own, 7]}), unprocessable("/ids/1")),
            (json!({"ids": [own, "a\u{0}"]}), unprocessable("/ids/1")),
            (json!({"ids": [own, "a".repeat(256)]}), unprocessable("/ids/1")),
            (json!({"ids": [own], "color": "red"}), (400, "bad_request", vec!["/color"])),
            (json!({"agents": {"ids": [own]}}), (400, "bad_request", vec!["/agents"])),
        ] {
            let answer = api.post(&api.ann, path, body.clone()).await;
            assert_eq!(answer.refusal(), refusal, "{path} {body}");
        }
    }
    let force = |force: Value| json!({"ids": [own], "force": force});
    for wrong in [json!("true"), json!("false"), json!(1)] {
        let answer = api.post(&api.ann, "/agents/bulk-delete", force(wrong)).await;
        assert_eq!(answer.refusal(), unprocessable("/force"));
    }
    let answer = api.post(&api.ann, "/chats/bulk-delete", force(json!(true))).await;
    assert_eq!(answer.refusal(), (400, "bad_request", vec!["/force"]));
    run(&api).await;
    assert_eq!(api.get(&api.ann, &format!("/chats/{own}")).await.status, 200);
}
