//! The audit log of the caller's organization.

use serde_json::json;

use crate::harness::Api;

#[actix_web::test]
async fn an_admin_reads_who_did_what() {
    let api = Api::new().await;
    let start = api.now();
    api.world.clock.advance(std::time::Duration::from_secs(1));
    let chat = api.world.chat(api.ann.caller, &[]).await;
    let since = format!("/organization/audit?since={}", api.now());
    let answer = api.get(&api.ann, &since).await;
    let ann = json!({"type": "User", "id": api.ann.id.to_string(), "name": "ann"});
    let row = &answer.data()[0];
    let expected = json!([{
        "id": row["id"], "inserted_at": api.now(), "actor": ann, "action": "chat.created",
        "subject": {"type": "Chat", "id": chat.to_string(), "name": null}, "place": null, "detail": null,
    }]);
    assert_eq!((answer.status, answer.data()), (200, &expected));
    assert_eq!(answer.body["metadata"]["total_count"], 1);

    let all = api.get(&api.ann, "/organization/audit?page_size=100").await;
    let mut actions = all.column("action");
    actions[1..].sort_unstable();
    assert_eq!(actions, ["chat.created", "agent.registered", "agent.registered", "user.created"]);
    let user = all.data().as_array().unwrap().iter().find(|row| row["action"] == "user.created").unwrap();
    assert_eq!((&user["actor"], &user["subject"], &user["inserted_at"]), (&json!(null), &ann, &json!(start)));
    assert_eq!(user["place"]["name"], "ann");
    let bobs = api.get(&api.bob, "/organization/audit").await;
    let mut actions = bobs.column("action");
    actions.sort_unstable();
    assert_eq!(actions, ["agent.registered", "user.created"]);
}

#[actix_web::test]
async fn others_do_not() {
    let api = Api::new().await;
    let cat = api.world.colleague("cat", "ann").await;
    assert_eq!(api.get(&cat, "/organization/audit").await.code(), (403, "forbidden"));
    let wrong = api.get(&api.ann, "/organization/audit?since=soon").await;
    assert_eq!(wrong.refusal(), (422, "validation_error", vec!["/since"]));
}
